"""What the user typed, or a program nobody knows wrote: lines outside of hunks go into base, others join the hunk. Pure.

Where the user replaced some lines of a hunk, it is decided whose those lines are.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

from msgspec.structs import replace

from sould.agents.files.review.difference import LineEdit, applied, edits_between
from sould.agents.files.review.hunk import (
    AgentCall,
    Hunk,
    Line,
    Part,
    PlacedHunk,
    Same,
    base_lines,
    current_lines,
    placed,
    size,
)
from sould.agents.files.review.lines import Lines, without_ends, without_white_space, words_in
from sould.agents.files.review.splice import AwayState, CutRange, HunkMark, Piece, Splicing, merged, trimmed

ALIKE: Final = 0.5
"""Two lines are versions of one when so much of their words is alike, from 0 to 1."""
MOST_PAIRED: Final = 10_000
"""Old lines times new lines: above it nobody typed them one by one, and only equal ones are paired."""
_WORD = re.compile(r"\w+|[^\w\s]")
How: TypeAlias = Literal["typed", "disk", "git"]
"""A client reported it; it was found on disk; it was found on disk after git had moved to another state."""


def retyped(old: Sequence[Line], new: Lines) -> tuple[Line, ...]:
    """The new lines with their authors.

    A version of an agent's line is mixed unless only its white space changed; so is a new line most of whose words were
    in the agent's lines that went. The others are the user's own.
    """
    agents = [line.agent for line in old if line.agent is not None]
    if old and len(agents) == len(old) and without_white_space(line.text for line in old) == without_white_space(new):
        return tuple(replace(old[min(n, len(old) - 1)], text=text) for n, text in enumerate(new))
    sources = {j: old[i] for i, j in pairs([line.text for line in old], new)}
    gone = [line for line in old if line.agent is not None]
    return tuple(_version(sources[j], text) if j in sources else _new(gone, text) for j, text in enumerate(new))


def _version(line: Line, text: str) -> Line:
    if line.own or text == line.text or words_in(text) == words_in(line.text):
        return replace(line, text=text)
    return replace(line, text=text, retyped=True)


def is_version(old: Sequence[Line], new: Lines) -> bool:
    """Whether some new line is one of the agents' lines with little changed, or nothing but its white space."""
    lines = [line.text for line in old]
    found = ((old[i], lines[i], new[j]) for i, j in pairs(lines, new))
    return any(
        line.agent is not None
        and without_white_space([text]) != ""
        and _likeness(_WORD.findall(text), _WORD.findall(other)) > ALIKE
        for line, text, other in found
    )


def _new(gone: Sequence[Line], text: str) -> Line:
    words = Counter(_WORD.findall(text))
    theirs = Counter(word for line in gone for word in _WORD.findall(line.text))
    agent: AgentCall | None = gone[0].agent if gone else None
    if agent is not None and 2 * (words & theirs).total() >= words.total() > 0:
        return Line(text, agent, retyped=True)
    return Line(text)


def pairs(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Which line is a version of which: one beside the other where there are as many, else the most alike in order."""
    if len(old) == len(new):
        return [(n, n) for n in range(len(old))]
    if len(old) * len(new) > MOST_PAIRED:
        return _equal(old, new)
    return _most_alike([_WORD.findall(line) for line in old], [_WORD.findall(line) for line in new])


def _equal(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    i = j = 0
    for edit in (*edits_between(old, new), LineEdit(len(old), len(old), ())):
        found += [(i + n, j + n) for n in range(edit.start - i)]
        i, j = edit.stop, j + edit.start - i + len(edit.lines)
    return found


def _most_alike(old: Sequence[Sequence[str]], new: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """The pairs in order with the greatest sum of likeness (Needleman and Wunsch, no cost for a gap)."""
    likeness = [[_likeness(one, other) for other in new] for one in old]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        for j in range(len(new) - 1, -1, -1):
            paired = likeness[i][j] + best[i + 1][j + 1] if likeness[i][j] >= ALIKE else 0.0
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    found: list[tuple[int, int]] = []
    i = j = 0
    while i < len(old) and j < len(new):
        if likeness[i][j] >= ALIKE and best[i][j] == likeness[i][j] + best[i + 1][j + 1]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


def _likeness(one: Sequence[str], other: Sequence[str]) -> float:
    """From 0, no word alike, to 1; two lines without words are alike."""
    if not one and not other:
        return 1.0
    return 2 * (Counter(one) & Counter(other)).total() / (len(one) + len(other))


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
        return [HunkMark(removal, _gone(removal), count), Same(new)]
    return [removal, Same(new)]


def _changed(taken: CutRange, new: Lines, how: How) -> list[Piece]:
    if len(taken.parts) == 1:
        return _within(taken.parts[0], taken, new, how)
    divided = _divided(taken, new)
    if divided is None:
        return _grown(taken, new) if how == "typed" else _replaced(taken, new, how)
    each = zip(taken.parts, taken.each, divided, strict=True)
    return [piece for part, own, lines in each for piece in _within(part, own, lines, how)]


def _within(part: Part, taken: CutRange, new: Lines, how: How) -> list[Piece]:
    """An edit of lines of one part only."""
    if isinstance(part, Same):
        return [Same(new)]
    replaced = part.lines and not (taken.head or taken.tail)
    earlier = part.earlier(new) if replaced else None
    if earlier is not None:
        return [earlier]
    if replaced and (how == "git" or (how == "disk" and (new == part.base or not is_version(part.lines, new)))):
        state = _gone(part) if how == "git" or new == part.base else "stale"
        return [HunkMark(part, state, len(new)), Same(new)]
    start, stop = taken.head, len(part.lines) - taken.tail
    if start < stop and not new:
        return [part.without(start, stop)]
    back = part.with_back(start, new) if start == stop else None
    return [back or replace(part, lines=(*taken.above, *retyped(taken.lines, new), *taken.below))]


def _gone(hunk: Hunk) -> AwayState:
    return "rejected" if hunk.rejected else "absent"


def _divided(taken: CutRange, new: Lines) -> list[Lines] | None:
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


def _grown(taken: CutRange, new: Lines) -> list[Piece]:
    """One hunk of all parts: it grows over the lines of base that the edit touches."""
    hunks = [part for part in taken.parts if isinstance(part, Hunk)]
    lines = (*taken.above, *retyped(taken.lines, new), *taken.below)
    return [merged(hunks, base_lines(taken.parts), lines)]


def _replaced(taken: CutRange, new: Lines, how: How) -> list[Piece]:
    """Hunks that are wholly within the edit are gone; of those at its edges what is outside stays."""
    within = [part for own in taken.each if not (own.head or own.tail) for part in own.parts if isinstance(part, Hunk)]
    gone = [HunkMark(part, _gone(part) if how == "git" else "stale", len(new)) for part in within]
    first = [replace(part, lines=taken.above) for part in taken.parts[:1] if isinstance(part, Hunk) and taken.head]
    final = [replace(part, lines=taken.below) for part in taken.parts[-1:] if isinstance(part, Hunk) and taken.tail]
    return [*first, *gone, Same(new), *final]
