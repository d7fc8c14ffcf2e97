"""ReadFile: a window of numbered lines, as the user sees the file; images are for ReadMediaFile."""

import asyncio
import shlex
from typing import ClassVar

from msgspec import Struct
from pydantic import Field, JsonValue, field_validator

from sould.agents.base.text import plural
from sould.agents.base.textencoding import UTF_8
from sould.agents.base.workspace import NotTextError, ResolvedPath, TextFile
from sould.agents.llm.pictures import HEAD, read_head
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, ToolParams, failure, tool_error, tool_ok
from sould.agents.toolapi.toolset import Toolset
from sould.agents.wire.messages import Location, ToolKind, ToolReturn

MAX_LINES = 1000
MAX_LINE = 2000
MAX_BYTES = 100 * 1024
CUT = " [...]"
MEDIA = "ReadMediaFile"
AT_ONCE = 128 * 1024
"""Characters that are cut in less time than it takes to have a thread do it."""


class Params(ToolParams):
    """What to read."""

    path: str = Field(min_length=1, description="The file, relative to the working directory or absolute.")
    line_offset: int = Field(
        default=1, ge=-MAX_LINES, description="First line, counted from 1; a negative number counts from the end."
    )
    n_lines: int = Field(default=MAX_LINES, ge=1, le=MAX_LINES, description="How many lines.")

    @field_validator("line_offset")
    @classmethod
    def _not_zero(cls, value: int) -> int:
        if value == 0:
            raise ValueError("lines are counted from 1; use 1 for the first line or a negative number for the end")
        return value


class ReadFile(Tool[Params]):
    """Show part of a text file to the model."""

    name = "ReadFile"
    title = "Read a file"
    kind: ClassVar[ToolKind] = "read"
    example: ClassVar[dict[str, JsonValue]] = {"path": "src/main.py", "line_offset": 1, "n_lines": 200}
    params = Params

    def __init__(self, files: CallFiles, toolset: Toolset) -> None:
        self._files = files
        self._toolset = toolset

    def view(self, params: Params) -> CallView:
        """`Read src/a.py`."""
        title, locations = self._files.paths.named(params.path)
        if params.line_offset > 1:
            locations = tuple(Location(path=place.path, line=params.line_offset) for place in locations)
        return CallView(title=f"Read {title}", locations=locations)

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        """Ask when the rules say so, then read."""
        path = self._files.paths.meant(params.path)
        try:
            file = await self._files.read_text(path)
        except NotTextError as error:
            return await self._as_media(path) or failure(error)
        cut = (file.text, params.line_offset, params.n_lines)
        window = cut_window(*cut) if len(file.text) <= AT_ONCE else await asyncio.to_thread(cut_window, *cut)
        name = self._files.paths.shown(path.path)
        unsaved = " This is the editor's text with unsaved changes; the file on disk differs." if file.unsaved else ""
        if not window.count and window.total:
            return tool_error(
                f"{name} has only {plural(window.total, 'line')}.{unsaved}", brief="Past the end of the file"
            )
        return tool_ok(window.text, message=f"{window.summary(name)}{_encoding(file)}{unsaved}")

    async def _as_media(self, path: ResolvedPath) -> ToolReturn | None:
        """What to do about an image or video instead; None when it is none."""
        data = await self._files.read_bytes(path, HEAD)
        if data.startswith(b"%PDF-"):
            name = self._files.paths.shown(path.path)
            return tool_error(
                f"{name} is a PDF document: take its text with a command, such as `pdftotext -layout {shlex.quote(name)} -`.",
                brief="It is a PDF document",
            )
        head = read_head(data)
        if head is None:
            return None
        offered = self._toolset.find(MEDIA) is not None
        advice = f"look at it with {MEDIA}" if offered else "which you cannot see here; say so to the user"
        kind = "a video" if head.kind == "video" else "an image"
        return tool_error(
            f"{self._files.paths.shown(path.path)} is {kind} ({head.mime}): {advice}.", brief=f"It is {kind}"
        )


def _encoding(file: TextFile) -> str:
    """A sentence about what is not in UTF-8."""
    encoding = file.encoding
    if encoding == UTF_8:
        return ""
    if encoding.certain:
        return f" It is in {encoding.name}; edits keep that."
    return (
        f" It is not in UTF-8, and has too little beyond ASCII to tell its encoding: it was read as {encoding.name}, which is likely. "
        f"Edits keep all other bytes, and can add ASCII only. If these characters are wrong, ask the user for the encoding, and look "
        f"at it with `iconv -f ENCODING -t UTF-8`."
    )


class Window(Struct, frozen=True):
    """Numbered lines of a file; `first` counts from 1."""

    text: str
    first: int
    count: int
    total: int
    full: bool
    """It ended at the size limit, not at the number of lines asked for."""
    cut: int
    """Lines that were too long and cut."""
    crlf: bool

    def summary(self, name: str) -> str:
        """What the model should know about the window."""
        if not self.total:
            return f"{name} is empty."
        last = self.first + self.count - 1
        said = [f"Lines {self.first}-{last} of {self.total} in {name}."]
        if self.full:
            said.append(f"Stopped at {MAX_BYTES // 1024} KB; go on with line_offset={last + 1}.")
        if self.cut:
            said.append(f"{plural(self.cut, 'line')} longer than {MAX_LINE} characters: cut.")
        if self.crlf:
            said.append("Line ends are CRLF; edits keep them.")
        return " ".join(said)


def cut_window(text: str, offset: int, count: int) -> Window:
    """At most `count` lines from line `offset` (negative: from the end), within the limits of size and line length."""
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[-1] == "":
        lines.pop()
    start = offset - 1 if offset > 0 else max(0, len(lines) + offset)
    shown_lines: list[str] = []
    size = cut = 0
    full = False
    for number, line in enumerate(lines[start : start + count], start + 1):
        body = line.removesuffix("\r")
        if len(body) > MAX_LINE:
            body = body[: MAX_LINE - len(CUT)] + CUT
            cut += 1
        row = f"{number:6d}\t{body}\n"
        size += len(row) if row.isascii() else len(row.encode(errors="replace"))
        if size > MAX_BYTES:
            full = True
            break
        shown_lines.append(row)
    return Window("".join(shown_lines), start + 1, len(shown_lines), len(lines), full, cut, "\r\n" in text)
