"""Files and directories of a project by a few letters of their names, for somebody who is typing one.

Names only: nothing is opened. What `.gitignore` hides is not found, nor what agents may not read unasked: what is found here
is put before a model. A project is listed once for a few seconds of typing; nothing is watched.
"""

import asyncio
import os
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from sould.agents.base.errors import SouldError
from sould.agents.base.process.searching import LISTING, Ripgrep, SearchLimits, listed, run_program
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.secretnames import certain_globs
from sould.agents.sessions.noninteractive_policy import Unasked
from sould.agents.sessions.services import HostServices
from sould.agents.tools.editor.site import OtherAgent
from sould.agents.tools.globmatch import VCS

FRESH_S = 5.0
"""How long a list of a project's files is taken for what is there."""
MOST_PROJECTS = 4
LIMITS = SearchLimits(seconds=5.0, bytes=32 * 1024 * 1024)
SLICE = 0.001
"""Seconds of comparing between two looks at the rest of the daemon."""
_LOOKS = 200
_JUDGED = 4
"""How many times more names than are wanted are judged, at most."""


class FileMatch(Struct, frozen=True):
    """A file, or a directory; `name` is relative to where was searched, with a slash at a directory's end."""

    path: Path
    name: str


class _Listed(Struct, frozen=True):
    """The names in a directory, as they are and as they are compared."""

    at: float
    names: Sequence[tuple[str, str]]
    partial: bool


class FileFinder:
    """For all clients of the daemon."""

    def __init__(self, services: HostServices) -> None:
        self._unasked = Unasked(services)
        self._ripgrep = Ripgrep()
        self._listed: dict[Path, _Listed] = {}

    async def find(self, place: OtherAgent, query: str, limit: int) -> tuple[Sequence[FileMatch], bool]:
        """At most `limit` that have every word of `query`, or its letters in this order; the best first.

        Also whether the project could not be listed in time, so that this is not all.

        Raises:
            SouldError: nothing can be listed.
        """
        listed = await self._names(place)
        ranked = await _ranked(query.casefold().split(), listed.names)
        approval = self._unasked.approval(place, self._unasked.environment(place))
        found = await asyncio.to_thread(_allowed, approval, place.cwd, ranked[: limit * _JUDGED], limit)
        return found, listed.partial

    async def _names(self, place: OtherAgent) -> _Listed:
        known = self._listed.get(place.cwd)
        if known is not None and time.monotonic() - known.at < FRESH_S:
            return known
        environment = self._unasked.environment(place)
        program = await asyncio.to_thread(self._ripgrep.program, environment)
        if program is None:
            raise SouldError("Files cannot be found by their names, because ripgrep is not installed; install `rg`.")
        ran = await run_program(
            [program, *_arguments()], cwd=place.cwd, environment=environment.variables, limits=LIMITS
        )
        partial = ran.code is None
        names = await asyncio.to_thread(_with_directories, ran.output, partial)
        listed = _Listed(time.monotonic(), names, partial)
        self._listed.pop(place.cwd, None)
        if len(self._listed) >= MOST_PROJECTS:
            del self._listed[next(iter(self._listed))]
        self._listed[place.cwd] = listed
        return listed


def _arguments() -> Iterator[str]:
    yield from LISTING
    yield from (f"--glob=!{name}" for name in sorted(VCS))
    yield from (f"--iglob=!{'**/' if '/' in glob else ''}{glob}" for glob in certain_globs())


def _with_directories(output: bytes, partial: bool) -> Sequence[tuple[str, str]]:
    """The files, and the directories that they lie in."""
    names = listed(output)
    directories = {f"{parent}/" for name in names for parent in _parents(name)}
    return [(name, name.casefold()) for name in (*names, *sorted(directories))]


def _parents(name: str) -> Iterator[str]:
    while name := name.rpartition("/")[0]:
        yield name


async def _ranked(words: Sequence[str], names: Sequence[tuple[str, str]]) -> list[str]:
    """Those that fit, the best first."""
    letters = [re.compile(".*?".join(map(re.escape, word)), re.DOTALL) for word in words]
    fits: list[tuple[int, int, str]] = []
    pause = time.monotonic() + SLICE
    for number, (name, folded) in enumerate(names):
        rank = _rank(words, letters, folded)
        if rank >= 0:
            fits.append((rank, len(name), name))
        if number % _LOOKS == 0 and time.monotonic() > pause:
            await asyncio.sleep(0)
            pause = time.monotonic() + SLICE
    fits.sort()
    return [name for _, _, name in fits]


def _rank(words: Sequence[str], letters: Sequence[re.Pattern[str]], name: str) -> int:
    """How far a name is from what was typed, below 0: it does not fit. The last part of a path is what people type."""
    rank = 0
    last = name[name.rfind("/", 0, -1) + 1 :]
    for word, pattern in zip(words, letters, strict=True):
        if last.startswith(word):
            rank += 0 if last.rstrip("/") == word else 1
        elif word in last:
            rank += 2
        elif word in name:
            rank += 3
        elif pattern.search(last):
            rank += 4
        elif pattern.search(name):
            rank += 5
        else:
            return -1
    return rank


def _allowed(approval: Approval, root: Path, names: Sequence[str], limit: int) -> tuple[FileMatch, ...]:
    """Those that an agent may read unasked. Blocks."""
    found: list[FileMatch] = []
    for name in names:
        path = root / name
        if os.path.realpath(path) != str(path):
            continue
        if name.endswith("/") or approval.judge_found_file(path).decision == "allow":
            found.append(FileMatch(path, name))
        if len(found) == limit:
            break
    return tuple(found)
