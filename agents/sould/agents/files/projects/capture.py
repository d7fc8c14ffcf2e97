"""What commands, MCP servers, hooks and background tasks do to files: looked at before and after, kept as the call's own.

A call's interval begins when it may have its effects and ends with it. What changed in an interval is the call's, unless
somebody else may have done it: another session at work there, another agent of this one, or the user (`whose`). Then it is
`shared`: known, and never taken back with others (D19). Looking never blocks the event loop and never holds a call longer than
its limits.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from sould.agents.base.errors import SouldError
from sould.agents.base.tasks import Behind, begun, in_time, readable, run_shielded_in_thread, shielded
from sould.agents.base.workspace import RunningCommand
from sould.agents.files.directories.comparing import Difference
from sould.agents.files.directories.refs import UNKEPT
from sould.agents.files.edits.moments import moment
from sould.agents.files.projects.changes import (
    MOST_NAMED,
    CallChange,
    Findings,
    LateListener,
    UnsureListener,
    is_text,
)
from sould.agents.files.projects.commands import SessionCommands
from sould.agents.files.projects.findingwords import CertainWithin, Evidence, FindingWords, meanwhile, whose
from sould.agents.files.projects.foundchanges import FoundChanges
from sould.agents.files.projects.lookedat import LookedAt
from sould.agents.files.projects.projects import Projects
from sould.agents.files.projects.writers import HeldCommand, Interval, Writers
from sould.agents.files.review.hunk import AgentCall

logger = logging.getLogger(__name__)

COPYING = 0.01
"""Seconds of copying at a time while nobody waits, and of leaving it between two times."""
CLOSING = 5.0
"""Seconds that a session stays for what is still to be found of its calls."""
LEAVING = 1.0
"""Seconds that a call which was cut off waits for what it did to be known."""
RESTING = 2.0
"""Seconds that looking stands still for one search."""
LATE = (
    "The project is still being looked at: what this changed in places that had not been reached by then is told when "
    "that is done."
)


def _happened() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


class Capture(Struct):
    """Of one session; what it finds goes to `found`."""

    found: FoundChanges
    commands: SessionCommands
    looked_at: LookedAt
    words: FindingWords
    writers: Writers
    certain_within: CertainWithin
    _intervals: dict[str, Interval] = field(default_factory=dict[str, Interval])
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by who looks."""
    _ending: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the end of a call is taken in."""
    _found: dict[str, Findings] = field(default_factory=dict[str, Findings])
    _looked: tuple[float, float] = (0.0, 0.0)
    """When the last two looks began."""
    _unsettled: dict[str, Interval] = field(default_factory=dict[str, Interval])
    """Calls that have ended, of which not everything is known yet."""
    _recent: dict[str, Interval] = field(default_factory=dict[str, Interval])
    """The others that ended in this turn."""
    _to_sweep: dict[str, Interval] = field(default_factory=dict[str, Interval])
    """Those of earlier turns that ended while everything was looked at."""
    _behind: Behind = field(default_factory=lambda: Behind("looking behind"))
    _listener: LateListener | None = None
    _unsure: UnsureListener | None = None
    _searches: int = 0
    _calm: asyncio.Event = field(default_factory=_happened)
    """Nothing stands still for a search."""

    @property
    def projects(self) -> Projects:
        """Whose store has the contents of what was found."""
        return self.looked_at.projects

    def tell(self, listener: LateListener) -> None:
        """From now on tell it what is found late."""
        self._listener = listener

    def tell_unsure(self, listener: UnsureListener) -> None:
        """From now on tell it of calls with changes that may be the user's."""
        self._unsure = listener

    def prepare(self) -> None:
        """Calls may have effects in a while: begin to look, and to copy what they may change. Nobody waits for it."""
        if not self.looked_at.by_root and not self._behind.busy:
            self._behind.begin(self._go_on())

    @contextmanager
    def giving_way(self) -> Generator[None]:
        """A search runs. Looking that nobody waits for would take the processors from it, and stands still for a while."""
        self._searches += 1
        self._rest()
        timer = asyncio.get_running_loop().call_later(RESTING, self._rest_no_more)
        try:
            yield
        finally:
            timer.cancel()
            self._searches -= 1
            if not self._searches:
                self._rest_no_more()

    async def sweep(self) -> None:
        """A turn has ended that ran commands: find what they wrote through memory maps into files that were touched before.

        While everything is still being looked at, that is done when it was.
        """
        recent, self._recent = self._recent, {}
        if self._unsettled:
            self._to_sweep |= recent | self._unsettled
        elif recent:
            await self._alone(partial(self._sweep, recent))

    async def _sweep(self, calls: Mapping[str, Interval]) -> None:
        if touched := tuple(self.found.touched):
            self._unsettled |= calls
            found = await self._look(told=True, touched=touched)
            written = {root: [each for each in some if each.rewrote] for root, some in found.items()}
            await self._keep(written, self._current())

    async def begin(self, call: AgentCall, title: str = "") -> None:
        """The call may have its effects from here on. Called again, it is from there on. `title`: for what is found late."""
        async with self._one:
            await shielded(self._attribute(self._current(leave=call.call_id)))
            self.looked_at.calls_run()
            if call.call_id not in self._intervals:
                self._intervals[call.call_id] = Interval(call, moment(), title)
            self._intervals[call.call_id].run()
            self.writers.begin(self.found.session_id, self.found.borrowed.directories)
        await self.commands.begin(call.call_id, self._find)

    async def _find(self) -> None:
        """Keep what has been changed by now."""
        await self._alone(self._find_now)

    async def _find_now(self) -> None:
        if self._intervals:
            await self._attribute(self._current())

    async def _alone(self, work: Callable[[], Awaitable[None]]) -> None:
        """One look, and what it finds is kept. A caller who is cancelled leaves at once, and it is done without them."""

        async def in_turn() -> None:
            async with self._one:
                await work()

        await begun(in_turn())

    async def not_kept(self, paths: Sequence[Path]) -> Sequence[Path]:
        """Those of the files of which no copy is kept, as far as is known by now."""
        async with self._one:
            return await asyncio.to_thread(self.looked_at.not_kept, paths)

    def watches(self, call_id: str) -> bool:
        """Whether an interval of the call is open."""
        return call_id in self._intervals

    async def finish(self, call_id: str) -> Findings:
        """The call has ended; what it did. What it left running in the background goes on as `shared`.

        A caller who is cancelled leaves at once, and what the call did is kept without them.
        """
        if (interval := self._intervals.get(call_id)) is not None:
            interval.stop()
        return await begun(self._finish(call_id))

    async def ended(self) -> None:
        """What the calls that have ended by now did is known."""
        async with self._ending:
            pass

    async def abandon(self, call_id: str) -> None:
        """The call was cut off: as `finish`, but nobody stays until thousands of files are known."""
        await in_time(LEAVING, self.finish(call_id))

    async def _finish(self, call_id: str) -> Findings:
        async with self._ending:
            interval = self._intervals.get(call_id)
            if interval is None:
                return Findings()
            try:
                async with self._one:
                    await self._attribute(call_id)
                    await self._make_sure(interval)
                    interval.end()
                    if not interval.holds:
                        self._close(call_id)
                        self._ask_about(interval)
                    found = await self._with_met(self._found.pop(call_id, Findings()))
                    return replace(found, note=f"{found.note} {LATE}".lstrip()) if self._late else found
            finally:
                await self.commands.end(call_id)
                if interval.holds:
                    await self.commands.goes_on(call_id, self._find)

    async def running(self, call: AgentCall, start: Callable[[], Awaitable[RunningCommand]]) -> RunningCommand:
        """Start a command for the call, whose interval stays open until the command has ended.

        A call that has ended by then left it in the background.
        """
        call_id = call.call_id
        if call_id not in self._intervals:
            await self.begin(call)
            self._intervals[call_id].end()
            await self.commands.end(call_id)  # it is in the background: nobody waits for it to look at files
            await self.commands.goes_on(call_id, self._find)
        interval = self._intervals[call_id]
        interval.hold()
        try:
            return HeldCommand(await start(), partial(self.release, call_id))
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
                self._ask_about(interval)
                self._found.pop(call_id, None)
            self.commands.over(call_id)

    async def changed_since(self, since: float, turn_id: str, call_id: str) -> tuple[Sequence[Path], bool]:
        """The files that changed since then (wall seconds), kept as the call's and `shared`; False: not all were looked at.

        What they were is not known: the call was cut off with the process that knew.
        """
        async with self._one:
            found, whole = await run_shielded_in_thread(
                self.looked_at.changed_since, tuple(self.found.borrowed.watched), since
            )
            paths = [path for path in found if is_text(path)]
            changes = [CallChange(path, UNKEPT, UNKEPT, shared=True) for path in paths[:MOST_NAMED]]
            with contextlib.suppress(OSError, SouldError):  # then it is told, and not kept
                await self.found.keep(changes, moment(), AgentCall(self.found.session_id, turn_id, call_id))
        return paths, whole and not self.found.borrowed.unwatched

    async def aclose(self) -> None:
        """Let go of all copies, when what calls did is known."""
        while self._unsettled and (late := self.looked_at.late) is not None:
            if not await in_time(CLOSING, self._catch_up(late)):
                break
        await self._behind.aclose()
        await self.ended()
        while self._intervals:
            self.commands.over(self._intervals.popitem()[0])
        self.writers.end(self.found.session_id)
        async with self._one:
            await run_shielded_in_thread(self.looked_at.close)

    # --- whose a change is -------------------------------------------------------------------------------------------

    def _close(self, call_id: str) -> None:
        interval = self._intervals.pop(call_id, None)
        if interval is not None:
            interval.close()
            (self._unsettled if self._late else self._recent)[call_id] = interval
        if not self._intervals:
            self.writers.end(self.found.session_id)
        self._settle()
        if self._unfinished and not self._behind.busy:
            self._behind.begin(self._go_on())

    def _settle(self) -> None:
        """Everything is known of the calls that have ended, if it is."""
        if not self._late:
            self._unsettled.clear()
            if not self._intervals:
                self.looked_at.calls_ended()

    @property
    def _late(self) -> bool:
        return self.looked_at.late is not None

    def _current(self, leave: str = "") -> str:
        """The call whose a change is that is found now: the newest that runs, else the newest that left something running."""
        others = [(call_id, each) for call_id, each in self._intervals.items() if call_id != leave]
        running = [call_id for call_id, each in others if not each.done]
        return (running or [call_id for call_id, _ in others] or [""])[-1]

    async def _attribute(self, call_id: str) -> None:
        """Look, and keep what is found as the call's, or as that of those before it of which not everything is known."""
        told = call_id in self._intervals or bool(self._unsettled)
        await self._keep(await self._look(told=told), call_id)

    async def _keep(self, found: Mapping[Path, Sequence[Difference]], call_id: str) -> None:
        shares: dict[str, dict[Path, list[Difference]]] = {}
        if call_id in self._intervals:
            shares[call_id] = {}
        for root, differences in found.items():
            for each in differences:
                whose, alone = self._whose(each, call_id)
                mine = each if alone else replace(each, sure=False)
                if whose:  # else it is nobody's of ours: the user's, or an editor's
                    shares.setdefault(whose, {}).setdefault(root, []).append(mine)
        for whose, share in shares.items():
            await self._keep_as(whose, share)
        self._settle()

    def _whose(self, difference: Difference, call_id: str) -> tuple[str, bool]:
        """The call that did it, "" when none did, and whether no other one can have."""
        if not self._unsettled:
            return call_id, True
        calls = {**self._unsettled, **({call_id: self._intervals[call_id]} if call_id in self._intervals else {})}
        able = [each for each, interval in calls.items() if interval.covers(difference.changed_at)]
        known = bool(difference.changed_at) or call_id in self._intervals
        return (able or [""])[-1], known and len(calls) == 1

    async def _keep_as(self, call_id: str, differences: Mapping[Path, Sequence[Difference]]) -> None:
        """Keep what is found as the call's."""
        late = call_id not in self._intervals
        interval = self._unsettled[call_id] if late else self._intervals[call_id]
        changes = await run_shielded_in_thread(self.looked_at.saved, differences) if any(differences.values()) else []
        since = min(self._looked[0], interval.started) if late else self._looked[0]
        judged = self._judged([each for each in changes if is_text(each.path)], interval, since)
        try:
            noted = await self.found.keep(judged, interval.since, interval.call) if judged else ()
        except (OSError, SouldError) as error:
            why = error.message if isinstance(error, SouldError) else error.strerror or "the disk refused"
            self._add(call_id, Findings((), f"What it changed could not be saved: {why.removesuffix('.')}."), late=late)
            return
        known = {each.path for each in noted}
        lost = {each.path: None for each in judged if UNKEPT in (each.before, each.after) and each.path in known}
        lost |= {each.path: None for each in changes if not is_text(each.path)}
        guessed = [each.path for each in changes if each.shared and each.path not in lost]
        unsure = [each.path for each in noted if each.unsure and each.path not in (*lost, *guessed)]
        said = unsure if interval.seconds is not None else ()  # else it may be certain by the end
        findings = Findings(tuple(noted), self.words.of(self.looked_at.by_root, tuple(lost), guessed, said))
        self._add(call_id, await self._with_met(findings) if late else findings, late=late)

    def _judged(self, changes: Sequence[CallChange], interval: Interval, since: float) -> list[CallChange]:
        """The changes without the user's, each with who else may have made it."""
        others = self.writers.others(self.found.session_id, since)
        with_others = len({each.call.subagent for each in self._intervals.values() if not each.done}) > 1
        ran = meanwhile(interval.title, interval.seconds)
        judged: list[CallChange] = []
        for each in changes:
            said = self.projects.buffers.said(each.path, each.after, each.changed_at, since)
            evidence = Evidence(interval.seconds, said, guessed=each.shared)
            is_shared = each.shared or with_others or _lies_in(each.path, others)
            match whose(evidence, self.certain_within()):
                case "agent":
                    judged.append(replace(each, shared=is_shared))
                case "unsure":
                    judged.append(replace(each, shared=True, unsure=True, ran=ran))
                    may_be_sure = whose(replace(evidence, seconds=0.0), self.certain_within()) == "agent"
                    interval.doubt(for_good=is_shared or not may_be_sure)
                case "user":
                    pass  # it is taken as what a client said
        return judged

    async def _make_sure(self, interval: Interval) -> None:
        """What was found while the call ran was unsure until it was known that it ended soon."""
        ended_soon = whose(Evidence(interval.seconds), self.certain_within()) == "agent"
        if ended_soon and interval.doubts == "so far":
            with contextlib.suppress(OSError):  # then it stays unsure
                await self.found.make_sure(interval.call)

    def _ask_about(self, interval: Interval) -> None:
        if interval.doubts and self._unsure is not None:
            self._unsure(interval.call)

    async def _with_met(self, found: Findings) -> Findings:
        """With what it met of other sessions, in words."""
        hunks = {hunk.id: hunk for change in found.changes for hunk in change.met}
        met = await asyncio.to_thread(self.words.met, hunks.values()) if hunks else ""
        return replace(found, note=f"{found.note} {met}".strip())

    def _add(self, call_id: str, findings: Findings, *, late: bool) -> None:
        if not late:
            before = self._found.get(call_id, Findings())
            merged = (*before.changes, *findings.changes)
            self._found[call_id] = Findings(merged, findings.note or before.note)
        elif self._listener is not None and (findings.paths or findings.note):
            self._listener(self._unsettled[call_id].title, findings)

    # --- looking -----------------------------------------------------------------------------------------------------

    def _rest(self) -> None:
        """Unless no search runs, or somebody waits."""
        if self._searches and not self._intervals and not self._one.locked():
            self._calm.clear()
            self.looked_at.rest()

    def _rest_no_more(self) -> None:
        self._calm.set()
        self.looked_at.go_on()

    async def _look(self, *, told: bool, touched: Sequence[Path] = ()) -> dict[Path, list[Difference]]:
        self._rest_no_more()
        self._looked = (self._looked[1], time.monotonic())
        found = await run_shielded_in_thread(
            self.looked_at.differences, tuple(self.found.borrowed.watched), told=told, touched=touched
        )
        if self._unfinished and not self._behind.busy:
            self._behind.begin(self._go_on())
        return found

    @property
    def _unfinished(self) -> bool:
        """There is something to do while nobody waits."""
        return self._late or (not self._intervals and self.looked_at.to_copy is not None)

    async def _go_on(self) -> None:
        """Finish looking, and copy what calls may change, while nobody waits."""
        if not self.looked_at.by_root:
            await self._calm.wait()
            async with self.projects.beforehand, self._one:
                if not self.looked_at.by_root:
                    watched = tuple(self.found.borrowed.watched)
                    await run_shielded_in_thread(self.looked_at.differences, watched, told=False, patience=0.0)
            self._rest()
        while True:
            await self._calm.wait()
            copying = self.looked_at.to_copy if not self._intervals else None
            if (late := self.looked_at.late) is not None:
                await self._catch_up(late)
            elif copying is not None:
                await asyncio.sleep(COPYING)
                async with self._one:
                    await run_shielded_in_thread(copying.copy_some, COPYING)
            else:
                break

    async def _catch_up(self, late: int) -> None:
        await readable(late)
        async with self._one:
            told = bool(self._intervals or self._unsettled)
            await self._keep(await run_shielded_in_thread(self.looked_at.caught_up, told=told), self._current())
            if self._to_sweep and not self._late:
                calls, self._to_sweep = self._to_sweep, {}
                await self._sweep(calls)


def _lies_in(path: Path, roots: Sequence[Path]) -> bool:
    return any(path.is_relative_to(root) for root in roots)
