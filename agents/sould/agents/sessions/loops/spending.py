"""What a loop spends, its subagents included: tokens, money, time; and the moment at which a ceiling of its budget is reached.

What the loop's own agent spends ends no step in the middle: whoever runs the loop looks at `used_up` between steps. Time,
and what a subagent spends while a step waits for it, end the block with TimeoutError, as a cancel would.
"""

import asyncio
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from sould.agents.base.errors import SouldError
from sould.agents.journal.channel import Channel, Listening, Record
from sould.agents.journal.log import SessionLog
from sould.agents.llm.costs import Costs
from sould.agents.permissions.questions import Questions
from sould.agents.sessions.loops.request import OPTIONS, amount
from sould.agents.sessions.loops.state import LoopBudget, LoopState, Resource
from sould.agents.wire.messages import QuestionItem, QuestionOption, StatusUpdate, SubagentEvent

# The question with which a loop stops that has used up its budget (D38): so much again, another amount, or no more.
# It waits for a person without limit; no answer is never taken for a yes.


CONTINUE, STOP = "Continue", "Stop"
TRIES = 3
"""How often words may be given that are no amount; a client that can take none sends the same ones for ever."""
_WRITTEN: dict[Resource, str] = {
    "tokens": "{} more tokens",
    "cost": "{:.2f} more in money",
    "seconds": "{:g} more seconds",
}
_EXAMPLES: dict[Resource, str] = {"tokens": "200k", "cost": "2.50", "seconds": "30m"}


async def ask_for_more(channel: Channel, loop: LoopState) -> LoopBudget | None:
    """What the user grants from here on; None when the loop shall stop."""
    item = asked = _question(loop)
    tries = 0
    while True:
        answers = await Questions(channel).ask(f"loop-{secrets.token_hex(4)}", (item,))
        answer = answers.get(item.question, "").strip()
        if answer in ("", STOP):
            return None
        if answer == CONTINUE:
            return _again(loop)
        try:
            return _given(loop, answer)
        except SouldError:
            tries += 1
            item = _again_asked(asked, answer) if tries < TRIES else _without_words(asked, loop)


def _question(loop: LoopState) -> QuestionItem:
    used_up = loop.used_up
    again = _again(loop).model_dump()
    offer = " and ".join(_WRITTEN[name].format(again[name]) for name in used_up)
    done = f"{loop.completed} iteration{'' if loop.completed == 1 else 's'}"
    return QuestionItem(
        question=f"The loop has used up its budget: {loop.overspent}. Continue?",
        header="Loop",
        body=f"{done} done of: {' '.join(loop.prompt.split())[:300]}",
        options=(
            QuestionOption(label=CONTINUE, description=f"Allow as much again: {offer}."),
            QuestionOption(label=STOP, description="Keep what is done; `/loop resume` resumes it."),
        ),
        other_label=f"Or allow another amount, such as {' '.join(_EXAMPLES[name] for name in used_up)}",
    )


def _again_asked(item: QuestionItem, answer: str) -> QuestionItem:
    return item.model_copy(update={"body": f"{item.body}\n\n{answer[:100]!r} is not an amount."})


def _without_words(item: QuestionItem, loop: LoopState) -> QuestionItem:
    """The same for somebody whose own words are no amount, or whose client cannot take any."""
    options = " ".join(f"{OPTIONS[name]} {_EXAMPLES[name]}" for name in loop.used_up)
    hint = f"Another amount can be given later: stop now, then `/loop resume {options}`."
    return item.model_copy(update={"other_label": "", "body": f"{item.body}\n\n{hint}"})


def _again(loop: LoopState) -> LoopBudget:
    """The first allowance of everything that is used up; what had none at first gets as much as it has had."""
    first, now = loop.allowance.model_dump(), loop.budget.model_dump()
    return LoopBudget.model_validate({name: first[name] or now[name] for name in loop.used_up})


def _given(loop: LoopState, answer: str) -> LoopBudget:
    words = answer.split()
    if len(words) != len(loop.used_up):
        raise SouldError("one amount for each budget")
    return LoopBudget.model_validate({name: amount(name, word) for name, word in zip(loop.used_up, words, strict=True)})


class Spending:
    """Counts while its block runs, into the loop's `spent`."""

    def __init__(self, log: SessionLog, loop: LoopState, costs: Costs) -> None:
        """`costs` are the session's."""
        self._log = log
        self._loop = loop
        self._costs = costs
        self._deadline: asyncio.Timeout | None = None
        self._listening: Listening | None = None
        self._began = self._seconds = self._base = 0.0
        self._paid: float | None = None

    @property
    def interrupted(self) -> bool:
        """The block was ended because something was used up in the middle of a step."""
        return self._deadline is not None and self._deadline.expired()

    async def __aenter__(self) -> Self:
        self._base, self._paid = self._costs.total or 0.0, self._loop.spent.cost
        self._start_clock()
        self._deadline = asyncio.timeout(None)
        await self._deadline.__aenter__()
        self._set_deadline()
        self._listening = self._log.channel.listen((StatusUpdate, SubagentEvent), self._take)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._deadline is not None
        assert self._listening is not None
        self._listening.close()
        self.update()
        await self._deadline.__aexit__(kind, error, traceback)

    @contextmanager
    def paused(self) -> Generator[None]:
        """Time that passes in here is not the loop's: it waits for a person."""
        assert self._deadline is not None
        self.update()
        self._deadline.reschedule(None)
        try:
            yield
        finally:
            self._start_clock()
            self._set_deadline()

    def update(self) -> None:
        """Bring time and money up to date."""
        spent = self._loop.spent
        seconds = self._seconds + asyncio.get_running_loop().time() - self._began
        now = self._costs.total
        spent.bring_up_to_date(seconds=seconds, cost=None if now is None else (self._paid or 0.0) + now - self._base)

    def _start_clock(self) -> None:
        self._began, self._seconds = asyncio.get_running_loop().time(), self._loop.spent.seconds

    def _set_deadline(self) -> None:
        assert self._deadline is not None
        allowed = self._loop.budget.seconds
        if allowed is not None and not self._deadline.expired():
            self._deadline.reschedule(self._began + max(0.0, allowed - self._seconds))

    def _take(self, record: Record) -> None:
        message, child = record.message, False
        while isinstance(message, SubagentEvent):
            message, child = message.event, True
        if isinstance(message, StatusUpdate) and message.token_usage is not None:
            self._loop.spent.add_tokens(message.token_usage.total)
            self.update()
            if child and self._loop.used_up and self._deadline is not None and not self._deadline.expired():
                self._deadline.reschedule(asyncio.get_running_loop().time())
