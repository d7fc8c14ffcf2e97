"""How `sould run` shows a turn: as text for people, one JSON object, or one JSON object a line.

Standard output gets the answer and nothing else; what the agent did goes to standard error. Input is the ACP updates
as they came from the daemon.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import click

from sould.daemon.cli.output import one_line, plural, visible
from sould.daemon.paths import quote

if TYPE_CHECKING:
    from pydantic import JsonValue

    from sould.daemon.cli.run.markdown import Blocks

Update: TypeAlias = "dict[str, JsonValue]"
Format: TypeAlias = Literal["text", "json", "stream-json"]
DIFF_LINES = 200
OUTPUT_LINES, OUTPUT_WIDTH = 10, 300
"""How much of a command's output is shown."""
NOTE_LINES = 24


class RunResult:
    """How a run ended. `text` is the last message; `error` one sentence, "" when it went well."""

    def __init__(self, exit_code: int = 0, error: str = "", kind: str = "") -> None:
        self.session_id = ""
        self.exit_code = exit_code
        self.stop_reason = ""
        self.text = ""
        self.error = error
        self.kind = kind
        self.usage: Update = {}
        self.duration_s = 0.0
        self.worktree: Update = {}
        """The `cwd` and `branch` of the session's own worktree; empty when it has none."""
        self.is_latest_here = False
        """`sould run -c` in this directory goes on with it."""

    def opened(self, session_id: str, cwd: str, worktree: Update) -> None:
        """The session in which it runs, and the directory that it was opened for."""
        self.session_id = session_id
        self.worktree = worktree
        self.is_latest_here = not worktree and os.path.realpath(cwd) == os.path.realpath(".")

    def closed(self) -> None:
        """There is no session to go on in."""
        self.session_id = ""

    def begin_message(self) -> None:
        """Another message follows; the last one counts."""
        self.text = ""

    def say(self, text: str) -> None:
        """The message goes on."""
        self.text += text

    def use(self, usage: Update) -> None:
        """What has been used by now."""
        self.usage = usage

    def stop(self, reason: str) -> None:
        """How the turn ended, in the protocol's word."""
        self.stop_reason = reason

    def end(self, code: int, error: str = "", kind: str = "") -> None:
        """With this exit code, and why where it did not go well."""
        self.exit_code, self.error, self.kind = code, error, kind

    def took(self, seconds: float) -> None:
        """How long it ran."""
        self.duration_s = seconds


class Renderer(Protocol):
    """Where a run's events go."""

    def session(self, result: RunResult) -> None:
        """The session is open."""
        ...

    def update(self, update: Update) -> None:
        """A `session/update`."""
        ...

    def permission(self, call: Update) -> None:
        """The agent asks whether this call may run, or something beside it; empty: beside no call.

        What a person is to read stays together: nothing else is shown until `answered`.
        """
        ...

    def answered(self) -> None:
        """The question is over."""
        ...

    def finish(self, result: RunResult) -> None:
        """The run is over."""
        ...


def renderer(form: Format) -> Renderer:
    """The renderer of a format."""
    return TextRenderer() if form == "text" else JsonRenderer(stream=form == "stream-json")


class JsonRenderer:
    """JSON for programs: every event on its own line, or only the last one."""

    def __init__(self, *, stream: bool) -> None:
        self._stream = stream

    def session(self, result: RunResult) -> None:
        """See `Renderer`."""
        self._event({"type": "session", "session_id": result.session_id, "worktree": result.worktree or None})

    def update(self, update: Update) -> None:
        """See `Renderer`."""
        self._event({"type": "update", "update": update})

    def permission(self, call: Update) -> None:
        """See `Renderer`."""
        self._event({"type": "permission", "tool_call": call})

    def answered(self) -> None:
        """See `Renderer`."""

    def finish(self, result: RunResult) -> None:
        """See `Renderer`."""
        line: Update = {
            "type": "result",
            "session_id": result.session_id,
            "exit_code": result.exit_code,
            "stop_reason": result.stop_reason or None,
            "text": result.text,
            "error": {"kind": result.kind, "message": result.error} if result.error else None,
            "usage": result.usage or None,
            "worktree": result.worktree or None,
            "duration_s": round(result.duration_s, 3),
        }
        _write(_json(line))

    def _event(self, event: Update) -> None:
        if self._stream:
            _write(_json(event))


def _markdown_blocks() -> "Blocks | None":
    """Of Markdown, where standard output is a terminal that can show more than plain text."""
    if not sys.stdout.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        return None
    from sould.daemon.cli.run.markdown import Blocks  # noqa: PLC0415 -- only where it is rendered

    return Blocks()


class TextRenderer:
    """The answer as it streams; tool lines and diffs beside it."""

    def __init__(self) -> None:
        self._calls: dict[str, Update] = {}
        self._shown: set[str] = set()
        self._markdown = _markdown_blocks()
        self._at_line_start = True
        self._between = False
        self._said = False
        self._both = _one_place()
        self._review = "sould review"
        self._held: Held | None = None
        """What happens while a question stands."""

    def session(self, result: RunResult) -> None:
        """See `Renderer`."""
        if result.worktree:
            self._review = f"cd {quote(str(result.worktree['cwd']))} && sould review"
            self._note(f"Working in {result.worktree['cwd']}", f"on the branch {result.worktree['branch']}")

    def update(self, update: Update) -> None:
        """See `Renderer`."""
        if self._held is not None:
            self._held.add(update)
        else:
            self._show(update)

    def _show(self, update: Update) -> None:
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                self._say(content_text(update.get("content")))
            case "tool_call" | "tool_call_update":
                self._tool(update)
            case "plan":
                self._plan(update)
            case "notice":
                description = self._review if "review" in _own(update) else f"{update.get('description') or ''}"
                self._note(f"{update.get('title')}", description)
            case "compaction_update":
                self._compaction(update)
            case _:
                pass  # thoughts, numbers and lists are for those who ask for them

    def permission(self, call: Update) -> None:
        """See `Renderer`."""
        self._end_block()
        if call:
            self._show_call(self._merged(call))
            self._show_diffs(call, again=True)
        self._fresh_line()
        self._held = Held()

    def answered(self) -> None:
        """See `Renderer`."""
        held, self._held = self._held, None
        for update in held.updates if held is not None else ():
            self._show(update)

    def finish(self, result: RunResult) -> None:
        """See `Renderer`."""
        self._end_block()
        if not self._at_line_start:
            _write("\n")
            self._at_line_start = True
        if result.error:
            self._line(click.style("sould: ", fg="red", bold=True) + visible(result.error))
        if result.session_id:
            latest = 'sould run -c "…", or later: ' if result.is_latest_here else ""
            self._line(click.style(f'continue: {latest}sould run --session {result.session_id} "…"', dim=True))

    def _say(self, text: str) -> None:
        if self._markdown is not None:
            text = self._markdown.take(visible(text))
        self._put(text)

    def _end_block(self) -> None:
        """What is said so far stands before what comes."""
        if self._markdown is not None:
            self._put(self._markdown.rest())

    def _put(self, text: str) -> None:
        if not text:
            return
        if self._markdown is not None:
            gap = "\n" if self._said and not self._between else ""
            text = gap + self._markdown.rendered(text)
        # where our lines go elsewhere, a blank one parts the texts
        if self._between and self._said and not self._both:
            _write("\n" if self._at_line_start else "\n\n")
        self._between, self._said = False, True
        _write(visible(text) if sys.stdout.isatty() and self._markdown is None else text)
        self._at_line_start = text.endswith("\n")

    def _tool(self, update: Update) -> None:
        call = self._merged(update)
        status = call.get("status")
        if status in ("in_progress", "completed", "failed"):
            self._show_call(call)
        if update.get("status") == "failed":
            self._line(f"  {click.style('✗', fg='red')} {one_line(_words(call), 200)}")
        if update.get("status") in ("completed", "failed"):
            self._show_output(call)
        if update.get("status") == "completed" and (shared := _shared(call)):
            self._line(f"  {one_line(shared, 200)}")
        if update.get("status") == "completed":
            self._show_diffs(call)

    def _merged(self, update: Update) -> Update:
        call = self._calls.setdefault(f"{update.get('toolCallId')}", {})
        call.update({key: value for key, value in update.items() if value is not None})
        return call

    def _show_call(self, call: Update) -> None:
        name = f"{call.get('toolCallId')}"
        if name not in self._shown:
            self._shown.add(name)
            self._line(f"{click.style('•', fg='cyan')} {visible(str(call.get('title') or 'tool'))}")

    def _show_output(self, call: Update) -> None:
        """The end of what a command printed: that is where it says how it went."""
        lines = _printed(call).rstrip().split("\n")
        if len(lines) > OUTPUT_LINES:
            self._line(click.style(f"    … {plural(len(lines) - OUTPUT_LINES, 'line')} before", dim=True))
        for line in lines[-OUTPUT_LINES:]:
            if line:
                self._line(click.style(f"    {visible(line)[:OUTPUT_WIDTH]}", dim=True))

    def _show_diffs(self, call: Update, *, again: bool = False) -> None:
        """Once for each call, when it is done; and `again` whenever it is asked about."""
        name = f"diffs of {call.get('toolCallId')}"
        lines = _ends(diffs(call))
        if lines and (again or name not in self._shown):
            self._shown.add(name)
            for line in lines:
                self._line("  " + _coloured(line))

    def _plan(self, update: Update) -> None:
        entries = update.get("entries")
        marks = {"completed": "✓", "in_progress": "▸"}
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, dict):
                mark = marks.get(str(entry.get("status")), "·")
                self._line(f"  {mark} {one_line(str(entry.get('content')), 120)}")

    def _compaction(self, update: Update) -> None:
        """That the conversation is shorter from here on, or could not be made so."""
        if update.get("status") == "completed":
            own = _own(update)
            sizes = f"from {own.get('tokens_before')} to {own.get('tokens_after')} tokens"
            self._note("The conversation was compacted", f"{sizes}. {own.get('note') or ''}".strip())
        elif update.get("status") == "failed":
            self._note("The conversation could not be compacted", f"{update.get('error') or ''}")

    def _note(self, title: str, description: str) -> None:
        """What it says in several lines is a list, and stays one."""
        lines = description.splitlines() if "\n" in description else []
        head = one_line(": ".join(filter(None, (title, "" if lines else description))), 300)
        self._line(click.style(f"! {head}{':' if lines else ''}", fg="yellow"))
        for line in lines[:NOTE_LINES]:
            self._line(click.style(f"    {one_line(line, 300)}", fg="yellow"))

    def _fresh_line(self) -> None:
        if self._both and not self._at_line_start:
            _write("\n")
            self._at_line_start = True

    def _line(self, text: str) -> None:
        self._end_block()
        self._fresh_line()
        self._between = True
        click.echo(text, err=True)


def _shared(call: Update) -> str:
    """What of the user's editor the agent was told; "" where it was not about that."""
    output = call.get("rawOutput")
    return str(output.get("shared") or "") if isinstance(output, dict) else ""


def _one_place() -> bool:
    """Whether answer and tool lines go to the same place: a terminal, a file, a pipe."""
    try:
        return os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    except OSError:  # closed, or none of the system's
        return False


class Held:
    """Updates in the order in which they came: text goes on with text, and of a call the newest is what counts."""

    def __init__(self) -> None:
        self.updates: list[Update] = []
        self._calls: dict[str, Update] = {}

    def add(self, update: Update) -> None:
        """One more."""
        last = self.updates[-1] if self.updates else {}
        if "toolCallId" in update:
            known = self._calls.get(f"{update['toolCallId']}")
            if known is not None:
                known.update({key: value for key, value in update.items() if value is not None})
                return
            update = self._calls[f"{update['toolCallId']}"] = dict(update)
        elif _is_text(update) and all(update.get(key) == last.get(key) for key in ("sessionUpdate", "messageId")):
            text = content_text(last.get("content")) + content_text(update.get("content"))
            self.updates[-1] = {**update, "content": {"type": "text", "text": text}}
            return
        self.updates.append(update)


def _is_text(update: Update) -> bool:
    return bool(content_text(update.get("content")))


def _ends(lines: list[str]) -> Sequence[str]:
    """As many as are shown, the first and the last."""
    if len(lines) <= DIFF_LINES:
        return lines
    from sould.agents.permissions.visible import both_ends  # noqa: PLC0415 -- as in `diffs`

    return both_ends(lines, DIFF_LINES)


def diffs(call: Update) -> list[str]:
    """All that a call would change, as lines that are safe to be shown."""
    blocks = [block for block in _blocks(call) if block.get("type") == "diff"]
    if not blocks:
        return []
    from sould.agents.permissions.visible import diff_lines  # noqa: PLC0415 -- a run that edits nothing starts without it

    return [
        line
        for block in blocks
        for line in diff_lines(f"{block.get('path')}", f"{block.get('oldText') or ''}", f"{block.get('newText') or ''}")
    ]


def content_text(content: "JsonValue") -> str:
    """The text of a content block, "" for other kinds."""
    text = content.get("text") if isinstance(content, dict) and content.get("type") == "text" else None
    return text if isinstance(text, str) else ""


def _blocks(call: Update) -> list[Update]:
    content = call.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _words(call: Update) -> str:
    """What a failed call says; of a command how it ended, because what it printed is shown below."""
    output = call.get("rawOutput")
    message = output.get("message") if isinstance(output, dict) else output
    if call.get("kind") == "execute" and isinstance(message, str) and message:
        return message
    texts = [content_text(block.get("content")) for block in _blocks(call)]
    return " ".join(filter(None, texts)) or (message if isinstance(message, str) else "failed")


def _printed(call: Update) -> str:
    """What a command printed, or what became of restored files; "" for other cards."""
    if _restored(call):
        return "\n".join(content_text(block.get("content")) for block in _blocks(call))
    output = call.get("rawOutput")
    text = output.get("output") if isinstance(output, dict) and call.get("kind") == "execute" else None
    return text if isinstance(text, str) else ""


def _restored(call: Update) -> bool:
    return "files" in _own(call)


def _own(update: Update) -> "Mapping[str, JsonValue]":
    """What sould says in an update beyond the protocol."""
    meta = update.get("_meta")
    ours = meta.get("sould") if isinstance(meta, dict) else None
    return ours if isinstance(ours, dict) else {}


def _coloured(line: str) -> str:
    if line.startswith(("+++", "---")):
        return click.style(line, bold=True)
    colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return click.style(line, fg=colour) if colour else line


def _json(event: Update) -> str:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n"


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
