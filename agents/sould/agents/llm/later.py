"""A provider whose HTTP library is loaded for the first question: a session opens without waiting for it (D9).

Nothing can be wrong with what it stands for but what the server itself says: the pool makes one only where an address is
plain and no proxy and no certificates are set. It never changes what is asked or answered.
"""

from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol, runtime_checkable

from sould.agents.llm.provider import ChatProvider, ChatRequest, DeltaStream, Embeds, ModelInfo
from sould.agents.values import dataclass


@runtime_checkable
class OnlineProvider(ChatProvider, Embeds, Protocol):
    """Asks a server."""


class OpenProvider(Protocol):
    """Loads what asking takes."""

    def __call__(self) -> Awaitable[OnlineProvider]:
        """The provider itself. Raises ProviderError."""
        ...


@dataclass(frozen=True, slots=True)
class LaterProvider:
    """Stands for the provider that `open` makes."""

    info: ModelInfo
    open: OpenProvider

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncGenerator[DeltaStream, None]:
        """See `ChatProvider`."""
        async with (await self.open()).stream(request) as deltas:
            yield deltas

    async def embed(self, model: str, texts: Sequence[str]) -> list[list[float]]:
        """See `Embeds`."""
        return await (await self.open()).embed(model, texts)
