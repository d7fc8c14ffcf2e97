"""What a loop spends: tokens of its agents, money, time; and the deadline that a spent budget brings forward."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

from sould.agents.flows.loopstate import Budget, Spent
from sould.agents.wire.channel import Record, Subscription
from sould.agents.wire.log import SessionLog
from sould.agents.wire.messages import StatusUpdate, SubagentEvent


class Spending:
    """Counts while its block runs; a budget that is reached ends the block with TimeoutError, as a cancel would."""

    def __init__(self, log: SessionLog, budget: Budget, spent: Spent, cost: Callable[[], float | None]) -> None:
        """`spent` is counted on, in place; `cost` is the session's so far."""
        self._log = log
        self._budget = budget
        self._spent = spent
        self._cost = cost
        self._deadline: asyncio.Timeout | None = None
        self._subscription: Subscription | None = None
        self._began = self._seconds = self._base = 0.0
        self._paid: float | None = None

    @property
    def exhausted(self) -> str:
        """Which budget is used up, "" when none is."""
        spent, budget = self._spent, self._budget
        if budget.tokens is not None and spent.tokens >= budget.tokens:
            return f"{spent.tokens} of {budget.tokens} tokens"
        if budget.cost is not None and (spent.cost or 0.0) >= budget.cost:
            return f"{spent.cost:.2f} of {budget.cost:.2f} in money"
        if budget.seconds is not None and spent.seconds >= budget.seconds:
            return f"{spent.seconds:.0f} of {budget.seconds:.0f} seconds"
        return ""

    async def __aenter__(self) -> Self:
        self._began = asyncio.get_running_loop().time()
        self._seconds, self._paid, self._base = self._spent.seconds, self._spent.cost, self._cost() or 0.0
        left = None if self._budget.seconds is None else max(0.0, self._budget.seconds - self._seconds)
        self._deadline = asyncio.timeout(left)
        await self._deadline.__aenter__()
        self._subscription = self._log.channel.subscribe(self._take, on_cut=lambda _: None)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._deadline is not None
        assert self._subscription is not None
        self._subscription.close()
        self.update()
        await self._deadline.__aexit__(kind, error, traceback)

    def update(self) -> None:
        """Bring time and money up to date."""
        self._spent.seconds = self._seconds + asyncio.get_running_loop().time() - self._began
        now = self._cost()
        if now is not None:
            self._spent.cost = (self._paid or 0.0) + now - self._base

    def _take(self, record: Record) -> bool:
        message = record.message
        while isinstance(message, SubagentEvent):
            message = message.event
        if isinstance(message, StatusUpdate) and message.token_usage is not None:
            self._spent.tokens += message.token_usage.total
            self.update()
            if self.exhausted and self._deadline is not None and not self._deadline.expired():
                self._deadline.reschedule(asyncio.get_running_loop().time())
        return True
