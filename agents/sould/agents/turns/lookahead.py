"""Looking at the project while the model still writes its first command, so that the command need not wait for it.

The first look at a large project takes its time; those after it look only where something happened.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from sould.agents.projects.capture import Capture
from sould.agents.sessionlog.channel import Channel, Record
from sould.agents.wire.messages import ToolCall


class LookAhead:
    """Of one session; `serving` owns the task."""

    def __init__(self, channel: Channel, capture: Capture | None) -> None:
        self._channel = channel
        self._capture = capture
        self._wanted = asyncio.Event()

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None, None]:
        """A command that the model begins to call within is prepared for."""
        subscription = self._channel.subscribe(self._take, on_cut=lambda _: None)
        try:
            async with asyncio.TaskGroup() as group:
                looking = group.create_task(self._look())
                yield
                looking.cancel()
        finally:
            subscription.close()

    def _take(self, record: Record) -> bool:
        call = record.message
        if isinstance(call, ToolCall) and call.preview is not None and call.preview.kind == "execute":
            self._wanted.set()
        return True

    async def _look(self) -> None:
        await self._wanted.wait()
        if self._capture is not None:
            await self._capture.prepare()
