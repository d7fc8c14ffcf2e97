"""Checks of the models: is there one, has its provider a key, does its server answer and accept the key?

Servers are asked as the daemon would ask them: the same address, key, proxy and certificates.
Nothing a server says is printed unredacted.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator

from sould.agents.base.config import Config
from sould.agents.base.errors import ConfigError, NoModelError
from sould.agents.base.liveconfig import FixedConfig
from sould.agents.llm.discovery import unused
from sould.agents.llm.pool import NO_MODEL, ProviderPool, remarks, troubles
from sould.agents.llm.provider import ModelInfo
from sould.agents.llm.server import Check, ServedModel
from sould.daemon.cli.doctor.finding import Finding, SetUp, fail, ok, warn
from sould.daemon.cli.output import plural
from sould.daemon.configuration.configuration import load
from sould.daemon.configuration.credentials import Credentials

SKEW_S = 300
ASKED = 8
"""Models asked about; a set-up with more has more of the same."""


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
        checked: dict[str, Check] = {}
        for info in models[:ASKED]:
            async for finding in _model(setup, config, pool, info, checked):
                yield finding
    finally:
        await pool.aclose()


async def _model(
    setup: SetUp, config: Config, pool: ProviderPool, info: ModelInfo, checked: dict[str, Check]
) -> AsyncIterator[Finding]:
    """`checked`: what came of the providers whose models were asked about before; each is asked once."""
    known = checked.get(info.provider)
    try:
        check = known or await pool.check(info.key, setup.environment, setup.timeout)
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
    checked[info.provider] = check
    if known is None and abs(check.skew_s) > SKEW_S:
        yield warn(
            "clock",
            f"The clock of this machine differs from {check.server}'s by {abs(check.skew_s) / 60:.0f} minutes.",
            "Set the clock: sudo timedatectl set-ntp true",
        )
    if check.problem:
        if known is None:
            yield fail("models", check.problem, check.remedy)
    elif check.models is not None and info.model not in {each.name for each in check.models}:
        yield warn(
            "models",
            f"{check.server} does not list the model {info.model!r} of {info.key!r}.",
            f"Correct its `model`; it lists {_some(check.models)}.",
        )
    else:
        yield ok("models", f"Model {info.key!r}: {check.said}.")


def _some(models: Iterable[ServedModel]) -> str:
    listed = sorted({model.name for model in models})
    rest = f" and {plural(len(listed) - 3, 'other')}" if len(listed) > 3 else ""
    return ", ".join(listed[:3]) + rest
