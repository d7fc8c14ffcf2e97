"""The problems that a language server has told of files by itself, and waiting for those of a text that it was just shown.

A server may tell them at any time, in pieces, of versions it was never shown: what counts is what it says of the version that
it was shown last, or says without a version after that. Bounded, whatever it tells.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from sould.agents.base.tasks import in_time
from sould.agents.tools.languageservers.shapes import Diagnostic, Published, each, path_of, read

MOST_FILES: Final = 2000
MOST_IN_A_FILE: Final = 500
SETTLING: Final = 0.5
"""Seconds without news of a file, after which no more is expected: many tell errors of syntax first, others a moment later."""


class Told(Struct, frozen=True):
    """Of one file. `count`: how often something was told before this; `at`: when (seconds of the loop)."""

    items: tuple[Diagnostic, ...]
    version: int | None
    count: int
    at: float


class ToldProblems:
    """What one server told."""

    def __init__(self) -> None:
        self._files: dict[Path, Told] = {}
        self._shown: dict[Path, tuple[int, int]] = {}
        """The version of each file that is shown, and how often something had been told by then."""
        self._count = 0
        self._versions = False
        """It says which version it means, so that what comes without is of another text."""
        self._news = asyncio.Event()

    def shown(self, path: Path, version: int) -> None:
        """The server is shown this version from now on."""
        self._shown[path] = (version, self._count)

    def hidden(self, path: Path) -> None:
        """The file is not shown any more."""
        self._shown.pop(path, None)
        self._files.pop(path, None)

    def take(self, params: dict[str, Any]) -> None:
        """The server tells of a file."""
        said = read(Published, params)
        path = path_of(said.uri) if said is not None else None
        if said is None or path is None:
            return
        version = said.version if isinstance(said.version, int) and not isinstance(said.version, bool) else None
        newest, _ = self._shown.get(path, (None, 0))
        self._versions = self._versions or version is not None
        if version is not None and newest is not None and version != newest:
            return  # of a text that is not this one, or that nobody showed it
        self._count += 1
        self._files.pop(path, None)
        items = tuple(each(Diagnostic, said.diagnostics, MOST_IN_A_FILE))
        self._files[path] = Told(items, version, self._count, asyncio.get_running_loop().time())
        if len(self._files) > MOST_FILES:
            del self._files[next(iter(self._files))]
        self._news.set()

    def known(self) -> Sequence[tuple[Path, tuple[Diagnostic, ...]]]:
        """Of all files, as told last."""
        return [(path, told.items) for path, told in self._files.items()]

    async def of(self, path: Path, seconds: float) -> tuple[tuple[Diagnostic, ...], bool]:
        """Of the text of a file that is shown now, waiting at most so long; and whether they are of that text."""
        until = asyncio.get_running_loop().time() + seconds
        while (told := self._fresh(path)) is None:
            if not await self._heard(until):
                last = self._files.get(path)
                return (last.items if last is not None else ()), False
        while await self._heard(min(until, told.at + SETTLING)):
            told = self._fresh(path) or told
        return told.items, True

    def _fresh(self, path: Path) -> Told | None:
        told = self._files.get(path)
        version, before = self._shown.get(path, (None, 0))
        if told is None or (told.version is None and (self._versions or told.count <= before)):
            return None
        return told if told.version in (None, version) else None

    async def _heard(self, until: float) -> bool:
        """Whether something is told before then."""
        left = until - asyncio.get_running_loop().time()
        self._news.clear()
        return left > 0 and await in_time(left, self._news.wait())
