"""Whatever happens to a text under review: nothing typed is lost, and what was rejected is gone.

The oracle knows of each line only whether it is in base, in the file, and who wrote it. Every line is written once, so that
it can be told apart.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.agents.review.reviewing import agent

from sould.agents.review.decisions import Decided, Decision, NeedsChoice, Verdict, decided, taken_back
from sould.agents.review.difference import LineEdit, edits_between
from sould.agents.review.hunk import PlacedHunk
from sould.agents.review.text import ReviewedText, applied
from sould.agents.review.undo import Write, without_turns

ENDS = st.sampled_from(["\n", "\r\n"])
POSITION = st.integers(0, 40)
COUNT = st.integers(0, 3)


@dataclass(eq=False)
class Slot:
    """A line that is in base, in the file, or in both. `own`: the user typed it into a hunk; `mixed`: words of both."""

    text: str
    in_base: bool
    in_file: bool
    own: bool = False
    mixed: bool = False


class Reviewing(RuleBasedStateMachine):
    """Agents and the user write, keep and reject."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ReviewedText.of((), 1)
        self.slots: list[Slot] = []
        self.numbers = itertools.count(1)

    @initialize(ends=st.lists(ENDS, max_size=12))
    def _file(self, ends: list[str]) -> None:
        self.slots = [Slot(self._line(end), in_base=True, in_file=True) for end in ends]
        self.text = ReviewedText.of(self._file_lines(), 1)

    @rule(at=POSITION, gone=COUNT, new=st.lists(ENDS, max_size=3), turn=st.sampled_from(["T1", "T2", "T3"]))
    def agent_replaces(self, at: int, gone: int, new: list[str], turn: str) -> None:
        """An agent replaces some lines of the file."""
        start, stop = self._range(at, gone)
        lines = [self._line(end) for end in new]
        before = self._in_file()[start:stop]
        where = self._behind(start, before)
        self.slots[where:where] = [Slot(line, in_base=False, in_file=True) for line in lines]
        for slot in before:
            self._removed_by_agent(slot)
        edits = edits_between(self.text.current, self._file_lines())
        self._undone_at_once(edits)
        self.text = self.text.agent_wrote(edits, agent(turn))

    @rule(at=POSITION, end=ENDS)
    def user_inserts(self, at: int, end: str) -> None:
        """The user types a line."""
        start, _ = self._range(at, 0)
        inside = any(each.start < start < each.stop for each in self.text.hunks)
        where = self._behind(start, [])
        self.slots.insert(where, Slot(self._line(end), in_base=not inside, in_file=True, own=inside))
        self._user_wrote()

    @rule(at=POSITION, count=COUNT)
    def user_deletes(self, at: int, count: int) -> None:
        """The user deletes lines."""
        start, stop = self._range(at, count)
        for slot in self._in_file()[start:stop]:
            self._removed_by_user(slot)
        self._user_wrote()

    @precondition(lambda self: self._in_file())
    @rule(at=POSITION, blank=st.booleans())
    def user_changes_a_line(self, at: int, blank: bool) -> None:
        """The user changes words, or only white space, of a line."""
        start, _ = self._range(at, 0)
        start = min(start, len(self._in_file()) - 1)
        slot = self._in_file()[start]
        agents = not slot.in_base and not slot.own
        slot.text = " " + slot.text if blank else f"{next(self.numbers)} {slot.text}"
        slot.mixed = slot.mixed or (agents and not blank)
        self._user_wrote()

    @precondition(lambda self: self.text.hunks)
    @rule(n=POSITION, verdict=st.sampled_from(["keep", "reject"]), undo=st.booleans())
    def decide(self, n: int, verdict: Verdict, undo: bool) -> None:
        """The user keeps or rejects a hunk, and may undo that at once."""
        found = self._hunk(n)
        answer = decided(self.text, Decision(verdict, found.hunk.id, found.hunk.digest))
        if isinstance(answer, NeedsChoice):
            assert verdict == "reject"
            assert [slot for slot in self._slots_of(found) if slot.mixed]
            answer = decided(self.text, Decision(verdict, found.hunk.id, found.hunk.digest, choice="drop"))
        assert isinstance(answer, Decided)
        if undo:
            back = taken_back(answer.text, found.hunk.id)
            assert isinstance(back, Decided)
            assert (back.text.base, back.text.current) == (self.text.base, self.text.current)
            assert {each.hunk for each in back.text.hunks} == {each.hunk for each in self.text.hunks}
            return
        self.text = answer.text
        self._settle(found, verdict)

    @invariant()
    def the_file_is_what_was_written(self) -> None:
        """Byte for byte."""
        assert self.text.current == self._file_lines()

    @invariant()
    def base_is_what_was_accepted(self) -> None:
        """The same lines, those of the user that agents removed among them."""
        assert Counter(self.text.base) == Counter(slot.text for slot in self.slots if slot.in_base)

    @invariant()
    def hunks_are_where_they_say(self) -> None:
        """Base with the hunks in it is the file; ids are told once; each hunk has something of an agent."""
        lines = list(self.text.base)
        for each in reversed(self.text.hunks):
            assert tuple(lines[each.base_start : each.base_start + len(each.hunk.base)]) == each.hunk.base
            lines[each.base_start : each.base_start + len(each.hunk.base)] = each.hunk.texts
            assert each.hunk.has_agent
            assert each.hunk.base != each.hunk.texts
        assert tuple(lines) == self.text.current
        ids = [number for each in self.text.hunks for number in (each.hunk.id, *each.hunk.absorbed)]
        assert len(ids) == len(set(ids))
        assert all(0 < number < self.text.next_id for number in ids)

    @invariant()
    def rejecting_everything_leaves_base_and_what_the_user_typed(self) -> None:
        """Mixed lines are dropped here, which is what the choice says."""
        expected = [slot.text for slot in self.slots if slot.in_base or (slot.in_file and slot.own)]
        assert Counter(_rejected(self.text)) == Counter(expected)

    @invariant()
    def keeping_everything_changes_no_byte(self) -> None:
        """And leaves nothing to review."""
        text = self.text
        for each in text.hunks:
            answer = decided(text, Decision("keep", each.hunk.id, each.hunk.digest))
            assert isinstance(answer, Decided)
            text = answer.text
        assert text.current == text.base == self.text.current
        assert not text.hunks

    # -- the oracle

    def _undone_at_once(self, edits: Sequence[LineEdit]) -> None:
        """A turn that is taken back before anything else happened leaves no trace."""
        written = self.text.agent_wrote(edits, agent("undone"))
        answer = without_turns(written, [Write(self.text.parts, tuple(edits))], {"undone"})
        assert (answer.conflicts, answer.kept) == (0, ())
        assert answer.text.current == self.text.current
        assert Counter(_rejected(answer.text)) == Counter(_rejected(self.text))

    def _line(self, end: str) -> str:
        return f"line {next(self.numbers)}{end}"

    def _in_file(self) -> list[Slot]:
        return [slot for slot in self.slots if slot.in_file]

    def _file_lines(self) -> tuple[str, ...]:
        return tuple(slot.text for slot in self._in_file())

    def _range(self, at: int, count: int) -> tuple[int, int]:
        start = min(at, len(self._in_file()))
        return start, min(start + count, len(self._in_file()))

    def _behind(self, start: int, gone: list[Slot]) -> int:
        """Where a new line at a line of the file stands among the slots: behind what is removed there."""
        if gone:
            return self.slots.index(gone[-1]) + 1
        following = self._in_file()[start:]
        return self.slots.index(following[0]) if following else len(self.slots)

    def _removed_by_agent(self, slot: Slot) -> None:
        slot.in_file = False
        slot.in_base = slot.in_base or slot.own
        slot.own = False
        if not slot.in_base:
            self.slots.remove(slot)

    def _removed_by_user(self, slot: Slot) -> None:
        self.slots.remove(slot)

    def _user_wrote(self) -> None:
        edits = edits_between(self.text.current, self._file_lines())
        self.text = self.text.user_wrote(edits, returning=False)
        self._absorb()

    def _absorb(self) -> None:
        """Own lines of hunks in which nothing of an agent is left are the user's text."""
        in_hunks = {line for each in self.text.hunks for line in each.hunk.texts}
        for slot in self.slots:
            if slot.own and slot.text not in in_hunks:
                slot.own, slot.in_base = False, True

    def _hunk(self, n: int) -> PlacedHunk:
        hunks = self.text.hunks
        return hunks[n % len(hunks)]

    def _slots_of(self, found: PlacedHunk) -> list[Slot]:
        lines = {*found.hunk.base, *found.hunk.texts}
        return [slot for slot in self.slots if slot.text in lines]

    def _settle(self, found: PlacedHunk, verdict: Verdict) -> None:
        slots = self._slots_of(found)
        above = self._in_file()[: found.start]
        for slot in slots:
            slot.in_base = slot.in_file if verdict == "keep" else slot.in_base or slot.own
        self.slots = [slot for slot in self.slots if slot not in slots]
        where = self.slots.index(above[-1]) + 1 if above else 0
        order = {line: n for n, line in enumerate([*found.hunk.base, *found.hunk.own] if verdict == "reject" else ())}
        self.slots[where:where] = sorted(
            (slot for slot in slots if slot.in_base), key=lambda slot: order.get(slot.text, 0)
        )
        for slot in slots:
            slot.in_file, slot.own, slot.mixed = True, False, False


def _rejected(text: ReviewedText) -> tuple[str, ...]:
    """What is left when everything is rejected."""
    for each in text.hunks:
        answer = decided(text, Decision("reject", each.hunk.id, each.hunk.digest, choice="drop"))
        assert isinstance(answer, Decided)
        text = answer.text
    assert text.base == text.current
    return text.current


TestReviewing = Reviewing.TestCase
TestReviewing.settings = settings(max_examples=300, stateful_step_count=15)


def test_edits_between_two_texts_turn_one_into_the_other() -> None:
    old = tuple(f"{n % 7}\n" for n in range(60))
    new = tuple(f"{n % 5}\n" for n in range(50))
    edits = edits_between(old, new)
    assert applied(old, edits) == new
    assert all(one.stop < other.start for one, other in itertools.pairwise(edits))
    assert edits_between(old, old) == ()
    assert edits_between((), new) == (LineEdit(0, 0, new),)
