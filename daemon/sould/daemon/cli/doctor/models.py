"""Checks of the models: is there one, has its provider a key, does its server answer and accept the key?

Servers are asked for their list of models, the way the daemon would ask them (same address, key, proxy, certificates); one of
another protocol than chat completions is asked for a word.
Nothing a server says is printed unredacted.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from email.utils import parsedate_to_datetime
from typing import Any, cast

import httpx2
import orjson
from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.config import Config
from sould.agents.base.errors import ConfigError, NoModelError
from sould.agents.base.liveconfig import FixedConfig
from sould.agents.base.network.certificates import advice
from sould.agents.base.network.clients import client_to
from sould.agents.base.network.failures import is_untrusted, why_unreachable
from sould.agents.llm.discovery import unused
from sould.agents.llm.openai import OpenAIClient, OpenAIProvider
from sould.agents.llm.pool import NO_MODEL, ProviderPool, remarks, troubles
from sould.agents.llm.provider import ChatProvider, ModelInfo, ProviderError
from sould.agents.llm.provider_errors import is_unknown_model, status_error
from sould.agents.llm.server import ProviderSettings, Server
from sould.agents.llm.signin import SignedInProvider
from sould.agents.llm.tokens import Tokens
from sould.daemon.cli.doctor.finding import Finding, SetUp, fail, ok, warn
from sould.daemon.cli.modeltrial import ask_plainly
from sould.daemon.cli.output import plural
from sould.daemon.configuration.configuration import load
from sould.daemon.configuration.credentials import Credentials

SKEW_S = 300
_OK, _UNKNOWN, _NOT_ALLOWED = 200, 404, 405
_LOOKED_AT = 8192
"""Bytes of a refusal."""
_USUALLY = "Correct the base_url: it usually ends in /v1."
ASKED = 8
"""Models asked about; a set-up with more has more of the same."""


class _Answer(Struct, frozen=True):
    """What a server said to "which models have you?"; `problem` "" when it named them."""

    problem: str = ""
    fix: str = ""
    models: frozenset[str] | None = None
    skew_s: float = 0.0


def usable(setup: SetUp, pool_of: Callable[..., ProviderPool] = ProviderPool) -> Iterator[Finding]:
    """Every configured or found model, and the server behind it."""
    yield from asyncio.run(_collect(setup, pool_of))


async def _collect(setup: SetUp, pool_of: Callable[..., ProviderPool]) -> list[Finding]:
    return [finding async for finding in _examine(setup, pool_of)]


async def _examine(setup: SetUp, pool_of: Callable[..., ProviderPool]) -> AsyncIterator[Finding]:
    try:
        config = load(setup.paths, setup.environment).config
    except ConfigError:
        return  # the check of the configuration says it
    credentials = Credentials(setup.paths)
    pool = pool_of(FixedConfig(config), keys=credentials.key, tokens=credentials)
    try:
        models = await pool.models(setup.environment)
        for notice in troubles(config):
            yield fail("models", notice, "Change that provider's `type`, or remove the model: sould config edit")
        for sentence in unused(setup.environment):
            yield warn(
                "models",
                sentence,
                "Write the server and its model into the configuration: sould config edit",
            )
        for remark in remarks(config):
            yield ok("models", remark)
        if not models:
            yield fail("models", "No model is configured and none was found.", NO_MODEL.partition(". ")[2])
        elif config.default_model and models[0].key != config.default_model:
            names = ", ".join(info.key for info in models[:5])
            yield fail(
                "models",
                f"The default model {config.default_model!r} is not among the usable ones: {names}.",
                "Correct default_model: sould config edit",
            )
        asked: list[tuple[ProviderSettings, _Answer]] = []
        for info in models[:ASKED]:
            async for finding in _model(setup, config, pool, info, asked):
                yield finding
    finally:
        await pool.aclose()


async def _model(
    setup: SetUp, config: Config, pool: ProviderPool, info: ModelInfo, asked: list[tuple[ProviderSettings, _Answer]]
) -> AsyncIterator[Finding]:
    try:
        provider = await pool.get(info.key, setup.environment)
    except NoModelError as error:
        configured = config.providers.get(info.provider)
        keyless = configured is not None and configured.type.startswith("_")
        fix = "Correct the provider: sould config edit" if keyless else f"Run: sould login {info.provider}"
        yield fail("models", error.message, fix)
        return
    except ConfigError as error:
        there = "in the configuration (sould config edit), or in the environment your editor is started from"
        yield fail("models", error.message, f"Correct it {there}.")
        return
    if provider.info.scripted:
        yield ok("models", f"Model {info.key!r} is a script or an echo; it needs no server.")
        return
    client = provider.client if isinstance(provider, OpenAIProvider | SignedInProvider) else None
    if isinstance(provider, SignedInProvider):
        tokens = await provider.sign_in.kept()  # as they are: looking renews nothing
        if tokens is None or tokens.expired(time.time()):
            yield _expired(info, tokens)
            return
        client = provider.client.signed(tokens.access)
    if not isinstance(client, OpenAIClient):
        yield await _asked_for_a_word(provider, setup.timeout)
        return
    settings = client.server.settings
    known = next((answer for other, answer in asked if other == settings), None)
    answer = known or await _ask(client.server, info, setup.timeout)
    asked.append((settings, answer))
    if known is None and abs(answer.skew_s) > SKEW_S:
        yield warn(
            "clock",
            f"The clock of this machine differs from {settings.base_url}'s by {abs(answer.skew_s) / 60:.0f} minutes.",
            "Set the clock: sudo timedatectl set-ntp true",
        )
    if answer.problem:
        if known is None:
            yield fail("models", answer.problem, answer.fix)
    elif answer.models is not None and info.model not in answer.models:
        yield warn(
            "models",
            f"{settings.base_url} does not list the model {info.model!r} of {info.key!r}.",
            f"Correct its `model`; it lists {_some(answer.models)}.",
        )
    else:
        yield ok("models", f"Model {info.key!r}: {settings.base_url} answers.")


async def _asked_for_a_word(provider: ChatProvider, timeout: float) -> Finding:
    info = provider.info
    try:
        async with asyncio.timeout(timeout):
            await ask_plainly(provider)
    except TimeoutError:
        return fail("models", f"Model {info.key!r} did not answer within {timeout:g} s.", _remedy(info))
    except ProviderError as error:
        return fail("models", f"Model {info.key!r} does not answer: {error.message}", _remedy(info))
    return ok("models", f"Model {info.key!r} answers.")


def _expired(info: ModelInfo, tokens: Tokens | None) -> Finding:
    if tokens is not None and tokens.refresh.get_secret_value():
        return ok("models", f"Model {info.key!r}: the sign-in has expired; it is renewed at its next use.")
    sentence = f"The sign-in of provider {info.provider!r} for model {info.key!r} has expired."
    return fail("models", sentence, f"Run: sould login {info.provider}")


async def _ask(server: Server, info: ModelInfo, timeout: float) -> _Answer:
    settings = server.settings
    headers = {name: value.get_secret_value() for name, value in settings.headers.items()}
    if settings.api_key.get_secret_value():
        headers["Authorization"] = f"Bearer {settings.api_key.get_secret_value()}"
    url, headers = settings.base_url, {"User-Agent": "sould", **headers}
    try:
        client = client_to(url, settings.network, httpx2.Timeout(timeout))
        async with client:
            response = await client.get(f"{url}/models", headers=headers)
            if response.status_code == _UNKNOWN:  # not every server lists its models: is there what answers prompts?
                answer = _judge_empty(await client.post(server.url, headers=headers, json={}), settings)
            else:
                answer = _judge(response, server)
    except httpx2.TimeoutException:
        return _Answer(f"{url} did not answer within {timeout:g} s.", "Check the network, the proxy and the base_url.")
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        detail = why_unreachable(error) or server.said(error)
        remedy = advice(settings.network) if is_untrusted(error) else _remedy(info)
        return _Answer(f"{url} cannot be reached: {detail}", remedy)
    return replace(answer, skew_s=_skew(response.headers.get("date")))


def _judge_empty(response: httpx2.Response, settings: ProviderSettings) -> _Answer:
    """Of the answer to a prompt without anything in it, which costs nothing: whether the address is one for prompts."""
    if response.status_code not in (_UNKNOWN, _NOT_ALLOWED) or is_unknown_model(response.text[:_LOOKED_AT]):
        return _Answer()
    said = f"answers {response.status_code} at /chat/completions, and {_UNKNOWN} at /models"
    return _Answer(f"{settings.base_url} is not the address of a model server: it {said}.", _USUALLY)


def _judge(response: httpx2.Response, server: Server) -> _Answer:
    status, url = response.status_code, server.settings.base_url
    if status != _OK:
        error = status_error(status, response.headers, response.content[:_LOOKED_AT], server.redact, server.asked)
        if error.kind == "auth":
            does = "wants a key" if server.asked.keyless else "refuses its key"
            return _Answer(f"{url} {does} ({status}).", server.settings.remedy)
        return _Answer(
            f"{url} answers with status {status}: {server.redact.line(response.text[:300])}",
            "Try again later; if it stays so, check the base_url and your account.",
        )
    try:
        body: Any = orjson.loads(response.content)
        items = cast("list[dict[str, Any]]", body["data"])
        return _Answer(models=frozenset(str(item["id"]) for item in items) or None)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return _Answer(
            f"{url} is not a model server: it answers with {response.headers.get('content-type', 'something else')}.",
            f"{_USUALLY} A network with a login page answers like this, too.",
        )


def _remedy(info: ModelInfo) -> str:
    return (
        f"Start that server, check network and proxy, or correct the base_url of provider {info.provider!r}: "
        "sould config edit"
    )


def _skew(date: str | None) -> float:
    if not date:
        return 0.0
    try:
        return time.time() - parsedate_to_datetime(date).timestamp()
    except ValueError:
        return 0.0


def _some(names: frozenset[str]) -> str:
    listed = sorted(names)
    rest = f" and {plural(len(listed) - 3, 'other')}" if len(listed) > 3 else ""
    return ", ".join(listed[:3]) + rest
