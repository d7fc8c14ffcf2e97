"""Finding models without configuration: provider keys in the session's environment, servers on this machine.

It only looks: it starts nothing, stores nothing and sends keys to nobody but the server they belong to.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from pydantic import SecretStr


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model a server says it has; `context` is None when it does not say."""

    name: str
    context: int | None = None


Probe: TypeAlias = Callable[[str, SecretStr], Awaitable[tuple[ServedModel, ...]]]
"""Ask the server at a base URL which models it has; empty when it cannot be reached quickly."""


async def probe_server(base_url: str, key: SecretStr) -> tuple[ServedModel, ...]:
    """`GET /models`, with a short timeout."""
    raise NotImplementedError
