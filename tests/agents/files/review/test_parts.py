"""Parts of hunks: some current lines with the lines of base that go with them; and where lines of the user stand afterwards."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agents.files.review.reviewing import Story

from sould.agents.files.review.decisions import Decided, Decision, HunkStale, Verdict, decided, taken_back

BASE = "top\na1\na2\nb1\nend\n"
AFTER = "top\nA1\nA2\n\nB1\nB2\nend\n"


def part(story: Story, verdict: Verdict, lines: tuple[int, int], base_lines: tuple[int, int]) -> Decided:
    [found] = story.text.hunks
    answer = decided(story.text, Decision(verdict, found.hunk.id, found.hunk.digest, lines, None, base_lines))
    assert isinstance(answer, Decided)
    return answer


@pytest.mark.parametrize(
    ("verdict", "lines", "base_lines", "base", "current"),
    [
        ("keep", (0, 3), (0, 2), "top\nA1\nA2\n\nb1\nend\n", AFTER),
        ("keep", (3, 5), (2, 3), "top\na1\na2\nB1\nB2\nend\n", AFTER),
        ("keep", (1, 2), (1, 2), "top\na1\nA2\nb1\nend\n", AFTER),
        ("reject", (0, 3), (0, 2), BASE, "top\na1\na2\nB1\nB2\nend\n"),
        ("reject", (3, 5), (2, 3), BASE, "top\nA1\nA2\n\nb1\nend\n"),
        ("reject", (5, 5), (2, 3), BASE, "top\nA1\nA2\n\nB1\nB2\nb1\nend\n"),
        ("keep", (0, 0), (0, 1), "top\na2\nb1\nend\n", AFTER),
    ],
)
def test_a_part_is_decided_with_the_removed_lines_it_stands_for(
    verdict: Verdict, lines: tuple[int, int], base_lines: tuple[int, int], base: str, current: str
) -> None:
    story = Story.of(BASE)
    story.agent("T1", AFTER)
    answer = part(story, verdict, lines, base_lines)
    assert ("".join(answer.text.base), "".join(answer.text.current)) == (base, current)
    back = taken_back(answer.text, answer.hunk.id)
    assert isinstance(back, Decided)
    assert ("".join(back.text.base), "".join(back.text.current)) == (BASE, AFTER)


def test_a_part_of_no_lines_is_no_part() -> None:
    story = Story.of(BASE)
    story.agent("T1", AFTER)
    [found] = story.text.hunks
    answer = decided(story.text, Decision("keep", 1, found.hunk.digest, (2, 2), None, (1, 1)))
    assert answer == HunkStale(found)


@given(
    st.integers(0, 4),
    st.integers(0, 4),
    st.tuples(st.integers(0, 5), st.integers(0, 5)).map(sorted),
    st.tuples(st.integers(0, 5), st.integers(0, 5)).map(sorted),
    st.sampled_from(["keep", "reject"]),
)
def test_whatever_part_is_decided_nothing_else_changes_and_taking_it_back_changes_nothing(
    removed: int, written: int, lines: list[int], base_lines: list[int], verdict: Verdict
) -> None:
    old, new = ([f"{side}{n}\n" for n in range(count)] for side, count in (("old", removed), ("new", written)))
    story = Story.of("".join(["top\n", *old, "end\n"]))
    story.agent("T1", "".join(["top\n", *new, "end\n"]))
    start, stop = (min(each, written) for each in lines)
    first, last = (min(each, removed) for each in base_lines)
    if start == stop and first == last:
        return
    answer = part(story, verdict, (start, stop), (first, last))
    kept, back = (old[:first] + new[start:stop] + old[last:], new[:start] + old[first:last] + new[stop:])
    base, current = (kept, new) if verdict == "keep" else (old, back)
    assert answer.text.base == ("top\n", *base, "end\n")
    assert answer.text.current == ("top\n", *current, "end\n")
    undone = taken_back(answer.text, answer.hunk.id)
    assert isinstance(undone, Decided)
    assert (undone.text.base, undone.text.current) == (story.text.base, story.text.current)


@pytest.mark.parametrize(
    ("before", "written", "typed", "left"),
    [
        ("a = 1\nb = 2\nc = 3\n", "A = one\nB = two\nC = three\n", "A = one\nb = two, I say\nC = three\n",
         "a = 1\nb = 2\nb = two, I say\nc = 3\n"),
        ("first thing\nlast thing\n", "new\nmore new\nfirst words\nlast words\n",
         "new\nmore new\nmy first words\nlast words\n", "first thing\nmy first words\nlast thing\n"),
        ("one\ntwo\n", "ONE x\nTWO x\n", "ONE x yours\nbetween\nTWO x\n", "one\nONE x yours\nbetween\ntwo\n"),
        ("one\ntwo", "ONE\nTWO", "ONE\nTWO yours", "one\ntwo\nTWO yours"),
    ],
)  # fmt: skip
def test_mine_leaves_a_line_where_the_user_wrote_it(before: str, written: str, typed: str, left: str) -> None:
    story = Story.of(f"top\n{before}")
    story.agent("T1", f"top\n{written}")
    story.user(f"top\n{typed}")
    [hunk] = story.text.hunks
    answer = story.reject(hunk.hunk.id, "mine")
    assert isinstance(answer, Decided)
    assert story.current == f"top\n{left}"
    story.take_back(answer.hunk.id)
    assert story.current == f"top\n{typed}"
