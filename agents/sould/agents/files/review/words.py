"""Which words of a hunk differ, for those who show it. Pure, of bounded cost, and only for display: no decision looks here.

Both sides are compared as one row of words, marks and blanks each, so that a line that was split or joined shows its breaks
alone. What is alike by chance would be noise: a line with too little alike is marked whole, and compared with nothing.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby, takewhile
from typing import Final, TypeAlias

from msgspec import Struct

from sould.agents.files.review.lines import Lines

ALIKE: Final = 1 / 3
"""Of the words and marks of a line so many stand in the other side, too, or it is marked whole."""

MOST_COMPARED: Final = 20_000
"""Characters of both sides: above it, which is some 500 lines, nobody reads words, and all lines are marked whole."""

PASSES: Final = 8
"""Lines that are marked whole leave others with less alike; so often at most everything is compared again."""

_WORD = re.compile(r"\w")
_TOKEN = re.compile(r"\r\n|\r|\n|[^\S\r\n]+|\w+|[^\w\s]")


class Span(Struct, frozen=True, array_like=True):
    """Columns `start` to `stop` (code points from 0, `stop` not included) of a line of the side; its line end counts, too."""

    line: int
    start: int
    stop: int


class Differing(Struct, frozen=True):
    """What differs in base and in the current lines of a hunk, from the top; nothing is marked twice."""

    base: tuple[Span, ...]
    lines: tuple[Span, ...]


class _Token(Struct, frozen=True):
    """A word, a mark, a run of blanks, or a line end."""

    text: str
    line: int
    start: int

    @property
    def is_white(self) -> bool:
        return self.text.isspace()

    @property
    def is_blank(self) -> bool:
        return self.is_white and self.text[0] not in "\r\n"


_Pairs: TypeAlias = Sequence[tuple[int, int]]
"""Which token is which of the other side, in order."""


def differing(base: Lines, lines: Lines) -> Differing:
    """The words that are on one side only."""
    if sum(map(len, base)) + sum(map(len, lines)) > MOST_COMPARED:
        return Differing(_spans(base, (), {}), _spans(lines, (), {}))
    old, new = _tokens(base), _tokens(lines)
    pairs: _Pairs = ()
    for _ in range(PASSES):
        pairs = _equal(old, new)
        rest = _comparable(old, {i for i, _ in pairs}), _comparable(new, {j for _, j in pairs})
        if rest == (old, new):
            break
        (old, new), pairs = rest, ()
    narrow = _narrow(old, new, pairs)
    return Differing(
        _spans(base, old, {i: 0 for i, _ in pairs} | {i: columns for i, _, columns, _ in narrow}),
        _spans(lines, new, {j: 0 for _, j in pairs} | {j: columns for _, j, _, columns in narrow}),
    )


def _tokens(lines: Lines) -> list[_Token]:
    return [_Token(each.group(), n, each.start()) for n, line in enumerate(lines) for each in _TOKEN.finditer(line)]


def _equal(old: Sequence[_Token], new: Sequence[_Token]) -> _Pairs:
    from rapidfuzz.distance import Indel  # noqa: PLC0415 -- slow to load, and every session loads this module

    steps = Indel.opcodes([token.text for token in old], [token.text for token in new])
    equal = (step for step in steps if step.tag == "equal")
    return [(step.src_start + n, step.dest_start + n) for step in equal for n in range(step.src_end - step.src_start)]


def _comparable(tokens: Sequence[_Token], equal: Collection[int]) -> list[_Token]:
    """The tokens of lines that have enough in the other side, too: a word, where they have words at all, among it."""
    found: list[_Token] = []
    for _, group in groupby(enumerate(tokens), key=lambda each: each[1].line):
        line = list(group)
        told = [token for _, token in line if not token.is_white]
        same = [token for n, token in line if n in equal and not token.is_white]
        if len(same) >= ALIKE * len(told) and any(map(_is_word, same)) == any(map(_is_word, told)):
            found += [token for _, token in line]
    return found


def _narrow(old: Sequence[_Token], new: Sequence[_Token], pairs: _Pairs) -> list[tuple[int, int, int, int]]:
    """Blanks that became other blanks, such as indentation, and how many of their first columns differ."""
    gaps = [(i + 1, j + 1) for i, j in ((-1, -1), *pairs)]
    ends = [*pairs, (len(old), len(new))]
    begun = [(i, j) for (i, j), (stop, until) in zip(gaps, ends, strict=True) if i < stop and j < until]
    blank = [(i, j, old[i].text, new[j].text) for i, j in begun if old[i].is_blank and new[j].is_blank]
    return [
        (i, j, len(one) - _common_end(one, other), len(other) - _common_end(one, other)) for i, j, one, other in blank
    ]


def _spans(lines: Lines, tokens: Sequence[_Token], columns: Mapping[int, int]) -> tuple[Span, ...]:
    """What is marked: of the tokens in `columns` so many columns, all of the others, and all lines without a token."""
    marked = {n: list(group) for n, group in groupby(enumerate(tokens), key=lambda each: each[1].line)}
    spans: list[Span] = []
    for n, line in enumerate(lines):
        sizes = [(token, columns.get(i, len(token.text))) for i, token in marked.get(n, ())]
        spans += _in_line(n, line, sizes) if n in marked else [Span(n, 0, len(line))]
    return tuple(spans)


def _in_line(n: int, line: str, sizes: Iterable[tuple[_Token, int]]) -> list[Span]:
    """Words that are marked with nothing but blanks between them are one span."""
    spans: list[Span] = []
    for token, size in sizes:
        start, stop = token.start, token.start + size
        last = spans[-1] if spans else None
        between = line[last.stop - 1 : start] if last is not None else ""
        if last is not None and size and (last.stop == start or (between[1:].isspace() and not between[0].isspace())):
            spans[-1] = Span(n, last.start, stop)
        elif size:
            spans.append(Span(n, start, stop))
    return spans


def _is_word(token: _Token) -> bool:
    return _WORD.match(token.text) is not None


def _common_end(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(reversed(one), reversed(other), strict=False)))
