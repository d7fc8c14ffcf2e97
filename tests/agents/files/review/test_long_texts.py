"""Long texts with a few changes: what is made of them is what is made of short ones, and costs by what was changed."""

import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import FrameType
from typing import Any, Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.agents.files.review.reviewing import Past, Story, agent

from sould.agents.files.review.decisions import Decided, Decision, decided, taken_back
from sould.agents.files.review.difference import LineEdit, applied, edits_between
from sould.agents.files.review.lines import Lines
from sould.agents.files.review.text import ReviewedText
from soultest.luck import examples

BLOCKS = 5
BETWEEN = "between"
TURNS = ["T1", "T2", "T3"]
WRITE = st.dictionaries(st.integers(0, BLOCKS - 1), st.lists(st.integers(0, 25), max_size=4), max_size=2)
EVENT = st.tuples(st.sampled_from([*TURNS, *TURNS, "user", "disk", "keep", "reject", "back"]), WRITE, st.integers(0, 9))


class Blocks:
    """A text of short blocks, no line of which is like another one, with so many lines between them that nobody changes."""

    def __init__(self, between: int) -> None:
        self.between = between
        self.text = ReviewedText.of(self._lines({0: (1,), 1: (2, 3), 2: (), 3: (4, 5, 6), 4: (7,)}), 1)
        self.past = Past()
        self.past.note(self.text)

    def _lines(self, blocks: dict[int, Sequence[int]]) -> Lines:
        """The text with these numbers in its blocks, each where it is first only."""
        lines: list[str] = []
        for block in range(BLOCKS):
            new = [line for number in blocks[block] if (line := f"line {number}\n") not in lines]
            lines += [*dict.fromkeys(new), *(f"{BETWEEN} {block} {n}\n" for n in range(self.between))]
        return tuple(lines)

    def _blocks(self, lines: Lines) -> dict[int, Sequence[int]]:
        found: dict[int, list[int]] = {block: [] for block in range(BLOCKS)}
        block = 0
        for line in lines:
            name, *numbers = line.split()
            block = int(numbers[0]) + 1 if name == BETWEEN else block
            if name != BETWEEN:
                found[min(block, BLOCKS - 1)].append(int(numbers[0]))
        return dict(found)

    def happens(self, what: str, write: dict[int, list[int]], which: int) -> None:
        """One event, where it is possible: of a block or two, or of some hunk."""
        match what:
            case "keep" | "reject" | "back":
                self._decide(what, which)
            case _:
                self._write(what, write)

    def _decide(self, what: Literal["keep", "reject", "back"], which: int) -> None:
        gone = [each.hunk.id for each in self.text.away if each.state in ("kept", "rejected")]
        hunks = [each.hunk for each in self.text.hunks]
        if what == "back":
            answer = taken_back(self.text, gone[which % len(gone)]) if gone else None
        else:
            hunk = hunks[which % len(hunks)] if hunks else None
            answer = decided(self.text, Decision(what, hunk.id, hunk.digest, choice="mine")) if hunk else None
        if isinstance(answer, Decided):
            self._become(answer.text)

    def _write(self, what: str, write: dict[int, list[int]]) -> None:
        now = self.text.current
        edits = edits_between(now, self._lines({**self._blocks(now), **write}))
        if what in TURNS:
            by = agent(what, call=f"call {len(self.past.calls)}")
            self.text = self.text.agent_wrote(edits, by)
            self.past.note(self.text, by)
        else:
            self._become(self.text.user_wrote(edits, "disk" if what == "disk" else "typed"))

    def _become(self, text: ReviewedText) -> None:
        self.text = text
        self.past.note(text)

    def undone(self, turn: str) -> object:
        """What taking a turn back comes to, but for the lines between."""
        calls = [by.call_id for by in self.past.calls if by.turn_id == turn]
        answer = self.past.without(calls)
        self._become(answer.text)
        hunks = [(each.hunk.base, tuple(each.hunk.lines), each.hunk.id) for each in answer.text.hunks]
        away = {each.hunk.id: each.state for each in answer.text.away}
        return answer.hunks, answer.kept, answer.conflicts, hunks, away, *map(_without_between, self.sides)

    @property
    def sides(self) -> tuple[Lines, Lines]:
        """Base and the text."""
        return self.text.base, self.text.current

    @property
    def is_whole(self) -> bool:
        """No line between is missing on either side, or at another place."""
        between = list(self._lines(dict.fromkeys(range(BLOCKS), ())))
        return all([line for line in side if line.startswith(BETWEEN)] == between for side in self.sides)


def _without_between(lines: Lines) -> Lines:
    return tuple(line for line in lines if not line.startswith(BETWEEN))


@pytest.mark.long
@settings(max_examples=examples(150), deadline=None)
@given(st.lists(EVENT, min_size=2, max_size=12), st.sampled_from(TURNS), st.sampled_from(TURNS))
@example([("T1", {4: []}, 0), ("user", {0: [], 4: [0, 7]}, 0)], "T1", "T1")
def test_turns_are_taken_back_in_a_long_text_as_in_a_short_one(
    events: list[tuple[str, dict[int, list[int]], int]], turn: str, then: str
) -> None:
    short, long = Blocks(12), Blocks(300)
    for what, write, which in events:
        short.happens(what, write, which)
        long.happens(what, write, which)
    for each in (turn, then):
        assert long.undone(each) == short.undone(each)
        assert long.is_whole


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2_500), st.integers(0, 400), st.integers(0, 400)), max_size=6),
    st.sampled_from([3, 40, 5_000]),
)
def test_edits_of_a_long_text_are_found_wherever_they_are(changes: list[tuple[int, int, int]], kinds: int) -> None:
    old = tuple(f"{n * 7919 % kinds}\n" for n in range(2_500))
    new = list(old)
    for n, (at, gone, more) in enumerate(changes):
        new[at : at + gone] = [f"{(n + each * 104729) % (2 * kinds)}\n" for each in range(more)]

    edits = edits_between(old, new)

    assert applied(old, edits) == tuple(new)
    assert all(edit.lines[:1] != old[edit.start : edit.start + 1] for edit in edits if edit.start < edit.stop)
    assert all(one.stop < other.start for one, other in pairwise(edits))


def changed(lines: int, every: int) -> tuple[Lines, Lines]:
    """A text, and the same with some lines changed."""
    old = tuple(f"line {n}\n" for n in range(lines))
    return old, tuple(f"LINE {n}\n" if n % every == every // 2 else line for n, line in enumerate(old))


def work(what: Callable[[], object]) -> int:
    """How many lines of code are run, each as often as a loop comes to it."""
    count = 0

    def trace(_: FrameType, event: str, __: Any) -> Callable[..., Any]:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        what()
    finally:
        sys.settrace(before)
    return count


def of_ten_changes(lines: int) -> dict[str, int]:
    """The work that ten changes make in a text of so many lines."""
    old, new = changed(lines, lines // 10)
    story = Story.of("".join(old))
    found: dict[str, int] = {"compare": work(lambda: edits_between(old, new))}
    edits = edits_between(old, new)
    found["write"] = work(lambda: story.text.agent_wrote(edits, agent("T1")))
    story.agent("T1", "".join(new))
    found["type"] = work(lambda: story.text.user_wrote([LineEdit(7, 8, ("mine\n",))]))
    hunk = story.text.hunks[4].hunk
    found["keep"] = work(lambda: decided(story.text, Decision("keep", hunk.id, hunk.digest)))
    found["reject"] = work(lambda: decided(story.text, Decision("reject", hunk.id, hunk.digest)))
    story.reject(hunk.id)
    found["take back"] = work(lambda: taken_back(story.text, hunk.id))
    found["undo"] = work(lambda: story.undo("T1"))
    return found


def test_ten_changes_are_as_much_work_in_a_text_ten_times_as_long() -> None:
    short, long = of_ten_changes(2_000), of_ten_changes(20_000)

    assert {name for name, count in long.items() if count > 2 * short[name] + 200} == set()
