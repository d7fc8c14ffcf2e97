"""The text that lines of a weave make, in the states they are to have: base and the text are the lines that are in them. Pure.

Hunks that lines stay in keep their ids; what was a hunk once, and is one again, is that hunk.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.review.difference import LineEdit
from sould.agents.files.review.hunk import AgentCall, Hunk, Line, Part, Same, base_lines, current_lines
from sould.agents.files.review.splice import HunkMark, Piece, lines_of, trimmed, without_end
from sould.agents.files.review.weave import LineState, WovenLine


class Fate(Struct, frozen=True):
    """A line, and the state and the text that it is to have, the last one also with its end (`WovenLine`)."""

    line: WovenLine
    state: LineState
    text: str
    ended: str

    @property
    def is_current(self) -> bool:
        """It is to be in the text."""
        return self.state in ("same", "written")

    @property
    def is_pending(self) -> bool:
        """It is to be in a hunk."""
        return self.state in ("base", "written")

    @property
    def home(self) -> int:
        """The hunk that it is in now; 0: in none."""
        hunk = self.line.pending_in
        return hunk.id if hunk is not None else 0


def unwoven(
    parts: Iterable[Part], fates: Sequence[Fate], undone: Collection[str]
) -> tuple[list[Piece], list[LineEdit]]:
    """A text with its lines in these states, and what becomes of it thereby.

    Calls that are `undone` have a part in hunks only with lines of theirs that stay.
    """
    parts = (each for part in parts for each in without_end(part))
    homes = {part.id: part for part in parts if isinstance(part, Hunk)}
    calls: dict[int, set[str]] = {}
    places: dict[int, list[int]] = {}
    for n, fate in enumerate(fates):
        if home := fate.home:
            calls.setdefault(home, set()).add(_call(fate.line))
            places.setdefault(home, []).append(n)
    groups = [
        _Group(group, homes.get(home), calls.get(home, set()), undone)
        for run in _runs(fates)
        for home, group in _by_home(run, homes)
    ]
    placed = dict(_numbered(groups))
    pending = {group.home.id for group in groups if group.home is not None and group.hunk is not None}
    left = _left(fates, {homes[number]: there for number, there in places.items() if number not in pending})
    pieces: list[Piece] = []
    last = 0
    for fate in fates:
        pieces += left.get(id(fate.line), ())
        if fate.state == "same":
            pieces.append(Same((fate.text,)))
            last = len(pieces) if fate.ended else last
        pieces += placed.get(id(fate.line), ())
    ended = next((fate.ended for fate in fates if fate.state == "same" and fate.ended), "")
    pieces[last - 1 :] = _with_end(pieces[last - 1 :], ended) if last else pieces[last - 1 :]
    return pieces, list(_edits(fates))


def _with_end(pieces: Sequence[Piece], ended: str) -> list[Piece]:
    """From the last line of base or of the text on, with the end that this had on the other side if it needs one there."""
    last, below = lines_of(pieces[:1])[0], list(pieces[1:])
    parts = [piece for piece in below if not isinstance(piece, HunkMark)]
    in_base, in_text = base_lines(parts), current_lines(parts)
    if bool(in_base) == bool(in_text):
        return [Same((ended if in_base else last,)), *below]
    at = next(n for n, piece in enumerate(below) if isinstance(piece, Hunk))
    if isinstance(hunk := below[at], Hunk):
        base, line = (ended, last) if in_base else (last, ended)
        below[at] = replace(hunk, base=(base, *hunk.base), lines=(Line(line, hunk.agents[0]), *hunk.lines))
    return below


def _call(line: WovenLine) -> str:
    """Whose work the line is in its hunk: of the call that wrote it, or that took it away; "" where that is not known."""
    return line.taken_by if line.state == "base" else line.call_id


class _Group:
    """Lines that are to be one hunk. `home`: the hunk that they are in, None where they were in one that is pending no more.

    `calls`: those that worked at the home.
    """

    def __init__(
        self, fates: Sequence[Fate], home: Hunk | None, calls: Collection[str], undone: Collection[str]
    ) -> None:
        self._lines = [fate.line for fate in fates]
        self.first = self._lines[0]
        self.home = home
        base = tuple(fate.text for fate in fates if fate.state == "base")
        lines = tuple(each.line.line for each in fates if each.state == "written" and each.line.line is not None)
        earlier = [hunk for line in self._lines for hunk in reversed(line.hunks)]
        alike = [hunk for hunk in earlier if (hunk.base, hunk.lines) == (base, lines)]
        self._known = next((hunk for hunk in alike if hunk.calls.isdisjoint(undone)), alike[0] if alike else None)
        like = self._known or home or earlier[0]
        authors = {line.agent.call_id for line in lines if line.agent is not None}
        here = authors | {fate.line.taken_by for fate in fates if fate.state == "base"}
        agents = self._agents(like, here, {*calls, *undone})
        self.parts = trimmed(Hunk(0, base, lines, agents, (), like.rejected))

    def _agents(self, like: Hunk, here: Collection[str], elsewhere: Collection[str]) -> tuple[AgentCall, ...]:
        """Those with a part in its lines, and others of the hunk whose part nobody knows."""
        stay = [each for each in like.agents if each.call_id in here or each.call_id not in elsewhere]
        earlier = (agent for line in self._lines for hunk in line.hunks for agent in hunk.agents)
        more = (agent for agent in earlier if agent.call_id in here)
        return tuple(dict.fromkeys((*stay, *more))) or like.agents

    @property
    def hunk(self) -> Hunk | None:
        """What it comes to, None where nothing of it is to be reviewed."""
        return next((part for part in self.parts if isinstance(part, Hunk)), None)

    @property
    def ids(self) -> list[int]:
        """Those that it may have, the best first."""
        known = self._known.ids if self._known is not None else ()
        if self.home is None:
            return [*known, *(number for line in self._lines for number in line.hunks[-1].ids)]
        earlier = (hunk.id for line in self._lines for hunk in line.hunks)
        return [number for number in (*known[:1], *earlier, *self.home.ids) if number in self.home.ids]

    @property
    def absorbed(self) -> list[int]:
        """Those that it took over, unless another one has them."""
        hunk = self.home or self._known
        return [*hunk.ids] if hunk is not None else []

    def numbered(self, own: int, absorbed: Sequence[int]) -> list[Part]:
        """Its parts, with its ids."""
        ids = {"id": own, "absorbed": tuple(absorbed)}
        return [replace(part, **ids) if isinstance(part, Hunk) else part for part in self.parts]


def _runs(fates: Iterable[Fate]) -> Iterator[list[Fate]]:
    """Lines of hunks without a line between them that is the same in base and the text."""
    run: list[Fate] = []
    for fate in fates:
        if fate.is_pending:
            run.append(fate)
        elif fate.state == "same" and run:
            yield run
            run = []
    if run:
        yield run


def _by_home(run: Sequence[Fate], homes: Mapping[int, Hunk]) -> Iterator[tuple[int, list[Fate]]]:
    """The lines by the hunk that they are to be in; those that were in no pending one are in one beside them that they were in."""
    keys = [fate.home for fate in run]
    below = 0
    nexts = [below := key or below for key in reversed(keys)][::-1]
    above = 0
    for n, fate in enumerate(run):
        if keys[n] == 0:
            earlier = fate.line.hunks[-1].ids
            beside = [home for home in (above, nexts[n]) if home]
            same = (home for home in beside if not set(earlier).isdisjoint(homes[home].ids))
            keys[n] = nexts[n] if above == nexts[n] and above else next(same, -earlier[0])
        above = keys[n] if keys[n] > 0 else above
    for key, group in groupby(zip(keys, run, strict=True), key=itemgetter(0)):
        yield key, [fate for _, fate in group]


def _numbered(groups: Sequence[_Group]) -> Iterator[tuple[int, list[Part]]]:
    """The parts of each, by its first line: ids that are pending stay so, and none is given twice."""
    own: dict[int, int] = {}
    given: set[int] = set()
    for group in sorted(groups, key=lambda group: group.home is None):
        free = (number for number in group.ids if number not in given)
        own[id(group)] = number = next(free, 0) if group.hunk is not None else 0
        given.add(number)
    for group in groups:
        more = [number for number in group.absorbed if number not in given] if own[id(group)] else []
        given.update(more)
        yield id(group.first), group.numbered(own[id(group)], more)


def _left(fates: Sequence[Fate], hunks: Mapping[Hunk, Sequence[int]]) -> dict[int, list[HunkMark]]:
    """The hunks that are pending no more, and had lines at these places, by the line above which they stood."""
    left: dict[int, list[HunkMark]] = {}
    for hunk, there in hunks.items():
        stretch = fates[there[0] : there[-1] + 1]
        lines = sum(fate.is_current for fate in stretch)
        left.setdefault(id(stretch[0].line), []).append(HunkMark(hunk, "undone", lines))
    return left


def _edits(fates: Iterable[Fate]) -> Iterator[LineEdit]:
    """What becomes of the text."""
    at = start = 0
    new: list[str] = []
    for fate in fates:
        if fate.is_current and fate.line.is_current:
            if new or start < at:
                yield LineEdit(start, at, tuple(new))
            at = start = at + 1
            new = []
        else:
            at += fate.line.is_current
            new += [fate.text] if fate.is_current else []
    if new or start < at:
        yield LineEdit(start, at, tuple(new))
