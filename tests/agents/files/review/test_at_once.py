"""Decisions about many hunks at once come to what they come to one after the other."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agents.files.review.reviewing import agent

from sould.agents.files.review.atonce import decided_at_once, taken_back_at_once
from sould.agents.files.review.decisions import Decided, Decision, decided, taken_back
from sould.agents.files.review.difference import edits_between
from sould.agents.files.review.lines import Lines
from sould.agents.files.review.text import ReviewedText
from soultest.luck import examples

CALLS = [agent("T1"), agent("T2"), agent("T3", "S2")]
LINES = st.lists(st.sampled_from("abcdefgh"), max_size=4)
WRITE = st.tuples(st.integers(0, 30), st.integers(0, 3), LINES)
EVENT = st.tuples(st.sampled_from(["T1", "T2", "T3", "user", "disk", "keep", "reject", "undo"]), WRITE)
CHOSEN = st.tuples(st.integers(0, 20), st.sampled_from(["keep", "reject"]), st.sampled_from([None, "mine", "drop"]))


def ended(names: list[str], *, end: str = "\n") -> Lines:
    lines = [f"{name}\n" for name in names]
    return (*lines[:-1], lines[-1].rstrip("\n") + end) if lines else ()


def after(text: ReviewedText, what: str, write: tuple[int, int, list[str]]) -> ReviewedText:
    at, count, names = write
    if what in ("keep", "reject", "undo"):
        hunks = text.hunks
        if what == "undo" and text.away:
            answer = taken_back(text, text.away[at % len(text.away)].hunk.id)
        elif hunks:
            chosen = hunks[at % len(hunks)].hunk
            answer = decided(
                text, Decision("keep" if what == "keep" else "reject", chosen.id, chosen.digest, choice="mine")
            )
        else:
            return text
        return answer.text if isinstance(answer, Decided) else text
    now = text.current
    start = min(at, len(now))
    edits = edits_between(now, (*now[:start], *ended(names), *now[start + count :]))
    by = {"T1": CALLS[0], "T2": CALLS[1], "T3": CALLS[2]}
    if what in by:
        return text.agent_wrote(edits, by[what])
    return text.user_wrote(edits, "disk" if what == "disk" else "typed")


@pytest.mark.scaffold
@pytest.mark.long
@settings(max_examples=examples(600), deadline=None)
@given(
    base=st.lists(st.sampled_from("abcdefgh"), min_size=5, max_size=30),
    end=st.sampled_from(["\n", ""]),
    events=st.lists(EVENT, min_size=2, max_size=12),
    chosen=st.lists(CHOSEN, min_size=2, max_size=8),
)
def test_at_once_is_one_after_the_other(
    base: list[str],
    end: str,
    events: list[tuple[str, tuple[int, int, list[str]]]],
    chosen: list[tuple[int, str, str | None]],
) -> None:
    text = ReviewedText.of(ended(base, end=end), 1)
    for what, write in events:
        text = after(text, what, write)
    hunks = text.hunks
    decisions = (
        [
            Decision(
                "keep" if verdict == "keep" else "reject",
                hunk.id,
                hunk.digest,
                choice="mine" if choice == "mine" else None,
            )
            for number, verdict, choice in chosen
            for hunk in [hunks[number % len(hunks)].hunk]
        ]
        if hunks
        else []
    )

    at_once = decided_at_once(text, decisions)

    if at_once is not None:
        one = text
        for decision, stayed in zip(decisions, at_once.stayed, strict=False):
            answer = decided(one, decision)
            assert isinstance(answer, Decided)
            assert answer.stayed == stayed
            one = answer.text
        assert at_once.text == one


@pytest.mark.scaffold
@pytest.mark.long
@settings(max_examples=examples(600), deadline=None)
@given(
    base=st.lists(st.sampled_from("abcdefgh"), min_size=5, max_size=30),
    end=st.sampled_from(["\n", ""]),
    events=st.lists(EVENT, min_size=2, max_size=12),
    chosen=st.lists(st.integers(0, 20), min_size=2, max_size=8),
    all_first=st.booleans(),
)
def test_taken_back_at_once_is_one_after_the_other(
    base: list[str], end: str, events: list[tuple[str, tuple[int, int, list[str]]]], chosen: list[int], all_first: bool
) -> None:
    text = ReviewedText.of(ended(base, end=end), 1)
    for what, write in events:
        text = after(text, what, write)
    for each in text.hunks if all_first else ():
        answer = decided(text, Decision("keep" if each.start % 2 else "reject", each.hunk.id, each.hunk.digest))
        text = answer.text if isinstance(answer, Decided) else text
    ids = [text.away[number % len(text.away)].hunk.id for number in chosen] if text.away else []

    at_once = taken_back_at_once(text, ids)

    if at_once is not None:
        one = text
        for number in ids[: len(at_once.stayed)]:
            answer = taken_back(one, number)
            assert isinstance(answer, Decided)
            one = answer.text
        assert at_once.text == one


@pytest.mark.scaffold
def test_hunks_with_lines_between_them_are_decided_at_once_and_others_are_not() -> None:
    base = ended(list("abcdefgh"))
    text = ReviewedText.of(base, 1).agent_wrote(edits_between(base, ended(list("aBcDefGh"))), CALLS[0])
    text = text.agent_wrote(edits_between(text.current, ended(list("aBcDefGH"))), CALLS[1])
    first, second, third, fourth = (each.hunk for each in text.hunks)
    decisions = [Decision("reject", each.id, each.digest) for each in (second, first, third, fourth)]
    found = decided_at_once(text, decisions)
    assert found is not None
    assert [each.hunk.id for each in found.text.hunks] == [third.id, fourth.id]
    assert [each.hunk.id for each in found.text.away] == [second.id, first.id]


@pytest.mark.scaffold
def test_decisions_with_lines_between_them_are_taken_back_at_once() -> None:
    base = ended([f"{n}" for n in range(40)])
    text = ReviewedText.of(base, 1)
    text = text.agent_wrote(edits_between(base, tuple(line for n, line in enumerate(base) if n % 4)[1:]), CALLS[0])
    ids = [each.hunk.id for each in text.hunks]
    for n, each in enumerate(text.hunks):
        answer = decided(text, Decision("keep" if n % 2 else "reject", each.hunk.id, each.hunk.digest))
        assert isinstance(answer, Decided)
        text = answer.text

    found = taken_back_at_once(text, ids[1:])

    assert found is not None
    assert len(found.stayed) == len(ids) - 1
    assert [each.hunk.id for each in found.text.hunks] == ids[1:]
    assert [each.hunk.id for each in found.text.away] == ids[:1]
    assert taken_back_at_once(text, ids[:1]) is None
