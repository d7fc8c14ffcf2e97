"""One directory as it was when last looked at, and what is not as it was.

A look goes only where something was reported (`watching`). Where nobody can say, everything is looked at: here when that
takes a moment, else in a program (`walking`) that goes on while nobody waits, which is `late`. Calls may begin meanwhile;
`calls_run` says so. What they do is then known like this:

- In a folder that was watched and listed before they began, and of which nothing was reported in between: exactly.
- A file that was listed while they ran and has an older change time than they have is as it was before.
- Of anything else that has a newer one, something is known (git's index, an earlier look), but not for certain, because
  the user may have changed it in between: the difference is not `sure`. What was there before and is gone by then is
  found only where git or an earlier look knew of it. An entry that the calls replaced more than once is one change.

Change times are the kernel's and cannot be set, but file systems of other machines have other clocks: there, what changed
in the seconds around the beginning of a call may be given to it, or not. Contents of files that git has are left to git;
the others are copied when there is time (`copy_some`), and a copy counts only when the file is as it was listed. What
could not be kept is not tried again until it changes. Nothing here blocks for long but reading what changed: use a thread.
"""

import contextlib
import math
import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from sould.agents.base.config import CaptureLimits
from sould.agents.files.directories.comparing import CallsRunning, Comparing, Difference
from sould.agents.files.directories.copying import Contents, FolderCopy, PreimageStore
from sould.agents.files.directories.folders import FileVersion, FolderStore, FolderVersion
from sould.agents.files.directories.gitfiles import GitFiles, Tracked
from sould.agents.files.directories.ignored import Ignored
from sould.agents.files.directories.lookingagain import GivenUpError, LookAgain, lies_in
from sould.agents.files.directories.refs import GIT
from sould.agents.files.directories.secretblobs import SecretJudge
from sould.agents.files.directories.tree import Seen, TreeListing, TreeSnapshot, by_folder, file_clock, look, name_of
from sould.agents.files.directories.walking import Walk, Walked
from sould.agents.files.directories.watching import Changed, Watches, WatchReader

MOST_LATELY = 200
"""Files."""
MANY = 50
"""Folders in which something happened: then git is asked for all it has, if its index is another."""
QUICK = 0.04
"""Seconds: what can be looked at in so many is looked at without a program, which takes longer to start."""
LARGE_INDEX = 500_000
"""Bytes of git's index: more are some 5,000 files, which no moment is enough for."""
LISTING = 0.1
"""Seconds that git gets to say what it ignores, where nobody else is asked."""
_USUAL = stat.S_IFREG | 0o644

ListingOf: TypeAlias = Callable[[str], TreeListing | None]
"""What was listed in a folder, if it was."""


class Directory(Struct, dict=True):
    """Looked at by one session. `kept` holds contents, `scratch` is where further files without names are made."""

    root: Path
    git: GitFiles
    kept: PreimageStore
    limits: CaptureLimits
    hidden: tuple[Path, ...] = ()
    """Directories that are not looked at: our own."""
    secrets: SecretJudge | None = None
    watches: Watches = field(default_factory=Watches)
    """Those of the daemon."""
    quick: float = QUICK
    partial: bool = False
    """The last look did not reach all files."""
    beyond: Mapping[str, int] = field(default_factory=dict[str, int])
    """Of each directory that holds more than is kept: how all of it looked together."""
    changed_beyond: list[str] = field(default_factory=list[str])
    """Those of them that the last look found changed."""
    _known: bool = False
    """It was looked at."""
    _to_copy: dict[str, None] = field(default_factory=dict[str, None])
    """Folders with contents that are still to be read."""
    _copying: FolderCopy | None = None
    """The first of them, while it is read."""
    _dropped: list[str] = field(default_factory=list[str])
    """Contents of no use after the next look has begun."""
    _reader: WatchReader | None = None
    _watchable: bool = True
    _walk: Walk | None = None
    _walk_began: int = 0
    _waited: float = 0.0
    """Seconds, since everything was looked at last."""
    _reported: Changed | None = None
    """What was reported since that began; None: nobody knows."""
    _wanted: int = 0
    """When somebody last wanted to know what had changed by then."""
    _running: CallsRunning | None = None
    _lately: dict[str, Seen] = field(default_factory=dict[str, Seen])
    """Files that changed last, the newest last: they are looked at each time, because of writes that nobody reports."""

    @cached_property
    def _ignored(self) -> Ignored:
        return Ignored(self.git, self.hidden)

    @cached_property
    def _folders(self) -> FolderStore:
        return FolderStore(self.kept.directory)

    @cached_property
    def _contents(self) -> Contents:
        return Contents(self.root, self.kept, self.limits, self.secrets)

    def close(self) -> None:
        """It is not looked at any more."""
        self._end_walk()
        self._stop_watching()
        self._folders.close()

    # --- what was seen, for `LookAgain` --------------------------------------------------------------------------------

    def names(self, folder: str) -> Mapping[str, bool] | None:
        """See `KnownTree`."""
        known = self._folders.get(folder)
        if known is None:
            return None
        return {name: stat.S_ISDIR(seen[0]) for name, seen in known.listing.entries()}

    def folders(self) -> Collection[str]:
        """See `KnownTree`."""
        return self._folders.folders()

    def other_names(self, paths: Iterable[str]) -> list[str]:
        """Where else in it the files at these paths are that have several names: what is written to one is in all."""
        inodes = {found.st_ino for path in paths if (found := self._several_names(path)) is not None}
        if not inodes:
            return []
        versions = ((folder, self._folders.get(folder)) for folder in tuple(self._folders.folders()))
        found = ((folder, name) for folder, each in versions if each for name in each.listing.named(inodes))
        return [f"{folder}/{name}" if folder else name for folder, name in found]

    def _several_names(self, path: str) -> os.stat_result | None:
        try:
            found = os.lstat(self.root / path)
        except OSError:
            return None
        return found if found.st_nlink > 1 and stat.S_ISREG(found.st_mode) else None

    # --- looking ---------------------------------------------------------------------------------------------------------

    @property
    def late(self) -> int | None:
        """Everything is being looked at by now: the descriptor that can be read when it was. None: the last look was complete."""
        return self._walk.descriptor if self._walk is not None else None

    def rest(self) -> None:
        """Stand still with what nobody waits for, until `go_on` or until somebody does."""
        if (walk := self._walk) is not None:
            walk.rest()

    def go_on(self) -> None:
        """Stand still no longer."""
        if (walk := self._walk) is not None:
            walk.go_on()

    def calls_run(self) -> None:
        """Calls may change something from now on; what was there before is not known when the look is late."""
        if self._walk is None:
            return
        self._note_reported()
        self._wanted = 0  # what is wanted is what they will have done
        if self._running is None:
            early = self._reported.folders | self._reported.trees if self._reported is not None else set[str]()
            unknown = set(self._reader.unknown) if self._reader is not None else set[int]()
            self._running = CallsRunning(early=early, unknown=unknown)

    def calls_ended(self) -> None:
        """None runs any more, and what they did is known."""
        self._running = None

    def update(
        self, *, told: bool = True, patience: float = math.inf, touched: Collection[str] = ()
    ) -> list[Difference]:
        """Look again; what is not as it was, unless nobody wants to be `told`. It is `late` after so many seconds.

        What is left of them is for copying; since everything was looked at, nobody waits longer for both together.

        `touched`: files that are looked at though nothing was reported of them.
        """
        found = self._update(told, patience, touched)
        if self._to_copy and self._walk is None:
            began = time.monotonic()
            self.copy_some(min(patience - self._waited, self.limits.look_s))
            self._waited += time.monotonic() - began
        return found

    def _update(self, told: bool, patience: float, touched: Collection[str]) -> list[Difference]:
        began = time.monotonic()
        latest = began + min(patience, self.limits.look_s)
        self._wanted = file_clock()
        self._keep_copied()
        if self._walk is None:
            self._forget_dropped()
            now = self._look_where_reported(latest, touched)
            if now is None:
                now = self._look_everywhere(latest)
                self._waited = min(patience, time.monotonic() - began)
            if now is not None:
                return self._taken(now, latest, told=told)
        return self.catch_up(told=told, patience=patience)

    def catch_up(self, *, told: bool = True, patience: float = 0.0) -> list[Difference]:
        """What a `late` look has found, if it has ended. Nobody waits for one longer than `patience`, however often they ask."""
        self._keep_copied()
        found: list[Difference] = []
        while self._walk is not None:
            began = time.monotonic()
            ended = self._walk.ended(patience - self._waited)
            self._waited += time.monotonic() - began
            if not ended:
                break
            self._forget_dropped()
            found += self._adopted(began + min(patience, self.limits.look_s), told=told)
        return found

    def _forget_dropped(self) -> None:
        self.kept.free(self._dropped)
        self._dropped.clear()

    def _look_where_reported(self, latest: float, touched: Collection[str]) -> TreeSnapshot | None:
        """None: nobody can say where, or it is too much."""
        changed = self._reader.take() if self._reader is not None else None
        if changed is None or self._ignored.rules_moved():
            return None
        changed.folders.update(
            folder for folder, paths in by_folder(touched).items() if self._one_looks_new(folder, paths)
        )
        return self._look_at(changed, latest)

    def _one_looks_new(self, folder: str, paths: Iterable[str]) -> bool:
        """Whether one of these, in a folder that was listed, does not look as it did then."""
        version = self._folders.get(folder)
        if version is None:
            return False
        seen = dict(version.listing.entries())
        return any(seen.get(name_of(path)) != self._contents.looks(path) for path in paths)

    def _look_at(self, changed: Changed, latest: float) -> TreeSnapshot | None:
        assert self._reader is not None
        changed.folders.update(
            _folder(path) for path, seen in self._lately.items() if self._contents.looks(path) != seen
        )
        again = LookAgain(self.root, self._reader, self, self._ignored, self.limits.max_files, latest + QUICK)
        with contextlib.suppress(GivenUpError):
            return again.run(changed)
        return None

    # --- looking at everything -------------------------------------------------------------------------------------------

    def _look_everywhere(self, latest: float) -> TreeSnapshot | None:
        """And from now on watch, if all of it can be. None: a program does it."""
        if self._reader is not None and not self._reader.reliable:
            self._stop_watching()
        if self._reader is None and self._watchable:
            self._reader = self.watches.join(self.root)
        if self._reader is not None:
            self._reader.take()  # from now on
        if self.git.index_size <= LARGE_INDEX:
            now = self._looked(self.quick)
            if not now.partial:
                self._judge_watching(partial=bool(now.beyond))
                return now
        try:
            self._begin_walk()
        except OSError:
            now = self._looked(max(QUICK, latest - time.monotonic()))
            self._judge_watching(partial=now.partial or bool(now.beyond))
            return now
        return None

    def _looked(self, seconds: float) -> TreeSnapshot:
        entering = self._reader.enter if self._reader is not None else None
        latest = time.monotonic() + max(LISTING, seconds)
        ignored = self._ignored.listed(self.root, latest)
        deadline = time.monotonic() + seconds

        def listed(at: Path) -> Collection[str] | None:
            return ignored if at == self.root else self._ignored.listed(at, deadline)

        return look(self.root, listed, self.limits.max_files, deadline, entering)

    def _judge_watching(self, *, partial: bool) -> None:
        """What was not looked at whole is not known by watching, either."""
        reader = self._reader
        if reader is not None and (partial or not reader.reliable):
            self._watchable = not reader.exhausted
            self._stop_watching()

    def _stop_watching(self) -> None:
        if self._reader is not None:
            self._reader.leave()
            self._reader = None

    def _begin_walk(self) -> None:
        """Raises OSError."""
        walk = Walk(self.git, self.hidden, self._reader, self.kept.directory)
        self._walk_began, self._reported = file_clock(), Changed()
        walk.begin(self.limits.max_files, self.limits.look_s)
        if self._reader is not None:
            self._reader.walk_begins()
        self._walk = walk

    def _end_walk(self) -> None:
        if self._walk is not None:
            self._walk.close()
            self._walk = None
            if self._reader is not None:
                self._reader.walk_failed()

    def _note_reported(self) -> None:
        changed = self._reader.take() if self._reader is not None else Changed()
        if changed is None or self._reported is None:
            self._reported = None
        else:
            self._reported.add(changed)

    def _adopted(self, latest: float, *, told: bool) -> list[Difference]:
        """What the program found, and what happened while it looked."""
        walk, self._walk = self._walk, None
        assert walk is not None
        walked = walk.result()
        if walked is None:
            if self._reader is not None:
                self._reader.walk_failed()
            now = self._looked(max(QUICK, latest - time.monotonic()))
            self._judge_watching(partial=now.partial or bool(now.beyond))
            return self._taken(now, latest, told=told)
        if self._reader is not None:
            self._reader.adopt(walked.numbers, exhausted=walked.exhausted)
            self._note_reported()
        found = self._taken_over(walked, told=told)
        self._ignored.restore(walked.ignored)
        self.git.has_read(walked.index)
        self._judge_watching(partial=walked.partial or bool(walked.beyond))
        now = self._since_walked(latest)
        return found + (self._taken(now, latest, told=told) if now is not None else [])

    def _since_walked(self, latest: float) -> TreeSnapshot | None:
        if self._reader is None:
            return self._look_everywhere(latest) if self._walk_began < self._wanted else None
        now = self._look_at(self._reported, latest) if self._reported is not None else None
        return now or self._look_everywhere(latest)

    def _taken_over(self, walked: Walked, *, told: bool) -> list[Difference]:
        """Compare with what was known, and know this from then on."""
        old, new = self._folders, walked.store
        late = self._running is not None and self._walk_began <= self._running.since
        if self._running is not None and late:
            self._running.place(walked.numbers.items(), new)
        others = {path: FileVersion((_USUAL, size, 0, 0, 0), GIT + blob) for path, blob, size in walked.other}
        comparing = self._comparing(told and (late or self._known), -math.inf, partial=walked.partial, late=late)
        found: list[Difference] = []
        if late and not self._known:
            comparing = replace(comparing, others=others)
            comparing.missing(new, found)
        for folder in list(new.folders()):
            after = new.get(folder)
            assert after is not None
            new.put(folder, comparing.folder(folder, old.get(folder), after, found))
        if not (walked.partial or self.partial):
            self._drop(set(old.folders()).difference(new.folders(), walked.beyond), comparing, found)
        self._look_beyond(walked.beyond, lambda at: version.listing if (version := new.get(at)) else None)
        self._finish(comparing, found, partial=walked.partial)
        old.close()
        self._folders = new
        return found

    # --- comparing -------------------------------------------------------------------------------------------------------

    def _taken(self, now: TreeSnapshot, latest: float, *, told: bool) -> list[Difference]:
        """Compare what was looked at here with what was known, and know it from then on."""
        whole = now.gone is None
        tracked = (
            self.git.tracked(time.monotonic() + self.limits.copy_s) if whole or len(now.found) > MANY else Tracked()
        )
        comparing = self._comparing(told and self._known, latest, partial=whole and now.partial)
        found: list[Difference] = []
        for folder, listing in now.found.items():
            after = FolderVersion(listing, tracked.refs(folder, listing), now.times.get(folder, 0))
            self._folders.put(folder, comparing.folder(folder, self._folders.get(folder), after, found))
        if whole and not comparing.all_uncertain:
            self._drop(set(self._folders.folders()).difference(now.found, now.beyond), comparing, found)
        elif now.gone:
            self._drop([folder for folder in self._folders.folders() if lies_in(folder, now.gone)], comparing, found)
        if whole:
            self._look_beyond(now.beyond, now.found.get)
        self._finish(comparing, found, partial=now.partial if whole else self.partial)
        return found

    def _comparing(self, told: bool, read_until: float, *, partial: bool, late: bool = False) -> Comparing:
        news_until = time.monotonic() + self.limits.copy_s
        return Comparing(
            self._contents, self._running, late, told, read_until, news_until, self.beyond, partial or self.partial
        )

    def _drop(self, folders: Collection[str], comparing: Comparing, found: list[Difference]) -> None:
        """These folders are gone."""
        for folder in list(folders):
            version = self._folders.get(folder)
            if version is not None:
                was = version.held()
                comparing.gone(folder, was, found)
                self._dropped += [each.ref for each in was.values()]
            self._folders.pop(folder)

    def _finish(self, comparing: Comparing, found: Sequence[Difference], *, partial: bool) -> None:
        self._to_copy |= dict.fromkeys(comparing.to_copy)
        self._dropped += comparing.dropped
        self.partial, self._known = partial, True
        for each in found[-MOST_LATELY:]:
            self._lately.pop(each.path, None)
            if each.after is not None and not stat.S_ISDIR(each.after.seen[0]):
                self._lately[each.path] = each.after.seen
        for path in list(self._lately)[:-MOST_LATELY]:
            del self._lately[path]

    def _look_beyond(self, beyond: Mapping[str, int], listed: ListingOf) -> None:
        """What is not kept any more is forgotten, so that it is never compared with how it once was."""
        self.changed_beyond = [
            at
            for at, seen in beyond.items()
            if self.beyond.get(at) != seen and (at in self.beyond or at not in self._folders.folders())
        ]
        for at in self.beyond.keys() - beyond.keys():
            listing = listed(at)
            if listing is None or listing.number != self.beyond[at]:
                self.changed_beyond.append(at)
        for folder in beyond:
            self._folders.pop(folder)
        self.beyond = beyond

    # --- contents --------------------------------------------------------------------------------------------------------

    @property
    def uncopied(self) -> bool:
        """Contents are still to be read."""
        return bool(self._to_copy)

    def copy_some(self, seconds: float) -> None:
        """Read contents that are still to be read, for so long."""
        until = time.monotonic() + seconds
        while self._to_copy and time.monotonic() < until:
            folder = next(iter(self._to_copy))
            version = self._folders.get(folder) if self._copying is None else None
            if version is not None:
                self._copying = FolderCopy.of(folder, version)
            if self._copying is None or self._copying.go_on(self._contents, until):
                self._keep_copied()
                del self._to_copy[folder]

    def _keep_copied(self) -> None:
        """What was read by now is known of its folder."""
        copying, self._copying = self._copying, None
        if copying is not None:
            self._folders.put(copying.folder, copying.version)

    def not_kept(self, paths: Iterable[str]) -> list[str]:
        """Those of the files of which something is known, and what they hold cannot be had later."""
        self._keep_copied()
        versions = ((self._folders.get(folder), those) for folder, those in by_folder(paths).items())
        largest = self.limits.max_file_bytes
        return [path for version, those in versions if version for path in version.not_kept(those, largest)]

    def contents(self, held: Iterable[FileVersion]) -> dict[str, bytes]:
        """The contents by their `ref`, as far as they can still be had."""
        return self._contents.of(held, self.git)

    def changed_since(self, moment: int) -> tuple[list[str], bool]:
        """The files that are there and changed since then (nanoseconds), and whether all of them were looked at."""
        latest = time.monotonic() + self.limits.look_s
        now = look(self.root, lambda at: self._ignored.listed(at, latest), self.limits.max_files, latest)
        changed = [
            f"{folder}/{name}" if folder else name
            for folder, listing in now.found.items()
            for name, seen in listing.entries()
            if not stat.S_ISDIR(seen[0]) and seen[3] >= moment
        ]
        return changed, not (now.partial or now.beyond)


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
