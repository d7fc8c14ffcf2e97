"""A journal as a conversation: turns of text, thinking and tool calls, then as JSON, JSON lines or Markdown to read.

Reads the file only; a damaged or half-written journal gives what is in it.
"""

import difflib
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import orjson
from msgspec import Struct, field
from pydantic import JsonValue

from sould.agents.journal.records import read_records
from sould.agents.sessions.store.info import read_info
from sould.agents.soul.timetravel.outcome import describe
from sould.agents.wire.content import TextPart, ThinkPart, UserInput, input_text
from sould.agents.wire.display import DiffBlock, Display
from sould.agents.wire.messages import (
    ApprovalResponse,
    CompactionEnd,
    ContextCleared,
    ContextReverted,
    FilesRestored,
    SteerInput,
    ToolCall,
    ToolCallDetail,
    ToolCallPart,
    ToolResult,
    ToolReturn,
    TurnBegin,
    TurnEnd,
    WireMessage,
)

EXCERPT = 40
"""Lines of a tool's output in Markdown."""


class Diff(Struct):
    """One file's change, as a unified diff."""

    path: str
    diff: str


class Item(Struct):
    """Something the model said or did. `kind`: text, thinking, steer, tool, note."""

    kind: str
    text: str = ""
    tool: str = ""
    arguments: str = ""
    status: str = ""
    output: str = ""
    diffs: list[Diff] = field(default_factory=list[Diff])

    def say(self, text: str) -> None:
        """More of the same."""
        self.text += text

    def extend(self, arguments: str) -> None:
        """More of a call's arguments."""
        self.arguments += arguments

    def entitle(self, title: str) -> None:
        """What a call is about, for people."""
        self.text = title

    def finish(self, value: ToolReturn) -> None:
        """What a call came to."""
        output: UserInput = value.output
        self.status = "failed" if value.is_error else "done"
        self.output = input_text(output) or value.message
        self.diffs = list(_diffs(value.display))


class ConversationTurn(Struct):
    """One prompt and what came of it. Times are wall seconds."""

    prompt: str
    began: float
    items: list[Item] = field(default_factory=list[Item])
    ended: float | None = None
    stop_reason: str = ""
    error: str = ""

    def end(self, message: TurnEnd, timestamp: float) -> None:
        """How it ended, and when."""
        self.ended, self.stop_reason = timestamp, message.stop_reason
        self.error = message.error.message if message.error else ""


def read_turns(journal: Path, *, until: str = "") -> list[ConversationTurn]:
    """The conversation in a journal, up to the turn with the id `until`."""
    reader = _Reader()
    for record in read_records(journal):
        message = record.message
        if isinstance(message, TurnBegin) and message.turn_id and message.turn_id == until:
            break
        if message is not None:
            reader.take(message, record.timestamp)
    return reader.turns


def as_json(journal: Path, *, until: str = "") -> dict[str, JsonValue | list[ConversationTurn]]:
    """The conversation for programs."""
    return {"format": "sould-conversation", "version": 1, "turns": read_turns(journal, until=until)}


def as_jsonl(journal: Path, *, until: str = "") -> str:
    """The conversation as messages, one a line, each with `role` and `content`, as many programs take them."""
    messages = (message for turn in read_turns(journal, until=until) for message in _messages(turn))
    return "".join(orjson.dumps(message).decode() + "\n" for message in messages)


def as_markdown(journal: Path, *, heading: bool, until: str = "") -> str:
    """The conversation for people."""
    blocks: list[str] = []
    turns = read_turns(journal, until=until)
    if heading and turns:
        info = read_info(journal.parent)
        when = datetime.fromtimestamp(turns[0].began, UTC)
        title = " ".join(info.title.split()) if info else ""
        blocks += [f"# {title or 'Session'}", f"*{when:%Y-%m-%d %H:%M} UTC*"]
    for turn in turns:
        blocks += ["## You", turn.prompt.strip() or "(nothing but attachments)", "## sould"]
        for item in turn.items:
            blocks += _item(item)
        if turn.error:
            blocks.append(f"*Ended with an error: {turn.error}*")
        elif turn.stop_reason not in ("finished", ""):
            blocks.append(f"*Ended: {turn.stop_reason.replace('_', ' ')}.*")
        elif turn.ended is None:
            blocks.append("*Still running, or cut off.*")
    return "\n\n".join(blocks) if blocks else "Nothing has been said yet."


def unified(path: str, old: str, new: str) -> str:
    """A unified diff of one file, without line ends."""
    return "\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), path, path, lineterm=""))


def _messages(turn: ConversationTurn) -> Iterator[dict[str, str]]:
    yield {"role": "user", "content": turn.prompt}
    for item in turn.items:
        match item.kind:
            case "text":
                yield {"role": "assistant", "content": item.text}
            case "steer":
                yield {"role": "user", "content": item.text}
            case "tool":
                yield {"role": "tool", "name": item.tool, "arguments": item.arguments, "content": item.output}
            case _:
                continue  # thoughts and notes are for people


class _Reader:
    """The fold over a journal's messages."""

    def __init__(self) -> None:
        self.turns: list[ConversationTurn] = []
        self._calls: dict[str, Item] = {}
        self._last_call: Item | None = None

    def take(self, message: WireMessage, timestamp: float) -> None:
        match message:
            case TurnBegin():
                self.turns.append(ConversationTurn(input_text(message.user_input), timestamp))
                self._calls.clear()
            case TurnEnd() if self.turns:
                self.turns[-1].end(message, timestamp)
            case _ if self.turns:
                self._within(self.turns[-1].items, message)
            case _:
                pass  # before the first turn there is only what the model needs

    def _within(self, items: list[Item], message: WireMessage) -> None:
        match message:
            case TextPart(text=text):
                _say(items, "text", text)
            case ThinkPart(think=text):
                _say(items, "thinking", text)
            case SteerInput(user_input=user_input):
                items.append(Item("steer", input_text(user_input)))
            case ApprovalResponse(response="approve" | "approve_for_session", feedback=words) if words:
                items.append(Item("steer", words))
            case ToolCall():
                self._last_call = Item("tool", tool=message.function.name, arguments=message.function.arguments or "")
                self._calls[message.id] = self._last_call
                items.append(self._last_call)
            case ToolCallPart():
                call = self._calls.get(message.tool_call_id or "", self._last_call)
                if call is not None:
                    call.extend(message.arguments_part or "")
            case ToolCallDetail() if message.tool_call_id in self._calls:
                self._calls[message.tool_call_id].entitle(message.title)
            case ToolResult() if message.tool_call_id in self._calls:
                self._calls[message.tool_call_id].finish(message.return_value)
            case CompactionEnd(failed=False):
                items.append(Item("note", "The context was compacted here."))
            case ContextCleared():
                items.append(Item("note", "The context was cleared here."))
            case ContextReverted():
                items.append(Item("note", "The context went back to an earlier point here."))
            case FilesRestored() if message.files:
                items.append(Item("note", describe(message)))
            case _:
                pass  # states and requests: their outcome is in the results


def _say(items: list[Item], kind: str, text: str) -> None:
    if items and items[-1].kind == kind:
        items[-1].say(text)
    elif text:
        items.append(Item(kind, text))


def _diffs(display: Display) -> Iterator[Diff]:
    for block in display:
        if isinstance(block, DiffBlock) and not block.is_summary:
            yield Diff(block.path, unified(block.path, block.old_text, block.new_text))


def _item(item: Item) -> list[str]:
    match item.kind:
        case "text":
            return [item.text.strip()]
        case "thinking":
            return ["\n".join(f"> {line}".rstrip() for line in item.text.strip().split("\n"))]
        case "steer":
            return ["**You, meanwhile:**", item.text.strip()]
        case "tool":
            return _tool(item)
        case _:
            return [f"*{item.text}*"]


def _tool(item: Item) -> list[str]:
    mark = {"done": "✓", "failed": "✗"}.get(item.status, "…")
    blocks = [f"**{mark} {item.text or item.tool}**"]
    if item.diffs:
        return blocks + [_fenced(diff.diff, "diff") for diff in item.diffs]
    if item.output.strip():
        lines = item.output.rstrip().split("\n")
        if len(lines) > EXCERPT:
            lines = [*lines[:EXCERPT], f"… {len(lines) - EXCERPT} more lines"]
        blocks.append(_fenced("\n".join(lines), ""))
    return blocks


def _fenced(text: str, language: str) -> str:
    """A code block whose fence is longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
