"""What a write broke: the errors that an editor or a language server knows of a file after it, without those from before.

The agent is told with the result of its write. Nobody waits long for it, and a write never fails for it.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

from sould.agents.base.workspace import WorkspaceError
from sould.agents.files.projects.borrowing import BorrowedProjects
from sould.agents.permissions.callfiles import CallFiles, KnownProblems, WriteProblems
from sould.agents.toolapi.base import RefusedError
from sould.agents.tools.editor.backends import Arguments, EditorBackend, Where
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.judged import QuietReader
from sould.agents.tools.editor.results import Problem, Problems
from sould.agents.tools.editor.routing import EditorBackends
from sould.agents.tools.editor.site import Site

TOOL: Final = "diagnostics"
BEFORE: Final = 1.0
"""Seconds in which it has to be known what was wrong before; else nothing is compared."""
WAIT_BEFORE_MS: Final = 800
WAIT_MS: Final = 1_500
AFTER: Final = 4.0
"""Seconds that a write is held up at most: `WAIT_MS` for the analysis, and what asking takes."""
MOST_TOLD: Final = 10
_LIMIT: Final = 200

CurrentSite: TypeAlias = Callable[[], Site]
"""Where the session works, as it is now."""
Key: TypeAlias = tuple[str, str, str]


class _Known(Struct, frozen=True):
    """The errors of a file, as one backend says. A `KnownProblems`."""

    backend: str
    errors: tuple[Problem, ...]

    @property
    def counts(self) -> Counter[Key]:
        """How often there is each, wherever it stands: a write moves lines."""
        return Counter(map(_key, self.errors))


class NewProblems(WriteProblems):
    """For the writes of one session."""

    __slots__ = ("_backends", "_projects", "_site")

    def __init__(self, backends: EditorBackends, site: CurrentSite, projects: BorrowedProjects) -> None:
        self._backends = backends
        self._site: CurrentSite = site
        self._projects = projects

    async def known(self, files: CallFiles, path: Path) -> KnownProblems | None:
        """See `WriteProblems`."""
        return await self._errors(files, path, WAIT_BEFORE_MS, BEFORE)

    async def new(self, files: CallFiles, path: Path, known: KnownProblems) -> Sequence[str]:
        """See `WriteProblems`."""
        after = await self._errors(files, path, WAIT_MS, AFTER)
        if not isinstance(known, _Known) or after is None or after.backend != known.backend:
            return ()
        left, found = known.counts, list[Problem]()
        for error in after.errors:
            if left[_key(error)]:
                left[_key(error)] -= 1
            else:
                found.append(error)
        review = await self._projects.review_of(path)
        review.note_problems(str(path), [(each.range.start.line - 1, _worded(each)) for each in found[:MOST_TOLD]])
        told = list(map(_worded, found))
        more = [f"and {len(told) - MOST_TOLD} more"] if len(told) > MOST_TOLD else []
        return [*told[:MOST_TOLD], *more]

    async def _errors(self, files: CallFiles, path: Path, wait_ms: int, limit: float) -> _Known | None:
        where = Where(self._site(), QuietReader(files, self._projects), path)
        if not self._backends.able(TOOL, where):
            return None
        given = {"files": [str(path)], "scope": "open", "minSeverity": "error", "waitMs": wait_ms, "limit": _LIMIT}

        async def prepare(_: EditorBackend) -> tuple[Arguments, Where]:
            return given, where

        try:
            async with asyncio.timeout(limit):
                answered = await self._backends.call(TOOL, prepare, where, repeatable=True)
        except (EditorToolError, TimeoutError, WorkspaceError, RefusedError):
            return None
        data = answered.result.data
        if not isinstance(data, Problems) or data.still_analyzing:
            return None
        items = data.items
        errors = (each for each in items[:_LIMIT] if each.severity == "error" and each.file == str(path))
        return _Known(answered.backend.id, tuple(errors))


def _key(error: Problem) -> Key:
    return " ".join(error.message.split()), error.code, error.source


def _worded(error: Problem) -> str:
    return f"line {error.range.start.line}: {_said(error)}"


def _said(error: Problem) -> str:
    by = f" ({error.source}{f' {error.code}' if error.code else ''})" if error.source else ""
    return f"{' '.join(error.message.split())[:300]}{by}"


def is_noted(error: Problem, noted: str) -> bool:
    """It is what was noted at a hunk, wherever it stands by now."""
    return noted.partition(": ")[2] == _said(error)
