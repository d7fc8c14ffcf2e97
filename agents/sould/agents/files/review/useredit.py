"""What the user typed, or a program nobody knows wrote: lines outside of hunks go into base, others join the hunk. Pure."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec.structs import replace

from sould.agents.files.review.difference import LineEdit, applied
from sould.agents.files.review.hunk import Hunk, Part, PlacedHunk, Same, base_lines, current_lines, placed, size
from sould.agents.files.review.lines import Lines, without_ends
from sould.agents.files.review.retyping import is_version, pairs, retyped
from sould.agents.files.review.splice import AwayState, Left, Piece, Splicing, Taken, merged, trimmed

How: TypeAlias = Literal["typed", "disk", "git"]
"""A client reported it; it was found on disk; it was found on disk after git had moved to another state."""


def user_pieces(parts: Sequence[Part], edits: Sequence[LineEdit], how: How) -> Iterable[Piece]:
    """The text after edits that no agent made, in order."""
    text = Splicing(parts)
    for edit in reversed(_below_last_apart(parts, _together(parts, edits))):
        taken = text.take(edit.start, edit.stop)
        text.put(_changed(taken, edit.lines, how) if taken.parts else _beside_removal(text, edit.lines))
    return text.normal_pieces(trimmed, _gone)


def _below_last_apart(parts: Sequence[Part], edits: Sequence[LineEdit]) -> Sequence[LineEdit]:
    """The same edits; where a last line in a hunk got the end that it had not, what stands below it is outside of the hunk."""
    last = next((part for part in reversed(parts) if part.lines), None)
    if not edits or not isinstance(last, Hunk) or edits[-1].stop < sum(map(size, parts)):
        return edits
    start, stop, lines = edits[-1].start, edits[-1].stop, edits[-1].lines
    count = stop - start
    line = last.lines[-1].text
    if not 0 < count < len(lines) or lines[count - 1] == line or without_ends(lines[count - 1 : count]) != (line,):
        return edits
    return (*edits[:-1], LineEdit(start, stop, lines[:count]), LineEdit(stop, stop, lines[count:]))


def _together(parts: Sequence[Part], edits: Sequence[LineEdit]) -> Sequence[LineEdit]:
    """The same edits; those that together put back what the user had taken out of a hunk in several places are one, of all its lines."""
    result = list(edits)
    for each in placed(parts) if len(edits) > 1 else ():
        met = [edit for edit in result if each.start <= edit.start == edit.stop <= each.stop] if each.hunk.cuts else []
        others = (
            edit for edit in edits if edit.start < edit.stop and edit.start < each.stop and each.start < edit.stop
        )
        if len(met) < 2 or any(others):
            continue
        texts = applied(
            each.hunk.texts, [LineEdit(edit.start - each.start, edit.stop - each.start, edit.lines) for edit in met]
        )
        found = each.hunk.found_in(texts)
        if found is not None:
            at, stop = found[0], found[0] + len(found[1].lines)
            whole = LineEdit(each.start, each.stop, texts[at:stop])
            around = LineEdit(each.start, each.start, texts[:at]), LineEdit(each.stop, each.stop, texts[stop:])
            first = result.index(met[0])
            result[first : first + len(met)] = [edit for edit in (around[0], whole, around[1]) if edit.lines]
    return result


def by_hunk(parts: Sequence[Part], edits: Sequence[LineEdit]) -> Sequence[LineEdit]:
    """The same edits; where they make base of hunks that touch, as they do on a stash, there is one for each of these."""
    result = list(edits)
    for run in _touching(parts):
        start, stop = run[0].start, run[-1].stop
        met = [edit for edit in edits if edit.start <= stop and start <= edit.stop]
        if not met or met[0].start < start or stop < met[-1].stop:
            continue
        shifted = [LineEdit(edit.start - start, edit.stop - start, edit.lines) for edit in met]
        hunks = [each.hunk for each in run]
        if applied(current_lines(hunks), shifted) == base_lines(hunks):
            at = result.index(met[0])
            result[at : at + len(met)] = [LineEdit(each.start, each.stop, each.hunk.base) for each in run]
    return result


def _touching(parts: Sequence[Part]) -> Iterator[list[PlacedHunk]]:
    """Hunks without a line between them, two at least."""
    run: list[PlacedHunk] = []
    for each in placed(parts):
        if run and run[-1].stop < each.start:
            yield from (run,) if len(run) > 1 else ()
            run = []
        run.append(each)
    yield from (run,) if len(run) > 1 else ()


def _beside_removal(text: Splicing, new: Lines) -> list[Piece]:
    """Lines inserted outside of all hunks: they may be those that a hunk had taken away, or the user out of one beside them."""
    rest = text.put_back(new)
    if rest == ():
        return []
    new = new if rest is None else rest
    removal = text.take_removal(new)
    if removal is None:
        return [Same(new)]
    found = removal.found_in(new)
    if found is not None:
        at, back = found
        above = _beside_removal(text, new[:at]) if at else []
        return [*above, back, Same(new[at + len(back.lines) :])]
    count = len(removal.base)
    if new[:count] == removal.base:
        return [Left(removal, _gone(removal), count), Same(new)]
    return [removal, Same(new)]


def _changed(taken: Taken, new: Lines, how: How) -> list[Piece]:
    if len(taken.parts) == 1:
        return _within(taken.parts[0], taken, new, how)
    divided = _divided(taken, new)
    if divided is None:
        return _grown(taken, new) if how == "typed" else _replaced(taken, new, how)
    each = zip(taken.parts, taken.each, divided, strict=True)
    return [piece for part, own, lines in each for piece in _within(part, own, lines, how)]


def _within(part: Part, taken: Taken, new: Lines, how: How) -> list[Piece]:
    """An edit of lines of one part only."""
    if isinstance(part, Same):
        return [Same(new)]
    replaced = part.lines and not (taken.head or taken.tail)
    earlier = part.earlier(new) if replaced else None
    if earlier is not None:
        return [earlier]
    if replaced and (how == "git" or (how == "disk" and (new == part.base or not is_version(part.lines, new)))):
        state = _gone(part) if how == "git" or new == part.base else "stale"
        return [Left(part, state, len(new)), Same(new)]
    start, stop = taken.head, len(part.lines) - taken.tail
    if start < stop and not new:
        return [part.without(start, stop)]
    back = part.with_back(start, new) if start == stop else None
    return [back or replace(part, lines=(*taken.above, *retyped(taken.lines, new), *taken.below))]


def _gone(hunk: Hunk) -> AwayState:
    return "rejected" if hunk.rejected else "absent"


def _divided(taken: Taken, new: Lines) -> list[Lines] | None:
    """The new lines of each part, None where nobody can say which are whose."""
    counts = [len(own.lines) for own in taken.each]
    if not new:
        return [()] * len(counts)
    versions = dict(pairs([line.text for line in taken.lines], new))
    cuts = [0]
    at = 0
    for upper, lower, count in zip(taken.parts, taken.parts[1:], counts, strict=False):
        at += count
        cut = _cut(versions, at, upper, lower)
        if cut is None:
            return None
        cuts.append(cut)
    cuts.append(len(new))
    if any(one > other for one, other in itertools.pairwise(cuts)):
        return None
    return [new[one:other] for one, other in itertools.pairwise(cuts)]


def _cut(versions: dict[int, int], at: int, upper: Part, lower: Part) -> int | None:
    """Where the new lines of the upper part end: lines inserted at the edge of a hunk are outside of it."""
    if at - 1 not in versions or at not in versions:
        return None
    above, below = versions[at - 1] + 1, versions[at]
    if above == below or isinstance(lower, Same) or not lower.lines:
        return above
    return below if isinstance(upper, Same) else None


def _grown(taken: Taken, new: Lines) -> list[Piece]:
    """One hunk of all parts: it grows over the lines of base that the edit touches."""
    hunks = [part for part in taken.parts if isinstance(part, Hunk)]
    lines = (*taken.above, *retyped(taken.lines, new), *taken.below)
    return [merged(hunks, base_lines(taken.parts), lines)]


def _replaced(taken: Taken, new: Lines, how: How) -> list[Piece]:
    """Hunks that are wholly within the edit are gone; of those at its edges what is outside stays."""
    within = [part for own in taken.each if not (own.head or own.tail) for part in own.parts if isinstance(part, Hunk)]
    gone = [Left(part, _gone(part) if how == "git" else "stale", len(new)) for part in within]
    first = [replace(part, lines=taken.above) for part in taken.parts[:1] if isinstance(part, Hunk) and taken.head]
    final = [replace(part, lines=taken.below) for part in taken.parts[-1:] if isinstance(part, Hunk) and taken.tail]
    return [*first, *gone, Same(new), *final]
