"""Which lines of a pending hunk are in another version of the text: somebody staged a part of it, line by line. Pure.

Where the version has something there that neither base nor the hunk has, nobody can say, and nothing is found.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from sould.agents.files.review.difference import LineEdit, edits_between
from sould.agents.files.review.hunk import PlacedHunk
from sould.agents.files.review.lines import Lines, without_ends
from sould.agents.files.review.text import ReviewedText

MOST_WAYS = 100
"""Ways to read one line of the version that are followed."""


class HunkPart(Struct, frozen=True):
    """Some current lines of a hunk, and the lines of its base that go with them."""

    lines: tuple[int, int]
    base_lines: tuple[int, int]


class Staged(Struct, frozen=True):
    """What of a hunk a version has: which lines of base are gone in it, and which current lines are there; `order`: both, from the top.

    In `order` a line of base is its number and True, a current line its number and False.
    """

    removed: frozenset[int]
    added: frozenset[int]
    order: tuple[tuple[int, bool], ...]


def parts_in(text: ReviewedText, version: Lines, before: Lines | None) -> Iterator[tuple[PlacedHunk, list[HunkPart]]]:
    """The hunks of which `version` has a part that `before` had not, with these parts, from the top. `before` None: it had nothing."""
    hunks = text.hunks
    now = _staged(text, hunks, version)
    then = _staged(text, hunks, before) if before is not None else {}
    for placed in hunks:
        found = now.get(placed.hunk.id)
        if found is not None:
            parts = list(_new_parts(found, then.get(placed.hunk.id)))
            if parts:
                yield placed, parts


def _staged(text: ReviewedText, hunks: Sequence[PlacedHunk], version: Lines) -> dict[int, Staged]:
    edits = edits_between(text.current, version) if hunks else ()
    stretches = ((placed, _stretch(placed, edits, version)) for placed in hunks)
    read = ((placed, _read(placed, stretch)) for placed, stretch in stretches if stretch is not None)
    return {placed.hunk.id: staged for placed, staged in read if staged is not None}


def _stretch(placed: PlacedHunk, edits: Sequence[LineEdit], version: Lines) -> Lines | None:
    """What the version has at the hunk's place; None: it has something else across an edge of it."""
    shift = grown = 0
    for edit in edits:
        growth = len(edit.lines) - (edit.stop - edit.start)
        if placed.start <= edit.start and edit.stop <= placed.stop:
            grown += growth
        elif edit.stop <= placed.start:
            shift += growth
        elif edit.start < placed.stop:
            return None
    return version[placed.start + shift : placed.stop + shift + grown]


def _read(placed: PlacedHunk, version: Lines) -> Staged | None:
    """The version as lines of base that are still there and current lines that are there already, each side in its order."""
    hunk = placed.hunk
    alike = set(without_ends(hunk.base)) & set(without_ends(hunk.texts))  # where the end may be all that differs
    base, lines, wanted = (_but_for_ends(side, alike) for side in (hunk.base, hunk.texts, version))
    ways: dict[tuple[int, int], tuple[tuple[int, bool], ...]] = {(0, 0): ()}
    for line in wanted:
        following: dict[tuple[int, int], tuple[tuple[int, bool], ...]] = {}
        for (i, j), taken in ways.items():
            if line in lines[j:]:
                at = lines.index(line, j)
                following.setdefault((i, at + 1), (*taken, (at, False)))
            if line in base[i:]:
                at = base.index(line, i)
                following.setdefault((at + 1, j), (*taken, (at, True)))
        ways = dict(list(following.items())[:MOST_WAYS])
    read = [_ordered(len(base), len(lines), taken) for taken in ways.values()]
    return min(read, key=_breaks, default=None)


def _but_for_ends(lines: Lines, exact: Collection[str]) -> Lines:
    """The lines without their ends, unless without them they are among `exact`."""
    return tuple(line if bare in exact else bare for line, bare in zip(lines, without_ends(lines), strict=True))


def _ordered(base: int, lines: int, taken: Sequence[tuple[int, bool]]) -> Staged:
    """With what is passed over between the lines of the version: of base what was removed, of the current lines what was not added."""
    there = {n for n, is_base in taken if is_base}
    added = frozenset(n for n, is_base in taken if not is_base)
    order: list[tuple[int, bool]] = []
    i = j = 0
    for n, is_base in (*taken, (base, True)):
        if is_base:
            order += [(each, True) for each in range(i, n)]
            i = n + 1
        else:
            order += [(each, False) for each in range(j, n)]
            j = n + 1
        order += [(n, is_base)] if n < base or not is_base else []
    order += [(each, False) for each in range(j, lines)]
    return Staged(frozenset(range(base)) - there, added, tuple(order))


def _is_staged(staged: Staged, line: tuple[int, bool]) -> bool:
    return line[0] in (staged.removed if line[1] else staged.added)


def _breaks(staged: Staged) -> int:
    """How many parts it makes: fewer are likelier to be what somebody did."""
    return sum(1 for _ in groupby(staged.order, key=lambda line: _is_staged(staged, line)))


def _new_parts(now: Staged, before: Staged | None) -> Iterator[HunkPart]:
    removed = now.removed - before.removed if before is not None else now.removed
    added = now.added - before.added if before is not None else now.added
    new = Staged(removed, added, now.order)
    i = j = 0
    for is_staged, group in groupby(now.order, key=lambda line: _is_staged(new, line)):
        run = list(group)
        bases = sum(is_base for _, is_base in run)
        part = HunkPart((j, j + len(run) - bases), (i, i + bases))
        i, j = part.base_lines[1], part.lines[1]
        if is_staged:
            yield part
