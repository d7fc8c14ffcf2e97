"""The files under review, folded from the events of a project's edit log (D40). Pure: what files held is asked of `FileContents`.

An event is folded into the state it was made for. Where a damaged or missing line of the log makes them differ, the text
that the next event says was there counts, as if it had been found on disk.
"""

import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Final, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from sould.agents.files.edits.editlog import (
    Captured,
    Commented,
    CommentsSent,
    Decided,
    Event,
    GitStood,
    Intent,
    MadeSure,
    Noted,
    Settled,
    Told,
    UserChanged,
    Writer,
)
from sould.agents.files.edits.filefold import FileContents, as_found, written
from sould.agents.files.edits.outcomes import outcome, outcomes_at_once
from sould.agents.files.review.file import TrackedFile
from sould.agents.files.review.filedecisions import (
    DecidedFile,
)
from sould.agents.files.review.hunk import AgentCall
from sould.agents.files.review.lines import Lines
from sould.agents.files.review.text import ReviewedText

CallKey: TypeAlias = tuple[str, str, str]
"""What tells a call from all others."""
MOST_ANSWERS: Final = 5_000
"""Calls; of more, those are known of which something is pending."""
FIRST: Final = 1
"""The first id of a project."""


class LeftText(Struct, frozen=True, array_like=True):
    """What an editor held unsaved of a file when it ended; `at` is in seconds since 1970."""

    lines: Lines
    by: str
    at: float


class ReviewState(Struct):
    """Every file under review by resolved path, what was decided and not done yet, and the next free id."""

    files: dict[str, TrackedFile] = field(default_factory=dict[str, TrackedFile])
    next_id: int = FIRST
    to_carry_out: dict[int, Decided] = field(default_factory=dict[int, Decided], name="decided")
    """Decisions that are not carried out yet, by number. In snapshots it is called `decided`."""
    rejects: list[Decided] = field(default_factory=list[Decided])
    """Those that were carried out and of which some session's model has not been told."""
    verdicts: dict[int, Decided] = field(default_factory=dict[int, Decided])
    """The last decision about each hunk that was carried out, by its id."""
    told: dict[str, int] = field(default_factory=dict[str, int])
    """Up to which event the models of the sessions know of rejects."""
    committed: set[int] = field(default_factory=set[int])
    """Ids of hunks that an agent's own command committed."""
    git: dict[str, GitStood] = field(default_factory=dict[str, GitStood])
    """How git stood with files when that was noted last, by path."""
    secret: set[str] = field(default_factory=set[str])
    """Files whose contents are in memory only: nothing of them is written anywhere."""
    announced: dict[int, Intent] = field(default_factory=dict[int, Intent])
    """Writes of which nobody knows yet if they happened, by number."""
    comments: dict[int, Commented] = field(default_factory=dict[int, Commented])
    """Those that are not sent yet, by number."""
    round: CommentsSent | None = None
    """When comments were sent last."""
    answers: set[CallKey] = field(default_factory=set[CallKey])
    """The calls that wrote since then."""
    left: dict[str, LeftText] = field(default_factory=dict[str, LeftText])
    """What editors ended with last, by path, unless the file holds it by now."""
    sure: set[CallKey] = field(default_factory=set[CallKey])
    """The calls of which it is known by now that what was unsure was theirs."""

    def apply(self, event: Event, contents: FileContents) -> str:
        """Take one event; the path of the file it is about, "" when it changes none."""
        match event:
            case Captured():
                return self._wrote(event, event.first_id, contents) if event.reviewed else ""
            case Intent():
                if event.reviewed:
                    self.announced[event.n] = event
            case MadeSure():
                self.sure.add((event.session_id, event.turn_id, event.call_id))
            case Settled():
                return self._settled(event, contents)
            case UserChanged():
                return self._changed(event)
            case Decided():
                self.to_carry_out[event.n] = event
                return event.path
            case Noted():
                self.committed.update(event.ids)
                if event.git is not None:
                    self.git[event.path] = event.git
                return event.path
            case Told():
                self._told(event)
            case Commented():
                return self._commented(event)
            case CommentsSent():
                self.comments = {n: each for n, each in self.comments.items() if n not in event.ids}
                self.round, self.answers = event, set()
            case _:
                pass
        return ""

    def waiting(self) -> Iterator[tuple[TrackedFile, list[tuple[int, TrackedFile]]]]:
        """Each file that decisions are to be carried out in, and what it is after each of them, by the decision's number."""
        for path in {event.path for event in self.to_carry_out.values()} & self.files.keys():
            file = self.files[path]
            steps: list[tuple[int, TrackedFile]] = []
            for event in sorted(self.to_carry_out.values(), key=lambda each: each.n):
                done = outcome(file, event) if event.path == path else None
                if isinstance(done, DecidedFile):
                    file = done.file
                    steps.append((event.n, file))
            yield self.files[path], steps

    def with_part_of(self, call: CallKey) -> list[str]:
        """The files in which something of a call is to be reviewed."""
        return [file.path for file in self.pending() if any(call_key(agent) == call for agent in _agents_in(file))]

    def pending(self) -> Iterable[TrackedFile]:
        """The files of which something is to be reviewed."""
        return (file for file in self.files.values() if file.changes or file.text.has_hunks)

    def relocate(self, before: str, now: str) -> None:
        """The project's root is another directory; so are the files in it."""

        def at(path: str) -> str:
            return below(path, before, now)

        def event(of: Decided) -> Decided:
            return replace(of, path=at(of.path))

        self.files = {at(path): _relocated(file, at) for path, file in self.files.items()}
        self.to_carry_out = {n: event(each) for n, each in self.to_carry_out.items()}
        self.verdicts = {number: event(each) for number, each in self.verdicts.items()}
        self.rejects = [event(each) for each in self.rejects]
        self.secret = {at(path) for path in self.secret}
        self.git = {at(path): each for path, each in self.git.items()}
        self.announced = {n: replace(each, path=at(each.path)) for n, each in self.announced.items()}
        self.comments = {n: replace(each, path=at(each.path)) for n, each in self.comments.items()}
        self.left = {at(path): each for path, each in self.left.items()}

    def copy(self) -> "ReviewState":
        """The same, which changes no more with this one."""
        return ReviewState(
            self.files.copy(),
            self.next_id,
            self.to_carry_out.copy(),
            self.rejects.copy(),
            self.verdicts.copy(),
            self.told.copy(),
            self.committed.copy(),
            self.git.copy(),
            self.secret.copy(),
            self.announced.copy(),
            self.comments.copy(),
            self.round,
            self.answers.copy(),
            self.left.copy(),
            self.sure.copy(),
        )

    def _commented(self, event: Commented) -> str:
        self.comments.pop(event.replaces, None)
        if event.text:
            self.comments[event.n] = event
        return event.path

    def _note_answer(self, agent: AgentCall) -> None:
        self.answers.add(call_key(agent))
        if len(self.answers) > MOST_ANSWERS:
            hunks = (placed.hunk for file in self.pending() for placed in file.text.hunks)
            self.answers &= {call_key(each) for hunk in hunks for each in hunk.agents} | {call_key(agent)}

    def _settled(self, event: Settled, contents: FileContents) -> str:
        intent, decision = self.announced.pop(event.n, None), self.to_carry_out.pop(event.n, None)
        if intent is not None and event.written:
            return self._wrote(intent, event.first_id, contents, event.shown_in)
        if decision is None:
            return ""
        return self._carried_out(decision, event.first_id) if event.written else decision.path

    def settle_at_once(self, events: Sequence[Settled]) -> int:
        """Take as many of the first events as can be taken at once, of decisions that were carried out in one file; how many."""
        decisions = [self.to_carry_out[each.n] for each in takewhile(self._is_carried_out, events)]
        first = decisions[0] if decisions else None
        file = self.files.get(first.path) if first is not None else None
        if first is None or file is None:
            return 0
        kind = self._kind(first)
        alike = [*takewhile(lambda each: self._kind(each) == kind, decisions)]
        done = outcomes_at_once(file.numbered(events[0].first_id), alike)
        if done:
            self._put(first.path, done[-1].file)
        for decision in alike[: len(done)]:
            del self.to_carry_out[decision.n]
            self.verdicts[decision.hunk_id] = decision
            self._note_reject(decision)
        return len(done)

    def _is_carried_out(self, event: Settled) -> bool:
        return event.written and event.n in self.to_carry_out

    # --- agents -----------------------------------------------------------------------------------------------------

    def _wrote(self, event: Intent, first_id: int, contents: FileContents, shown_in: str = "") -> str:
        if event.becomes:
            whole = contents.file(event.becomes)
            if whole is not None:
                self._put(event.path, replace(whole, path=event.path))
            return event.path
        before = event.moved_from if isinstance(event, Captured) else ""
        file = self.before(event, before or event.path, contents)
        if file is None:
            self.files.pop(event.path, None)
            return event.path
        if event.secret:
            self.secret.add(event.path)
        file = file.numbered(first_id or self.next_id)
        agent = AgentCall(event.session_id, event.turn_id, event.call_id, event.subagent, event.model, shown_in)
        if isinstance(event, Captured):
            agent = replace(agent, unsure=event.unsure, ran=event.ran)
        if self.round is not None:
            self._note_answer(agent)
        if before:
            self.files.pop(before, None)
            file = file.agent_renamed(event.path, agent, allowed=event.allowed)
        was, now = event.refs
        if was != now and (event.changed or not before):
            file = written(file, event, agent, contents)
        before_mode, after_mode = event.before_mode, event.after_mode
        if before_mode is not None and after_mode is not None and before_mode != after_mode:
            modes = stat.S_IMODE(before_mode), stat.S_IMODE(after_mode)
            if stat.S_IFMT(before_mode) == stat.S_IFMT(after_mode):  # a link has no permissions of its own
                file = file.agent_set_mode(modes[0], modes[1], agent, allowed=event.allowed)
        self._put(event.path, file)
        return event.path

    def claim(self, up_to: int) -> None:
        """Ids below this one are used, by a file that is about to be known."""
        self.next_id = max(self.next_id, up_to)

    def before(self, event: Intent, path: str, contents: FileContents) -> TrackedFile | None:
        """The file as it was before a write; None: it cannot be had any more, so nothing of it is reviewed."""
        was, now = event.refs
        before = (event.moved_before or None) if isinstance(event, Captured) and event.moved_from else was
        after = contents.lines(now) if now is not None else ()
        lines = contents.lines(before) if before is not None else ()
        file = self.files.get(path)
        if event.changed is not None and (after is None or (file is None and lines is None)):
            return None
        content = (before or "") if lines is None else ""
        there = before is not None
        if file is None:
            return TrackedFile(path, ReviewedText.of(lines or (), self.next_id), there, there, content)
        return as_found(file, lines or (), content, there=there)

    def _put(self, path: str, file: TrackedFile) -> None:
        self.files[path] = file
        self.next_id = max(self.next_id, file.text.next_id)

    # --- users ------------------------------------------------------------------------------------------------------

    def _changed(self, event: UserChanged) -> str:
        file = self.files.get(event.path)
        if file is None:
            return ""
        if event.left and event.path not in self.secret:
            self.left[event.path] = LeftText(file.text.current, event.left, event.timestamp)
        file = file.numbered(event.first_id)
        match event.whole:
            case "":
                file = file.user_changed_line_ends(event.content) if event.content else file
                file = file.user_wrote(event.edits, event.how, returning=event.returning)
            case "made":
                file = file.user_made(tuple(line for edit in event.edits for line in edit.lines), event.how)
            case "deleted":
                file = file.user_deleted()
            case "replaced":
                file = file.user_replaced(event.content)
            case "mode":
                file = file.user_set_mode(int(event.content, 8))
            case "moved":
                del self.files[event.path]
                if event.path in self.secret:
                    self.secret.add(event.content)
                file = file.user_renamed(event.content)
        if event.path in self.left and self.left[event.path].lines == file.text.current:
            del self.left[event.path]
        self._put(file.path, file)
        return file.path

    def _carried_out(self, event: Decided, first_id: int) -> str:
        """Where the file is then: it may have been moved."""
        file = self.files.get(event.path)
        done = outcome(file.numbered(first_id), event) if file is not None else None
        if not isinstance(done, DecidedFile):
            return event.path
        if done.file.path != event.path:
            del self.files[event.path]
        self._put(done.file.path, done.file)
        known = replace(event, hunk_id=done.hunk_id or event.hunk_id)
        self.verdicts[known.hunk_id] = known
        self._note_reject(known)
        return done.file.path

    def part(self, event: Decided) -> int:
        """The id that a part of a hunk has since it was decided about; 0: it was about all of the hunk."""
        if event.lines is None:
            return 0
        number = next((number for number, each in reversed(self.verdicts.items()) if each.n == event.n), 0)
        return number if number != event.hunk_id else 0

    def _note_reject(self, event: Decided) -> None:
        if event.verdict == "reject":
            self.rejects.append(event)
        elif event.verdict == "undo":
            self.rejects = [each for each in self.rejects if each.hunk_id != event.hunk_id]

    def _told(self, event: Told) -> None:
        self.told[event.session_id] = max(self.told.get(event.session_id, 0), event.up_to)
        known = {(event.session_id, subagent) for subagent in event.subagents}
        rejects = (
            replace(each, writers=tuple(writer for writer in writers_of(each) if writer not in known) or _NOBODY)
            if each.n in event.rejects
            else each
            for each in self.rejects
        )
        self.rejects = [
            each for each in rejects if any(self.told.get(name, 0) < each.n for name, _ in writers_of(each))
        ]

    def untold(self, session_id: str) -> Iterator[tuple[Decided, Sequence[str]]]:
        """The rejects of which nobody of a session was told who is to be told, with the subagents that wrote it ("": its own agent)."""
        told = self.told.get(session_id, 0)
        for each in self.rejects:
            wrote = [subagent for session, subagent in writers_of(each) if session == session_id]
            if wrote and each.n > told:
                yield each, wrote

    def told_of(self, event: Decided) -> Collection[str]:
        """The sessions that are told of a reject as such, or never knew of one that is taken back."""
        if event.verdict != "undo":
            return event.sessions
        untold = ((name, each) for name in event.sessions for each, _ in self.untold(name))
        return dict.fromkeys(name for name, each in untold if each.hunk_id == event.hunk_id)

    def _kind(self, event: Decided) -> object:
        """What decisions have in common of which the same sessions are told."""
        return event.path, event.verdict, event.sessions, tuple(self.told_of(event))


_NOBODY: Final = (("", ""),)
"""All who are to be told of a reject were."""


def writers_of(event: Decided) -> Sequence[Writer]:
    """Who had a part in what was decided about, and is to be told of a reject."""
    writers = event.writers or tuple((session, "") for session in event.sessions)
    return [each for each in writers if each[0]]


def call_key(agent: AgentCall) -> CallKey:
    """See `CallKey`."""
    return agent.session_id, agent.turn_id, agent.call_id


def _agents_in(file: TrackedFile) -> Iterator[AgentCall]:
    """Those of what is to be reviewed in a file."""
    for each in (*file.changes, *(placed.hunk for placed in file.text.hunks)):
        yield from each.agents


def _relocated(file: TrackedFile, at: Callable[[str], str]) -> TrackedFile:
    changes = (
        replace(each, before=at(each.before), after=at(each.after)) if each.kind == "rename" else each
        for each in file.changes
    )
    return replace(file, path=at(file.path), changes=tuple(changes))


def below(path: str, before: str, now: str) -> str:
    """Where a file is after a directory was moved."""
    return now + path[len(before) :] if path == before or path.startswith(f"{before}/") else path
