"""Whatever happens to a text under review, with a naive oracle beside it: which line is in base, which in the file, and whose.

Every line is written once, so that it can be told apart. Run by `test_text_property`, and with `make faults` in full.
"""

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.agents.files.review.oracle import Slot, all_lines, rejected, touch, within
from tests.agents.files.review.reviewing import Past, agent

from sould.agents.files.review.decisions import Decided, Decision, NeedsChoice, Verdict, decided, taken_back
from sould.agents.files.review.difference import LineEdit, edits_between
from sould.agents.files.review.file import TrackedFile
from sould.agents.files.review.hunk import Hunk, Line, PlacedHunk, Same
from sould.agents.files.review.lines import Lines, stacked
from sould.agents.files.review.text import ReviewedText
from sould.agents.files.review.undo import without_calls
from sould.agents.files.review.useredit import How
from sould.agents.files.review.weave import WeaveStep
from sould.agents.files.reviewing.gitreading import hunks_in

ENDS = st.sampled_from(["\n", "\r\n", "\r"])
LAST = st.sampled_from(["\n", "\r\n", "\r", ""])
POSITION = st.integers(0, 40)
COUNT = st.integers(0, 3)
TURNS = st.sampled_from([("S1", "T1"), ("S1", "T2"), ("S2", "T3")])
WRITE = st.tuples(POSITION, COUNT, st.lists(ENDS, max_size=3), TURNS)
_Replacement: TypeAlias = tuple[int, int, list[str], tuple[str, str]]
HOWS: tuple[How, ...] = ("typed", "disk", "git")
ELSEWHERE = st.sampled_from(["disk", "git"])


class Reviewing(RuleBasedStateMachine):
    """Agents of two sessions and the user write, keep, reject, and take back."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ReviewedText.of((), 1)
        self.slots: list[Slot] = []
        self.ghosts: dict[str, Slot] = {}
        """Lines that agents took away and that are not in base."""
        self.decided: dict[str, Slot] = {}
        """Lines that decisions took away, as they were before."""
        self.past = Past()
        self.bases: dict[int, Lines] = {}
        """Base before the hunks of these ids were decided about."""
        self.last = ""
        """The last line, when the file began without an end of it."""
        self.numbers = itertools.count(1)

    @initialize(ends=st.lists(ENDS, max_size=12), last=LAST, writes=st.lists(WRITE, max_size=4))
    def _file(self, ends: list[str], last: str, writes: list[_Replacement]) -> None:
        self.slots = [Slot(self._line(end), in_base=True, in_file=True) for end in (*ends, last)]
        self.last = "" if last else self.slots[-1].text
        self.text = ReviewedText.of(self._file_lines(), 1)
        self.past.note(self.text)
        for write in writes:
            self._agent_replaces(*write, allowed=False)

    # -- agents

    @rule(write=WRITE, allowed=st.booleans())
    def agent_replaces(self, write: _Replacement, allowed: bool) -> None:
        """A call of an agent replaces some lines of the file."""
        self._agent_replaces(*write, allowed=allowed)

    def _agent_replaces(self, at: int, gone: int, new: list[str], turn: tuple[str, str], *, allowed: bool) -> None:
        start, stop = self._range(at, gone)
        lines = [self._line(end) for end in new]
        if lines and start == stop == len(self._in_file()) and self._last_has_no_end():
            start -= 1
            lines = [self._file_lines()[-1] + new[0], *lines]
        by = agent(turn[1], turn[0], f"call {next(self.numbers)}")
        outright = allowed and not self._meets_a_hunk(start, stop)
        before = self._in_file()[start:stop]
        where = self._behind(start, before)
        self.slots[where:where] = [Slot(line, in_base=outright, in_file=True, by=by.call_id) for line in lines]
        for slot in before:
            self._removed_by_agent(slot, by.call_id, outright=outright)
        edits = edits_between(self.text.current, self._file_lines())
        self._undone_at_once(edits)
        self.text = self.text.agent_wrote(edits, by, allowed=allowed)
        self.past.note(self.text, by)
        self._absorb()

    @precondition(lambda self: self.past.calls)
    @rule(at=POSITION, count=st.integers(1, 4), whole=st.booleans())
    def undo(self, at: int, count: int, whole: bool) -> None:
        """A turn is taken back, or the last calls of it: what the user typed and kept stays, and nothing else of theirs."""
        turn = self.past.calls[at % len(self.past.calls)].turn_id
        of_turn = [by.call_id for by in self.past.calls if by.turn_id == turn]
        calls = frozenset(of_turn if whole else of_turn[-count:])
        answer = self.past.without(calls)
        if self._has_last_twice(answer.text.base) or self._has_last_twice(answer.text.current):
            return
        there = {*map(self._told, answer.text.current)}
        theirs = {
            self._told(slot.text) for slot in self._in_file() if slot.by in calls and not (slot.mixed or slot.kept)
        }
        known = {self._told(slot.text) for slot in self.slots} | {*map(self._told, self.ghosts)}
        known |= {self._told(line) for each in self.text.away if each.state == "stale" for line in each.hunk.base}
        assert {*map(self._told, self._file_lines())} - theirs - there == set()
        assert there - known == set()
        if not answer.conflicts:
            assert theirs & there - {self.last} == set()
            gone = (
                slot for slot in self.slots if not slot.in_file and slot.removed_by in calls and slot.by not in calls
            )
            assert {self._told(slot.text) for slot in gone} - there - {self.last} == set()
        self.past.forget(calls)
        self.bases = dict.fromkeys(
            self.bases, ()
        )  # what comes back beside removals that are decided may stand on either side
        self._adopt(answer.text)

    # -- the user

    @rule(at=POSITION, end=ENDS)
    def user_inserts(self, at: int, end: str) -> None:
        """The user types a line."""
        start, _ = self._range(at, 0)
        inside = any(each.start < start < each.stop for each in self.text.hunks)
        where = self._behind(start, [])
        if start == len(self._in_file()) and self._last_has_no_end():
            self._in_file()[-1].text += end
        self.slots.insert(where, Slot(self._line(end), in_base=not inside, in_file=True, own=inside))
        self._user_wrote()

    @rule(at=POSITION, count=COUNT)
    def user_deletes(self, at: int, count: int) -> None:
        """The user deletes lines."""
        start, stop = self._range(at, count)
        for slot in self._in_file()[start:stop]:
            self._divide(slot)
            self.slots.remove(slot)
        self._user_wrote()

    @precondition(lambda self: self._in_file())
    @rule(at=st.lists(POSITION, min_size=1, max_size=3), blank=st.booleans())
    def user_changes_lines(self, at: list[int], blank: bool) -> None:
        """The user changes words, or only white space, of some lines at once."""
        slots = self._in_file()
        for slot in dict.fromkeys(slots[n % len(slots)] for n in at):
            self._divide(slot)
            agents = not slot.in_base and not slot.own
            was = slot.text
            slot.text = " " + slot.text if blank else f"{next(self.numbers)} {slot.text}"
            slot.mixed = slot.mixed or (agents and not blank)
            slot.by = slot.by if agents else ""
            self.last = slot.text if was == self.last else self.last
        self._user_wrote()

    @precondition(lambda self: self.text.hunks and not self.text.away and not self.last)
    @rule(cuts=st.lists(st.tuples(POSITION, st.integers(1, 3)), min_size=1, max_size=3), at_once=st.booleans())
    def user_takes_lines_out_and_has_them_back(self, cuts: list[tuple[int, int]], at_once: bool) -> None:
        """By the editor's own undo, which is seen as one change: nothing has happened."""
        if not all(each.hunk.lines for each in self.text.hunks):
            return  # what is inserted where lines were removed stands below them, wherever it had stood
        text, lines = self.text, self.text.current
        for at, count in cuts:
            start = at % (len(lines) + 1)
            lines = (*lines[:start], *lines[start + count :])
            text = text if at_once else text.user_wrote(edits_between(text.current, lines))
        text = text.user_wrote(edits_between(text.current, lines))
        text = text.user_wrote(edits_between(lines, self.text.current))
        assert (text.base, text.hunks) == (self.text.base, self.text.hunks)

    @rule(at=POSITION, count=COUNT, new=st.lists(ENDS, max_size=3), how=ELSEWHERE)
    def a_program_writes(self, at: int, count: int, new: list[str], how: How) -> None:
        """A program that nobody knows replaces lines."""
        start, stop = self._range(at, count)
        lines = list(self._file_lines())
        lines[start:stop] = [self._line(end) for end in new]
        lines = [line if line[-1] in "\r\n" else line + "\n" for line in lines[:-1]] + lines[-1:]
        text = self.text.user_wrote(edits_between(self.text.current, lines), how)
        assert text.current == tuple(lines)
        untouched = [each.hunk for each in self.text.hunks if each.stop < start or stop < each.start]
        assert [each for each in untouched if text.pending(each.id) is None] == []
        self.bases = dict.fromkeys(self.bases, ())
        self._adopt(text)

    # -- decisions

    @precondition(lambda self: self.text.hunks)
    @rule(n=POSITION, verdict=st.sampled_from(["keep", "reject"]), part=st.none() | st.tuples(COUNT, COUNT))
    def decide(self, n: int, verdict: Verdict, part: tuple[int, int] | None) -> None:
        """The user keeps or rejects a hunk or some lines of it; what is undone at once never was."""
        found = self._hunk(n)
        lines = within(found.hunk, part)
        slots = self._slots_of(found, lines)
        answer = decided(self.text, Decision(verdict, found.hunk.id, found.hunk.digest, lines))
        if isinstance(answer, NeedsChoice):
            assert verdict == "reject"
            assert [slot for slot in slots if slot.mixed]
            answer = decided(self.text, Decision(verdict, found.hunk.id, found.hunk.digest, lines, "drop"))
        assert isinstance(answer, Decided)
        back = taken_back(answer.text, answer.hunk.id)
        assert isinstance(back, Decided)
        assert back.text.current == self.text.current
        if lines is None:
            left = stacked(found.hunk.base, found.hunk.own) if verdict == "reject" else found.hunk.texts
            stop = found.start + len(left)
            below = answer.text.current[stop : stop + 1]
            assert answer.text.current[found.start : stop + 1] == stacked(left, below)
            assert self._more_than_an_end(back.text) == self._more_than_an_end(self.text)
            own = {line for each in self.text.hunks for line in each.hunk.own}  # of a hunk that was the last line's end
            base = [self._told(line) for line in back.text.base if line not in own]
            assert base == [*map(self._told, self.text.base)]
        self.bases[answer.hunk.id] = self.text.base
        self._settle(slots, verdict)
        self._take(answer.text)

    @precondition(lambda self: self.bases)
    @rule(n=POSITION)
    def undo_a_decision(self, n: int) -> None:
        """Later, when other things have happened; it may be refused, and touches its own lines only."""
        number = list(self.bases)[n % len(self.bases)]
        away, before = self.text.gone(number), self.bases[number]
        answer = taken_back(self.text, number)
        if not isinstance(answer, Decided) or self._has_last_twice(answer.text.current):
            return
        assert away is not None
        current = self.text.current
        after = (*current[: away.start], *answer.hunk.texts, *current[away.stop :])
        assert [*map(self._told, answer.text.current)] == [*map(self._told, after)]
        base = [*map(self._told, answer.text.base)]
        assert Counter(self._told(line) for line in self.text.base if line not in away.hunk.texts) <= Counter(base)
        earlier = [*map(self._told, before)]
        assert [line for line in earlier if line in base] == [line for line in base if line in earlier]
        pending = {each.hunk.id for each in answer.text.hunks}
        assert {each.hunk.id for each in self.text.hunks} <= pending
        is_end = [*map(self._told, answer.hunk.base)] == [
            *map(self._told, answer.hunk.texts)
        ]  # ends where it is not the last
        assert not answer.hunk.has_agent or is_end or number in pending
        del self.bases[number]
        self._adopt(answer.text)

    # -- what holds after each

    @invariant()
    def the_file_is_what_was_written(self) -> None:
        """Byte for byte."""
        assert self.text.current == self._file_lines()

    @invariant()
    def every_line_but_the_last_has_an_end(self) -> None:
        """No two are ever glued together."""
        for lines in (self.text.base, self.text.current):
            assert [line for line in lines[:-1] if line[-1] not in "\r\n"] == []

    @invariant()
    def base_is_what_was_accepted(self) -> None:
        """The same lines, those of the user that agents removed among them."""
        assert self._counted(self.text.base) == self._counted(slot.text for slot in self.slots if slot.in_base)

    @invariant()
    def hunks_are_where_they_say(self) -> None:
        """Base with the hunks in it is the file; ids are told once; each hunk has something of an agent."""
        lines = list(self.text.base)
        for each in reversed(self.text.hunks):
            assert tuple(lines[each.base_start : each.base_start + len(each.hunk.base)]) == each.hunk.base
            lines[each.base_start : each.base_start + len(each.hunk.base)] = each.hunk.texts
            assert each.hunk.has_agent
            assert each.hunk.base != each.hunk.texts
            assert {line.agent for line in each.hunk.lines} - {None} <= {*each.hunk.agents}
        assert tuple(lines) == self.text.current
        ids = [number for each in self.text.hunks for number in each.hunk.ids]
        assert len(ids) == len(set(ids))
        assert all(0 < number < self.text.next_id for number in ids)
        away = [each.hunk.id for each in self.text.away]
        assert len(away) == len({*away} - {*ids})
        assert all(0 <= each.start <= each.stop <= len(self.text.current) for each in self.text.away)

    @invariant()
    def rejecting_everything_leaves_base_and_what_the_user_typed(self) -> None:
        """Mixed lines are dropped here, which is what the choice says."""
        expected = [slot.text for slot in self.slots if slot.in_base or (slot.in_file and slot.own)]
        assert self._counted(rejected(self.text)) == self._counted(expected)

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

    @invariant()
    def what_goes_to_base_and_comes_back_is_as_it_was(self) -> None:
        """The editor's own undo and redo, or a stash and its pop, where nothing else is away."""
        if self.text.away:
            return
        for how in HOWS:
            away = self.text.user_wrote(edits_between(self.text.current, self.text.base), how)
            assert not away.hunks
            assert away.current == away.base == self.text.base
            back = away.user_wrote(edits_between(away.current, self.text.current), how)
            assert (back.base, back.hunks) == (self.text.base, self.text.hunks)

    @invariant()
    def what_the_user_stages_is_found_and_nothing_else(self) -> None:
        """Every second hunk is staged; of hunks that touch, one may be taken for not staged, never the other way round."""
        hunks = self.text.hunks
        staged = {each.hunk.id for each in hunks[next(self.numbers) % 2 :: 2]}
        version = self.text
        for each in hunks:
            found = version.pending(each.hunk.id)
            assert found is not None
            lines = found.hunk.texts if each.hunk.id in staged else found.hunk.base
            version = version.replaced(found, [Same(lines)])
        found_ids = {each.hunk.id for each in hunks_in(self.text, version.current)}
        touching = {each.hunk.id for pair in itertools.pairwise(hunks) if touch(*pair) for each in pair}
        ends = {
            number for number, base, lines in self._told_hunks(self.text) if base == lines
        }  # staged with what is below it
        assert found_ids - ends <= staged <= found_ids | touching

    @invariant()
    def it_is_kept_and_read_again_as_it_is(self) -> None:
        """A snapshot has every state in it."""
        file = TrackedFile("a.py", self.text)
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(file), type=TrackedFile) == file
        assert msgspec.json.decode(msgspec.json.encode(file), type=TrackedFile) == file

    # -- the oracle

    def _undone_at_once(self, edits: Sequence[LineEdit]) -> None:
        """A call that is taken back before anything else happened leaves no trace."""
        written = self.text.agent_wrote(edits, agent("undone"))
        step = WeaveStep(written.parts, "call of undone", undone=True)
        answer = without_calls(written, self.text.parts, [step])
        assert (answer.conflicts, answer.kept) == (0, ())
        assert answer.text.current == self.text.current
        assert self._counted(rejected(answer.text)) == self._counted(rejected(self.text))

    def _counted(self, lines: Iterable[str]) -> Counter[str]:
        """How often each line is there; the last one may be, and be beside itself where an agent wrote it anew with an end."""
        counted = Counter(map(self._told, lines))
        counted[self.last] = min(counted[self.last], 1)
        return counted

    def _divide(self, slot: Slot) -> None:
        """The last line is two, where an agent wrote it anew and it is in base as it was written by now."""
        same = {line for part in self.text.parts if isinstance(part, Same) for line in part.lines}
        if slot.in_base and slot.in_file and self._is_last(slot.text) and slot.text not in same:
            self.slots.insert(self.slots.index(slot), replace(slot, in_file=False))
            slot.in_base = False

    def _last_has_no_end(self) -> bool:
        return any(line[-1] not in "\r\n" for line in self._file_lines()[-1:])

    def _line(self, end: str) -> str:
        return f"line {next(self.numbers)}{end}"

    def _in_file(self) -> list[Slot]:
        return [slot for slot in self.slots if slot.in_file]

    def _file_lines(self) -> Lines:
        return tuple(slot.text for slot in self._in_file())

    def _range(self, at: int, count: int) -> tuple[int, int]:
        start = at % (len(self._in_file()) + 1)
        return start, min(start + count, len(self._in_file()))

    def _meets_a_hunk(self, start: int, stop: int) -> bool:
        return any(each.start < stop and start < each.stop for each in self.text.hunks)

    def _behind(self, start: int, gone: list[Slot]) -> int:
        """Where a new line at a line of the file stands among the slots: behind what is removed there."""
        if gone:
            return self.slots.index(gone[-1]) + 1
        following = self._in_file()[start:]
        return self.slots.index(following[0]) if following else len(self.slots)

    def _removed_by_agent(self, slot: Slot, by: str, *, outright: bool) -> None:
        slot.in_file = False
        slot.in_base = (slot.in_base or slot.own) and not outright
        slot.own = False
        slot.removed_by = by
        if not slot.in_base:
            self.slots.remove(slot)
            self.ghosts[slot.text] = slot

    def _user_wrote(self) -> None:
        edits = edits_between(self.text.current, self._file_lines())
        self.text = self.text.user_wrote(edits, returning=False)
        self.past.note(self.text)
        self._absorb()

    def _absorb(self) -> None:
        """Own lines of hunks in which nothing of an agent is left are the user's text."""
        self._read_last()
        in_hunks = {line for each in self.text.hunks for line in each.hunk.texts}
        for slot in self.slots:
            if slot.own and slot.text not in in_hunks:
                slot.own, slot.in_base = False, True

    def _hunk(self, n: int) -> PlacedHunk:
        hunks = self.text.hunks
        return hunks[n % len(hunks)]

    def _slots_of(self, found: PlacedHunk, lines: tuple[int, int] | None) -> list[Slot]:
        start, stop = lines or (0, len(found.hunk.lines))
        texts = {*found.hunk.texts[start:stop], *(() if start else found.hunk.base)}
        return [slot for slot in self.slots if slot.text in texts]

    def _settle(self, slots: Collection[Slot], verdict: Verdict) -> None:
        for slot in slots:
            self.decided[slot.text] = replace(slot)
            slot.in_base = slot.in_file if verdict == "keep" else slot.in_base or slot.own
            slot.in_file, slot.own, slot.mixed, slot.removed_by = slot.in_base, False, False, ""
            slot.kept = slot.kept or verdict == "keep"
        self.slots = [slot for slot in self.slots if slot.in_base or slot.in_file]

    def _read_last(self) -> None:
        """What was the last line without an end gets one where something stands below it: read off the text, as it is not lost."""
        alike = [slot for slot in self.slots if self._is_last(slot.text)]
        lines = dict.fromkeys(filter(self._is_last, (*self.text.base, *self.text.current)))
        assert bool(lines) == bool(alike)
        written = {line.text: line for each in self.text.hunks for line in each.hunk.lines}
        where = self.slots.index(alike[0]) if alike else 0
        known = {slot.text: slot for slot in alike}
        self.slots = [slot for slot in self.slots if slot not in alike]
        for line in reversed(lines):
            in_base, in_file = line in self.text.base, line in self.text.current
            author = written.get(line, Line(line))
            old = known.get(line, alike[0])
            own = author.own and not in_base
            self.slots.insert(
                where, Slot(line, in_base, in_file, own, author.mixed, old.by, old.removed_by, kept=old.kept)
            )
        self._put_in_order()

    def _told(self, line: str) -> str:
        """A line, but for the end that what was the last one may have got."""
        return self.last if self._is_last(line) else line

    def _told_hunks(self, text: ReviewedText) -> list[tuple[int, list[str], list[str]]]:
        hunks = (each.hunk for each in text.hunks)
        return [(hunk.id, [*map(self._told, hunk.base)], [*map(self._told, hunk.texts)]) for hunk in hunks]

    def _more_than_an_end(self, text: ReviewedText) -> list[tuple[int, list[str], list[str]]]:
        """The hunks without the end that the last line got in one of them, in whichever, and without those that are no more of an agent."""
        result: list[tuple[int, list[str], list[str]]] = []
        for each, (number, base, lines) in zip(text.hunks, self._told_hunks(text), strict=True):
            count = 1 if base[:1] == lines[:1] == [self.last] else 0
            is_more = base[count:] or not all(line.own for line in each.hunk.lines[count:])
            result += [(number, base[count:], lines[count:])] if is_more else []
        return result

    def _has_last_twice(self, lines: Lines) -> bool:
        """An agent wrote the last line with an end, and that is back beside it: they cannot be told apart."""
        return sum(map(self._is_last, lines)) > 1

    def _is_last(self, line: str) -> bool:
        return line.rstrip("\r\n") == self.last

    def _take(self, text: ReviewedText) -> None:
        """The lines are known, and stand where the text has them."""
        self.text = text
        self.past.note(text)
        self._absorb()
        self._put_in_order()

    def _put_in_order(self) -> None:
        order = {line: n for n, line in enumerate(line for part in self.text.parts for line in all_lines(part))}
        self.slots.sort(key=lambda slot: order.get(slot.text, 0))

    def _adopt(self, text: ReviewedText) -> None:
        """What was found about the file is right; whose the lines are is read off it."""
        assert len(set(text.base)) == len(text.base)
        assert len(set(text.current)) == len(text.current)
        earlier = {**self.decided, **self.ghosts, **{slot.text: slot for slot in self.slots}}
        slots: dict[str, Slot] = {}
        for part in text.parts:
            for line in part.lines if isinstance(part, Same) else part.base:
                old = earlier.get(line) or Slot(line, in_base=True, in_file=True)
                in_file = isinstance(part, Same)
                removed_by = "" if in_file else old.removed_by
                slots[line] = Slot(line, True, in_file, by=old.by, removed_by=removed_by, kept=old.kept)
            for line in part.lines if isinstance(part, Hunk) else ():
                by = line.agent.call_id if line.agent else ""
                slots[line.text] = Slot(line.text, line.text in slots, True, line.own, line.mixed, by)
        self.text = text
        self.past.note(text)
        self.slots = list(slots.values())
        self._put_in_order()
        self.ghosts = {line: slot for line, slot in self.ghosts.items() if line not in slots}
