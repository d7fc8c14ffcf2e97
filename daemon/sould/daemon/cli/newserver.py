"""A model server at an address that the user names, and whether a model answers there with a key. Stores nothing.

Asked as the daemon would ask: the same requests, proxy and certificates.
"""

import asyncio
import os
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

import httpx2
import orjson
from pydantic import SecretStr

from sould.agents.base.config import Config, ModelConfig, ProviderConfig
from sould.agents.base.errors import SouldError
from sould.agents.base.liveconfig import FixedConfig
from sould.agents.base.network.clients import client_to
from sould.agents.base.network.settings import NetworkSettings
from sould.agents.llm.discovery import Found
from sould.agents.llm.openai import address, bearer
from sould.agents.llm.pool import ProviderPool
from sould.agents.llm.provider import ProviderError
from sould.agents.llm.server import ServedModel, served_models
from sould.daemon.cli.modeltrial import ask_plainly
from sould.daemon.cli.output import USAGE, CommandError

PATIENCE: Final = 20.0
"""Seconds for each request."""
CONTEXT: Final = 131_072
"""Of a model whose server does not say how much it reads."""
LOCAL: Final = "local"
_NO_ANSWERS: Final = (404, 405)


def base_url(given: str) -> str:
    """The address as the configuration has it, whatever of it the user copied. Raises CommandError."""
    try:
        parts = urlsplit(given)
        usable = parts.scheme in ("http", "https") and parts.hostname and not parts.username and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise CommandError("That is no address of a model server; one is https://api.example.com/v1", USAGE)
    return address(given).removesuffix("/models").rstrip("/")


def provider_name(address: str, configured: Mapping[str, ProviderConfig]) -> str:
    """What the provider at this address is called, or will be: by its host, and by a number where another is called so."""
    host = urlsplit(address).hostname or ""
    labels = host.split(".")
    own = labels[-2] if len(labels) > 1 and not labels[-1].isdecimal() else host
    name = (
        LOCAL if host in ("127.0.0.1", "localhost", "::1") else re.sub(r"[^a-z0-9]+", "-", own).strip("-") or "server"
    )
    names = [name, *(f"{name}-{number}" for number in range(2, len(configured) + 3))]
    return next(each for each in names if each not in configured or configured[each].base_url.rstrip("/") == address)


def listed(address: str, key: SecretStr) -> tuple[ServedModel, ...]:
    """The models that it says it has; none where it says nothing of that kind."""
    return asyncio.run(_listed(address, key))


async def _listed(address: str, key: SecretStr) -> tuple[ServedModel, ...]:
    headers = {"User-Agent": "sould", **bearer(key)}
    try:
        async with client_to(address, NetworkSettings.of(os.environ), httpx2.Timeout(PATIENCE)) as client:
            response = await client.get(f"{address}/models", headers=headers)
            return served_models(orjson.loads(response.raise_for_status().content))
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError, TypeError, KeyError, AttributeError, SouldError):
        return ()


def found_at(address: str, name: str, model: ServedModel) -> Found:
    """The provider with that model, as it is to be configured."""
    context = max(1000, model.context or CONTEXT)
    models = {f"{name}/{model.name}": ModelConfig(provider=name, model=model.name, max_context_size=context)}
    return Found(name, ProviderConfig(type="openai_compatible", base_url=address), models)


def why_silent(found: Found, key: SecretStr) -> str:
    """Ask its first model something; "" where it answers, else why there was no answer that says anything about the key.

    Raises:
        CommandError: the key is refused, or this is no address that answers.
    """
    try:
        asyncio.run(_ask(found, key))
    except ProviderError as error:
        if error.kind == "auth" or error.status in _NO_ANSWERS:
            raise CommandError(f"{error.message.rstrip('.')}. Nothing was stored.") from None
        return error.message
    except SouldError as error:
        return error.message
    except TimeoutError:
        return f"It did not answer within {PATIENCE:.0f} s."
    return ""


async def _ask(found: Found, key: SecretStr) -> None:
    provider = found.provider.model_copy(update={"api_key": key, "api_key_env": "", "oauth": None})
    config = Config(providers={found.name: provider}, models=dict(found.models))
    pool = ProviderPool(FixedConfig(config))
    try:
        async with asyncio.timeout(PATIENCE):
            await ask_plainly(await pool.get(next(iter(found.models)), os.environ))
    finally:
        await pool.aclose()
