"""What commands, MCP servers, hooks and background tasks do to files: looked at before and after, kept as the call's own.

A call's interval begins when it may have its effects and ends with it. What changed in an interval is the call's, unless
somebody else may have done it: another session at work there, another agent of this one, or, of a background task,
whoever else wrote meanwhile. Then it is `shared`: known, and never taken back with others (D19). Looking never
blocks the event loop and never holds a call longer than its limits.
"""

import asyncio
import contextlib
import logging
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from sould.agents.config import CaptureLimits
from sould.agents.errors import SouldError
from sould.agents.patience import run_shielded_in_thread
from sould.agents.projects.gitfiles import GitFiles
from sould.agents.projects.moments import moment
from sould.agents.projects.preimages import Difference, Directory, FileVersion, PreimageStore
from sould.agents.projects.projects import Projects
from sould.agents.projects.secretblobs import SecretJudge
from sould.agents.projects.state import DIRECTORY, UNKEPT, Edit
from sould.agents.values import dataclass, field, replace
from sould.agents.workspace import CommandExit, RunningCommand

logger = logging.getLogger(__name__)

CHANGED = "changed"
"""In a result's extras: the paths that were found changed."""
MOST_NAMED = 200
"""Paths of one call that its result names."""
CLOCK_S = 0.01
"""The times of files are that much behind the clock at most."""
PORTION = 32 * 1024 * 1024
"""Bytes of contents that are in memory at once."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a path was and is, by digest (or DIRECTORY, UNKEPT); None: nothing."""

    path: Path
    before: str | None
    after: str | None
    before_mode: int | None = None
    after_mode: int | None = None
    shared: bool = False
    secret: bool = False
    """Its contents are in memory only."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What one call did; `note` is for its card, "" when there is nothing to say."""

    paths: Sequence[Path] = ()
    note: str = ""


def together(found: Sequence[Findings]) -> Findings:
    """What was found of one call in several intervals."""
    paths = dict.fromkeys(path for each in found for path in each.paths)
    return Findings(tuple(paths), next((each.note for each in found if each.note), ""))


@dataclass(slots=True)
class Writers:
    """When which session was at work where; all sessions of a daemon share it."""

    _spans: deque[tuple[str, tuple[Path, ...], float, float]] = field(
        default_factory=lambda: deque[tuple[str, tuple[Path, ...], float, float]](maxlen=1000)
    )
    _open: dict[str, tuple[tuple[Path, ...], float]] = field(default_factory=dict[str, tuple[tuple[Path, ...], float]])

    def begin(self, session_id: str, roots: tuple[Path, ...]) -> None:
        """Something of this session runs that may write."""
        self._open.setdefault(session_id, (roots, time.monotonic()))

    def end(self, session_id: str) -> None:
        """Nothing of it does any more."""
        roots, began = self._open.pop(session_id, ((), 0.0))
        if roots:
            self._spans.append((session_id, roots, began, time.monotonic()))

    def others(self, session_id: str, since: float) -> tuple[Path, ...]:
        """Where other sessions were at work since then."""
        found = [roots for other, (roots, _) in self._open.items() if other != session_id]
        found += [roots for other, roots, _, ended in self._spans if other != session_id and ended >= since]
        return tuple(root for roots in found for root in roots)


@dataclass(slots=True)
class _Interval:
    turn_id: str
    agent: str
    since: int
    """A mark in the order of edits: those after it may explain something."""
    holds: int = 0
    done: bool = False
    """The call has ended, and only what it left running goes on."""

    def end(self) -> None:
        """The call has ended."""
        self.done = True

    def hold(self) -> None:
        """A command of the call runs."""
        self.holds += 1

    def release(self) -> None:
        """A command of the call has ended."""
        self.holds -= 1


class WatchedFiles(Protocol):
    """A session's files: where to look, and who keeps what is found."""

    @property
    def root(self) -> Path:
        """The session's working directory."""
        ...

    @property
    def additional(self) -> Sequence[Path]:
        """The other directories it works in, as they are at the time."""
        ...

    @property
    def watched(self) -> Sequence[Path]:
        """Those of all these that are looked at."""
        ...

    @property
    def unwatched(self) -> Sequence[Path]:
        """The others: they are never projects, as the user's home."""
        ...

    async def note(self, changes: Sequence[Change], since: int, turn_id: str, call_id: str) -> Sequence[Path]:
        """Keep the changes, but for what edits since the mark (`moment`) explain; the paths of what is left.

        Raises:
            OSError, SouldError: they could not be kept.
        """
        ...


@dataclass(slots=True)
class Capture:
    """Of one session, whose own directory is `directory`; what it finds goes to `files`, the contents to the projects' store."""

    files: WatchedFiles
    projects: Projects
    session_id: str
    directory: Path
    variables: Mapping[str, str]
    hidden: tuple[Path, ...]
    writers: Writers
    limits: CaptureLimits
    secrets: SecretJudge | None = None
    _intervals: dict[str, _Interval] = field(default_factory=dict[str, _Interval])
    _directories: dict[Path, Directory] = field(default_factory=dict[Path, Directory])
    _kept: PreimageStore | None = None
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)
    _found: dict[str, Findings] = field(default_factory=dict[str, Findings])
    _looked: tuple[float, float] = (0.0, 0.0)
    """When the last two looks began."""
    _said_unwatched: set[Path] = field(default_factory=set[Path])
    """Directories of which it was told that they are not looked at."""

    async def prepare(self) -> None:
        """A call may soon have effects: look for the first time, so that it waits less for that."""
        async with self._one:
            if not self._intervals and not self._directories:
                await self._look(told=False)

    async def begin(self, call_id: str, turn_id: str, agent: str) -> None:
        """The call may have its effects from here on. Called again, it is from there on."""
        async with self._one:
            await self._attribute(self._current(leave=call_id))
            known = self._intervals.get(call_id)
            if known is None:
                known = self._intervals[call_id] = _Interval(turn_id, agent, moment())
            self.writers.begin(self.session_id, self._roots())

    def watches(self, call_id: str) -> bool:
        """Whether an interval of the call is open."""
        return call_id in self._intervals

    async def finish(self, call_id: str) -> Findings:
        """The call has ended; what it did. What it left running in the background goes on as `shared`."""
        interval = self._intervals.get(call_id)
        if interval is None:
            return Findings()
        async with self._one:
            await self._attribute(call_id)
            interval.end()
            if not interval.holds:
                self._close(call_id)
            return self._found.pop(call_id, Findings())

    async def running(
        self, call_id: str, turn_id: str, start: Callable[[], Awaitable[RunningCommand]]
    ) -> RunningCommand:
        """Start a command for the call, whose interval stays open until the command has ended.

        A call that has ended by then left it in the background.
        """
        if call_id not in self._intervals:
            await self.begin(call_id, turn_id, "")
            self._intervals[call_id].end()
        interval = self._intervals[call_id]
        interval.hold()
        try:
            return _Held(await start(), self, call_id)
        except BaseException:
            await self.release(call_id)
            raise

    async def release(self, call_id: str) -> None:
        """A command of the call has ended: with the last one of a call that is over, its interval ends."""
        interval = self._intervals.get(call_id)
        if interval is None:
            return
        interval.release()
        if interval.done and not interval.holds:
            async with self._one:
                await self._attribute(self._current())
                self._close(call_id)
                self._found.pop(call_id, None)

    async def changed_since(self, since: float, turn_id: str, call_id: str) -> tuple[Sequence[Path], bool]:
        """The files that changed since then (wall seconds), kept as the call's and `shared`; False: not all were looked at.

        What they were is not known: the call was cut off with the process that knew.
        """
        async with self._one:
            found, whole = await run_shielded_in_thread(self._changed_since, tuple(self.files.watched), since)
            paths = [path for path in found if _is_text(path)]
            changes = [Change(path, UNKEPT, UNKEPT, shared=True) for path in paths[:MOST_NAMED]]
            with contextlib.suppress(OSError, SouldError):  # then it is told, and not kept
                await self.files.note(changes, moment(), turn_id, call_id)
        return paths, whole and not self.files.unwatched

    async def aclose(self) -> None:
        """Let go of all copies."""
        self._intervals.clear()
        self.writers.end(self.session_id)
        async with self._one:
            if self._kept is not None:
                await run_shielded_in_thread(self._kept.close)
            for directory in self._directories.values():
                directory.close()
            self._directories.clear()

    # --- whose a change is -------------------------------------------------------------------------------------------

    def _close(self, call_id: str) -> None:
        self._intervals.pop(call_id, None)
        if not self._intervals:
            self.writers.end(self.session_id)

    def _current(self, leave: str = "") -> str:
        """The call whose a change is that is found now: the newest that runs, else the newest that left something running."""
        others = [(call_id, each) for call_id, each in self._intervals.items() if call_id != leave]
        running = [call_id for call_id, each in others if not each.done]
        return (running or [call_id for call_id, _ in others] or [""])[-1]

    async def _attribute(self, call_id: str) -> None:
        """Look, and keep what is found as the call's."""
        interval = self._intervals.get(call_id)
        differences = await self._look(told=interval is not None)
        if interval is None:
            return  # nobody's of ours: the user's, or an editor's
        changes = await run_shielded_in_thread(self._saved, differences)
        others = self.writers.others(self.session_id, self._looked[0])
        unsure = interval.done or len({each.agent for each in self._intervals.values() if not each.done}) > 1
        judged = [
            replace(each, shared=unsure or any(each.path.is_relative_to(root) for root in others))
            for each in changes
            if _is_text(each.path)
        ]
        try:
            noted = await self.files.note(judged, interval.since, interval.turn_id, call_id)
        except (OSError, SouldError) as error:
            why = error.message if isinstance(error, SouldError) else error.strerror or "the disk refused"
            self._add(call_id, (), f"What it changed could not be saved: {why.removesuffix('.')}.")
            return
        lost = [each.path for each in judged if UNKEPT in (each.before, each.after) and each.path in set(noted)]
        lost += [each.path for each in changes if not _is_text(each.path)]
        self._add(call_id, noted, self._worded(lost))

    def _add(self, call_id: str, paths: Sequence[Path], note: str) -> None:
        before = self._found.get(call_id, Findings())
        merged = tuple(dict.fromkeys((*before.paths, *paths)))
        self._found[call_id] = Findings(merged, note or before.note)

    def _worded(self, lost: Sequence[Path]) -> str:
        said: list[str] = []
        if gone := [root for root in self._directories if not root.is_dir()]:
            said.append(
                f"What it changed is not known, and going back cannot restore it, because this was moved: {_named(gone)}."
            )
        unsaid = [each for each in self.files.unwatched if each not in self._said_unwatched]
        self._said_unwatched.update(unsaid)
        if unsaid:
            said.append(
                f"{_named(unsaid)} is no project and is not watched: what commands change in it is not known, and going "
                "back cannot restore it."
            )
        if any(each.partial for each in self._directories.values()):
            said.append("There was no time to look at all files of the project, so not all that changed is known.")
        if any(each.beyond or each.changed_beyond for each in self._directories.values()):
            folders = [root / folder for root, each in self._directories.items() for folder in each.changed_beyond]
            found = f" It changed something in: {_named(folders)}." if folders else ""
            most = f"{self.limits.max_files:,}"
            said.append(f"Of the files beyond the first {most} only sizes and times are compared.{found}")
        unread = sum(len(each.unread) for each in self._directories.values())
        if unread:
            said.append(
                f"There was no time to save {unread} files as they were; they are only compared by size and time."
            )
        if lost:
            said.append(f"Changed, and going back cannot restore it because it was not saved: {_named(lost)}.")
        return " ".join(said)

    # --- looking -----------------------------------------------------------------------------------------------------

    def _roots(self) -> tuple[Path, ...]:
        return (self.files.root, *self.files.additional)

    async def _look(self, *, told: bool) -> dict[Path, list[Difference]]:
        self._looked = (self._looked[1], time.monotonic())
        return await run_shielded_in_thread(self._differences, tuple(self.files.watched), told)

    def _differences(self, roots: tuple[Path, ...], told: bool) -> dict[Path, list[Difference]]:
        """What the first look at a directory finds was there before, even when a call runs in which it was added."""
        known = set(self._directories)
        return {root: self._at(root).update(told=told and root in known) for root in _topmost(roots)}

    def _changed_since(self, roots: tuple[Path, ...], moment: float) -> tuple[list[Path], bool]:
        looks = {root: self._at(root).changed_since(int((moment - CLOCK_S) * 1e9)) for root in _topmost(roots)}
        paths = [root / path for root, (found, _) in looks.items() for path in found]
        return sorted(paths), all(whole for _, whole in looks.values())

    def _at(self, root: Path) -> Directory:
        if self._kept is None:
            self._kept = PreimageStore(self.directory, self.limits.max_kept_bytes)
        if root not in self._directories:
            git = GitFiles(root, self.variables)
            watches = self.projects.watches
            self._directories[root] = Directory(root, git, self._kept, self.limits, self.hidden, self.secrets, watches)
        return self._directories[root]

    def _saved(self, differences: Mapping[Path, Sequence[Difference]]) -> list[Change]:
        """The differences with their contents in the store."""
        changes: list[Change] = []
        for root, found in ((root, some) for root, all_found in differences.items() for some in _portions(all_found)):
            held = (each for difference in found for each in (difference.before, difference.after) if each)
            contents = self._directories[root].contents(held)
            for difference in found:
                path = root / difference.path
                both = (difference.before, difference.after)
                secret = any(self._is_secret(path, each, contents) for each in both)
                before, after = (self._digest(each, contents, secret=secret) for each in both)
                modes = [each.seen[0] if each is not None else None for each in both]
                if (before, modes[0]) != (after, modes[1]) or before == UNKEPT:
                    changes.append(Change(path, before, after, modes[0], modes[1], secret=secret))
        return changes

    def _is_secret(self, path: Path, held: FileVersion | None, contents: Mapping[str, bytes]) -> bool:
        data = contents.get(held.ref) if held is not None else None
        return data is not None and self.secrets is not None and bool(self.secrets.secret_in(path, data))

    def _digest(self, held: FileVersion | None, contents: Mapping[str, bytes], *, secret: bool) -> str | None:
        if held is None or held.ref in (DIRECTORY, UNKEPT):
            return held.ref if held is not None else None
        data = contents.get(held.ref)
        if data is None or len(data) != held.seen[1]:  # git has it in another form than the disk
            return UNKEPT
        with contextlib.suppress(OSError):
            return self.projects.store.put(data, sync=False, secret=secret)
        return UNKEPT


def _topmost(roots: Sequence[Path]) -> list[Path]:
    top = [root for root in roots if not any(root != other and root.is_relative_to(other) for other in roots)]
    return [root for root in dict.fromkeys(top) if root.is_dir()]


def _named(paths: Sequence[Path]) -> str:
    names = ", ".join(os.fsencode(path).decode(errors="backslashreplace") for path in paths[:5])
    return names + (", ..." if len(paths) > 5 else "")


def _is_text(path: Path) -> bool:
    """Whether a journal can hold the path; a name may be any bytes."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _portions(found: Sequence[Difference]) -> Iterator[Sequence[Difference]]:
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


def explained(found: Change, own: Sequence[Edit]) -> Iterator[Change]:
    """What is left of a change when the edits that are known of the path are taken out, in the order they were made."""
    mode = found.before_mode
    at = max((n for n, edit in enumerate(own, 1) if edit.after == found.before), default=0)
    before = found.before
    for edit in own[at:]:
        if edit.before != before and before != UNKEPT:
            yield replace(found, before=before, after=edit.before, before_mode=mode, after_mode=edit.before_mode)
        before, mode = edit.after, edit.after_mode
    moved = mode is not None and found.after_mode is not None and mode != found.after_mode
    unknown = UNKEPT in (before, found.after) and not own[at:]
    if before != found.after or unknown or moved:
        yield replace(found, before=before, before_mode=mode)


@dataclass(slots=True)
class _Held:
    """A running command that says once that it has ended."""

    running: RunningCommand
    capture: Capture
    call_id: str
    _said: bool = False

    def output(self) -> AsyncIterator[bytes]:
        """As the command."""
        return self.running.output()

    async def wait(self) -> CommandExit:
        """As the command."""
        ended = await self.running.wait()
        await self._release()
        return ended

    async def kill(self) -> None:
        """As the command."""
        await self.running.kill()
        await self._release()

    async def _release(self) -> None:
        if not self._said:
            self._said = True
            await self.capture.release(self.call_id)
