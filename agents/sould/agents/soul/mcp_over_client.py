"""An editor that serves MCP servers over the connection it already has, as the soul sees it.

Says what such a connection must do and knows no protocol of editors; imports nothing, so that sessions without one pay
nothing for it.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

Heard: TypeAlias = Callable[[str, dict[str, Any] | None], None]
"""Told method and params of what a server says while it works on a request."""


class CarrierError(Exception):
    """A request did not reach the server, or came back without its answer. `for_good`: no other will reach it either."""

    def __init__(self, message: str, *, for_good: bool) -> None:
        super().__init__(message)
        self.for_good = for_good


class Carrier(Protocol):
    """One editor's connection."""

    @property
    def id(self) -> str:
        """Of the client; unique in the daemon."""
        ...

    @property
    def gone(self) -> asyncio.Event:
        """Set when the connection has ended, once and for all."""
        ...

    async def ask(
        self, server_id: str, request_id: str, method: str, params: dict[str, Any] | None, heard: Heard
    ) -> dict[str, Any]:
        """One request of MCP, and its outcome: an object with `result` or `error`. Cancelling the wait withdraws it.

        Raises:
            CarrierError: there is no outcome.
        """
        ...
