"""The review of a project under anything that happens: what its log says after a restart is what it said before, byte for byte.

The oracle is slow and simple: it knows each line that the user typed and has not taken away, and what each file holds.
"""

import itertools
import shutil
import time

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule
from tests.agents.files.reviewing.driven import Driven
from tests.agents.files.reviewing.reviewdesk import ReviewDesk

from sould.agents.files.edits.ageing import OLD
from sould.agents.files.edits.snapshot import SNAPSHOT
from sould.agents.files.projects.housekeeping import clear
from sould.agents.files.projects.port import ProjectPort
from sould.agents.files.reviewing.listing import ReviewedHunk
from sould.agents.files.reviewing.shapes import Verdict
from soultest.luck import examples

NAMES = ("a.txt", "sub/b.txt")
NAME = st.sampled_from(NAMES)
SESSION = st.sampled_from(["S1", "S2"])
PLACES = st.lists(st.integers(0, 12), min_size=1, max_size=3)


class Reviewing(Driven[ReviewDesk]):
    """Two sessions, a user at a disk, and an editor that says what it holds."""

    @initialize(end=st.sampled_from(["\n", "\r\n", "\r"]), last=st.booleans())
    def begin(self, end: str, last: bool) -> None:
        """A project with one file."""
        self.end = end
        self._sit_down(ReviewDesk)
        self.numbers = itertools.count(1)
        self.turns = itertools.count(1)
        self.typed: set[str] = set()
        """Lines of the user's that are to be there: in a file, or on reject."""
        self.done: dict[str, list[str]] = {"S1": [], "S2": []}
        """The turns of each session that were not undone."""
        self.wrote: dict[str, set[str]] = {}
        """The lines that each turn wrote."""
        self.kept: set[str] = set()
        """Lines that the user kept."""
        self.seen: dict[int, str] = {}
        """Which file each id was in."""
        text = end.join(f"user {next(self.numbers)}" for _ in range(8)) + (end if last else "")
        self.desk.user(NAMES[0], text)
        self._note_typed(text)

    # --- what happens --------------------------------------------------------------------------------------------------

    @rule(name=NAME, places=PLACES, remove=st.booleans(), session=SESSION, command=st.booleans())
    def agent_writes(self, name: str, places: list[int], remove: bool, session: str, command: bool) -> None:
        """A tool or a command of an agent changes some places of a file, or makes it."""
        before = self._text(name)
        after = self._changed(before or "", places, "agent", remove=remove)
        turn = self._turn(session)
        self.wrote[turn] = {*after.splitlines()} - {*(before or "").splitlines()}
        if command:
            self._run(self.desk.command({name: before}, {name: after}, turn, session))
        elif before != after:
            self._run(self.desk.agent(name, after, turn, session))

    @rule(name=NAME, session=SESSION)
    def agent_deletes(self, name: str, session: str) -> None:
        """A tool of an agent removes a file."""
        if self._text(name) is not None:
            self._run(self.desk.agent(name, None, self._turn(session), session))

    @rule(session=SESSION, count=st.integers(1, 2), redo=st.booleans())
    def undo(self, session: str, count: int, redo: bool) -> None:
        """The last turns of a session are taken back; what they wrote is gone but for what is told. Redo at once leaves no trace."""
        turns = self.done[session][-count:]
        if not turns:
            return
        before = self._run(self.desk.hunks()), [self._text(name) for name in NAMES]
        number = next(self.numbers)
        kept = self.kept & self._there()
        outcomes = self._run(self.desk.undo(*turns, session=session, name=f"u{number}"))
        assert kept <= self._there()
        if not any(each.kept or each.conflicts or each.action in ("conflict", "kept") for each in outcomes):
            assert not self._there() & {line for turn in turns for line in self.wrote.get(turn, ())}
        if redo:
            self._run(self.desk.redo(f"u{number}", session=session, name=f"r{number}"))
            assert (self._run(self.desk.hunks()), [self._text(name) for name in NAMES]) == before
        else:
            del self.done[session][-count:]

    @rule(name=NAME, places=PLACES, remove=st.booleans())
    def user_saves(self, name: str, places: list[int], remove: bool) -> None:
        """The user changes some places of a file in an editor that says nothing."""
        self._run(self.desk.hunks())  # what lines a hunk has is known before the user changes them
        before = self._text(name) or ""
        after = self._changed(before, places, "user", remove=remove)
        self.desk.user(name, after)
        self._forget(before, after)
        self._note_typed(after)

    @rule(name=NAME, place=st.integers(0, 12), keys=st.integers(1, 4), saves=st.booleans())
    def user_types(self, name: str, place: int, keys: int, saves: bool) -> None:
        """The user types a line in an editor that says so, letter for letter, and saves it or closes the editor without."""
        before = self._text(name)
        if before is not None:
            line = f"user {next(self.numbers)}"
            self._run(self._type(name, before, place, [line[: len(line) - keys + n + 1] for n in range(keys)], saves))
            if saves:
                self._note_typed(line)

    async def _type(self, name: str, before: str, place: int, versions: list[str], saves: bool) -> None:
        path = self.desk.root / name
        await self.desk.session()
        async with ProjectPort.opened(self.desk.projects, self.desk.root, self.desk.state, "editor") as port:
            port.documents.open(path)
            text = before
            for version in versions:
                text = _inserted(before, place, version + self.end)
                port.documents.change(path, text)
                await port.pending_now()
            if saves:
                path.write_bytes(text.encode())
                port.documents.save(path)
            port.documents.close(path)
            await port.pending_now()

    @rule(n=st.integers(0, 9), verdict=st.sampled_from(["keep", "reject"]), undo=st.booleans())
    def decide(self, n: int, verdict: Verdict, undo: bool) -> None:
        """The user decides about a hunk, and may take that back."""
        hunks = self._run(self.desk.hunks())
        if not hunks:
            return
        hunk = hunks[n % len(hunks)]
        contents = {name: self._text(name) for name in NAMES}
        outcome = self._run(self.desk.decide(verdict, hunk.id))
        if outcome.done and undo and hunk.kind == "text":
            back = self._run(self.desk.decide("undo", hunk.id))
            if back.done:
                assert {name: self._text(name) for name in NAMES} == contents
                return
        if outcome.done and verdict == "keep":
            assert {name: self._text(name) for name in NAMES} == contents
            self._note_kept(hunk)
            if hunk.kind == "delete":
                self._forget_missing()

    @rule()
    def restart(self) -> None:
        """A new daemon knows what the old one knew."""
        before = self._run(self.desk.hunks(absent=True))
        self._run(self.desk.restart())
        assert self._run(self.desk.hunks(absent=True)) == before

    @rule(with_snapshot=st.booleans())
    def months_pass(self, with_snapshot: bool) -> None:
        """What is settled goes from the log, its sessions were pruned: what is pending stays as it is."""
        before = self._run(self.desk.hunks(absent=True))
        self._run(self.desk.aclose())
        shutil.rmtree(self.desk.state / "sessions", ignore_errors=True)
        self.done = {session: [] for session in self.done}
        self._run(clear(self.desk.projects, time.time() + 2 * OLD))
        if not with_snapshot:
            for snapshot in self.desk.state.glob(f"projects/*/{SNAPSHOT}"):
                snapshot.unlink()
        self._run(self.desk.restart())
        assert self._run(self.desk.hunks(absent=True)) == before

    @rule(keep=st.booleans())
    def decide_all(self, keep: bool) -> None:
        """Keeping everything changes no byte; rejecting everything leaves nothing of agents but what needs a choice."""
        contents = {name: self._text(name) for name in NAMES}
        pending = self._run(self.desk.hunks())
        outcome = self._run(self.desk.decide("keep" if keep else "reject"))
        if keep:
            assert {name: self._text(name) for name in NAMES} == contents
            assert not outcome.left
            for hunk in pending:
                self._note_kept(hunk)
            self._forget_missing()
        left = {each.id for each in outcome.left}
        assert {hunk.id for hunk in self._run(self.desk.hunks())} == left
        assert {each.why for each in outcome.left} <= {"needs_choice", "conflict"}, outcome.left

    # --- what holds ------------------------------------------------------------------------------------------------------

    @invariant()
    def base_and_hunks_are_the_file(self) -> None:
        """Byte for byte."""
        hunks = self._run(self.desk.hunks())
        review = self._run(self.desk.review())
        deleted = {hunk.path for hunk in hunks if hunk.kind == "delete"}
        for path, name in ((str(self.desk.root / name), name) for name in NAMES):
            if path in deleted:
                continue
            base = self._run(review.base(path))
            text = self._text(name)
            if base is None or text is None:
                continue
            lines = base.splitlines(keepends=True)
            for hunk in reversed([each for each in hunks if each.path == path and each.kind == "text"]):
                assert tuple(lines[hunk.base_start : hunk.base_start + len(hunk.base)]) == hunk.base, (hunk, base)
                lines[hunk.base_start : hunk.base_start + len(hunk.base)] = hunk.texts
            assert "".join(lines) == text
        self._note_ids(hunks)

    @invariant()
    def nothing_typed_is_lost(self) -> None:
        """It is in a file, comes back on reject, or is in what an agent deleted."""
        texts = [self._text(name) or "" for name in NAMES]
        hunks = self._run(self.desk.hunks(absent=True))
        kept = [line for hunk in hunks for line in (*hunk.base, *hunk.texts)]
        review = self._run(self.desk.review())
        for text in (text for hunk in hunks for text in review.deleted(hunk.path)):
            kept += [*text.base, *text.current]
        there = {line.strip() for text in (*texts, *kept) for line in text.splitlines()}
        assert self.typed <= there

    # --- the oracle ------------------------------------------------------------------------------------------------------

    def _turn(self, session: str) -> str:
        turn = f"T{next(self.turns)}"
        self.done[session].append(turn)
        return turn

    def _text(self, name: str) -> str | None:
        path = self.desk.root / name
        return path.read_bytes().decode() if path.exists() else None

    def _changed(self, text: str, places: list[int], who: str, *, remove: bool) -> str:
        lines = text.splitlines(keepends=True)
        for place in sorted(set(places), reverse=True):
            at = min(place, len(lines))
            new = f"{who} {next(self.numbers)}{self.end}"
            if lines and not lines[-1].endswith(("\n", "\r")):
                lines[-1] += self.end
            lines[at : at + (1 if remove else 0)] = [new]
        return "".join(lines)

    def _note_typed(self, text: str) -> None:
        self.typed |= {line.strip() for line in text.splitlines() if line.startswith("user")}

    def _forget(self, before: str, after: str) -> None:
        self._forget_lines(set(before.splitlines()) - set(after.splitlines()))

    def _forget_lines(self, lines: "set[str] | tuple[str, ...]") -> None:
        self.typed -= {line.strip() for line in lines}

    def _note_kept(self, hunk: ReviewedHunk) -> None:
        self._forget_lines(hunk.base)
        self.kept |= {line.strip() for line in hunk.texts}

    def _forget_missing(self) -> None:
        self.typed &= self._there()

    def _there(self) -> set[str]:
        return {line.strip() for name in NAMES for line in (self._text(name) or "").splitlines()}

    def _note_ids(self, hunks: list[ReviewedHunk]) -> None:
        assert len({hunk.id for hunk in hunks}) == len(hunks)
        for hunk in hunks:
            assert self.seen.setdefault(hunk.id, hunk.path) == hunk.path


def _inserted(text: str, place: int, line: str) -> str:
    lines = text.splitlines(keepends=True)
    at = min(place, len(lines))
    if at == len(lines) and lines and not lines[-1].endswith(("\n", "\r")):
        at -= 1
    return "".join([*lines[:at], line, *lines[at:]])


pytestmark = pytest.mark.long

TestReviewing = Reviewing.TestCase
TestReviewing.settings = settings(
    max_examples=examples(40),
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
