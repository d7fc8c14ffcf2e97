"""Work of a session that is no turn and must not run beside one: a rewind, an undo, a redo.

It is done behind the running turn and before the prompts that wait, in the session's own task: whoever asked may leave.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Generic, TypeAlias, TypeVar

from sould.agents.base.errors import SouldError
from sould.agents.base.tasks import shared
from sould.agents.journal.channel import Channel, Record
from sould.agents.wire.messages import ContextNote, DirectoryAdded, SessionChanged, StepBegin

_LASTING = (ContextNote, DirectoryAdded, SessionChanged, StepBegin)
"""The model is told or asked something, or the user chose something."""
ResultT = TypeVar("ResultT")


OperationWork: TypeAlias = Callable[[], Awaitable[ResultT]]
"""Does what is to be done, once."""


class OperationCancelledError(SouldError):
    """It was cancelled before it was done; nothing of it is left."""

    kind = "cancelled"

    def __init__(self) -> None:
        super().__init__("This was cancelled before it was done.")


class Operation(Generic[ResultT]):
    """One piece of such work, asked for by a client."""

    def __init__(self, work: OperationWork[ResultT], client_id: str) -> None:
        self.client_id = client_id
        self._work = work
        self._task: asyncio.Task[None] | None = None
        self._result: asyncio.Future[ResultT] = asyncio.get_running_loop().create_future()

    async def result(self) -> ResultT:
        """What it came to. Cancelling the wait does not cancel the work.

        Raises:
            OperationCancelledError, and what the work raises.
        """
        return await shared(self._result)

    async def run(self) -> None:
        """Do it, unless it was withdrawn; whatever happens is its result. Returns when nothing of it runs any more."""
        if self._result.done():
            return
        async with asyncio.TaskGroup() as group:
            self._task = group.create_task(self._run(), name="operation")
        if not self._result.done():  # the task was cancelled, and only that
            self._withdraw()

    async def _run(self) -> None:
        try:
            result = await self._work()
        except Exception as error:  # noqa: BLE001 -- it is raised where the result is waited for
            self._result.set_exception(error)
        else:
            self._result.set_result(result)

    @property
    def running(self) -> bool:
        """It has begun."""
        return self._task is not None

    def cancel(self) -> None:
        """Withdraw it. Once begun it is done whole."""
        if self._task is None and not self._result.done():
            self._withdraw()

    def _withdraw(self) -> None:
        self._result.set_exception(OperationCancelledError())
        self._result.exception()  # nobody needs to have waited for it


@contextmanager
def noticing(channel: Channel, used: Callable[[], None]) -> Generator[None]:
    """Call `used` once, as soon as what happens inside leaves something in the session that somebody would miss.

    So a blank session becomes one to keep: a prompt does that by itself, a slash command only by what it leaves behind.
    """

    def take(_: Record) -> None:
        listening.close()
        used()

    listening = channel.listen(_LASTING, take)
    try:
        yield
    finally:
        listening.close()
