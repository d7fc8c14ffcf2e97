"""What a directory held before commands ran: the contents of its files, kept only as far as nothing else keeps them.

A file that git has as it is costs nothing; others are read once and again only when `lstat` says that they changed. The
copies are in a file without a name, those of secrets in memory; both are gone with the session. Blocks: use it in a thread.
"""

import contextlib
import errno
import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from sould.agents.config import CaptureLimits
from sould.agents.projects.gitfiles import GitFiles, Stat, Tracked
from sould.agents.projects.ignored import Ignored
from sould.agents.projects.lookingagain import GivenUpError, LookAgain, lies_in
from sould.agents.projects.secretblobs import SecretBlobs, SecretJudge
from sould.agents.projects.state import DIRECTORY, UNKEPT
from sould.agents.projects.tree import Listing, Seen, TreeSnapshot, look
from sould.agents.projects.watching import Reader, Watches
from sould.agents.values import dataclass, field

MOST_GIT = 16 * 1024 * 1024
"""Of one file that git has."""
FRESH = 50_000_000
"""Nanoseconds: a file written so shortly before it was read may be written again without its times telling."""
MOST_LATELY = 200
"""Files."""
MANY = 50
"""Folders in which something happened: then git is asked for all it has, if its index is another."""
_GIT = "git:"
_UNKEPT = UNKEPT.encode()
_LENGTH_BITS = 40
_LENGTH = (1 << _LENGTH_BITS) - 1


@dataclass(frozen=True, slots=True)
class FileVersion:
    """What a path held: `ref` names the content, `seen` is how it looked."""

    seen: Seen
    ref: str


@dataclass(frozen=True, slots=True)
class Difference:
    """A path that is not what it was when last looked at; None: nothing."""

    path: str
    before: FileVersion | None
    after: FileVersion | None


@dataclass(frozen=True, slots=True)
class _Folder:
    """What the files of one folder held, packed as their listing is: the `ref`s with spaces between them."""

    listing: Listing
    refs: bytes

    @classmethod
    def of(cls, held: Mapping[str, FileVersion]) -> "_Folder":
        listing = Listing.of((name, each.seen) for name, each in held.items())
        return cls(listing, " ".join(each.ref for each in held.values()).encode())

    def held(self) -> dict[str, FileVersion]:
        refs = self.refs.decode().split(" ")
        return {name: FileVersion(seen, ref) for (name, seen), ref in zip(self.listing.entries(), refs, strict=False)}

    @property
    def whole(self) -> bool:
        """Every content is known."""
        return _UNKEPT not in self.refs


@dataclass(slots=True)
class PreimageStore:
    """Contents in a file that has no name, those of secrets in memory. A content is kept once."""

    directory: Path
    most: int
    _fd: int = -1
    _size: int = 0
    _secrets: SecretBlobs = field(default_factory=SecretBlobs)
    _places: dict[bytes, int] = field(default_factory=dict[bytes, int])
    """By digest: where the content begins, and, in the lowest bits, how long it is."""

    def put(self, data: bytes, *, secret: bool = False) -> str:
        """Keep `data`; its digest, or UNKEPT when there is no more room."""
        if secret:
            return self._secrets.put(data)
        digest = hashlib.sha256(data)
        if digest.digest() not in self._places:
            if self._size + len(data) > self.most:
                return UNKEPT
            try:
                if self._fd < 0:
                    self._fd, name = tempfile.mkstemp(prefix="preimages-", dir=self.directory)
                    os.unlink(name)
                if os.pwrite(self._fd, data, self._size) < len(data):
                    return UNKEPT
            except OSError:
                return UNKEPT
            self._places[digest.digest()] = self._size << _LENGTH_BITS | len(data)
            self._size += len(data)
        return digest.hexdigest()

    def get(self, digest: str) -> bytes | None:
        """The content, if it was kept."""
        if (secret := self._secrets.get(digest)) is not None:
            return secret
        place = self._places.get(bytes.fromhex(digest))
        return os.pread(self._fd, place & _LENGTH, place >> _LENGTH_BITS) if place is not None else None

    def close(self) -> None:
        """Forget all of it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._places.clear()
        self._secrets = SecretBlobs()


@dataclass(slots=True)
class Directory:
    """One directory as it was when last looked at."""

    root: Path
    git: GitFiles
    kept: PreimageStore
    limits: CaptureLimits
    hidden: tuple[Path, ...] = ()
    """Directories that are not looked at: our own."""
    secrets: SecretJudge | None = None
    watches: Watches = field(default_factory=Watches)
    """Those of the daemon."""
    unread: set[str] = field(default_factory=set[str])
    """Files that could not be copied in time."""
    partial: bool = False
    """The last look did not reach all files."""
    beyond: Mapping[str, int] = field(default_factory=dict[str, int])
    """Of each directory that holds more than is kept: how all of it looked together."""
    changed_beyond: list[str] = field(default_factory=list[str])
    """Those of them that the last look found changed."""
    _held: dict[str, _Folder] = field(default_factory=dict[str, _Folder])
    _fresh: set[str] = field(default_factory=set[str])
    _ignored: Ignored = field(init=False)
    _reader: Reader | None = None
    _watchable: bool = True
    _lately: dict[str, Seen] = field(default_factory=dict[str, Seen])
    """Files that changed last, the newest last: they are looked at each time, because of writes that nobody reports."""

    def __post_init__(self) -> None:
        self._ignored = Ignored(self.git, self.hidden)

    def close(self) -> None:
        """It is not looked at any more."""
        if self._reader is not None:
            self._reader.leave()
            self._reader = None

    # --- what was seen, for `LookAgain` --------------------------------------------------------------------------------

    def names(self, folder: str) -> Mapping[str, bool] | None:
        """See `KnownTree`."""
        known = self._held.get(folder)
        if known is None:
            return None
        return {name: stat.S_ISDIR(seen[0]) for name, seen in known.listing.entries()}

    def folders(self) -> Collection[str]:
        """See `KnownTree`."""
        return self._held.keys()

    # --- looking ---------------------------------------------------------------------------------------------------------

    def update(self, *, told: bool = True) -> list[Difference]:
        """Look again; what is not as it was, unless nobody wants to be `told`."""
        began = time.monotonic()
        latest, deadline = began + self.limits.look_s, began + self.limits.copy_s
        now = self._look(latest)
        tracked = self.git.tracked(deadline) if now.gone is None or len(now.found) > MANY else Tracked()
        if now.gone is None:
            self.unread.clear()
        found = [each for each in self._compare(now, tracked, deadline) if told and self._is_change(each)]
        self.unread.difference_update(each.path for each in found if each.after is None or each.after.ref != UNKEPT)
        self._note_lately(found)
        if now.gone is None:
            self._look_beyond(now)
            self.partial = now.partial
        return found

    def _look(self, deadline: float) -> TreeSnapshot:
        """Where something happened since the last look; everywhere, when nobody can say where."""
        changed = self._reader.take() if self._reader is not None else None
        if self._reader is not None and changed is not None:
            changed.folders.update(_folder(path) for path, seen in self._lately.items() if self._looks(path) != seen)
            again = LookAgain(self.root, self._reader, self, self._ignored, self.limits.max_files, deadline)
            with contextlib.suppress(GivenUpError):
                return again.run(changed)
        return self._look_everywhere(deadline)

    def _note_lately(self, found: Sequence[Difference]) -> None:
        for each in found[-MOST_LATELY:]:
            self._lately.pop(each.path, None)
            if each.after is not None and not stat.S_ISDIR(each.after.seen[0]):
                self._lately[each.path] = each.after.seen
        for path in list(self._lately)[:-MOST_LATELY]:
            del self._lately[path]

    def _looks(self, path: str) -> Seen | None:
        try:
            return _seen(os.lstat(self.root / path))
        except OSError:
            return None

    def _look_everywhere(self, deadline: float) -> TreeSnapshot:
        """And from now on watch, if all of it can be."""
        if self._reader is not None and not self._reader.reliable:
            self.close()
        if self._reader is None and self._watchable:
            self._reader = self.watches.join(self.root)
        reader = self._reader
        if reader is not None:
            reader.take()  # from now on
        now = look(
            self.root,
            lambda at: self._ignored.listed(at, deadline),
            self.limits.max_files,
            deadline,
            reader.enter if reader is not None else None,
        )
        if reader is not None and (now.partial or now.beyond or not reader.reliable):
            self._watchable = not reader.exhausted
            self.close()
        return now

    def changed_since(self, moment: int) -> tuple[list[str], bool]:
        """The files that are there and changed since then (nanoseconds), and whether all of them were looked at."""
        latest = time.monotonic() + self.limits.look_s
        now = look(self.root, lambda at: self._ignored.listed(at, latest), self.limits.max_files, latest)
        changed = [
            _path(folder, name)
            for folder, listing in now.found.items()
            for name, seen in listing.entries()
            if not stat.S_ISDIR(seen[0]) and seen[3] >= moment
        ]
        return changed, not (now.partial or now.beyond)

    def _is_change(self, difference: Difference) -> bool:
        """Whether something was done since the last look, as far as that reached."""
        if difference.before is None:
            return not self.partial and _folder(difference.path) not in self.beyond
        return difference.after is None or _differs(difference.before, difference.after)

    def _look_beyond(self, now: TreeSnapshot) -> None:
        """What is not kept any more is forgotten, so that it is never compared with how it once was."""
        self.changed_beyond = [
            at
            for at, seen in now.beyond.items()
            if self.beyond.get(at) != seen and (at in self.beyond or at not in self._held)
        ]
        for at in self.beyond.keys() - now.beyond.keys():
            if at not in now.found or now.found[at].number != self.beyond[at]:
                self.changed_beyond.append(at)
        for folder in now.beyond:
            self._held.pop(folder, None)
        self.beyond = now.beyond

    def contents(self, held: Iterable[FileVersion]) -> dict[str, bytes]:
        """The contents by their `ref`, as far as they can still be had."""
        sizes = {(each.ref, each.seen[1]) for each in held if each.ref not in (DIRECTORY, UNKEPT)}
        wanted = {ref for ref, _ in sizes}
        of_git = {(ref.removeprefix(_GIT), size) for ref, size in sizes if ref.startswith(_GIT)}
        found = self.git.contents(of_git, time.monotonic() + 10 * self.limits.copy_s)
        result = {f"{_GIT}{blob}": data for blob, data in found.items()}
        for ref in wanted:
            data = self.kept.get(ref) if not ref.startswith(_GIT) else None
            if data is not None:
                result[ref] = data
        return result

    def _compare(self, now: TreeSnapshot, tracked: Tracked, deadline: float) -> Iterator[Difference]:
        """What differs; what there is now is held from then on."""
        fresh, self._fresh = self._fresh, set()
        again = {_folder(path) for path in fresh}
        every = now.gone is None and not (now.partial or self.partial)
        for folder, listing in now.found.items():
            known = self._held.get(folder)
            if known is not None and known.listing == listing and known.whole and folder not in again:
                continue
            before = known.held() if known is not None else {}
            after = self._hold_all(folder, listing, before, tracked.within(folder), fresh, deadline)
            if now.gone is None and not every:
                after |= {name: each for name, each in before.items() if name not in after}
            self._held[folder] = _Folder.of(after)
            yield from _differences(folder, before, after)
        for folder in self._held.keys() - now.found.keys() - now.beyond.keys() if every else self._below(now.gone):
            yield from _differences(folder, self._held.pop(folder).held(), {})

    def _below(self, gone: Collection[str] | None) -> Sequence[str]:
        """The folders that are there no more, with those below them."""
        return [folder for folder in self._held if lies_in(folder, gone)] if gone else ()

    def _hold_all(
        self,
        folder: str,
        listing: Listing,
        before: Mapping[str, FileVersion],
        tracked: Mapping[str, tuple[Stat, str]],
        fresh: Collection[str],
        deadline: float,
    ) -> dict[str, FileVersion]:
        """What the files of a folder hold; what is as it was is not read again."""
        held: dict[str, FileVersion] = {}
        for name, seen in listing.entries():
            path = _path(folder, name)
            known = before.get(name)
            if known is None or known.seen != seen or known.ref == UNKEPT or path in fresh:
                known = self._hold(path, seen, tracked.get(name), deadline)
            if known is not None:
                held[name] = known
        return held

    def _hold(self, path: str, seen: Seen, known: tuple[Stat, str] | None, deadline: float) -> FileVersion | None:
        mode, size, mtime, _, inode = seen
        if stat.S_ISDIR(mode):
            return FileVersion(seen, DIRECTORY)
        if known is not None and known[0] == (size, mtime, inode) and size <= MOST_GIT:
            return FileVersion(seen, _GIT + known[1])
        if stat.S_ISLNK(mode):
            try:
                return FileVersion(seen, self.kept.put(os.fsencode(os.readlink(self.root / path))))
            except OSError:
                return FileVersion(seen, UNKEPT)
        if size > self.limits.max_file_bytes:
            return FileVersion(seen, UNKEPT)
        if time.monotonic() > deadline:
            self.unread.add(path)
            return FileVersion(seen, UNKEPT)
        return self._read(path, seen)

    def _read(self, path: str, seen: Seen) -> FileVersion | None:
        """As it is now, which may be later than `seen`; None when it is gone by now."""
        try:
            fd = os.open(self.root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            return None if error.errno == errno.ENOENT else FileVersion(seen, UNKEPT)
        try:
            for _ in range(3):
                now = _seen(os.fstat(fd))
                data = os.pread(fd, now[1], 0) if now[1] <= self.limits.max_file_bytes else b""
                if len(data) == now[1] and _seen(os.fstat(fd)) == now:
                    if time.time_ns() - max(now[2], now[3]) < FRESH:
                        self._fresh.add(path)
                    secret = self.secrets is not None and bool(self.secrets.secret_in(self.root / path, data))
                    return FileVersion(now, self.kept.put(data, secret=secret))
        except OSError:
            pass
        finally:
            os.close(fd)
        return FileVersion(seen, UNKEPT)


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _path(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _seen(status: os.stat_result) -> Seen:
    return status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _differences(
    folder: str, before: Mapping[str, FileVersion], after: Mapping[str, FileVersion]
) -> Iterator[Difference]:
    for name, held in after.items():
        if before.get(name) != held:
            yield Difference(_path(folder, name), before.get(name), held)
    for name in before.keys() - after.keys():
        yield Difference(_path(folder, name), before[name], None)


def _differs(before: FileVersion, after: FileVersion) -> bool:
    """Whether it is another content or mode, not only another time."""
    if before.ref == after.ref and before.ref != UNKEPT:
        return before.seen[0] != after.seen[0]
    return not (before.ref == UNKEPT and before.seen == after.seen)
