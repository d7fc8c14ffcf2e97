"""What a language server is shown: the project's files as their user sees them, unsaved or not, each with a version.

A file is shown when it is asked about and stays so, for its server to be quick, until others are. The whole text is sent each
time: servers compare, and pieces that went wrong once would be wrong for ever.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from msgspec import Struct

from sould.agents.base.workspace import TextFile
from sould.agents.tools.languageservers.problems import ToldProblems
from sould.agents.tools.languageservers.programs import language_id

MOST_SHOWN: Final = 64
"""Files at once."""


Notify: TypeAlias = Callable[[str, Mapping[str, Any]], None]
"""Tells the server something. Must not block."""


class _Shown(Struct, frozen=True):
    version: int
    digest: str
    unsaved: bool


class Documents:
    """Those of one server. `saves`: it wants to be told of files that were saved; `keeps`: it takes changes."""

    def __init__(self, notify: Notify, problems: ToldProblems, *, saves: bool, keeps: bool) -> None:
        self._notify = notify
        self._problems = problems
        self._saves = saves
        self._keeps = keeps
        self._shown: dict[Path, _Shown] = {}
        """The one that was asked about last is the last one."""
        self._versions = 0

    def show(self, file: TextFile) -> int:
        """Show a file as it is now; its version there."""
        before = self._shown.pop(file.path, None)
        if before is not None and before.digest == file.digest:
            now = _Shown(before.version, file.digest, file.unsaved)
        else:
            self._versions += 1
            now = _Shown(self._versions, file.digest, file.unsaved)
            self._problems.shown(file.path, now.version)
            self._send(file, now.version, known=before is not None)
        self._shown[file.path] = now
        if self._saves and not now.unsaved and before is not None and (before.unsaved or before.version != now.version):
            self._notify("textDocument/didSave", {"textDocument": {"uri": file.path.as_uri()}, "text": file.text})
        if len(self._shown) > MOST_SHOWN:
            self.hide(next(iter(self._shown)))
        return now.version

    def hide(self, path: Path) -> None:
        """Show it no longer, if it is."""
        if self._shown.pop(path, None) is not None:
            self._notify("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})
            self._problems.hidden(path)

    def outdated(self, changed: Collection[Path], unsaved: Collection[Path]) -> Sequence[Path]:
        """The files that are shown otherwise than they are: the disk has another text, or nobody holds that one unsaved any more."""
        shown = self._shown.items()
        return [path for path, each in shown if path in changed or (each.unsaved and path not in unsaved)]

    def digest(self, path: Path) -> str:
        """Of what is shown of a file; "": nothing."""
        shown = self._shown.get(path)
        return shown.digest if shown is not None else ""

    def _send(self, file: TextFile, version: int, *, known: bool) -> None:
        uri = file.path.as_uri()
        if known and self._keeps:
            named = {"uri": uri, "version": version}
            self._notify("textDocument/didChange", {"textDocument": named, "contentChanges": [{"text": file.text}]})
            return
        if known:
            self._notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        item = {"uri": uri, "languageId": language_id(file.path), "version": version, "text": file.text}
        self._notify("textDocument/didOpen", {"textDocument": item})
