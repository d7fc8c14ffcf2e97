"""The calls that a server is at work on, and what it asks the user meanwhile: whose question that is, and how long it stands.

A question never outlives the calls it was asked in: nobody waits for its answer then.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from msgspec import Struct, field

from sould.agents.base.tasks import first_of
from sould.agents.mcp.results import Asking

MOST_QUESTIONS = 4
"""That a server has open to its user."""
MOST_OF_A_CALL = 5
"""Questions that a call may ask, one after the other."""

T = TypeVar("T")


class _Call(Struct):
    """One call; its time does not run while the user is asked something for it."""

    asking: Asking
    limit: asyncio.Timeout
    seconds: float
    over: asyncio.Event = field(default_factory=asyncio.Event)
    questions: int = 0

    def count_question(self) -> bool:
        """Whether it may ask one more, which is counted."""
        self.questions += 1
        return self.questions <= MOST_OF_A_CALL


class CallsInFlight:
    """Of one server."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._questions = 0

    @asynccontextmanager
    async def call(self, asking: Asking, seconds: float) -> AsyncGenerator[None, None]:
        """Around a call of the session `asking`.

        Raises:
            TimeoutError: it took longer than `seconds`.
        """
        async with asyncio.timeout(seconds) as limit:
            call = _Call(asking, limit, seconds)
            self._calls.append(call)
            try:
                yield
            finally:
                self._calls.remove(call)
                call.over.set()

    async def ask(self, question: Callable[[Asking], Coroutine[Any, Any, T]]) -> T | None:
        """What came of a question to the session that called. None: the calls ended before, or nobody can be asked.

        That is so with calls of several sessions, because nobody can say whose question it is, and when too much is asked already.
        """
        calls = list(self._calls)
        if len({id(call.asking) for call in calls}) != 1 or self._questions >= MOST_QUESTIONS:
            return None
        if not min(calls, key=lambda call: call.questions).count_question():
            return None
        for call in calls:
            call.limit.reschedule(None)
        self._questions += 1
        try:
            return await first_of(question(calls[0].asking), _over(calls))
        finally:
            self._questions -= 1
            now = asyncio.get_running_loop().time()
            for call in calls:
                if not call.over.is_set():
                    call.limit.reschedule(now + call.seconds)


async def _over(calls: Iterable[_Call]) -> None:
    for call in calls:
        await call.over.wait()
