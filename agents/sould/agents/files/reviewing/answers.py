"""What became of an order about hunks: what is done, and what is left with the reason and what is needed to go on. Pure."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.edits.editlog import Decided
from sould.agents.files.edits.reviewstate import ReviewState
from sould.agents.files.review.decisions import (
    AlreadyDecided,
    HunkStale,
    NeedsChoice,
    NotThere,
    SomethingElseThere,
)
from sould.agents.files.review.filedecisions import ChangeAbsent, ChangeDecided, Conflict
from sould.agents.files.review.lines import Lines
from sould.agents.files.reviewing.listing import ReviewedHunk, Selection, of_hunk
from sould.agents.files.reviewing.shapes import LeftReason, Verdict


class DecidedHunk(Struct, frozen=True):
    """`hunk` is as it was before. `stayed`: lines of the user that a reject left. `waits`: for the running step to end."""

    id: int
    hunk: ReviewedHunk | None
    verdict: Verdict
    stayed: Lines = ()
    waits: bool = False
    path: str = ""
    """Of the file, before a rename was rejected."""
    new_file: Literal["", "gone", "stays"] = ""
    """What became of a file that agents had made, when this rejected the last of it: something of the user's may be in it."""
    part: int = 0
    """Of a decision about some lines of the hunk, that was carried out: the id these have since, to take it back by."""

    @property
    def undone_by(self) -> int:
        """The id by which it can be taken back."""
        return self.part or self.id


class LeftHunk(Struct, frozen=True):
    """Nothing was done about it. `message` is for people; the rest is what a client needs to go on.

    needs_choice: words of the user are in the lines `mixed`; choose drop or mine. hunk_stale: it is `present` now, None when it
    ended. already_decided: `by` whom, `at` which time (seconds since 1970), `state` kept or rejected. conflict: something of
    the user's is at `path`; choose replace where `choices` has it. shared: other turns or sessions had a part in it.
    unsure: the user may have written it.
    still_streaming: it is not written yet.
    """

    id: int
    path: str
    why: LeftReason
    message: str
    present: ReviewedHunk | None = None
    mixed: Lines = ()
    choices: tuple[str, ...] = ()
    by: str = ""
    at: float = 0.0
    state: str = ""
    can_undo: bool = False
    """Of a decision: it can be taken back."""


class Outcome(Struct, frozen=True):
    """Of one order."""

    done: tuple[DecidedHunk, ...] = ()
    left: tuple[LeftHunk, ...] = ()


class DecisionNews(Struct, frozen=True):
    """What became of decisions about hunks of a project, in which the agents of `sessions` had a part.

    `answered_in`: the session whose clients are shown the outcome anyway; `waited`: it was ordered earlier.
    """

    root: Path
    by: str
    outcome: Outcome
    sessions: frozenset[str]
    answered_in: str = ""
    waited: bool = False


DecisionListener: TypeAlias = Callable[[DecisionNews], None]
"""Takes decisions about what a session's agents did: carried out, or not possible in the end."""


def together(outcomes: Iterable[Outcome]) -> Outcome:
    """Several as one."""
    each = tuple(outcomes)
    return Outcome(
        tuple(done for outcome in each for done in outcome.done),
        tuple(left for outcome in each for left in outcome.left),
    )


def shared(hunk: ReviewedHunk, selection: Selection) -> LeftHunk:
    """Others had a part in it."""
    what = "a later turn" if selection.turn_id else "another session"
    return LeftHunk(hunk.id, hunk.path, "shared", f"{what} changed it, too: decide about it by itself", hunk)


def unsure(hunk: ReviewedHunk) -> LeftHunk:
    """It may be the user's."""
    while_what = hunk.ran or "a program of the agent ran"
    message = f"changed while {while_what}, so it may be yours: decide about it by itself"
    return LeftHunk(hunk.id, hunk.path, "unsure", message, hunk)


def still_streaming(hunk: ReviewedHunk) -> LeftHunk:
    """It is in no file yet."""
    message = "the agent has not written it yet: decide about it when it has"
    return LeftHunk(hunk.id, hunk.path, "still_streaming", message, hunk)


def failed(event: Decided, hunk: ReviewedHunk | None, error: Exception) -> LeftHunk:
    """The disk, or whoever wrote there meanwhile, was against it."""
    return LeftHunk(event.hunk_id, event.path, "failed", str(error), hunk)


def refused(number: int, answer: object, state: ReviewState, path: str = "") -> LeftHunk:
    """A decision that cannot be carried out; `answer` is why, None where no file has the hunk, or it waits for a decision.

    `path`: of the file that has it.
    """
    waiting = next((each for each in state.to_carry_out.values() if each.hunk_id == number), None)
    decision = waiting or state.verdicts.get(number)
    path = path or (decision.path if decision is not None else "")
    match answer:
        case NeedsChoice():
            present = of_hunk(path, answer.hunk, "pending")
            message = "you changed words in lines of the agent: choose `drop` (they go, and stay in the log) or `mine` (they stay)"
            return LeftHunk(number, path, "needs_choice", message, present, answer.mixed, ("drop", "mine", "leave"))
        case HunkStale():
            present = of_hunk(path, answer.present, "pending") if answer.present is not None else None
            return LeftHunk(number, path, "hunk_stale", "it was changed since you saw it: look at it again", present)
        case NotThere():
            message = f"its text is not in the file now ({answer.away.state})"
            return LeftHunk(number, path, "not_there", message, state=answer.away.state)
        case ChangeAbsent():
            return LeftHunk(
                number, path, "not_there", "the file is not as the change left it now (absent)", state="absent"
            )
        case SomethingElseThere():
            return LeftHunk(number, path, "changed", "its lines were changed since, so it cannot be put back")
        case Conflict():
            choices = ("replace", "leave") if answer.replaceable else ()
            return LeftHunk(number, answer.path, "conflict", f"something else is at {answer.path}", choices=choices)
        case AlreadyDecided() | ChangeDecided() | None if decision is not None:
            return _already(number, decision, waiting=waiting is not None, can_undo=bool(answer or waiting))
        case _:
            return _taken_away(number, state) or LeftHunk(number, path, "unknown", f"there is no hunk {number}")


def _taken_away(number: int, state: ReviewState) -> LeftHunk | None:
    """A hunk of a text that is not there as a whole now."""
    for file in state.files.values():
        for change in file.changes:
            if change.text is not None and change.text.pending(number) is not None:
                what = "deleted" if change.kind == "delete" else "replaced by what is no text"
                message = f"its file was {what} since: reject that first (hunk {change.id})"
                return LeftHunk(number, file.path, "not_there", message, state="absent")
        text = file.unreadable
        if text is not None and (text.pending(number) is not None or text.gone(number) is not None):
            message = "its file is no text now: it is to be reviewed when it is one again"
            return LeftHunk(number, file.path, "not_there", message, state="absent")
    return None


def undecided(hunk: ReviewedHunk) -> LeftHunk:
    """A decision was to be taken back, and there is none."""
    message = "it is still to be reviewed, so there is no decision to take back"
    return LeftHunk(hunk.id, hunk.path, "changed", message, hunk)


def _already(number: int, decision: Decided, *, waiting: bool, can_undo: bool) -> LeftHunk:
    verb = {"keep": "kept", "reject": "rejected", "undo": "put back"}[decision.verdict]
    done = {"keep": "kept it", "reject": "rejected it", "undo": "put it back"}[decision.verdict]
    what = "rejected it already; it goes when the step has ended" if waiting else done
    message = f"{decision.by} {what}"
    at = decision.timestamp
    left = LeftHunk(number, decision.path, "already_decided", message, by=decision.by, at=at, state=verb)
    return replace(left, can_undo=can_undo)
