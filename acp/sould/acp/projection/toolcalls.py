"""Tool calls as ACP shows them: what is known of each call, and the fields that say so. Pure.

A call is announced when the model opens it, described when its arguments are whole, and ended by its result. Sizes are
bounded here, because many clients read lines of at most a mebibyte.
"""

import os
import re
from collections.abc import Iterable
from typing import Any, assert_never, cast

import orjson
from msgspec import Struct, field

from sould.acp.content import block, fits, text_block
from sould.acp.features import Features
from sould.acp.outbound import Json, Location, ToolFields, ToolStatus
from sould.acp.projection.titles import first_title, title
from sould.agents.base.text import subagent_of
from sould.agents.base.yaml_text import readable
from sould.agents.files.review.difference import edits_between
from sould.agents.files.review.lines import split
from sould.agents.permissions.outputs import output_images, output_text
from sould.agents.permissions.scopes import Offered
from sould.agents.permissions.visible import checksum, file_name, visible
from sould.agents.wire.content import ContentPart
from sould.agents.wire.display import (
    CHANGED,
    BackgroundTaskBlock,
    BriefBlock,
    DiffBlock,
    DisplayBlock,
    ShellBlock,
    TodoBlock,
    UnknownBlock,
)
from sould.agents.wire.messages import ApprovalRequest, CallPreview, ToolCall, ToolCallDetail, ToolKind, ToolReturn

MAX_TEXT = 20_000
"""Characters of one text in a tool call's fields."""
CLEAR = "\x1b[H\x1b[2J\x1b[3J"
"""Empties a display terminal."""
TAIL = 4096
"""Characters of running output shown by clients without display terminals."""

_CODE = re.compile(r"(?<!`)`[^`]+`(?!`)")
_LONG_FENCE = re.compile(r"`{3,}")
_MARKUP = re.compile(r"[`<>*\[\]|~#&\\]|__")
_FENCED: frozenset[ToolKind] = frozenset({"read", "search", "execute"})
_CHANGING: frozenset[ToolKind] = frozenset({"edit", "delete", "move"})
"""What they did is what they have to say."""


class Call(Struct):
    """What is known of a call. `name`: its tool's, if it is one. `terminal`: its output goes to a display terminal."""

    id: str
    name: str
    cwd: str
    terminal: bool = False
    edits: bool = False
    """Its diffs say which lines they change."""
    granted: bool = False
    """The terminal came with a command; what was shown before stays beside it."""
    title: str = ""
    kind: ToolKind = "other"
    status: ToolStatus = "pending"
    fragments: list[str] = field(default_factory=list[str])
    arguments: Json | None = None
    known: bool = False
    """What it does is known: its arguments are whole, or it runs."""
    locations: list[Location] = field(default_factory=list[Location])
    content: list[Json] = field(default_factory=list[Json])
    tail: str = ""
    """The end of what it has printed so far."""
    parent: str | None = None
    after: str = ""
    """The call that has to end before this one begins."""
    late: bool = False
    """The client came, or came back, in its middle: of what was printed before nothing is kept until it ends."""

    @classmethod
    def opened(cls, call: ToolCall, cwd: str, features: Features, *, parent: str | None) -> "Call":
        """The call as the model opened it."""
        preview = call.preview or CallPreview()
        return cls(
            id=call.id,
            name=call.function.name,
            cwd=cwd,
            terminal=features.terminals and preview.command,
            edits=features.edits,
            title=title(preview.title) or first_title(call.function.name),
            kind=preview.kind,
            fragments=[call.function.arguments] if call.function.arguments else [],
            parent=parent,
        )

    def begin(self) -> None:
        """It runs, or its user is asked about it: more will not be known of it."""
        self.known = True

    def miss(self) -> None:
        """What it has printed was not sent."""
        self.late = True

    def announcement(self) -> ToolFields:
        """Everything known, as `tool_call`."""
        fields = self.described()
        fields["sessionUpdate"] = "tool_call"
        meta: Json = {}
        if self.terminal:
            meta["terminal_info"] = {"terminal_id": self.id, "cwd": self.cwd}
        if self.parent:
            meta["sould"] = {"parentToolCallId": self.parent}
        if meta:
            fields["_meta"] = meta
        return fields

    def described(self) -> ToolFields:
        """Everything known; complete enough to stand alone in a permission request."""
        fields = ToolFields(toolCallId=self.id, title=self.title, kind=self.kind, status=self.status)
        if self.name:
            fields["name"] = self.name
        if self.terminal:
            fields["content"] = [*self.content, self._terminal()] if self.granted else [self._terminal()]
        elif self.content:
            fields["content"] = self.content
        if self.locations:
            fields["locations"] = self.locations
        raw = self.raw_input()
        if raw is not None:
            fields["rawInput"] = raw
        return fields

    def describe(self, detail: ToolCallDetail, *, waits: bool) -> ToolFields:
        """Take in what the call will do; the update that says it. `waits`: see `learn`."""
        self.learn(detail, waits=waits)
        fields = self.described()
        fields["sessionUpdate"] = "tool_call_update"
        return fields

    def learn(self, detail: ToolCallDetail, *, waits: bool) -> None:
        """Take in what the call will do. `waits`: the call before it has not ended."""
        said = detail.title != self.name and title(detail.title)
        self.title, self.known = said or self.title, True
        self.kind = detail.kind
        self.cwd = detail.cwd or self.cwd
        self.arguments = detail.arguments
        self.after = detail.after
        self.status = "pending" if waits else "in_progress"
        self.locations = [_location(place.path, place.line) for place in detail.locations]
        self.content = contents(detail.display, self.cwd, edits=self.edits)
        self.terminal = self.terminal and self.kind == "execute"

    def runs_command(self) -> list[ToolFields]:
        """A command of the call was started: one of kind `execute` has a display terminal from here on.

        It is announced once more, because there are editors that make a terminal only where a call is announced.
        """
        if self.terminal or self.kind != "execute":
            return []
        self.terminal = self.granted = True
        before, self.tail = self.tail, ""
        return [self.announcement(), *([self.printed(before)] if before else [])]

    def show(self, content: list[Json]) -> None:
        """There is this to be seen of it; nothing: what there was stays."""
        self.content = content or self.content

    def now(self, status: ToolStatus) -> ToolFields:
        """The call's state changes, said with what the card has: there are editors that keep no more than the last update."""
        self.status = status
        fields = self._update()
        fields["status"] = status
        if self.content and not self.terminal:
            fields["content"] = self.content
        return fields

    def _update(self) -> ToolFields:
        """An update with the call's title: it may come when the client has forgotten the card."""
        return ToolFields(sessionUpdate="tool_call_update", toolCallId=self.id, title=self.title)

    def raw_input(self) -> Json | None:
        """The arguments, long texts cut."""
        if self.arguments is None and self.fragments:
            self.arguments = _parsed("".join(self.fragments))
        return cast("Json", shortened(self.arguments)) if self.arguments is not None else None

    def points(self, path: str, line: int) -> ToolFields:
        """It is at this place now."""
        self.locations = [_location(path, line)]
        fields = self._update()
        fields["locations"] = self.locations
        return fields

    def printed(self, text: str) -> ToolFields:
        """More output: appended to the terminal, or the end of it all as content."""
        fields = self._update()
        seen = self.tail + text
        self.tail = seen[-TAIL:]
        if self.terminal:
            fields["_meta"] = {"terminal_output": {"terminal_id": self.id, "data": text}}
        else:
            shown = self.tail if len(seen) <= TAIL else f"…{self.tail}"
            fields["content"] = [*self.content, text_content(fenced(shown))]
        return fields

    def printed_again(self) -> ToolFields:
        """The end of what it has printed, for somebody who has not seen it."""
        seen, self.tail = self.tail, ""
        self.miss()
        return self.printed(seen)

    def ended(self, result: ToolReturn) -> list[ToolFields]:
        """The result, as one update or two."""
        self.status = "failed" if result.is_error else "completed"
        fields = self._update()
        fields["status"] = self.status
        content = result_content(result, self.kind, self.cwd, edits=self.edits)
        fields["rawOutput"] = raw_output(result)
        if changed := changed_places(result, self.cwd):
            fields["locations"] = changed
        if not self.terminal:
            if content or self.tail:
                fields["content"] = content or [*self.content, text_content(fenced(self.tail))]
            return [fields]
        updates: list[ToolFields] = []
        said = plain(result.output)
        words = said or _brief(result) or result.message
        if not self.tail and words:
            updates.append(self.printed(cut(words)))
        elif self.late and said:
            updates.append(self.printed(CLEAR + cut(said)))
        beside = [item for item in content if item["type"] == "diff" or words.strip()[-TAIL // 4 :] not in self.tail]
        if not self.granted:
            beside = [item for item in beside if item["type"] == "diff"]
        if beside:
            fields["content"] = [self._terminal(), *beside]  # the tool's own, beside what its command printed
        fields["_meta"] = {"terminal_exit": {"terminal_id": self.id, **exit_status(result)}}
        return [*updates, fields]

    def at_once(self, result: ToolReturn) -> ToolFields:
        """The whole call, which has no terminal, with its result: as it is announced to somebody who sees it later."""
        (ended,) = self.ended(result)
        fields = self.announcement()
        fields.update(ended)
        fields["sessionUpdate"] = "tool_call"
        return fields

    def _terminal(self) -> Json:
        return {"type": "terminal", "terminalId": self.id}


def permission_call(call: Call, request: ApprovalRequest, scopes: Iterable[Offered] = ()) -> ToolFields:
    """The `toolCall` of a permission request: everything the user needs to decide, even if nothing was announced before.

    `scopes`: how far they may allow it.

    Diffs and commands come first: there are editors that show nothing but the first piece of content.
    """
    fields = call.described()
    fields["status"] = "pending"
    shown = contents(request.display, call.cwd, edits=call.edits) or call.content
    content = _held(request.id, request.held.result) if request.held else shown
    told = request.description == call.title or (content and title(request.description) == call.title)
    if request.description and not told:
        content = [text_content(_as_written(request.description)), *content]
    for each in scopes:
        if each.scope != "session_also_changed" and each.remembers and request.scope_button:
            covers = verbatim(f"{each.label}: {each.remembers}".replace("\n", " ⏎ "))
            content = [*content, text_content(covers)]
    if request.subagent_type:
        content = [text_content(_who_asks(request)), *content]
    if content:
        commands = contents((each for each in request.display if isinstance(each, ShellBlock)), call.cwd)
        fields["content"] = sorted(content, key=lambda item: item["type"] != "diff" and item not in commands)
    return fields


def _held(request_id: str, result: ToolReturn) -> list[Json]:
    """What a call brought, as it is: never as Markdown, in which it could load pictures or hide words."""
    text = output_text(result)
    pictures = [_output(part, fence=False) for part in output_images(result)]
    more = f"`sould approve {request_id[:8]} --show` shows all of it at a terminal."
    return [
        text_content(fenced(cut(text), whole=True)),
        *([text_content(more)] if len(text) > MAX_TEXT else []),
        *pictures,
    ]


def _as_written(description: str) -> str:
    """For editors, which show Markdown; what is indented or has blank lines means another thing without them."""
    lines = description.split("\n")
    if any(not line or line[0].isspace() for line in lines):
        return fenced(description, whole=True)
    return "\n\n".join(map(verbatim, lines))


def _who_asks(request: ApprovalRequest) -> str:
    """The subagent whose call it is."""
    where = " in the background" if request.source_kind == "background_agent" else ""
    task = f": {request.source_description}" if request.source_description else ""
    return f"The {subagent_of(request.subagent_type or '', request.subagent_chain)} asks{where}{task}"


def contents(display: Iterable[DisplayBlock], cwd: str, *, edits: bool = False) -> list[Json]:
    """Display blocks as tool content; those that are shown elsewhere give none. `edits`: diffs say which lines they change."""
    found = [_content(item, cwd, edits=edits) for item in display]
    return [item for item in found if item is not None]


def result_content(result: ToolReturn, kind: ToolKind, cwd: str, *, edits: bool) -> list[Json]:
    """What a person sees of a result: its diffs, else its output below the line that says what it is, else that line."""
    diffs = contents((item for item in result.display if isinstance(item, DiffBlock)), cwd, edits=edits)
    if result.is_error:
        said = plain(result.output) or _brief(result) or result.message
        return [*([text_content(cut(said))] if said else []), *diffs]
    shown = contents((item for item in result.display if not isinstance(item, BriefBlock | DiffBlock)), cwd)
    if shown or (diffs and (kind in _CHANGING or not result.output)):
        return [*shown, *diffs]
    parts = (result.output,) if isinstance(result.output, str) else result.output
    output = [_output(part, fence=kind in _FENCED) for part in parts if part != ""]
    if not output:
        return contents(result.display, cwd, edits=edits)
    return [*contents((item for item in result.display if isinstance(item, BriefBlock)), cwd), *output, *diffs]


def changed_places(result: ToolReturn, cwd: str) -> list[Location]:
    """The files that a call changed, each with the first line that is another one now."""
    places: dict[str, Location] = {}
    for item in result.display:
        if isinstance(item, DiffBlock):
            path = os.path.join(cwd, item.path)
            places[path] = _location(path, None if item.is_summary else first_changed(item.old_text, item.new_text))
    changed = (result.extras or {}).get(CHANGED)
    for path in changed if isinstance(changed, list) else []:
        places.setdefault(str(path), _location(str(path), None))
    return [*places.values()]


def first_changed(old: str, new: str) -> int:
    """The number of the first line that is not the same, from 1; the last one of a text whose end was cut off."""
    same, beyond = 0, min(len(old), len(new)) + 1
    while beyond - same > 1:  # comparing pieces costs a thousandth of comparing characters
        middle = (same + beyond) // 2
        same, beyond = (middle, beyond) if old[same:middle] == new[same:middle] else (same, middle)
    return min(new.count("\n", 0, same), max(0, len(new.splitlines()) - 1)) + 1


def _brief(result: ToolReturn) -> str:
    """What a result is in the words of people, where it says that; its message is the model's."""
    return "\n".join(item.text for item in result.display if isinstance(item, BriefBlock)) if result.is_error else ""


def raw_output(result: ToolReturn) -> Json:
    """The result for programs."""
    raw: Json = {"output": cut(plain(result.output))}
    if result.message:
        raw["message"] = cut(result.message)
    for key, value in (result.extras or {}).items():
        raw.setdefault(key, shortened(value))
    return raw


def exit_status(result: ToolReturn) -> Json:
    """How a command ended, where the tool says it."""
    extras = result.extras or {}
    code, signal = extras.get("exit_code"), extras.get("signal")
    if code is None and signal is None and not result.is_error:
        code = 0  # what failed may never have run
    return {
        "exit_code": code if isinstance(code, int) else None,
        "signal": str(signal) if signal is not None else None,
    }


def plain(output: str | tuple[ContentPart, ...]) -> str:
    """The text of an output, media named."""
    if isinstance(output, str):
        return output
    blocks = (block(part) for part in output)
    return "\n".join(cast("str", each["text"]) if each["type"] == "text" else f"[{each['type']}]" for each in blocks)


def cut(text: str) -> str:
    """The beginning and end of a long text."""
    if len(text) <= MAX_TEXT:
        return text
    half = MAX_TEXT // 2
    return f"{text[:half]}\n… {len(text) - MAX_TEXT} characters left out …\n{text[-half:]}"


def shortened(value: Any) -> Any:
    """JSON with every long text cut."""
    if isinstance(value, str):
        return cut(value)
    if isinstance(value, dict):
        return {key: shortened(item) for key, item in cast("Json", value).items()}
    if isinstance(value, list | tuple):
        return [shortened(item) for item in cast("list[Any]", value)]
    return value


def fenced(text: str, *, whole: bool = False) -> str:
    """Text that a Markdown renderer shows as it is; `whole`: with the blank lines at its end."""
    longest = max(map(len, _LONG_FENCE.findall(text))) if "```" in text else 2
    fence = "`" * (longest + 1)
    return f"{fence}\n{text if whole else text.rstrip()}\n{fence}"


def verbatim(line: str) -> str:
    """A line of words that a Markdown renderer shows whole: as code, when anything beside its own code could be markup."""
    if _MARKUP.search(_CODE.sub("", line)) is None:
        return line
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    return f"{fence} {line} {fence}"


def _content(item: DisplayBlock, cwd: str, *, edits: bool) -> Json | None:
    match item:
        case DiffBlock():
            return _diff(item, cwd, edits=edits)
        case BriefBlock():
            return text_content(item.text)
        case BackgroundTaskBlock():
            return text_content(f"{item.description} ({item.kind} {item.task_id}: {item.status})")
        case ShellBlock():
            return text_content(fenced(item.command, whole=True))
        case TodoBlock() | UnknownBlock():
            return None
    assert_never(item)


def _diff(diff: DiffBlock, cwd: str, *, edits: bool) -> Json:
    path = os.path.join(cwd, diff.path)
    name = visible(file_name(path))
    if diff.is_summary:
        return text_content(f"{name}: {diff.new_text or 'changed'}")
    if not fits(diff.old_text, diff.new_text):
        lines = diff.new_text.count("\n") - diff.old_text.count("\n")
        return text_content(f"{name}: changed ({lines:+} lines; too large to show; {checksum(diff.new_text)})")
    shown = {"type": "diff", "path": path, "oldText": None if diff.is_new else diff.old_text, "newText": diff.new_text}
    return {**shown, "_meta": {"sould": {"edits": _edits(diff)}}} if edits else shown


def _edits(diff: DiffBlock) -> list[tuple[int, int, int, int]]:
    """Which lines of the old text became which of the new one, as the review has it."""
    found: list[tuple[int, int, int, int]] = []
    shift = 0
    for edit in edits_between(split(diff.old_text), split(diff.new_text)):
        start = edit.start + shift
        found.append((edit.start, edit.stop, start, start + len(edit.lines)))
        shift += len(edit.lines) - (edit.stop - edit.start)
    return found


def _output(part: str | ContentPart, *, fence: bool) -> Json:
    shown = text_block(part) if isinstance(part, str) else block(part)
    if shown["type"] == "text":
        given = cut(cast("str", shown["text"]))
        text = given if fence else readable(given)
        shown = text_block(fenced(text) if fence or text is not given else text)
    return {"type": "content", "content": shown}


def text_content(text: str) -> Json:
    """Words, in a card."""
    return {"type": "content", "content": text_block(text)}


def _location(path: str, line: int | None) -> Location:
    return Location(path=path, line=line) if line is not None else Location(path=path)


def _parsed(arguments: str) -> Json | None:
    try:
        value = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return None
    return cast("Json", value) if isinstance(value, dict) else None
