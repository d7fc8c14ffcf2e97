"""A model for somebody who has none: a key or a sign-in, or a server on this machine. Asked only at a terminal."""

import asyncio
import os
import sys

import click
from pydantic import SecretStr

from sould.agents.base.config import ModelConfig, ProviderConfig
from sould.agents.base.errors import ConfigError
from sould.agents.base.liveconfig import FixedConfig
from sould.agents.clients.inbox.shapes import AskedOption, AskedQuestion
from sould.agents.llm.discovery import Found, probe_server
from sould.agents.llm.pool import ProviderPool
from sould.daemon.cli.login import configure, login
from sould.daemon.cli.terminal.forms import ClosedInputError, ask_question
from sould.daemon.configuration.configuration import Loaded, load
from sould.daemon.configuration.credentials import Credentials
from sould.daemon.paths import Paths

OLLAMA = "http://127.0.0.1:11434/v1"
LOCAL = "local"
SMALL_CONTEXT = 32_768
"""For a server that does not say how much its model reads."""

KEY, SERVER = "A key, or a sign-in", "A server on this machine (Ollama, LM Studio, vLLM, llama.cpp)"


def offer_model() -> None:
    """Ask how a model is to be had, where there is none and somebody can answer."""
    if not sys.stdin.isatty():
        return
    try:
        loaded = load(Paths(os.environ), os.environ)
    except ConfigError as error:
        click.echo(f"The configuration cannot be read: {error.message} `sould config edit` opens it.", err=True)
        return
    if asyncio.run(_has_model(loaded)):
        return
    click.echo("", err=True)
    answer = asyncio.run(_asked("No model is set up yet. What have you got?"))
    if answer == KEY:
        click.get_current_context().invoke(login)
    elif answer == SERVER:
        _use_server(loaded)
    else:
        click.echo("Later: sould login, or start Ollama or LM Studio; sould finds them by itself.", err=True)


async def _has_model(loaded: Loaded) -> bool:
    credentials = Credentials(Paths(os.environ))
    pool = ProviderPool(FixedConfig(loaded.config), keys=credentials.key, tokens=credentials)
    try:
        return bool(await pool.models(os.environ))
    finally:
        await pool.aclose()


async def _asked(text: str) -> str:
    try:
        answer = await ask_question(AskedQuestion(text, options=(AskedOption(KEY), AskedOption(SERVER))))
    except ClosedInputError:
        return ""
    return answer[0] if isinstance(answer, tuple) else ""


def _use_server(loaded: Loaded) -> None:
    """Ask for its address and what it serves; Ollama and LM Studio at their own addresses need no entry."""
    address: str = click.prompt("Its address", default=OLLAMA, err=True).rstrip("/")
    served = asyncio.run(probe_server(address, SecretStr("")))
    if not served:
        click.echo(f"No model server answers at {address}. Start it, then: sould doctor models", err=True)
    elif asyncio.run(_has_model(loaded)):
        click.echo("sould finds it by itself. Try: sould run hello", err=True)
    else:
        models = {
            f"{LOCAL}/{each.name}": ModelConfig(
                provider=LOCAL, model=each.name, max_context_size=max(1000, each.context or SMALL_CONTEXT)
            )
            for each in served
        }
        configure(Found(LOCAL, ProviderConfig(type="openai_compatible", base_url=address), models), loaded)
