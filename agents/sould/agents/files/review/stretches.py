"""Texts without what is long and the same in all of them: a line stands for each such stretch. Pure.

So what is woven of several texts costs by what was changed in them, not by how long they are. Nothing here says what a line is.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.review.difference import LineEdit, edits_between
from sould.agents.files.review.hunk import Part, Same, current_lines, size
from sould.agents.files.review.lines import Lines
from sould.agents.files.review.splice import Piece

BESIDE: Final = 8
"""Lines at both edges of a stretch that stay as they are, as edits may slide along equal lines there."""
SHORTEST: Final = 64
"""Lines; what is shorter is as quickly woven as it is looked for."""


class _Run(Struct, frozen=True):
    """So many lines that no text has in a hunk; `starts` are their places in the texts so far."""

    starts: tuple[int, ...]
    count: int

    def part(self, start: int, stop: int) -> "_Run":
        """The same from one line on to another one, in the last text."""
        skipped = start - self.starts[-1]
        return _Run(tuple(each + skipped for each in self.starts), stop - start)


class ShortTexts(Struct, frozen=True):
    """Several texts, given from the first to the last, with one line for each of the `stretches`. No other line is like these."""

    texts: Sequence[tuple[Part, ...]]
    stretches: dict[str, Lines]

    @classmethod
    def of(cls, texts: Sequence[Sequence[Part]]) -> "ShortTexts":
        """Each text is one that the one before it became."""
        runs = [run for run in _same_in_all(texts) if run.count >= SHORTEST]
        inner = [run.part(run.starts[-1] + BESIDE, run.starts[-1] + run.count - BESIDE) for run in runs]
        lines = current_lines(texts[0])
        stretches = {_mark(n): lines[run.starts[0] : run.starts[0] + run.count] for n, run in enumerate(inner)}
        short = [
            tuple(_shortened(parts, [(run.starts[n], run.count) for run in inner])) for n, parts in enumerate(texts)
        ]
        return cls(short, stretches)

    @property
    def marks(self) -> Collection[str]:
        """The lines that stand for stretches, each once in every text, in this order."""
        return self.stretches.keys()

    def pieces(self, short: Iterable[Piece]) -> Iterator[Piece]:
        """What stands there in full."""
        for piece in short:
            if isinstance(piece, Same) and not self.stretches.keys().isdisjoint(piece.lines):
                yield from (Same(self.stretches.get(line, (line,))) for line in piece.lines)
            else:
                yield piece

    def edits(self, short: Iterable[LineEdit]) -> Iterator[LineEdit]:
        """The edits of the last text in full; none of them is about a stretch."""
        places = enumerate(current_lines(self.texts[-1]))
        longer = [(at, len(self.stretches[line]) - 1) for at, line in places if line in self.stretches][::-1]
        more = 0
        for edit in short:
            while longer and longer[-1][0] < edit.start:
                more += longer.pop()[1]
            yield replace(edit, start=edit.start + more, stop=edit.stop + more)


def _mark(number: int) -> str:
    """A line as no text has it: what holds a NUL is none."""
    return f"\0{number}\n"


def _same_in_all(texts: Sequence[Sequence[Part]]) -> list[_Run]:
    runs = [_Run((start,), count) for start, count in _unchanged(texts[0])]
    was = current_lines(texts[0])
    for parts in texts[1:]:
        now = current_lines(parts)
        runs = [*_within(_carried(runs, edits_between(was, now)), _unchanged(parts))]
        was = now
    return runs


def _unchanged(parts: Iterable[Part]) -> Iterator[tuple[int, int]]:
    """Where lines stand that are in no hunk, and how many."""
    at = 0
    for part in parts:
        if isinstance(part, Same):
            yield at, len(part.lines)
        at += size(part)


def _carried(runs: Sequence[_Run], edits: Iterable[LineEdit]) -> Iterator[_Run]:
    """What is left of the runs after edits of the last text, with their places then."""
    rest = list(reversed(runs))
    shift = 0

    def moved(run: _Run) -> _Run:
        return _Run((*run.starts, run.starts[-1] + shift), run.count)

    for edit in edits:
        while rest and rest[-1].starts[-1] < edit.stop:
            run = rest.pop()
            start, stop = run.starts[-1], run.starts[-1] + run.count
            if start < edit.start:
                yield moved(run.part(start, min(stop, edit.start)))
            if edit.stop < stop:
                rest.append(run.part(edit.stop, stop))
        shift += len(edit.lines) - (edit.stop - edit.start)
    yield from map(moved, reversed(rest))


def _within(runs: Iterable[_Run], places: Iterable[tuple[int, int]]) -> Iterator[_Run]:
    """What of the runs lies within these places."""
    there = list(places)
    n = 0
    for run in runs:
        start, stop = run.starts[-1], run.starts[-1] + run.count
        while n < len(there) and sum(there[n]) <= start:
            n += 1
        m = n
        while m < len(there) and there[m][0] < stop:
            yield run.part(max(start, there[m][0]), min(stop, sum(there[m])))
            m += 1


def _shortened(parts: Iterable[Part], stretches: Iterable[tuple[int, int]]) -> Iterator[Part]:
    """The parts with a mark for each stretch."""
    rest = [(start, start + count, _mark(n)) for n, (start, count) in enumerate(stretches)][::-1]
    at = 0
    for part in parts:
        done, behind = at, at + size(part)
        lines: list[str] = []
        while rest and rest[-1][0] < behind and isinstance(part, Same):
            start, stop, mark = rest.pop()
            lines += (*part.lines[done - at : start - at], mark)
            done = stop
        yield Same((*lines, *part.lines[done - at :])) if lines and isinstance(part, Same) else part
        at = behind
