"""A connection's handler that is loaded while calls already come: what waits for it is served in the order in which it came."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from sould.agents.base.rpc.connection import Handler
from sould.agents.base.rpc.messages import Params

LoadHandler: TypeAlias = Callable[[], Awaitable[Handler]]
"""Loads what serves the calls. Called again only if it raised."""


class LateHandler:
    """A `Handler` in the place of one that the first call loads."""

    def __init__(self, load: LoadHandler) -> None:
        self._load = load
        self._turn = asyncio.Lock()
        """Held by who waits for the handler. It is fair, so that what came later does not overtake."""
        self._handler: Handler | None = None

    async def request(self, method: str, params: Params) -> Any:
        """See `Handler`."""
        return await (await self._loaded()).request(method, params)

    async def notification(self, method: str, params: Params) -> None:
        """See `Handler`."""
        await (await self._loaded()).notification(method, params)

    async def _loaded(self) -> Handler:
        async with self._turn:
            if self._handler is None:
                self._handler = await self._load()
            return self._handler
