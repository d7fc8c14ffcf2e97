"""What a loop spends, its subagents included: tokens, money, time; and the moment at which a ceiling of its budget is reached.

What the loop's own agent spends ends no step in the middle: whoever runs the loop looks at
`used_up` between steps. Time,
and what a subagent spends while a step waits for it, end the block with TimeoutError, as a cancel would.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from sould.agents.journal.channel import Listening, Record
from sould.agents.journal.log import SessionLog
from sould.agents.llm.costs import Costs
from sould.agents.soul.flows.loopstate import LoopState
from sould.agents.wire.messages import StatusUpdate, SubagentEvent


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
