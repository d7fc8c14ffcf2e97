"""Signing in and out as the ACP adapter offers it: which providers can be used, and forgetting the stored keys.

Never touches keys of the environment or of the configuration file: those are the user's own. What is slow to load is
loaded at the first call, because `initialize` must not wait for it.
"""

import asyncio
from collections.abc import Mapping

from sould.agents.base.errors import ConfigError, NoModelError
from sould.daemon.paths import Paths
from sould.daemon.process.sessions import Sessions


class StoredAccounts:
    """The accounts of this daemon's user."""

    def __init__(self, paths: Paths, sessions: Sessions) -> None:
        self._paths = paths
        self._sessions = sessions

    async def usable(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """Providers with a model that can be asked with this environment, each once, the default one first."""
        composition = await self._sessions.composition()
        composition.config.look()  # a sign-in may have written it
        providers = composition.providers
        found: dict[str, None] = {}
        for model in await providers.models(environment):
            if model.provider in found:
                continue
            try:
                await providers.get(model.key, environment)
            except (NoModelError, ConfigError):
                continue
            found[model.provider] = None
        return tuple(found)

    async def forget(self) -> None:
        """Remove every key that `sould login` stored."""
        await asyncio.to_thread(_forget_all, self._paths)


def _forget_all(paths: Paths) -> None:
    from sould.daemon.configuration.credentials import Credentials  # noqa: PLC0415 -- the keyring is slow to load

    credentials = Credentials(paths)
    for provider in tuple(credentials.stored()):
        credentials.forget(provider)
