"""What a review is made of: lines with their authors, hunks, and the text they stand in. Pure data.

A project keeps it as msgpack or JSON. What there is thousands of is written as arrays: its fields are never reordered, and a
new one comes last, with a default.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, takewhile
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.review.lines import Lines

MOST_CUTS: Final = 20
"""How often lines may be taken out of a hunk, and be known again when they are back."""


class AgentCall(Struct, frozen=True, array_like=True, gc=False):
    """The tool call that wrote something, and whose it was. `subagent` is "" for the session's own agent.

    `shown_in`: the editor that took the write and lets its user review it, "" where none does (D43). `unsure`: the user may have
    written it meanwhile; `ran`: while what ran, in words.
    """

    session_id: str
    turn_id: str
    call_id: str
    subagent: str = ""
    model: str = ""
    shown_in: str = ""
    unsure: bool = False
    ran: str = ""


class Line(Struct, frozen=True, array_like=True, gc=False):
    """A current line of a hunk. Its author is an agent, the user (`own`), or both (`mixed`)."""

    text: str
    agent: AgentCall | None = None
    retyped: bool = False
    """An agent's line whose words the user changed."""

    @property
    def own(self) -> bool:
        """The user's alone."""
        return self.agent is None

    @property
    def mixed(self) -> bool:
        """An agent's, with words of the user."""
        return self.agent is not None and self.retyped


class Cut(Struct, frozen=True, array_like=True, gc=False):
    """Lines that the user took out of a hunk: they stood before its line `at`, and `left` lines stayed in it.

    An editor's own undo puts them back there: then they are whose they were, and no words of the user.
    """

    at: int
    lines: tuple[Line, ...]
    left: int


class Hunk(Struct, frozen=True, array_like=True, tag="hunk", gc=False):
    """Lines of base that became other lines and are to be reviewed. `id` is never used again, `absorbed` are ids it took over."""

    id: int
    base: Lines
    lines: tuple[Line, ...]
    agents: tuple[AgentCall, ...]
    """All that had a part in it, in the order in which they came."""
    absorbed: tuple[int, ...] = ()
    rejected: bool = False
    """It had been rejected, and the user's editor took that back by its own undo."""
    cuts: tuple[Cut, ...] = ()
    """What the user took out of it, the last one last."""

    @property
    def ids(self) -> tuple[int, ...]:
        """Its own and those it took over."""
        return (self.id, *self.absorbed)

    @property
    def texts(self) -> Lines:
        """Its current lines."""
        return tuple(line.text for line in self.lines)

    @property
    def digest(self) -> str:
        """What a decision names beside the id: 16 hexadecimal digits over base and current lines, not over their place."""
        base, text = "".join(self.base), "".join([line.text for line in self.lines])
        sides = f"{len(self.base)}:{len(base)}\n{base}{len(self.lines)}:{len(text)}\n{text}"
        return hashlib.sha256(sides.encode()).hexdigest()[:16]

    @property
    def turns(self) -> frozenset[str]:
        """The turns that had a part in it."""
        return frozenset(agent.turn_id for agent in self.agents)

    @property
    def calls(self) -> frozenset[str]:
        """The calls that had a part in it."""
        return frozenset(agent.call_id for agent in self.agents)

    @property
    def sessions(self) -> frozenset[str]:
        """The sessions that had a part in it."""
        return frozenset(agent.session_id for agent in self.agents)

    @property
    def own(self) -> Lines:
        """The user's own lines in it."""
        return tuple(line.text for line in self.lines if line.own)

    @property
    def has_agent(self) -> bool:
        """Something in it is an agent's: a line it wrote, or one that it took away."""
        return bool(self.base) or not all(line.own for line in self.lines)

    def without(self, start: int, stop: int) -> "Hunk":
        """The same without these lines, which the user took out."""
        left = (*self.lines[:start], *self.lines[stop:])
        return replace(
            self, lines=left, cuts=(*self.cuts[1 - MOST_CUTS :], Cut(start, self.lines[start:stop], len(left)))
        )

    def with_back(self, at: int, texts: Lines) -> "Hunk | None":
        """The same with these lines again before line `at`, if the user took them out there last; else None."""
        there = self.texts
        return self.earlier((*there[:at], *texts, *there[at:]))

    def grown_by(self, texts: Lines, *, at_end: bool) -> "Hunk | None":
        """The same with the first of these lines again below it, or with the last ones above it, if the user took them out there."""
        there = (*self.texts, *texts) if at_end else (*texts, *self.texts)
        for each in self.fullest_first[:-1]:
            count = len(each.lines)
            if each.texts == (there[:count] if at_end else there[-count:]):
                return each
        return None

    def earlier(self, texts: Lines) -> "Hunk | None":
        """The same as it was when it had these texts, if all that happened to it since is that the user took lines out; else None."""
        return next((each for each in self._earlier if each.texts == texts), None)

    def found_in(self, texts: Lines) -> "tuple[int, Hunk] | None":
        """The same as it was when it had most lines, of which all stand among these; and the lowest place where they do."""
        for each in self.fullest_first[:-1]:
            wanted = each.texts
            places = range(len(texts) - len(wanted), -1, -1)
            at = next((at for at in places if texts[at : at + len(wanted)] == wanted), None)
            if at is not None:
                return at, each
        return None

    @property
    def fullest_first(self) -> "tuple[Hunk, ...]":
        """As it was when it had most lines, and so on to the same as it is: see `earlier`."""
        return (*reversed([*self._earlier]), self)

    @property
    def _earlier(self) -> "Iterator[Hunk]":
        """The same before the last time that the user took lines out of it, before the two last times, and so on."""
        hunk = self
        while hunk.cuts and hunk.cuts[-1].left == len(hunk.lines):
            *cuts, last = hunk.cuts
            lines = (*hunk.lines[: last.at], *last.lines, *hunk.lines[last.at :])
            hunk = replace(hunk, lines=lines, cuts=tuple(cuts))
            yield hunk

    def by(self, *agents: AgentCall) -> "Hunk":
        """The same with these among those who had a part in it."""
        return replace(self, agents=tuple(dict.fromkeys((*self.agents, *agents))))


class Same(Struct, frozen=True, array_like=True, tag="same", gc=False):
    """Lines that base and current have alike."""

    lines: Lines


Part: TypeAlias = Same | Hunk
"""A text is its parts in order: no two `Same` beside each other, none empty, so base plus hunks is current by construction."""


class PlacedHunk(Struct, frozen=True):
    """A hunk with where it stands: its first line in the current text and in base, from 0."""

    hunk: Hunk
    start: int
    base_start: int

    @property
    def stop(self) -> int:
        """The current line behind it."""
        return self.start + len(self.hunk.lines)


def size(part: Part) -> int:
    """How many current lines it has."""
    return len(part.lines)


def current_lines(parts: Iterable[Part]) -> Lines:
    """The text as it is."""
    return tuple(chain.from_iterable(part.lines if isinstance(part, Same) else part.texts for part in parts))


def base_lines(parts: Iterable[Part]) -> Lines:
    """The text as the user accepted it."""
    return tuple(chain.from_iterable(part.lines if isinstance(part, Same) else part.base for part in parts))


def current_between(parts: Iterable[Part], start: int, stop: int) -> Lines:
    """Some lines of the text as it is, without making all of it."""
    found: list[str] = []
    at = 0
    for part in parts:
        if at >= stop:
            break
        behind = at + size(part)
        if behind > start:
            lines = part.lines if isinstance(part, Same) else part.texts
            found += lines[max(0, start - at) : stop - at]
        at = behind
    return tuple(found)


def last_of_base(parts: Sequence[Part]) -> Lines:
    """The last line of the text as the user accepted it, where there is one."""
    sides = (part.lines if isinstance(part, Same) else part.base for part in reversed(parts))
    return next((side[-1:] for side in sides if side), ())


def is_same_text(one: Sequence[Part], other: Sequence[Part]) -> bool:
    """Whether both hold the same text; what is the same object in both is not read."""
    if one is other:
        return True
    above = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], zip(one, other, strict=False)))
    one, other = one[above:], other[above:]
    below = sum(
        1 for _ in takewhile(lambda pair: pair[0] is pair[1], zip(reversed(one), reversed(other), strict=False))
    )
    one, other = one[: len(one) - below], other[: len(other) - below]
    return sum(map(size, one)) == sum(map(size, other)) and current_lines(one) == current_lines(other)


def placed(parts: Iterable[Part]) -> Iterator[PlacedHunk]:
    """The hunks, from the first to the last."""
    start = base_start = 0
    for part in parts:
        if isinstance(part, Hunk):
            yield PlacedHunk(part, start, base_start)
            base_start += len(part.base)
        else:
            base_start += len(part.lines)
        start += size(part)
