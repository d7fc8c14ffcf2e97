"""Three-way merge of texts by lines. Pure. What both sides changed is a conflict, and a conflict is never guessed at."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from msgspec import Struct

TOO_MUCH = 25_000_000
"""Lines of one side times lines of the other, after what is common at both ends: beyond it comparing takes too long."""


class _Change(Struct, frozen=True):
    """Lines `start` to `stop` of the base became `lines`."""

    start: int
    stop: int
    lines: tuple[str, ...]

    def meets(self, other: "_Change") -> bool:
        """They change the same lines, or add at the edge of what the other changes."""
        if self.start < self.stop and other.start < other.stop:
            return max(self.start, other.start) < min(self.stop, other.stop)
        return max(self.start, other.start) <= min(self.stop, other.stop)


def merge(base: str | None, ours: str | None, theirs: str | None) -> tuple[bool, str | None]:
    """`ours` with what turned `base` into `theirs`; None is "no file". False: both changed the same place."""
    if ours == base:
        return True, theirs
    if theirs in (base, ours):
        return True, ours
    if base is None or ours is None or theirs is None:
        return False, None
    merged = _merged(base.splitlines(keepends=True), ours.splitlines(keepends=True), theirs.splitlines(keepends=True))
    return (True, "".join(merged)) if merged is not None else (False, None)


def _merged(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[str] | None:
    sides = [_changes(base, ours), _changes(base, theirs)]
    if sides[0] is None or sides[1] is None:
        return None
    mine, others = sides[0], sides[1]
    for one in mine:
        for other in others:
            if one != other and one.meets(other):
                return None
    merged: list[str] = []
    position = 0
    for change in sorted({*mine, *others}, key=lambda change: (change.start, change.stop)):
        merged += base[position : change.start]
        merged += change.lines
        position = change.stop
    return [*merged, *base[position:]]


def _changes(base: Sequence[str], other: Sequence[str]) -> list[_Change] | None:
    head = _common(base, other)
    tail = _common(base[head:][::-1], other[head:][::-1])
    middle, changed = base[head : len(base) - tail], other[head : len(other) - tail]
    if len(middle) * len(changed) > TOO_MUCH:
        return None
    return list(_opcodes(middle, changed, head))


def _opcodes(middle: Sequence[str], changed: Sequence[str], head: int) -> Iterator[_Change]:
    for tag, start, stop, low, high in SequenceMatcher(None, middle, changed, autojunk=False).get_opcodes():
        if tag != "equal":
            yield _Change(head + start, head + stop, tuple(changed[low:high]))


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count
