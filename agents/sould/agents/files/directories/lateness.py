"""What is known of changes when calls began before everything had been looked at: see `directory`. Pure, but for the clock."""

import stat
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field

from sould.agents.files.directories.folders import FileVersion, FolderStore
from sould.agents.files.directories.refs import UNKEPT
from sould.agents.files.directories.tree import file_clock

PORTION = 32 * 1024 * 1024
"""Bytes of contents that are in memory at once."""


class Difference(Struct, frozen=True):
    """A path that is not what it was when last looked at; None: nothing. `sure`: `before` is what it was before calls ran."""

    path: str
    before: FileVersion | None
    after: FileVersion | None
    sure: bool = True

    @property
    def rewrote(self) -> bool:
        """It is the content or mode of a file that was there and is."""
        return self.before is not None and self.after is not None and not stat.S_ISDIR(self.after.seen[0])

    @property
    def changed_at(self) -> int:
        """When, by `file_clock`; 0: nobody knows."""
        return changed_at(self.after) if self.after is not None else 0


class CallsRunning(Struct):
    """Calls that began before everything was known, and when."""

    since: int = field(default_factory=file_clock)
    early: set[str] = field(default_factory=set[str])
    """Folders in which something happened between being listed and that."""
    unknown: set[int] = field(default_factory=set[int])
    """The same, by watches whose folders are not known yet."""
    listed_late: set[str] = field(default_factory=set[str])
    """Folders that were listed after that."""

    def place(self, numbers: Iterable[tuple[str, int]], walked: FolderStore) -> None:
        """What was looked at is there; `numbers`: its watches by folder."""
        self.early |= {folder for folder, number in numbers if number in self.unknown}
        self.listed_late |= {folder for folder in walked.folders() if walked.listed_at(folder) >= self.since}

    def is_sure(self, folder: str, before: FileVersion | None) -> bool:
        """Whether this is what was there when they began."""
        if folder in self.early:
            return False
        return folder not in self.listed_late or (before is not None and 0 < changed_at(before) < self.since)

    def may_have(self, folder: str, after: FileVersion | None) -> bool:
        """Whether they may have made this, which was found while everything was looked at for them."""
        return folder in self.listed_late and self.may_be_later(after)

    def may_be_later(self, after: FileVersion | None) -> bool:
        """Whether this may be of a time after they began."""
        return after is None or stat.S_ISDIR(after.seen[0]) or changed_at(after) >= self.since


def changed_at(version: FileVersion) -> int:
    """When it changed last, by `file_clock`; 0: nobody knows."""
    return version.seen[3]


def portions(found: Sequence[Difference]) -> Iterator[Sequence[Difference]]:
    """So many at a time that a project that was deleted or checked out anew is not in memory at once."""
    portion: list[Difference] = []
    size = 0
    for difference in found:
        portion.append(difference)
        size += sum(each.seen[1] for each in (difference.before, difference.after) if each and each.ref != UNKEPT)
        if size >= PORTION:
            yield portion
            portion, size = [], 0
    yield portion
