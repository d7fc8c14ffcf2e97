"""A review as clients are shown it: values of a project's port in the shapes of `shapes`. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import to_builtins

from sould.agents.base.shape import Shape
from sould.agents.base.text import iso_time
from sould.agents.files.edits.past import DroppedText
from sould.agents.files.edits.reviewstate import LeftText
from sould.agents.files.review.hunk import AgentCall, Line
from sould.agents.files.reviewing import answers
from sould.agents.files.reviewing.comments import Comment, Round
from sould.agents.files.reviewing.listing import FileReview, KnownDecision, PutAside, ReviewedHunk
from sould.agents.files.reviewing.shapes import (
    DoneHunk,
    Dropped,
    Left,
    LeftHunk,
    Rejected,
    RejectedHunk,
    ReviewOutcome,
    ShownAgent,
    ShownComment,
    ShownDecision,
    ShownFile,
    ShownHunk,
    ShownLine,
    ShownRound,
)


def as_json(shape: Shape) -> dict[str, Any]:
    """As it is sent."""
    return to_builtins(shape)


def shown_file(file: FileReview) -> ShownFile:
    """A file."""
    return ShownFile(
        file.path,
        file.exists,
        tuple(map(shown_hunk, file.hunks)),
        file.unsaved,
        file.unsaved_in,
        file.is_new,
        tuple(map(shown_hunk, file.streaming)),
    )


def shown_hunk(hunk: ReviewedHunk) -> ShownHunk:
    """A hunk."""
    places = {agent: place for place, agent in enumerate(hunk.agents)}
    return ShownHunk(
        id=hunk.id,
        digest=hunk.digest,
        path=hunk.path,
        kind=hunk.kind,
        state=hunk.state,
        start=hunk.start,
        base_start=hunk.base_start,
        base=hunk.base,
        lines=tuple(_line(line, places) for line in hunk.lines),
        agents=tuple(map(_agent, hunk.agents)),
        before=hunk.before,
        after=hunk.after,
        committed=hunk.committed,
        unsure=hunk.unsure,
        earlier=hunk.earlier,
        shown_in=hunk.shown_in,
        before_size=hunk.before_size,
        after_size=hunk.after_size,
        problems=hunk.problems,
    )


def _line(line: Line, places: dict[AgentCall, int]) -> ShownLine:
    if line.agent is None:
        return ShownLine(line.text, "user")
    return ShownLine(line.text, "mixed" if line.mixed else "agent", places.get(line.agent))


def _agent(agent: AgentCall) -> ShownAgent:
    return ShownAgent(agent.session_id, agent.turn_id, agent.call_id, agent.subagent, agent.model)


def shown_outcome(outcome: answers.Outcome) -> ReviewOutcome:
    """What became of a decision."""
    return ReviewOutcome(tuple(map(_done, outcome.done)), tuple(map(_left, outcome.left)))


def _done(done: answers.DecidedHunk) -> DoneHunk:
    hunk = shown_hunk(done.hunk) if done.hunk is not None else None
    return DoneHunk(done.id, done.path, done.verdict, hunk, done.stayed, done.waits, done.new_file, done.part)


def _left(left: answers.LeftHunk) -> LeftHunk:
    return LeftHunk(
        id=left.id,
        path=left.path,
        why=left.why,
        message=left.message,
        present=shown_hunk(left.present) if left.present is not None else None,
        mixed=left.mixed,
        choices=left.choices,
        by=left.by,
        at=iso_time(left.at) if left.at else "",
        state=left.state,
        can_undo=left.can_undo,
    )


def shown_decisions(decisions: Iterable[KnownDecision]) -> tuple[ShownDecision, ...]:
    """Who decided what."""
    return tuple(
        ShownDecision(each.id, each.path, each.verdict, each.by, iso_time(each.at), each.reason, each.waits)
        for each in decisions
    )


def shown_comments(comments: Iterable[Comment]) -> tuple[ShownComment, ...]:
    """What waits to be sent."""
    return tuple(map(shown_comment, comments))


def shown_comment(comment: Comment) -> ShownComment:
    """One of them."""
    return ShownComment(
        comment.id,
        comment.path,
        comment.start,
        comment.code,
        comment.text,
        comment.by,
        iso_time(comment.at),
        comment.hunk_id or None,
    )


def shown_round(sent: Round | None) -> ShownRound | None:
    """When comments were sent."""
    return ShownRound(sent.n, sent.session_id, sent.by, iso_time(sent.at)) if sent is not None else None


def shown_rejected(
    found: Iterable[PutAside],
    dropped: Iterable[tuple[DroppedText, KnownDecision | None]],
    left: Mapping[str, LeftText],
) -> Rejected:
    """What is in its file no more."""
    hunks = tuple(RejectedHunk(shown_hunk(each.hunk), _decision(each.decision)) for each in found)
    replaced = tuple(Dropped(each.path, each.text, _decision(decision)) for each, decision in dropped)
    unsaved = tuple(Left(path, "".join(each.lines), each.by, iso_time(each.at)) for path, each in left.items())
    return Rejected(hunks, replaced, unsaved)


def _decision(decision: KnownDecision | None) -> ShownDecision | None:
    return shown_decisions([decision])[0] if decision is not None else None
