"""Asks whose the files are that changed while a command of an agent ran, where nobody can tell: once for each command.

The question holds nobody up, and goes when all of it was decided about in another way.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from itertools import groupby
from pathlib import Path
from typing import Final

from sould.agents.base.tasks import beside, first_of
from sould.agents.base.text import plural
from sould.agents.files.edits.reviewstate import call_key
from sould.agents.files.projects.foundchanges import FoundChanges
from sould.agents.files.projects.othersessions import Presence
from sould.agents.files.review.hunk import AgentCall
from sould.agents.files.reviewing.listing import ReviewedHunk, Selection
from sould.agents.files.reviewing.orders import Order
from sould.agents.files.reviewing.review import Review
from sould.agents.files.reviewing.shown import shown_hunk
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.questions import Questions
from sould.agents.sessions.operations.reviewtext import glimpse
from sould.agents.wire.messages import QuestionItem, QuestionOption

MINE, AGENTS, EACH = "Mine", "The agent's", "One by one"
OPTIONS: Final = (
    QuestionOption(label=MINE, description="They stay as they are; nothing of them is left to review."),
    QuestionOption(label=AGENTS, description="They are to be reviewed like its other changes."),
    QuestionOption(label=EACH, description="They stay in the review, each to be decided by itself."),
)
BY: Final = "an answer to a question"
MOST_NAMED: Final = 20
"""Files."""
MOST_WAITING: Final = 100
"""Commands whose question waits for another's answer; what further ones left unsure stays so."""


class AskingWhose:
    """Of one session. `serving` owns the task that asks, one question after the other."""

    def __init__(self, found: FoundChanges, questions: Questions, presence: Presence, approval: Approval) -> None:
        self._found = found
        self._questions = questions
        self._presence = presence
        self._approval = approval
        self._calls: asyncio.Queue[AgentCall] = asyncio.Queue(MOST_WAITING)

    def found_unsure(self, call: AgentCall) -> None:
        """An `UnsureListener`."""
        if not self._calls.full():
            self._calls.put_nowait(call)

    def serving(self) -> AbstractAsyncContextManager[None]:
        """Questions are asked within."""
        return beside(self._serve(), "asking whose changes are")

    async def _serve(self) -> None:
        while True:
            call = await self._calls.get()
            with contextlib.suppress(OSError):  # then they stay unsure
                await self._settle(call)

    async def _settle(self, call: AgentCall) -> None:
        found = self._unsure(call)
        if not found or not self._presence() or self._approval.mode == "full":
            return
        item = _question([hunk for _, hunk in found])
        answers = await first_of(self._questions.ask(f"whose-{secrets.token_hex(4)}", (item,)), self._decided(call))
        match (answers or {}).get(item.question, "").strip():
            case "Mine":
                for review, hunk in self._unsure(call):
                    await review.decide(Order("keep", Selection((hunk.id,)), BY))
            case "The agent's":
                await self._found.make_sure(call)
            case _:
                pass  # each is decided by itself

    def _unsure(self, call: AgentCall) -> list[tuple[Review, ReviewedHunk]]:
        """What is to be reviewed of a call and may be the user's; not where others had a part in it, too."""
        chosen = Selection(session_id=call.session_id, turn_id=call.turn_id)
        pending = (
            (each, hunk)
            for each in self._found.borrowed.reviews()
            for file in each.pending(chosen)
            for hunk in file.hunks
        )
        return [
            (review, hunk)
            for review, hunk in pending
            if all(agent.unsure and call_key(agent) == call_key(call) for agent in hunk.agents)
        ]

    async def _decided(self, call: AgentCall) -> None:
        """Return when nothing of that is left."""
        changed = asyncio.Event()

        with contextlib.ExitStack() as stack:
            for review in self._found.borrowed.reviews():
                stack.enter_context(review.following(lambda _: changed.set()))
            while self._unsure(call):
                await changed.wait()
                changed.clear()


def _question(hunks: Sequence[ReviewedHunk]) -> QuestionItem:
    files = [(path, [*some]) for path, some in groupby(hunks, key=lambda each: each.path)]
    lines = [f"{Path(path).name}: {_what(some)}" for path, some in files[:MOST_NAMED]]
    if len(files) > MOST_NAMED:
        lines.append(f"and {plural(len(files) - MOST_NAMED, 'more file')}")
    return QuestionItem(
        question=f"{plural(len(files), 'file')} changed while {hunks[0].ran or 'a program of the agent ran'}. Whose changes are they?",
        header="Changes",
        body="\n".join(lines),
        options=OPTIONS,
    )


def _what(hunks: Sequence[ReviewedHunk]) -> str:
    """What happened to a file, its size and its first changed line."""
    texts = [each for each in hunks if each.kind == "text"]
    others = [each.kind.replace("_", " ") for each in hunks if each.kind != "text"]
    added, removed = sum(len(each.lines) for each in texts), sum(len(each.base) for each in texts)
    counted = [f"+{added} -{removed}"] if texts else []
    first = next((line for line in map(glimpse, map(shown_hunk, texts)) if line), "")
    return ", ".join([*others, *counted]) + (f", {first}" if first else "")
