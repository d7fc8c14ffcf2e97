"""Which events of an edit log nobody needs any more (D39), and what the review is without them. Pure.

Of each file's history the end stays: from the first event on that is younger than a limit, that a session's rewind refers to,
or that something pending came from. What is pending is never dropped.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import count
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.edits.editlog import (
    Captured,
    Checkpoint,
    Decided,
    Event,
    Inherited,
    Intent,
    MadeSure,
    Noted,
    Rooted,
    Settled,
    UserChanged,
)
from sould.agents.files.edits.reviewstate import ReviewState
from sould.agents.files.review.file import TrackedFile
from sould.agents.files.review.hunk import AgentCall
from sould.agents.files.review.text import ReviewedText

OLD: Final = 30 * 24 * 3600.0
"""Seconds after which what is settled may go."""
_UNDECIDED: Final = ("absent", "stale")
_Call: TypeAlias = tuple[str, str, str]


class Needed(Struct, frozen=True):
    """What stays whatever its age: edits by number, and what sessions that exist have to be told."""

    numbers: Collection[int]
    sessions: Collection[str]
    since: float
    """What happened after this time stays, too."""


class Aged(Struct, frozen=True):
    """A log without what nobody needs: its events, and how many are gone."""

    events: Sequence[Event]
    review: ReviewState
    gone: int

    @property
    def numbers(self) -> set[int]:
        """The edits that are still there."""
        return {event.n for event in self.events if isinstance(event, Intent)}


def aged(events: Sequence[Event], review: ReviewState, root: str, next_n: int, needed: Needed) -> Aged:
    """`events`: all of the log, with the paths that their files have now; `review`: what they come to."""
    numbers = {*needed.numbers, *review.to_carry_out, *review.announced}
    calls = set(_calls_of(review.files.values()))
    undone = {event.n for event in events if isinstance(event, Settled) and not event.written}
    begun: set[int] = set()
    kept: list[Event] = []
    gone = 0
    for event, history in zip(events, _histories(events), strict=True):
        if isinstance(event, Inherited | MadeSure):
            kept.append(event)
        if history < 0 or event.n in undone:
            continue
        if history in begun or _is_needed(event, numbers, calls, needed.since):
            begun.add(history)
            kept.append(event)
        else:
            gone += 1
    there = {event.n for event in kept if isinstance(event, Intent)}
    made = {_call_of(event) for event in kept if isinstance(event, Intent)}
    kept = [each for event in kept for each in _inherited(event, there)]
    kept = [event for event in kept if not isinstance(event, MadeSure) or _call_of(event) in made]
    paths = {event.path for event in kept if isinstance(event, Intent | UserChanged | Decided)}
    young = _reviewed(review, paths, needed)
    written = replace(young, files={p: each for p, each in young.files.items() if p not in young.secret}, secret=set())
    checkpoint = Checkpoint(n=next_n - 1, review=msgspec.Raw(msgspec.json.encode(written)))
    return Aged([Rooted(n=0, root=root), *kept, checkpoint], young, gone)


def _histories(events: Iterable[Event]) -> Iterator[int]:
    """The history that each event is of, which goes along when the file is moved; -1 of one that is about no file."""
    of_path: dict[str, int] = {}
    of_number: dict[int, int] = {}
    new = count()
    for event in events:
        match event:
            case Captured(moved_from=before) if before in of_path:
                of_path[event.path] = of_path.pop(before)
            case UserChanged(whole="moved") if event.path in of_path:
                of_path[event.content] = of_path[event.path]
            case _:
                pass
        match event:
            case Settled():
                yield of_number.get(event.n, -1)
            case Intent() | UserChanged() | Decided() | Noted():
                history = of_path.get(event.path)
                if history is None:
                    history = of_path[event.path] = next(new)
                of_number[event.n] = history
                if isinstance(event, UserChanged) and event.whole == "moved":
                    del of_path[event.path]
                yield history
            case _:
                yield -1


def _call_of(event: Intent | MadeSure) -> _Call:
    return event.session_id, event.turn_id, event.call_id


def _is_needed(event: Event, numbers: Collection[int], calls: Collection[_Call], since: float) -> bool:
    match event:
        case Intent():
            return event.timestamp >= since or event.n in numbers or _call_of(event) in calls
        case UserChanged() | Decided():
            return event.timestamp >= since or event.n in numbers
        case _:
            return False


def _inherited(event: Event, there: Collection[int]) -> Iterator[Event]:
    """The event, as far as what it speaks of is still there."""
    if not isinstance(event, Inherited):
        yield event
        return
    numbers = tuple(n for n in event.numbers if n in there)
    if numbers:
        yield replace(event, numbers=numbers)


# --- the review ------------------------------------------------------------------------------------------------------


def _calls_of(files: Iterable[TrackedFile]) -> Iterator[_Call]:
    """Those that something came from that nobody has decided about."""
    for file in files:
        texts = [file.text, *(change.text for change in file.changes if change.text is not None)]
        for agent in (*_agents_of(texts), *(agent for change in file.changes for agent in change.agents)):
            yield agent.session_id, agent.turn_id, agent.call_id


def _agents_of(texts: Iterable[ReviewedText]) -> Iterator[AgentCall]:
    for text in texts:
        for placed in text.hunks:
            yield from placed.hunk.agents
        for away in text.away:
            if away.state in _UNDECIDED:
                yield from away.hunk.agents


def _reviewed(review: ReviewState, paths: Collection[str], needed: Needed) -> ReviewState:
    """The review without decisions that are old, and files of which nothing is left; those at `paths` have events."""
    verdicts = {number: each for number, each in review.verdicts.items() if each.timestamp >= needed.since}
    waiting = {each.path for each in review.to_carry_out.values()}
    files: dict[str, TrackedFile] = {}
    for path, file in review.files.items():
        young = _without_old(file, verdicts)
        if path in paths or path in waiting or _is_pending(young):
            files[path] = young
    pending = {n for file in files.values() for placed in file.text.hunks for n in placed.hunk.ids}
    pending |= {change.id for file in files.values() for change in (*file.changes, *file.absent)}
    sessions = needed.sessions
    rejects = [
        each for each in review.rejects if each.timestamp >= needed.since or not set(each.sessions).isdisjoint(sessions)
    ]
    listening = {*sessions, *(session for each in rejects for session in each.sessions)}
    return replace(
        review,
        files=files,
        verdicts=verdicts,
        rejects=rejects,
        told={session: n for session, n in review.told.items() if session in listening},
        committed=review.committed & pending,
        git={path: each for path, each in review.git.items() if path in files},
        left={path: each for path, each in review.left.items() if each.at >= needed.since},
        sure=review.sure & set(_calls_of(files.values())),
    )


def _is_pending(file: TrackedFile) -> bool:
    return bool(file.changes or file.absent or file.text.has_hunks or file.text.away)


def _without_old(file: TrackedFile, verdicts: Collection[int]) -> TrackedFile:
    away = tuple(
        each
        for each in file.text.away
        if each.state in _UNDECIDED or any(number in verdicts for number in each.hunk.ids)
    )
    return file if len(away) == len(file.text.away) else replace(file, text=replace(file.text, away=away))
