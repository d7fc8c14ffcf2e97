"""What the daemon answers about a review, as the values that `reviewtext` has words for. Pure."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sould.agents.files.review.hunk import AgentCall, Line
from sould.agents.files.reviewing.answers import DecidedHunk, LeftHunk, Outcome
from sould.agents.files.reviewing.listing import FileReview, ReviewedHunk
from sould.daemon.cli.review.client import Answer

_NOBODY = AgentCall("", "", "")


def files_of(answer: Answer) -> list[FileReview]:
    """Of a list."""
    return [
        FileReview(
            file["path"],
            file["exists"],
            tuple(map(_hunk, file["hunks"])),
            file.get("unsaved", False),
            file.get("isNew", False),
            tuple(file.get("unsavedIn", ())),
            streaming=tuple(map(_hunk, file.get("streaming", ()))),
        )
        for file in answer["files"]
    ]


def outcome_of(answer: Answer) -> Outcome:
    """Of a decision."""
    return Outcome(tuple(map(_done, answer["done"])), tuple(map(_left, answer["left"])))


def _hunk(shown: Answer) -> ReviewedHunk:
    agents = tuple(_agents(shown["agents"], shown.get("shownIn", ""), unsure=shown.get("unsure", False)))
    return ReviewedHunk(
        id=shown["id"],
        digest=shown["digest"],
        path=shown["path"],
        kind=shown["kind"],
        state=shown["state"],
        agents=agents,
        start=shown["start"],
        base_start=shown["baseStart"],
        base=tuple(shown["base"]),
        lines=tuple(_line(line, agents) for line in shown["lines"]),
        before=shown.get("before", ""),
        after=shown.get("after", ""),
        committed=shown.get("committed", False),
        before_size=shown.get("beforeSize"),
        after_size=shown.get("afterSize"),
    )


def _agents(shown: Iterable[Answer], shown_in: str, *, unsure: bool) -> Iterable[AgentCall]:
    for agent in shown:
        yield AgentCall(
            agent["sessionId"],
            agent["turnId"],
            agent["toolCallId"],
            agent.get("subagent", ""),
            agent.get("model", ""),
            shown_in=shown_in,
            unsure=unsure,
        )


def _line(shown: Answer, agents: tuple[AgentCall, ...]) -> Line:
    if shown["author"] == "user":
        return Line(shown["text"])
    place: int | None = shown.get("agent")
    return Line(shown["text"], _NOBODY if place is None else agents[place], shown["author"] == "mixed")


def _present(shown: Any) -> ReviewedHunk | None:
    return None if shown is None else _hunk(shown)


def _done(shown: Answer) -> DecidedHunk:
    return DecidedHunk(
        shown["id"],
        _present(shown.get("hunk")),
        shown["verdict"],
        tuple(shown.get("stayed", ())),
        shown.get("waits", False),
        shown["path"],
        shown.get("newFile", ""),
        shown.get("part", 0),
    )


def _left(shown: Answer) -> LeftHunk:
    at = shown.get("at", "")
    return LeftHunk(
        shown["id"],
        shown["path"],
        shown["why"],
        shown["message"],
        _present(shown.get("present")),
        tuple(shown.get("mixed", ())),
        tuple(shown.get("choices", ())),
        shown.get("by", ""),
        datetime.fromisoformat(at).timestamp() if at else 0.0,
        shown.get("state", ""),
        shown.get("canUndo", False),
    )
