"""The provider pool: from a model's key and a session's environment to a provider that can be asked.

It builds a client once for each distinct (provider settings, key, proxy and CA settings) and shares it. Keys come from
the configuration, the session's environment or the keyring, in that order; the daemon's own environment is never read.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from pydantic import SecretStr

from sould.agents.config import Config
from sould.agents.llm.discovery import Probe, probe_server
from sould.agents.llm.provider import ChatProvider, ModelInfo

KeyLookup: TypeAlias = Callable[[str], Awaitable[SecretStr | None]]
"""A provider's key from the keyring, by the provider's name."""


async def no_keys(_provider: str) -> SecretStr | None:
    """The lookup that knows nothing."""
    return None


class ProviderPool:
    """All models of a configuration and of a session's environment."""

    def __init__(
        self, config: Callable[[], Config], *, keys: KeyLookup = no_keys, probe: Probe = probe_server
    ) -> None: ...

    async def models(self, environment: Mapping[str, str]) -> tuple[ModelInfo, ...]:
        """The usable models, the default first; configured ones before discovered ones."""
        raise NotImplementedError

    async def get(self, model_key: str | None, environment: Mapping[str, str]) -> ChatProvider:
        """The provider of a model; None: the default one.

        Raises:
            NoModelError: nothing is configured or found, or no such model; says what to do.
        """
        raise NotImplementedError

    def notices(self) -> tuple[str, ...]:
        """One sentence for each configured model that cannot work, with the model's name (D22)."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """Close all clients."""
