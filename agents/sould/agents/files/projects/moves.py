"""Edits of files that were moved, in the order in which they can be taken back: what came last goes first. Pure.

A move is two edits: of the path where the file is by now (`moved_from`), and of the one where it had been, which is told by
the first and is nothing to take back itself. What was written there before can only go back once the file is there again.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from sould.agents.files.edits.state import LoggedEdit

RESTORE: Final = "restore:"
"""How the call ids of restores begin."""
Stretch: TypeAlias = tuple[Path, Sequence[LoggedEdit]]
"""What was done to one file as long as it was at a path; the edit that moved it there is the first."""


class Moves:
    """Those among the edits of some files."""

    def __init__(self, edits: Mapping[Path, Sequence[LoggedEdit]]) -> None:
        self._edits = edits
        self._left = {(edit.moved_from, edit.call_id) for each in edits.values() for edit in each if edit.moved_from}

    @property
    def paths(self) -> set[Path]:
        """Those that files were moved from or to."""
        return {path for path, each in self._edits.items() if any(self._is_of_move(path, edit) for edit in each)}

    @property
    def modes(self) -> Mapping[Path, int | None]:
        """Which modes files had where they were moved from."""
        return {
            path: edit.before_mode for path, each in self._edits.items() for edit in each if self._leaves(path, edit)
        }

    def stretches(self) -> list[Stretch]:
        """Of `paths`, each as soon as it can be taken back."""
        found = [(path, stretch) for path in self.paths for stretch in self._of_path(path) if stretch]
        return sorted(found, key=lambda each: each[1][0].n, reverse=True)

    def _of_path(self, path: Path) -> Iterator[list[LoggedEdit]]:
        stretch: list[LoggedEdit] = []
        for edit in self._standing(path):
            if self._is_of_move(path, edit):
                yield stretch
                stretch = []
            if not self._leaves(path, edit):
                stretch.append(edit)
        yield stretch

    def _standing(self, path: Path) -> Iterator[LoggedEdit]:
        """Without moves that were taken back, and what was done until then."""
        edits = iter(self._edits[path])
        for edit in edits:
            if not self._is_of_move(path, edit) or not self._is_taken_back(path, edit):
                yield edit
                continue
            next(each for each in edits if _takes_back(each, edit))

    def _is_taken_back(self, path: Path, move: LoggedEdit) -> bool:
        return any(_takes_back(each, move) for each in self._edits[path] if each.n > move.n)

    def _is_of_move(self, path: Path, edit: LoggedEdit) -> bool:
        return bool(edit.moved_from) or self._leaves(path, edit)

    def _leaves(self, path: Path, edit: LoggedEdit) -> bool:
        return edit.after is None and (str(path), edit.call_id) in self._left


def _takes_back(edit: LoggedEdit, move: LoggedEdit) -> bool:
    """Whether a restore took the file away from where it was moved to, or put it where it had been."""
    there = edit.after if move.moved_from else edit.before
    return edit.call_id.startswith(RESTORE) and there is None
