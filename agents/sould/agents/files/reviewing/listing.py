"""What is under review, as a client is shown it: files with their hunks, and which of them an operation is about. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.directories.refs import target_in
from sould.agents.files.edits.editlog import Decided, Writer
from sould.agents.files.edits.reviewstate import ReviewState, call_key
from sould.agents.files.review.file import FileChange, Kind, TrackedFile
from sould.agents.files.review.hunk import AgentCall, Line, PlacedHunk
from sould.agents.files.review.lines import Lines
from sould.agents.files.review.splice import Away
from sould.agents.files.reviewing.shapes import HunkState, Verdict


class ReviewedHunk(Struct, frozen=True):
    """A hunk, or a change of a file as a whole. Lines are counted from 0, in the file as it is and in base.

    `kind` "text" is a hunk: `base` became `lines`. Of all other kinds `before` and `after` say what happened: see `FileChange`.
    """

    id: int
    digest: str
    path: str
    kind: Literal["text"] | Kind
    state: HunkState
    agents: tuple[AgentCall, ...]
    start: int = 0
    base_start: int = 0
    base: Lines = ()
    lines: tuple[Line, ...] = ()
    before: str = ""
    after: str = ""
    committed: bool = False
    """An agent's own command committed it."""
    earlier: bool = False
    """It was so when comments were sent last: no answer to them."""
    before_size: int | None = None
    """Bytes of the content `before`, where that is no text and still known."""
    after_size: int | None = None
    """Likewise."""
    problems: tuple[str, ...] = ()
    """Errors that it brought, as an editor or a language server said when it was written."""

    @property
    def texts(self) -> Lines:
        """Its current lines."""
        return tuple(line.text for line in self.lines)

    @property
    def shown_in(self) -> str:
        """The editor that lets its user review all of it, "" where none does: nobody else need be asked (D43)."""
        calls = {agent.call_id for agent in self.agents}
        shown = {agent.call_id: agent.shown_in for agent in self.agents if agent.shown_in}
        return next(iter(shown.values())) if calls == shown.keys() and len(set(shown.values())) == 1 else ""

    @property
    def is_link(self) -> bool:
        """A symbolic link stands on one side of it, or on both."""
        return target_in(self.before) is not None or target_in(self.after) is not None

    @property
    def unsure(self) -> bool:
        """The user may have written some of it, while a program of an agent ran: it is never rejected with others."""
        return any(agent.unsure for agent in self.agents)

    @property
    def ran(self) -> str:
        """Of an unsure one, what ran meanwhile, in words; "" where nobody knows it any more."""
        return next((agent.ran for agent in reversed(self.agents) if agent.unsure and agent.ran), "")

    @property
    def sessions(self) -> frozenset[str]:
        """Those whose agents had a part in it."""
        return frozenset(agent.session_id for agent in self.agents)

    @property
    def writers(self) -> tuple[Writer, ...]:
        """See `Decided`."""
        found = sorted({(agent.session_id, agent.subagent) for agent in self.agents})
        return tuple(found) if any(subagent for _, subagent in found) else ()

    @property
    def turns(self) -> frozenset[str]:
        """Likewise."""
        return frozenset(agent.turn_id for agent in self.agents)


class FileReview(Struct, frozen=True):
    """A file of which something is to be reviewed, from its first hunk to its last; changes of the whole file come first."""

    path: str
    exists: bool
    hunks: tuple[ReviewedHunk, ...]
    unsaved: bool = False
    """What it holds is in an editor only."""
    is_new: bool = False
    """An agent made it, and nothing of it was kept."""
    unsaved_in: tuple[str, ...] = ()
    """The editors with that unsaved text, as people know them; those that did not say their name are left out."""
    streaming: tuple[ReviewedHunk, ...] = ()
    """What calls are about to write into it."""


class Selection(Struct, frozen=True):
    """Which hunks an operation is about: those for which all holds that is given."""

    ids: tuple[int, ...] = ()
    paths: tuple[str, ...] = ()
    """Files, or directories with all that is in them; resolved."""
    session_id: str = ""
    turn_id: str = ""

    def has(self, hunk: ReviewedHunk) -> bool:
        """Whether it is about this one."""
        return (
            (not self.ids or hunk.id in self.ids)
            and (not self.paths or any(_lies_in(hunk.path, path) for path in self.paths))
            and (not self.session_id or self.session_id in hunk.sessions)
            and (not self.turn_id or self.turn_id in hunk.turns)
        )

    def among(self, paths: Iterable[str]) -> list[str]:
        """Those of some paths of files that it may be about."""
        exact = frozenset(self.paths)
        return [
            path for path in paths if not exact or path in exact or any(_lies_in(path, each) for each in self.paths)
        ]

    def others_in(self, hunk: ReviewedHunk) -> frozenset[str]:
        """Turns or sessions that the operation is not about and that had a part in the hunk."""
        turns = hunk.turns - {self.turn_id} if self.turn_id else frozenset[str]()
        return turns | (hunk.sessions - {self.session_id} if self.session_id else frozenset[str]())


EVERYTHING: Final = Selection()


class KnownDecision(Struct, frozen=True):
    """Who decided what. `n` counts what happened in the project; `at` is in seconds since 1970. `waits`: not carried out yet."""

    n: int
    id: int
    path: str
    verdict: Verdict
    by: str
    at: float
    reason: str = ""
    waits: bool = False


def known_decisions(state: ReviewState, after: int) -> list[KnownDecision]:
    """The last decision about each hunk, of those that were made after event `after`, and all that wait; oldest first."""
    waiting = [_known(each, waits=True) for each in state.to_carry_out.values()]
    done = [_known(each) for each in state.verdicts.values() if each.n > after]
    return sorted((*done, *waiting), key=lambda each: each.n)


class PutAside(Struct, frozen=True):
    """A hunk that is in its file no more, and what was decided about it, None when nothing was."""

    hunk: ReviewedHunk
    decision: KnownDecision | None


def put_aside(state: ReviewState, paths: Iterable[str]) -> list[PutAside]:
    """What was rejected, undone, or is absent of the files at `paths`, by path, what went last at the end."""
    found: list[PutAside] = []
    for file in (state.files[path] for path in sorted(paths)):
        found += [PutAside(of_change(file, each, "absent"), None) for each in file.absent]
        for away in _away(file):
            if away.state not in ("kept", "ended"):
                decision = state.verdicts.get(away.hunk.id)
                known = _known(decision) if decision is not None else None
                found.append(PutAside(of_hunk(file.path, PlacedHunk(away.hunk, away.start, 0), away.state), known))
    return found


def _away(file: TrackedFile) -> Iterator[Away]:
    """The hunks that are not in the file now, those included that were not when it was deleted, or became no text."""
    unreadable = (file.unreadable,) if file.unreadable is not None else ()
    return (away for text in (*file.earlier_texts, *unreadable, file.text) for away in text.away)


def _known(event: Decided, *, waits: bool = False) -> KnownDecision:
    return KnownDecision(
        event.n, event.hunk_id, event.path, event.verdict, event.by, event.timestamp, event.reason, waits
    )


def listed(
    state: ReviewState, unsaved: Mapping[str, tuple[str, ...]], paths: Iterable[str], *, absent: bool = False
) -> list[FileReview]:
    """Those of the files at `paths` of which something is pending, by path. `absent`: also what is not in its file now, last.

    `unsaved`: the files with unsaved text, and in which editors.
    """
    rejecting = {event.hunk_id for event in state.to_carry_out.values()}
    reviews: list[FileReview] = []
    for path in sorted(paths):
        file = state.files[path]
        hunks = tuple(_marked(state, _hunks(file, state, rejecting, absent=absent)))
        if hunks:
            reviews.append(
                FileReview(path, file.exists, hunks, path in unsaved, not file.in_base, unsaved.get(path, ()))
            )
    return reviews


def _marked(state: ReviewState, hunks: Iterable[ReviewedHunk]) -> Iterator[ReviewedHunk]:
    """Those that are no answer to what was sent last are `earlier`; what is known to be an agent's by now is not unsure."""
    for each in hunks:
        agents = tuple(
            replace(agent, unsure=False) if call_key(agent) in state.sure else agent for agent in each.agents
        )
        marked = replace(each, agents=tuple(dict.fromkeys(agents))) if each.unsure else each
        is_earlier = state.round is not None and state.answers.isdisjoint(map(call_key, each.agents))
        yield replace(marked, earlier=True) if is_earlier else marked


def _hunks(
    file: TrackedFile, state: ReviewState, rejecting: Collection[int], *, absent: bool
) -> Iterator[ReviewedHunk]:
    for change in file.changes:
        is_stale = change.kind == "delete" and file.exists
        state_now: HunkState = "rejecting" if change.id in rejecting else "stale" if is_stale else "pending"
        yield of_change(file, change, state_now, committed=change.id in state.committed)
    for placed in file.text.hunks:
        hunk_state: HunkState = "rejecting" if placed.hunk.id in rejecting else "pending"
        yield of_hunk(file.path, placed, hunk_state, committed=placed.hunk.id in state.committed)
    for change in file.absent if absent else ():
        yield of_change(file, change, "absent", committed=change.id in state.committed)
    for placed in file.unreadable.hunks if absent and file.unreadable is not None else ():
        yield of_hunk(file.path, placed, "absent")
    for away in _away(file) if absent else ():
        if away.state in ("absent", "stale"):
            yield of_hunk(file.path, PlacedHunk(away.hunk, away.start, 0), away.state)


def of_hunk(path: str, placed: PlacedHunk, state: HunkState, *, committed: bool = False) -> ReviewedHunk:
    """A hunk of a text."""
    hunk = placed.hunk
    return ReviewedHunk(
        hunk.id,
        hunk.digest,
        path,
        "text",
        state,
        hunk.agents,
        placed.start,
        placed.base_start,
        hunk.base,
        hunk.lines,
        committed=committed,
    )


def of_change(file: TrackedFile, change: FileChange, state: HunkState, *, committed: bool = False) -> ReviewedHunk:
    """A change of a file as a whole."""
    return ReviewedHunk(
        change.id,
        change.digest,
        file.path,
        change.kind,
        state,
        change.agents,
        before=change.before,
        after=change.after,
        committed=committed,
    )


def _lies_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
