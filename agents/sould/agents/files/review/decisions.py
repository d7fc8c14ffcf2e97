"""Keep and reject: what becomes of a text, or why nothing does. Pure.

A decision names a hunk and the digest it saw. The answer to one that cannot be carried out has what is needed to go on.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.review.difference import LineEdit
from sould.agents.files.review.hunk import Hunk, Line, Part, PlacedHunk, Same, current_between, last_of_base
from sould.agents.files.review.lines import Lines, line_end, stacked, without_ends
from sould.agents.files.review.places import moved_to
from sould.agents.files.review.splice import Away, AwayState, HunkMark, Piece, Splicing, trimmed, without_end
from sould.agents.files.review.text import ReviewedText

Verdict: TypeAlias = Literal["keep", "reject"]
Choice: TypeAlias = Literal["drop", "mine", "leave"]
"""Of mixed lines: they go (and stay in the log), they stay with the user's own, or nothing is done."""
_WORD: Final = re.compile(r"\w+")
UNDOABLE: Final[frozenset[AwayState]] = frozenset({"kept", "rejected", "undone"})
"""States of hunks that are pending again when that is taken back."""


class Decision(Struct, frozen=True):
    """`lines`: which of the hunk's current lines, from 0 and the second not included; None: all of it.

    `base_lines`: the lines of base that go with them; None: all of them go with the first line.
    """

    verdict: Verdict
    hunk_id: int
    digest: str
    lines: tuple[int, int] | None = None
    choice: Choice | None = None
    base_lines: tuple[int, int] | None = None


class Decided(Struct, frozen=True):
    """It is done. `stayed`: lines of the user that a reject left; `hunk`: what was decided, with the id to undo it by."""

    text: ReviewedText
    hunk: Hunk
    stayed: Lines = ()


class NeedsChoice(Struct, frozen=True):
    """Words of the user are in lines of the agent: say what becomes of them."""

    hunk: PlacedHunk
    mixed: Lines


class HunkStale(Struct, frozen=True):
    """The hunk is another by now: `present`, None when it ended."""

    present: PlacedHunk | None


class AlreadyDecided(Struct, frozen=True):
    """Somebody was first."""

    away: Away


class NotThere(Struct, frozen=True):
    """The hunk's text is not in the file now: absent, stale, undone or ended."""

    away: Away


class UnknownHunk(Struct, frozen=True):
    """No hunk ever had this id here."""

    hunk_id: int


class SomethingElseThere(Struct, frozen=True):
    """The decision cannot be undone: its lines were changed since."""

    away: Away


Refusal: TypeAlias = NeedsChoice | HunkStale | AlreadyDecided | NotThere | UnknownHunk | SomethingElseThere


def decided(text: ReviewedText, decision: Decision) -> Decided | Refusal:
    """Carry a decision out, or say why not; then nothing is changed."""
    found = text.pending(decision.hunk_id)
    if found is None:
        return _not_pending(text, decision.hunk_id)
    if decision.digest != found.hunk.digest or decision.hunk_id != found.hunk.id:
        return HunkStale(found)
    if decision.lines is not None:
        cut = _cut_out(text, found, decision.lines, decision.base_lines)
        if cut is None:
            return HunkStale(found)
        text, found = cut
    if decision.verdict == "keep":
        return Decided(_kept(text, found), found.hunk)
    return _rejected(text, found, decision.choice)


def _kept(text: ReviewedText, found: PlacedHunk) -> ReviewedText:
    after = text.replaced(found, settled_pieces(found.hunk, "keep", found.hunk.texts))
    last = last_of_base(text.parts)
    if not last or line_end(last) is not None or last in (last_of_base(after.parts), found.hunk.base[-1:]):
        return after
    away = (replace(each, last=last[0]) if each.hunk is found.hunk else each for each in after.away)
    return replace(after, away=tuple(away))


def _not_pending(text: ReviewedText, hunk_id: int) -> Refusal:
    away = text.gone(hunk_id)
    if away is None:
        return UnknownHunk(hunk_id) if hunk_id >= text.next_id or hunk_id < 1 else HunkStale(None)
    return AlreadyDecided(away) if away.state in ("kept", "rejected") else NotThere(away)


def _rejected(text: ReviewedText, found: PlacedHunk, choice: Choice | None) -> Decided | Refusal:
    hunk = found.hunk
    left = left_by(hunk, choice)
    if left is None:
        return NeedsChoice(found, tuple(line.text for line in hunk.lines if line.mixed))
    return Decided(text.replaced(found, settled_pieces(hunk, "reject", left[0])), hunk, left[1])


def left_by(hunk: Hunk, choice: Choice | None) -> tuple[Lines, Lines] | None:
    """What stands in the place of a hunk that is rejected, and which of that is the user's; None: a choice is needed."""
    if choice in (None, "leave") and any(line.mixed for line in hunk.lines):
        return None
    stayed = tuple(line.text for line in hunk.lines if line.own or (line.mixed and choice == "mine"))
    return (_standing(hunk.base, hunk.lines) if choice == "mine" else stacked(hunk.base, stayed)), stayed


def settled_pieces(hunk: Hunk, verdict: Verdict, lines: Lines) -> list[Piece]:
    """What stands in the place of a hunk that was kept or rejected."""
    state: AwayState = "kept" if verdict == "keep" else "rejected"
    return [HunkMark(hunk, state, len(lines)), Same(lines)]


def _cut_out(
    text: ReviewedText, found: PlacedHunk, lines: tuple[int, int], base_lines: tuple[int, int] | None
) -> tuple[ReviewedText, PlacedHunk] | None:
    """Make some lines of a hunk a hunk of their own; what is left above them keeps its id, else what is left below. None: of no lines."""
    hunk = found.hunk
    start, stop = _within(lines, len(hunk.lines))
    first, last = _within(base_lines or (0 if start == 0 else len(hunk.base), len(hunk.base)), len(hunk.base))
    if start == stop and first == last:
        return None
    if (start, stop, first, last) == (0, len(hunk.lines), 0, len(hunk.base)):
        return text, found
    above = _left(replace(hunk, base=hunk.base[:first], lines=hunk.lines[:start]))
    below = _left(replace(hunk, base=hunk.base[last:], lines=hunk.lines[stop:]))
    chosen = replace(hunk, id=text.next_id, base=hunk.base[first:last], lines=hunk.lines[start:stop], absorbed=())
    if any(isinstance(part, Hunk) for part in above):
        below = [replace(p, id=text.next_id + 1, absorbed=()) if isinstance(p, Hunk) else p for p in below]
    parts: list[Part] = []
    for part in text.parts:
        parts += [*above, chosen, *below] if part is hunk else [part]
    cut = ReviewedText(tuple(parts), text.next_id + 2, text.away)
    return cut, PlacedHunk(chosen, found.start + start, found.base_start + first)


def _within(chosen: tuple[int, int], count: int) -> tuple[int, int]:
    start = min(max(0, chosen[0]), count)
    return start, min(max(start, chosen[1]), count)


def _left(hunk: Hunk) -> list[Part]:
    """What is left of a hunk beside a part of it, without empty parts."""
    parts = trimmed(hunk) if hunk.base or hunk.lines else []
    return [part for part in parts if isinstance(part, Hunk) or part.lines]


def taken_back(text: ReviewedText, hunk_id: int) -> Decided | Refusal:
    """Undo a keep or a reject: the hunk is pending again, when its lines still stand there."""
    away = text.gone(hunk_id)
    if away is None:
        return UnknownHunk(hunk_id)
    if away.state not in UNDOABLE:
        return NotThere(away)
    there = current_between(text.parts, away.start, away.stop)
    below = current_between(text.parts, away.stop, away.stop + 1)
    if away.astray or all(stacked(lines, below) != (*there, *below) for lines in possible(away)):
        return SomethingElseThere(away)
    return _put_back(text, away)


def possible(away: Away) -> Sequence[Lines]:
    """What may stand in the place of a hunk that was decided about, so that the decision can be undone."""
    hunk = away.hunk
    if away.state == "kept":
        return (hunk.texts,)
    mine = tuple(line.text for line in hunk.lines if line.own or line.mixed)
    return (stacked(hunk.base, hunk.own), _standing(hunk.base, hunk.lines), stacked(hunk.base, mine))


def _put_back(text: ReviewedText, away: Away) -> Decided | Refusal:
    splicing = Splicing([part for each in text.parts for part in divided(each)])
    taken = splicing.take(away.start, away.stop)
    if any(isinstance(part, Hunk) for part in taken.parts):
        return SomethingElseThere(away)
    splicing.leave_removals(away.below)
    splicing.put([away.hunk if away.hunk.has_agent else Same(away.hunk.texts)])
    edit = LineEdit(away.start, away.stop, away.hunk.texts)
    edits = [edit] if edit.lines != current_between(text.parts, away.start, away.stop) else []
    back = text.changed(splicing.pieces(), edits)
    above = {each.hunk.id: each for each in text.away if _is_above(each, away)}
    places = tuple(moved_to(each, above.get(each.hunk.id)) for each in back.away)
    return Decided(_without_end(replace(back, away=places), away.last), away.hunk)


def _without_end(text: ReviewedText, last: str) -> ReviewedText:
    """The text; without the end of the last line of base where this is it, and only in the text something stands below."""
    now = last_of_base(text.parts) if last else ()
    if not last or now == (last,) or without_ends(now) != (last,):
        return text
    at = max(n for n, part in enumerate(text.parts) if isinstance(part, Same) or part.base)
    part, *below = text.parts[at:]
    first = below[0] if below else None
    if isinstance(part, Hunk):
        part = replace(part, base=(*part.base[:-1], last))
    elif isinstance(first, Hunk):
        line = Line(part.lines[-1], first.agents[0])
        part = Same(part.lines[:-1])
        below[0] = replace(first, base=(last, *first.base), lines=(line, *first.lines))
    return text.changed([*text.parts[:at], part, *below], ())


def divided(part: Part) -> Sequence[Part]:
    """A part, apart from a last line of base that gets the same end again from what stands below it."""
    if isinstance(part, Hunk) and stacked(part.base, part.texts[1:])[:1] == part.texts[:1]:
        return without_end(part)
    return [part]


def _is_above(each: Away, away: Away) -> bool:
    """Of two hunks that went, where no line stands at the place of either."""
    return each.start == each.stop == away.start == away.stop and away.hunk.id in each.below


def _standing(base: Lines, lines: Sequence[Line]) -> Lines:
    """Base with the user's lines: one with the user's words below the line of base it was made of, the user's own beside these.

    Where no line has words of both, the user's own lines stand below base. This is folded anew from old logs, so it goes by
    nothing that may change: shared words, else the place.
    """
    if not base or not any(line.mixed for line in lines):
        return stacked(base, tuple(line.text for line in lines if line.own or line.mixed))
    whole: Lines = ()
    done = 0
    yours: Lines = ()
    for n, line in enumerate(lines):
        if line.own or line.mixed:
            yours = (*yours, line.text)
        if line.mixed:
            below = 1 + _made_of(base, line.text, done, n)
            whole, done, yours = stacked(stacked(whole, base[done:below]), yours), below, ()
    return stacked(stacked(whole, yours), base[done:])


def _made_of(base: Lines, text: str, done: int, place: int) -> int:
    """The line of base, none above `done`, that has most words in common with a text; else the one at its place."""
    first, last = min(done, len(base) - 1), len(base) - 1
    words = Counter(_WORD.findall(text))
    alike = [((words & Counter(_WORD.findall(base[n]))).total(), n) for n in range(first, len(base))]
    most = max(count for count, _ in alike)
    near = [n for count, n in alike if count == most] if most else [max(first, min(place, last))]
    return min(near, key=lambda n: abs(n - place))
