"""What one client says of the files it has open (`_sould/review/report`), taken in the order in which it was said.

The texts are kept here, as the client's positions mean them; the projects know which files are open, and what is unsaved.
"""

import asyncio
import os
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from sould.agents.base.diskfile import read_file
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.base.lsp import Position, PositionEncoding
from sould.agents.base.textencoding import may_be_shown_as
from sould.agents.base.workspace import WorkspaceError
from sould.agents.clients.review.projects import FollowedProject, OpenProjects
from sould.agents.clients.review.reported import (
    BufferEdits,
    ReportedFile,
    ReportedTexts,
    TextBuffer,
)
from sould.agents.files.projects.port import no_commands

ReportOutcome: TypeAlias = Literal["taken", "outdated", "needsText", "tooLarge"]
"""`needsText`: the text that ranges are relative to is not known; `tooLarge`: it is not kept. The file counts as unsaved."""

LONGEST_TEXT: Final = 8_000_000
"""Characters of one file."""
MOST_TEXT: Final = 32_000_000
"""Of all files of a client."""
MOST_FILES: Final = 1_000


class BufferChange(Struct, frozen=True):
    """`text` is what stands between `start` and `stop` now, whichever comes first; without them, it is the whole text."""

    text: str
    start: Position | None = None
    stop: Position | None = None


class Report(Struct, frozen=True):
    """What a client says of a file it has open, or, of `focus`, of a project: see `ReportParams`."""

    event: Literal["open", "change", "save", "focus", "close"]
    version: int | None = None
    text: str | None = None
    changes: tuple[BufferChange, ...] = ()
    unsaved: bool | None = None
    compared: bool = False
    """The client does not know whether the file is unsaved: it is when the disk holds another text."""
    lost: bool = False
    """What the client said of its text was not understood: it is not known until it is said as a whole."""


class _OpenFile(Struct, frozen=True):
    project: FollowedProject
    file: ReportedFile


class Reports:
    """Of one client, whose buffers are `ReportedFiles`."""

    def __init__(
        self, projects: OpenProjects, edits: BufferEdits | None, name: str, encoding: PositionEncoding = "utf-16"
    ) -> None:
        """`edits`, `name`: see `ReportedTexts`; `encoding`: of the client's positions."""
        self._projects = projects
        disk = LocalWorkspace(Path("/"), (), no_commands)
        self._workspace = ReportedTexts(disk, self, edits, name)
        self._name = name
        self._encoding: PositionEncoding = encoding
        self._news = asyncio.Event()
        """Set, and replaced, with every report."""
        self._open: dict[Path, _OpenFile] = {}
        self._resolved: dict[str, Path] = {}
        """The paths of open files as the client writes them."""
        self._one = asyncio.Lock()
        """Fair: what was said first is taken first."""

    async def take(self, report: Report, named: Path) -> ReportOutcome:
        """Take one report about a file, or, of `focus`, of a project's directory."""
        async with self._one:
            path = self._resolved.get(str(named)) or Path(await asyncio.to_thread(os.path.realpath, named))
            if report.event == "focus":
                return await self._focused(path)
            if report.event == "close":
                return self._closed(path)
            if path not in self._open:
                if len(self._open) >= MOST_FILES:
                    return "tooLarge"
                self._open[path] = _OpenFile(await self._projects.hold(path), ReportedFile(0, dirty=False))
                self._resolved[str(named)] = path
            return await self._changed(path, report)

    async def all_taken(self) -> None:
        """What was said by now is taken when this returns."""
        async with self._one:
            pass

    def reported(self, path: Path) -> ReportedFile | None:
        """See `ReportedFiles`."""
        known = self._open.get(path)
        return known.file if known is not None else None

    def wrote(self, path: Path, text: str, version: int, *, saved: bool) -> None:
        """See `ReportedFiles`."""
        if path in self._open:
            self._put(path, ReportedFile(version, not saved, TextBuffer(text, self._encoding)), saved=saved)

    async def reported_after(self, path: Path, version: int) -> ReportedFile | None:
        """The file as the client says it is in a later version, None: it has closed it. Waits for that."""
        while (file := self.reported(path)) is not None and file.version <= version:
            await self._news.wait()
        return file

    async def _focused(self, path: Path) -> ReportOutcome:
        async with self._projects.of(path) as project:
            project.port.documents.focus()
        return "taken"

    def _closed(self, path: Path) -> ReportOutcome:
        known = self._open.pop(path, None)
        if known is not None:
            self._resolved = {given: each for given, each in self._resolved.items() if each != path}
            known.project.port.documents.close(path)
            known.project.end_use()
        self._tell()
        return "taken"

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def _changed(self, path: Path, report: Report) -> ReportOutcome:
        """After `open`, `change` or `save`."""
        before = self._open[path].file
        version = before.version if report.version is None else report.version
        if report.event != "open" and version < before.version:
            return "outdated"
        buffer, outcome = self._text(path, report, before)
        dirty = report.event == "change" or (outcome != "taken" and report.event != "save")
        if report.unsaved is not None and report.event != "save":
            dirty = report.unsaved
        elif report.event == "open" or report.compared:
            text = buffer.text if buffer is not None else report.text
            dirty = not await asyncio.to_thread(is_on_disk, path, text) if text is not None else dirty
        self._put(path, ReportedFile(version, dirty, buffer), saved=report.event == "save")
        return outcome

    def _text(self, path: Path, report: Report, before: ReportedFile) -> tuple[TextBuffer | None, ReportOutcome]:
        """The file's text now, None when it is not known."""
        buffer = before.buffer if report.event != "open" and not report.lost else None
        if report.text is not None:
            buffer = self._fitting(path, report.text)
            return buffer, "taken" if buffer is not None else "tooLarge"
        for change in report.changes if report.event == "change" else ():
            buffer = self._with(path, buffer, change)
        if report.event == "change" and buffer is None:
            return None, "needsText"
        return buffer, "taken"

    def _with(self, path: Path, buffer: TextBuffer | None, change: BufferChange) -> TextBuffer | None:
        if change.start is None or change.stop is None:
            return self._fitting(path, change.text)
        if buffer is None or not self._fits(path, buffer.size + len(change.text)):
            return None
        if not buffer.has(min(change.start, change.stop)):
            return None  # it is about another text
        buffer.replace(min(change.start, change.stop), max(change.start, change.stop), change.text)
        return buffer

    def _fitting(self, path: Path, text: str) -> TextBuffer | None:
        return TextBuffer(text, self._encoding) if self._fits(path, len(text)) else None

    def _fits(self, path: Path, size: int) -> bool:
        others = sum(
            each.file.buffer.size for at, each in self._open.items() if at != path and each.file.buffer is not None
        )
        return size <= LONGEST_TEXT and others + size <= MOST_TEXT

    def _put(self, path: Path, file: ReportedFile, *, saved: bool) -> None:
        """Keep it, and tell the project."""
        self._tell()
        project = self._open[path].project
        self._open[path] = _OpenFile(project, file)
        project.port.documents.serve(self._workspace, self._name)
        if file.dirty:
            project.port.documents.change(path, file.buffer.text if file.buffer is not None else None)
        elif saved:
            project.port.documents.save(path, file.buffer.text if file.buffer is not None else None)
        else:
            project.port.documents.open(path)


def is_on_disk(path: Path, text: str) -> bool:
    """Whether a file holds this text, in any encoding, or what an editor takes for it. Blocks."""
    longest = 4 * len(text) + 4
    try:
        data, size = read_file(path, longest)
    except WorkspaceError:
        return False
    return len(text) <= size <= longest and may_be_shown_as(data, text)
