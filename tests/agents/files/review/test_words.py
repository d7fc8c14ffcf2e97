"""What a reader of a hunk sees marked: «so», in both sides, whole lines included."""

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.files.review.lines import Lines, split
from sould.agents.files.review.words import Span, differing

TEXT = st.text(st.sampled_from("abc_1 \t(),=.\n\r\u2028é"), max_size=60)


@pytest.mark.parametrize(
    ("base", "lines"),
    [
        pytest.param("«total» = «total» + item\n", "«amount» = «amount» + item\n", id="a variable is renamed"),
        pytest.param("send(message, «3»)\n", "send(message, «retries=5»)\n", id="an argument is changed"),
        pytest.param("send(message)\n", "send(message«, urgent»)\n", id="an argument is added"),
        pytest.param("return total\n", "«    »return total\n", id="a line is indented"),
        pytest.param("    return total\n", "«    »    return total\n", id="a line is indented further"),
        pytest.param("«\t»return total\n", "«    »return total\n", id="a tab becomes blanks"),
        pytest.param(
            "result = compute(alpha, beta)\n",
            "result = compute(«\n»«    »alpha, beta«\n»)\n",
            id="a line is split",
        ),
        pytest.param("return total«  »\n", "return total\n", id="blanks at the end go"),
        pytest.param("last line", "last line«\n»", id="a line end is added"),
        pytest.param("one word«\r\n»", "one word«\n»", id="a line end changes"),
        pytest.param("«return w * h\n»", '«raise ValueError("neg")\n»', id="nothing is alike"),
        pytest.param("«f(a, b)\n»", "«g(c, d)\n»", id="only marks are alike"),
        pytest.param("the «quick brown» fox\n", "the «slow grey» fox\n", id="neighbours are one span"),
        pytest.param("", "«new line\n»", id="lines are new"),
        pytest.param("«old line\n»", "", id="lines are gone"),
        pytest.param("a = 1\nb = 2\n", "a = 1\n«log.info(message)\n»b = 2\n", id="a line is new between others"),
        pytest.param("«if ready:\n»", "«while (queue := find()):\n»", id="a line is another"),
        pytest.param("naïve «café» ok\n", "naïve «thé» ok\n", id="words of other languages"),
    ],
)
def test_the_words_that_differ_are_marked(base: str, lines: str) -> None:
    before, after = _unmarked(base), _unmarked(lines)
    found = differing(before, after)
    assert (_marked(before, found.base), _marked(after, found.lines)) == (base, lines)


def test_two_sides_that_are_alike_have_nothing_marked() -> None:
    lines = split("def f():\n    return 1\n")
    found = differing(lines, lines)
    assert (found.base, found.lines) == ((), ())


def test_lines_nobody_could_read_are_marked_whole() -> None:
    base = tuple(f"line {n}\n" for n in range(3000))
    found = differing(base, base[1:])
    assert found.lines == tuple(Span(n, 0, len(line)) for n, line in enumerate(base[1:]))


@given(base=TEXT, lines=TEXT)
def test_what_is_not_marked_is_on_both_sides(base: str, lines: str) -> None:
    before, after = split(base), split(lines)
    found = differing(before, after)
    for side, spans in ((before, found.base), (after, found.lines)):
        assert all(0 <= span.start < span.stop <= len(side[span.line]) for span in spans)
        assert all(one.line < other.line or one.stop < other.start for one, other in pairwise(spans))
    assert _rest(before, found.base) == _rest(after, found.lines)


def _rest(lines: Lines, spans: Sequence[Span]) -> str:
    """What is not marked, without white space."""
    return "".join(re.sub("«.*?»", "", _marked(lines, spans), flags=re.DOTALL).split())


def _unmarked(text: str) -> Lines:
    return split(text.replace("«", "").replace("»", ""))


def _marked(lines: Lines, spans: Sequence[Span]) -> str:
    marked = list(lines)
    for span in reversed(spans):
        line = marked[span.line]
        marked[span.line] = f"{line[: span.start]}«{line[span.start : span.stop]}»{line[span.stop :]}"
    return "".join(marked)
