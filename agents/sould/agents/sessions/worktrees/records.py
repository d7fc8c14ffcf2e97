"""Which worktrees there are, and how far each is: a small file for each in our own state, never in the repository.

A record is on disk before the first thing of its worktree is, and goes after the last: whatever a kill leaves half made is
known by it. Blocks.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import ValidationError

from sould.agents.base.parsed import Parsed
from sould.agents.base.privatefile import write_private

State: TypeAlias = Literal["making", "restoring", "ready", "removed"]


class Worktree(Parsed):
    """One of them. `making`, `restoring`: it is not whole, or is made just now; `removed`: its branch can bring it back."""

    name: str
    state: State
    path: Path
    repository: Path
    """The worktree it was made in, with the commit that was checked out there."""
    common: Path
    """The git directory that all worktrees of the repository share."""
    branch: str
    commit: str
    """Where the branch began."""
    inside: str = ""
    """Where in it its session works: the directory it was asked for in, seen from the repository."""
    made: float = 0.0

    @property
    def directory(self) -> Path:
        """Where its session works; the worktree itself where the commit has no such directory."""
        inside = self.path / self.inside
        return inside if self.inside and inside.is_dir() else self.path

    def become(self, state: State) -> "Worktree":
        """The same, another way."""
        return self.model_copy(update={"state": state})

    def is_near(self, directory: Path) -> bool:
        """Whether somebody who stands there means this repository."""
        return any(directory.is_relative_to(each) for each in (self.path, self.repository))


class WorktreeRecords:
    """Those below `directory`, in a folder for each repository."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def folder(self, common: Path) -> str:
        """What the repository with this git directory is called among our own."""
        name = common.parent.name if common.name == ".git" else common.name
        digest = hashlib.sha256(os.fsencode(common)).hexdigest()[:8]
        return f"{''.join(char if char.isalnum() and char.isascii() else '-' for char in name)[:40]}-{digest}"

    def lock_of(self, common: Path) -> Path:
        """What whoever makes or removes a worktree of the repository holds."""
        return self._directory / self.folder(common) / ".lock"

    def all(self) -> Iterator[Worktree]:
        """All of them; what cannot be read is none."""
        for file in sorted(self._directory.glob("*/*.json")):
            with contextlib.suppress(OSError, ValidationError):
                yield Worktree.model_validate_json(file.read_bytes())

    def of(self, common: Path) -> list[Worktree]:
        """Those of one repository."""
        return [each for each in self.all() if each.common == common]

    def put(self, worktree: Worktree) -> None:
        """Write it down. Raises OSError."""
        file = self._file(worktree)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(file, worktree.model_dump_json().encode(), durable=True)

    def drop(self, worktree: Worktree) -> None:
        """Know of it no more. Raises OSError."""
        self._file(worktree).unlink(missing_ok=True)

    def _file(self, worktree: Worktree) -> Path:
        return self._directory / self.folder(worktree.common) / f"{worktree.name}.json"
