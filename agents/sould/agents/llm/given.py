"""A model server that a client gives for the sessions it opens: they ask that one, and none of the user's.

Its headers alone hold a key. They are in memory only (D14), and no key of the user's goes with them.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct
from pydantic import SecretStr

from sould.agents.base.config import Config, ModelConfig, ProviderConfig
from sould.agents.base.errors import ConfigError
from sould.agents.base.network.settings import NetworkSettings
from sould.agents.llm.discovery import CLOUD, DEFAULT_CONTEXT, models_of
from sould.agents.llm.openai import OpenAIClient
from sould.agents.llm.registry import GIVEN
from sould.agents.llm.server import ProviderSettings, ServedModel

NAME: Final = "acp-client"
"""Of the provider. The keys of its models begin with it, and only theirs."""
_PATIENCE_S: Final = 10.0


class GivenServer(Struct, frozen=True):
    """Where it is, and the models that it says it has."""

    base_url: str
    headers: Mapping[str, SecretStr]
    address: str
    """As people know it, without secrets."""
    models: tuple[ServedModel, ...]

    def is_asked_as(self, other: "GivenServer | None") -> bool:
        """The same address with the same headers."""
        return other is not None and (self.base_url, self.headers) == (other.base_url, other.headers)


def is_given(key: str) -> bool:
    """Whether this is the key of a model of such a server."""
    return key.startswith(f"{NAME}/")


def is_of_another(key: str | None, offered: Iterable[str]) -> bool:
    """Whether this is the key of a model of such a server, and the offered ones are not."""
    return key is not None and is_given(key) and not any(map(is_given, offered))


async def ask(base_url: str, headers: Mapping[str, SecretStr], environment: Mapping[str, str]) -> GivenServer:
    """Ask for its models at the address that a client gives, through the proxy of the client's environment.

    Raises:
        ConfigError: it cannot be asked, or names no model.
    """
    settings = ProviderSettings(base_url=base_url, headers=headers, network=NetworkSettings.of(environment))
    client = OpenAIClient(settings)
    found = await client.check(NAME, _PATIENCE_S)
    if found.problem:
        raise ConfigError(found.problem)
    server = GivenServer(client.settings.base_url, headers, client.server.address, found.models or ())
    if not _models(server):
        raise ConfigError(f"{server.address} names no model at /models.")
    return server


def with_given(config: Config, server: GivenServer) -> Config:
    """The user's configuration with the models of this server alone.

    The default is the user's default model, where it has that, else its first. The user's providers stay for what they say of
    variables that hold keys.
    """
    models = _models(server)
    usual = config.models.get(config.default_model)
    default = f"{NAME}/{usual.model if usual is not None else ''}"
    provider = ProviderConfig(type=GIVEN, base_url=server.base_url, custom_headers=dict(server.headers))
    return config.model_copy(
        update={
            "models": models,
            "providers": {**config.providers, NAME: provider},
            "default_model": default if default in models else next(iter(models)),
        }
    )


def _models(server: GivenServer) -> dict[str, ModelConfig]:
    return models_of(NAME, server.models, CLOUD, DEFAULT_CONTEXT)
