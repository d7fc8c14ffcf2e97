"""The lines of a text under review through all that happened to it, each with an identity that lasts. Pure.

A line that was taken away stays in the weave, at its place: so it comes back once, and there, and never beside itself. What
happened is read off the texts as they followed each other; nothing here decides what a text becomes.
"""

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from sould.agents.files.review.difference import LineEdit, edits_between
from sould.agents.files.review.hunk import AgentCall, Hunk, Line, Part, Same
from sould.agents.files.review.lines import Lines, without_ends
from sould.agents.files.review.splice import without_end

LineState: TypeAlias = Literal["same", "base", "written", "gone"]
"""In base and in the text; in base only; in the text only, so in a hunk; in neither."""


class WeaveStep(Struct, frozen=True):
    """What a text was after something happened: a call's write, or with no `call_id` anything else. `undone`: it is to be undone."""

    parts: tuple[Part, ...]
    call_id: str = ""
    undone: bool = False


class LineReplacement:
    """Lines that vanished from the text in one step, and those that appeared in their place."""

    def __init__(self, step: WeaveStep) -> None:
        self.step: Final = step
        self.vanished: Final[list[WovenLine]] = []
        self.appeared: Final[list[WovenLine]] = []

    def note(self, line: "WovenLine", *, was_current: bool) -> None:
        """What became of a line in the step."""
        if was_current != line.is_current:
            (self.vanished if was_current else self.appeared).append(line)


class Change(Struct, frozen=True):
    """A line is in another state since a step. `text` and `ended`: what it was before."""

    step: WeaveStep
    was: LineState
    now: LineState
    text: str
    ended: str


class EndChange(Struct, frozen=True):
    """The last line of base and of the text got an end in a step, or lost it. `text` and `ended`: what it was before."""

    step: WeaveStep
    text: str
    ended: str


class _Entry(Struct, frozen=True):
    """A line as a text has it."""

    text: str
    state: LineState
    line: Line | None = None
    hunk: Hunk | None = None
    ended: str = ""


class WovenLine:
    """One line, whatever became of it.

    `line`: who wrote it, when it was in a hunk last; `hunks`: those it was in; `causes`: by what it is in its state. What was
    decided, typed or undone, and brought a line back into a state, brought it back as it was in that state before. `ended`: how
    the last line is written on the one side, base or the text, where it has an end, as others stand below it.
    """

    def __init__(self) -> None:
        self.text = ""
        self.ended = ""
        self.state: LineState = "gone"
        self.line: Line | None = None
        self.hunks: Final[list[Hunk]] = []
        self.changes: Final[list[Change]] = []
        self.causes: tuple[Change, ...] = ()
        self.end_changes: Final[list[EndChange]] = []
        self._causes: Final[dict[LineState, tuple[Change, ...]]] = {}

    @property
    def is_current(self) -> bool:
        """It is in the text."""
        return self.state in ("same", "written")

    @property
    def in_base(self) -> bool:
        """It is in base."""
        return self.state in ("same", "base")

    @property
    def pending_in(self) -> Hunk | None:
        """The hunk it is in."""
        return self.hunks[-1] if self.state in ("base", "written") else None

    @property
    def is_own(self) -> bool:
        """The user wrote it into a hunk, and it is in base only when an agent takes it away."""
        return self.state == "written" and self.line is not None and self.line.own

    @property
    def is_mixed(self) -> bool:
        """Somebody wrote words into an agent's line."""
        return self.line is not None and self.line.mixed

    @property
    def call_id(self) -> str:
        """The call that wrote it, "" where it was not in a hunk, or is the user's."""
        return self.line.agent.call_id if self.line is not None and self.line.agent is not None else ""

    @property
    def taken(self) -> WeaveStep | None:
        """The step in which an agent took it out of the text, and it stayed in base."""
        causes = self._causes.get("base", ())
        return causes[-1].step if causes and causes[-1].step.call_id else None

    @property
    def taken_by(self) -> str:
        """The call that did, "" where nobody knows."""
        return self.taken.call_id if self.taken is not None else ""

    def show(self, entry: _Entry, step: WeaveStep | None = None) -> None:
        """It is in the text like this; `step`: since when, None where it always was."""
        if (
            step is not None
            and self.state == entry.state == "same"
            and (entry.text, entry.ended) != (self.text, self.ended)
        ):
            self.end_changes.append(EndChange(step, self.text, self.ended))
        self._be(entry.state, step, entry.hunk)
        self.text, self.ended = entry.text, entry.ended
        self.line = entry.line if entry.state == "written" else self.line
        if entry.hunk is not None and (not self.hunks or self.hunks[-1] != entry.hunk):
            self.hunks.append(entry.hunk)

    def go(self, step: WeaveStep) -> None:
        """It is in neither text since a step."""
        self._be("gone", step)

    def settle(self, step: WeaveStep) -> None:
        """It is gone for good with the hunk that it was taken out of."""
        if self.causes and self.causes[-1].was == "written":
            self.causes = (*self.causes, Change(step, "gone", "gone", self.text, self.ended))

    @property
    def is_settled(self) -> bool:
        """It is."""
        return bool(self.causes) and self.causes[-1].was == self.causes[-1].now

    def unsettle(self) -> None:
        """The hunk that it was taken out of is back."""
        if self.is_settled:
            self.causes = self.causes[:-1]

    def _be(self, state: LineState, step: WeaveStep | None, hunk: Hunk | None = None) -> None:
        if step is not None and state != self.state:
            change = Change(step, self.state, state, self.text, self.ended)
            self._causes.setdefault(self.state, self.causes)
            self.changes.append(change)
            causes = None if step.call_id else self._causes.get(state)
            taken_by_others = hunk is not None and state == "base" and self.taken_by not in {"", *hunk.calls}
            self.causes = (*self.causes, change) if causes is None or taken_by_others else causes
            self._causes[state] = self.causes
        self.state = state


class Weave:
    """All lines that a text ever had, in one order: that of base and that of the text are parts of it.

    `fixed`: lines that each of the texts has once, in this order, and in no hunk.
    """

    def __init__(self, parts: Sequence[Part], fixed: Collection[str] = ()) -> None:
        self._parts = parts
        self._fixed = fixed
        self.lines: list[WovenLine] = []
        self.replacements: Final[list[LineReplacement]] = []
        for entry in _entries(parts):
            self.lines.append(line := WovenLine())
            line.show(entry)

    def follow(self, step: WeaveStep) -> None:
        """The text is another one since a step."""
        visible = [n for n, line in enumerate(self.lines) if line.state != "gone"]
        above, below, parts = _differing(self._parts, step.parts)
        start = visible[above - 1] + 1 if above else 0
        stop = visible[len(visible) - below] if below else len(self.lines)
        here, beside = self.lines[start:stop], (self.lines[:start], self.lines[stop:])
        entries = list(_entries(parts))
        known = _matched(here, entries, step, self._fixed)
        if not step.call_id:
            known |= _back(sorted(here, key=_is_gone), entries, known)
            known |= _back(_by_distance(*beside), [each if each.hunk else None for each in entries], known)
        woven = [known.get(n) or WovenLine() for n in range(len(entries))]
        moved = {id(line) for line in woven}.difference(map(id, here))
        upper, lower = ([line for line in lines if id(line) not in moved] for lines in beside)
        self.lines = [*upper, *self._woven(here, woven, entries, step), *lower]
        if not step.call_id:
            self._settle(_ids(self._parts), _ids(step.parts), step)
        self._parts = step.parts

    def _settle(self, before: Collection[int], now: Collection[int], step: WeaveStep) -> None:
        """What became of a hunk as a whole became of all lines that were taken out of it, too."""
        for line in self.lines if before != now else ():
            number = line.hunks[-1].id if line.state == "gone" and line.hunks else 0
            if number in before and number not in now:
                line.settle(step)
            elif number in now and number not in before:
                line.unsettle()

    def family(self, replacement: LineReplacement) -> list[WovenLine]:
        """The lines that appeared, and those that were written in their place since."""
        family = {id(line): line for line in replacement.appeared}
        for each in self.replacements[self.replacements.index(replacement) + 1 :]:
            if any(id(line) in family for line in each.vanished):
                new = (line for line in each.appeared if line.changes[0].step is each.step)
                family.update((id(line), line) for line in new)
        return list(family.values())

    def _woven(
        self, lines: Sequence[WovenLine], woven: Sequence[WovenLine], entries: Sequence[_Entry], step: WeaveStep
    ) -> list[WovenLine]:
        """A stretch of the weave, with lines that are gone, after a step that left these lines of it like this."""
        was_current = {id(line): line.is_current for line in (*lines, *woven)}
        for line, entry in zip(woven, entries, strict=True):
            line.show(entry, step)
        there = {id(line) for line in woven}
        for line in lines:
            if id(line) not in there:
                line.go(step)
        result = _with_gone(lines, _in_order(lines, woven), step)
        self._note(result, was_current, step)
        return result

    def _note(self, lines: Sequence[WovenLine], was_current: dict[int, bool], step: WeaveStep) -> None:
        """A line that stays in the text is between two replacements."""
        replacement = LineReplacement(step)
        for line in lines:
            if line.is_current and was_current[id(line)]:
                self._keep(replacement)
                replacement = LineReplacement(step)
            else:
                replacement.note(line, was_current=was_current[id(line)])
        self._keep(replacement)

    def _keep(self, replacement: LineReplacement) -> None:
        if replacement.vanished or replacement.appeared:
            self.replacements.append(replacement)


def _entries(parts: Iterable[Part]) -> Iterator[_Entry]:
    for part in parts:
        hunk = without_end(part)[-1]
        if isinstance(hunk, Same):
            yield from (_Entry(text, "same") for text in hunk.lines)
            continue
        if isinstance(part, Hunk) and hunk is not part:
            last, ended = sorted((part.base[0], part.lines[0].text), key=len)
            yield _Entry(last, "same", ended=ended)
        yield from (_Entry(text, "base", None, hunk) for text in hunk.base)
        yield from (_Entry(line.text, "written", line, hunk) for line in hunk.lines)


def _ids(parts: Iterable[Part]) -> set[int]:
    return {number for part in parts if isinstance(part, Hunk) for number in part.ids}


def _size(part: Part) -> int:
    return sum(len(each.lines) + (len(each.base) if isinstance(each, Hunk) else 0) for each in without_end(part))


def _differing(old: Sequence[Part], new: Sequence[Part]) -> tuple[int, int, list[Part]]:
    """How many lines above and below are the same in both, and what of the new text lies between."""
    above, rest = _common(old, new)
    olds, news = rest
    below, rest = _common(_reversed(olds), _reversed(news))
    return above, below, _reversed(rest[1])


def _common(old: Sequence[Part], new: Sequence[Part]) -> tuple[int, tuple[list[Part], list[Part]]]:
    """How many lines at the beginning are the same, and the rest of both."""
    n = 0
    while n < min(len(old), len(new)) and old[n] == new[n]:
        n += 1
    same = sum(map(_size, old[:n]))
    olds, news = list(old[n:]), list(new[n:])
    if olds and news and isinstance(one := olds[0], Same) and isinstance(other := news[0], Same):
        most = min(len(one.lines), len(other.lines))
        equal = next((n for n in range(most) if one.lines[n] != other.lines[n]), most)
        olds[0], news[0] = Same(one.lines[equal:]), Same(other.lines[equal:])
        same += equal
    return same, (olds, news)


def _reversed(parts: Sequence[Part]) -> list[Part]:
    """From the last line to the first, where only what is the same in two texts is looked for."""
    return [Same(part.lines[::-1]) if isinstance(part, Same) else part for part in reversed(parts)]


def _matched(
    lines: Sequence[WovenLine], entries: Sequence[_Entry], step: WeaveStep, fixed: Collection[str]
) -> dict[int, WovenLine]:
    """Which lines the entries are, by their numbers: by base first, which nobody can change unseen."""
    known: dict[int, WovenLine] = {}
    taken: set[int] = set()

    def take(n: int, line: WovenLine) -> None:
        if n not in known and id(line) not in taken:
            known[n] = line
            taken.add(id(line))

    based = [line for line in lines if line.in_base]
    for n, line in _equal(based, entries, ("same", "base"), fixed, _same_base(based, entries)):
        take(n, line)
    for n, line in _equal([line for line in lines if line.is_current], entries, ("same", "written"), fixed):
        if _can_be(line, entries[n], step):
            take(n, line)
    for n, line in _equal([line for line in lines if line.is_own], entries, ("base",), ()):
        take(n, line)
    return known


def _back(
    lines: Iterable[WovenLine], entries: Sequence[_Entry | None], known: Mapping[int, WovenLine]
) -> dict[int, WovenLine]:
    """Which of the other entries are lines that were moved, or had gone and are back."""
    again: dict[tuple[str, AgentCall | None], deque[int]] = {}
    for n, entry in enumerate(entries):
        if n not in known and entry is not None:
            again.setdefault(_key(entry.text, entry.line), deque()).append(n)
    taken = {id(line) for line in known.values()}
    back: dict[int, WovenLine] = {}
    for line in lines if again else ():
        places = again.get(_key(line.text, line.line))
        if places and id(line) not in taken:
            back[places.popleft()] = line
    return back


def _is_gone(line: WovenLine) -> bool:
    return line.state == "gone"


def _by_distance(above: Sequence[WovenLine], below: Sequence[WovenLine]) -> Iterator[WovenLine]:
    """Lines of hunks that are gone, the nearest first."""
    for pair in zip_longest(reversed(above), below):
        yield from (line for line in pair if line is not None and line.state == "gone" and line.hunks)


def _key(text: str, line: Line | None) -> tuple[str, AgentCall | None]:
    """What is alike of a line and what it is when it was moved, or had gone."""
    return without_ends((text,))[0], line.agent if line is not None else None


def _same_base(lines: Iterable[WovenLine], entries: Iterable[_Entry]) -> Collection[int]:
    """The hunks that have the same lines of base as before: such a line is no line that is like it and stands outside."""
    was = {hunk.id: hunk.base for line in lines if (hunk := line.pending_in) is not None}
    now = {entry.hunk.id: entry.hunk.base for entry in entries if entry.hunk is not None}
    return {number for number, base in now.items() if was.get(number) == base}


def _equal(
    lines: Sequence[WovenLine],
    entries: Sequence[_Entry],
    states: Sequence[LineState],
    fixed: Collection[str],
    hunks: Collection[int] = (),
) -> Iterator[tuple[int, WovenLine]]:
    """The lines that are among the entries in these states, in order; the last of a text may have got an end, or lost it.

    A line of one of the `hunks` is one of the same hunk.
    """
    there = [(n, entry) for n, entry in enumerate(entries) if entry.state in states]
    old, new = [line.text for line in lines], [entry.text for _, entry in there]
    start = first = 0
    for stop, last in [*zip(_behind(old, fixed), _behind(new, fixed), strict=True), (len(old), len(new))]:
        was = _marked(without_ends(old[start:stop]), [line.pending_in for line in lines[start:stop]], hunks)
        now = _marked(without_ends(new[first:last]), [entry.hunk for _, entry in there[first:last]], hunks)
        for i, j in _pairs(was, now):
            yield there[first + j][0], lines[start + i]
        start, first = stop, last


def _marked(lines: Lines, places: Iterable[Hunk | None], hunks: Collection[int]) -> Lines:
    """The lines, those of these hunks with the hunk's number."""
    if not hunks:
        return lines
    pairs = zip(lines, places, strict=True)
    return tuple(f"{line}\n{at.id}" if at is not None and at.id in hunks else line for line, at in pairs)


def _behind(lines: Sequence[str], fixed: Collection[str]) -> list[int]:
    """The places behind these lines."""
    return [n for n, line in enumerate(lines, 1) if line in fixed] if fixed else []


def _pairs(old: Lines, new: Lines) -> Iterator[tuple[int, int]]:
    """Which lines are equal, in order."""
    i = j = 0
    for edit in (*edits_between(old, new), LineEdit(len(old), len(old), ())):
        yield from ((i + n, j + n) for n in range(edit.start - i))
        i, j = edit.stop, j + edit.start - i + len(edit.lines)


def _can_be(line: WovenLine, entry: _Entry, step: WeaveStep) -> bool:
    """Whether a line that stayed in the text is this one: an agent that wrote it anew wrote another one."""
    if entry.line is not None and line.state == "written":
        return line.line is not None and line.line.agent == entry.line.agent
    is_own = line.line is None or line.line.agent is None
    return not step.call_id or line.state == entry.state or (line.state == "written" and is_own)


def _in_order(lines: Sequence[WovenLine], woven: Sequence[WovenLine]) -> list[WovenLine]:
    """The visible lines: in a hunk those of base and those of the text as they stood among each other before, else base first."""
    places = {id(line): n for n, line in enumerate(lines)}
    result: list[WovenLine] = []
    n = 0
    while n < len(woven):
        hunk = woven[n].pending_in
        if hunk is None:
            result.append(woven[n])
            n += 1
            continue
        base = deque(woven[n : n + len(hunk.base)])
        written = deque(woven[n + len(hunk.base) : n + _size(hunk)])
        known = deque(line for line in written if id(line) in places)
        while base and written:
            upper = places.get(id(base[0]), -1)
            if known and places[id(known[0])] < upper:  # new lines above one that is known are above what is below it
                result.append(written.popleft())
                if result[-1] is known[0]:
                    known.popleft()
            else:
                result.append(base.popleft())
        result += (*base, *written)
        n += _size(hunk)
    return result


def _with_gone(lines: Sequence[WovenLine], visible: Sequence[WovenLine], step: WeaveStep) -> list[WovenLine]:
    """Lines that are gone stay behind the one that they stood behind; new ones stand behind those that made way for them."""
    there = {id(line) for line in visible}
    behind: dict[int, list[WovenLine]] = {0: []}
    last = 0
    for line in lines:
        if id(line) in there:
            last = id(line)
            behind[last] = []
        else:
            behind[last].append(line)
    result: list[WovenLine] = []
    above, below = _divided(behind[0], step)
    for line in visible:
        if id(line) in behind:
            result += [*above, *below]
            above, below = _divided(behind[id(line)], step)
        else:
            result += above
            above = []
        result.append(line)
    return [*result, *above, *below]


def _divided(gone: list[WovenLine], step: WeaveStep) -> tuple[list[WovenLine], list[WovenLine]]:
    """Lines above and below the place of new ones."""
    made_way = [n for n, line in enumerate(gone, 1) if line.changes[-1].step is step]
    at = made_way[-1] if made_way else len(gone)
    return gone[:at], gone[at:]
