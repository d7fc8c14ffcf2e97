"""What is not as it was, folder by folder, and what is known of it from then on.

Contents are read here when they are news, as far as there is time; the others are read later (`Directory.copy_some`).
Blocks: use it in a thread.
"""

import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from sould.agents.files.directories.copying import Contents
from sould.agents.files.directories.folders import FileVersion, FolderStore, FolderVersion
from sould.agents.files.directories.refs import PENDING, UNKEPT, digest_in
from sould.agents.files.directories.tree import file_clock
from sould.agents.files.directories.walking import parent_changed

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


class Comparing(Struct):
    """One comparison. `running`: the calls that began before everything was known; `late`: it was looked at while they ran."""

    contents: Contents
    running: CallsRunning | None
    late: bool
    told: bool
    """Somebody wants to know; else it is only known from then on."""
    read_until: float
    """Until then contents are read that are no news."""
    news_until: float
    """Until then those that are."""
    uncertain: Collection[str] = ()
    """Folders of which not everything was known; None of a name that comes is news there."""
    all_uncertain: bool = False
    others: Mapping[str, FileVersion] = field(default_factory=dict[str, FileVersion])
    """What git had, by path, where that is not what is there."""
    to_copy: list[str] = field(default_factory=list[str])
    """Folders with contents that are still to be read."""
    dropped: list[str] = field(default_factory=list[str])
    """Contents of no use any more."""
    _fresh: set[str] = field(default_factory=set[str])
    _again: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self._fresh = self.contents.take_fresh()
        self._again = {path.rpartition("/")[0] for path in self._fresh}

    def folder(
        self, folder: str, before: FolderVersion | None, after: FolderVersion, found: list[Difference]
    ) -> FolderVersion:
        """Compare one folder; its version from then on."""
        if before is not None and before.listing == after.listing and not before.pending and folder not in self._again:
            return FolderVersion(after.listing, before.refs, after.listed_at)
        was = before.held() if before is not None else {}
        held: dict[str, FileVersion] = {}
        for name, each in after.held().items():
            path = f"{folder}/{name}" if folder else name
            version = self._version(path, folder, was.get(name), each, found)
            if version is not None:
                held[name] = version
        gone = {name: each for name, each in was.items() if name not in held}
        if self.all_uncertain:
            held |= gone
        else:
            self.gone(folder, gone, found)
        kept = {each.ref for each in held.values()}
        self.dropped += [each.ref for each in was.values() if each.ref not in kept]
        version = FolderVersion.of(held, after.listed_at)
        if version.pending:
            self.to_copy.append(folder)
        return version

    def gone(self, folder: str, was: Mapping[str, FileVersion], found: list[Difference]) -> None:
        """These are not in the folder any more."""
        for name, each in was.items():
            if self._is_news(folder, each, None):
                found.append(Difference(f"{folder}/{name}" if folder else name, each, None, self._sure(folder, each)))

    def missing(self, walked: FolderStore, found: list[Difference]) -> None:
        """What git had and nobody has seen: gone since the calls began, as far as directories tell."""
        assert self.running is not None
        names = {folder: set(version.held()) for folder in _folders(self.others) if (version := walked.get(folder))}
        for path, each in self.others.items():
            folder, _, name = path.rpartition("/")
            here = names.get(folder, set())
            if name not in here and parent_changed(path, self.contents.root, self.running.since):
                found.append(Difference(path, each, None, sure=False))

    def _version(
        self, path: str, folder: str, was: FileVersion | None, each: FileVersion, found: list[Difference]
    ) -> FileVersion | None:
        if was is not None and was.seen == each.seen and path not in self._fresh:
            return each if was.ref == PENDING else was
        news = self._is_news(folder, was, each)
        if news and was is None and self.late:
            was = self._guessed(path, each)
        now: FileVersion | None = each
        if each.ref == PENDING:
            until = self.news_until if news else self.read_until
            now = self.contents.hold(path, each.seen, until, was.ref if was is not None else "")
        if news and now is not None and (was is None or _differs(was, now)):
            found.append(Difference(path, was, now, self._sure(folder, was)))
        return now

    def _guessed(self, path: str, now: FileVersion) -> FileVersion | None:
        """What may have been there before a call, where nobody had looked: what git has, something, or nothing."""
        assert self.running is not None
        other = self.others.get(path)
        if other is not None:
            return other
        is_older = not parent_changed(path, self.contents.root, self.running.since)
        if stat.S_ISDIR(now.seen[0]):  # what happens in it is told of its entries
            return now if is_older or _is_older(self.contents.root / path, self.running.since) else None
        return FileVersion((0, 0, 0, 0, 0), UNKEPT) if is_older else None

    def _is_news(self, folder: str, was: FileVersion | None, now: FileVersion | None) -> bool:
        if not self.told or (was is None and not self.late and (self.all_uncertain or folder in self.uncertain)):
            return False
        if self.running is None:
            return True
        return self.running.may_have(folder, now) if self.late else self.running.may_be_later(now)

    def _sure(self, folder: str, was: FileVersion | None) -> bool:
        return not self.late and (self.running is None or self.running.is_sure(folder, was))


def _folders(paths: Collection[str]) -> Iterator[str]:
    return iter({path.rpartition("/")[0] for path in paths})


def _is_older(directory: Path, moment: int) -> bool:
    """Whether nothing happened to a directory since then, so that it was there."""
    try:
        return directory.lstat().st_ctime_ns < moment
    except OSError:
        return False


def _differs(before: FileVersion, after: FileVersion) -> bool:
    """Whether it is another content or mode, not only another time."""
    if digest_in(before.ref) == digest_in(after.ref) and before.ref not in (UNKEPT, PENDING):
        return before.seen[0] != after.seen[0]
    return not (before.ref == after.ref and before.seen == after.seen)
