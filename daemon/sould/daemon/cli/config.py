"""`sould config check|path|edit`: the user's configuration file."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import click
from pydantic import SecretStr

from sould.agents.base.config import Config
from sould.agents.base.errors import ConfigError, NoModelError
from sould.agents.base.liveconfig import FixedConfig
from sould.agents.llm.pool import ProviderPool
from sould.agents.llm.provider import ProviderError
from sould.agents.llm.server import ServedModel
from sould.daemon.cli.modeltrial import Trial, try_model
from sould.daemon.cli.output import CommandError, CommandGroup, complain, plural, table, visible
from sould.daemon.cli.running import tell_configured
from sould.daemon.cli.terminal.keyboard import editor
from sould.daemon.configuration.configfile import config_path
from sould.daemon.configuration.configuration import Loaded, load
from sould.daemon.configuration.credentials import Credentials
from sould.daemon.paths import Paths

TEMPLATE = Path(__file__).with_name("config.toml")


@click.group(cls=CommandGroup)
def config() -> None:
    """Check, find and edit the configuration.

    Nothing needs to be configured when a key is in the environment or Ollama runs. The file is TOML; SOULD_CONFIG names
    another one, such as ~/.kimi/config.toml.

    Examples:
      sould config edit
      sould config check
      $EDITOR "$(sould config path)"
    """


@config.command()
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.option(
    "--try",
    "tried",
    metavar="[MODEL]",
    is_flag=False,
    flag_value="",
    help="Ask a model's server, too: one call with a tool, thinking and a picture.",
)
def check(as_json: bool, tried: str | None) -> None:
    """Read the configuration and say what is wrong with it: key, file, line, nearest valid key.

    Exits 1 when it, or a model of it, cannot be used with this terminal's proxy and certificates. What is understood but
    has no effect is named, too. No server is asked, unless a model is tried: then it also exits 1 when that model cannot
    call a tool.

    Examples:
      sould config check
      sould config check --try
      sould config check --try kimi-k2
      SOULD_CONFIG=~/.kimi/config.toml sould config check
    """
    try:
        loaded = _load()
    except ConfigError as error:
        if as_json:
            click.echo(json.dumps({"ok": False, "error": error.message}))
            sys.exit(1)
        raise
    problems = asyncio.run(_problems(loaded.config))
    trial = asyncio.run(_tried(loaded.config, tried)) if tried is not None and not problems else None
    if as_json:
        click.echo(
            json.dumps(
                {
                    "ok": not problems and (trial is None or trial.works),
                    "problems": problems,
                    "files": [str(source) for source in loaded.sources],
                    "notices": _notices(loaded),
                    "models": sorted(loaded.config.models),
                    "providers": sorted(loaded.config.providers),
                    **({"trial": dict(trial.lines)} if trial else {}),
                }
            )
        )
    else:
        _report(loaded, usable=not problems)
        for problem in problems:
            complain(problem)
        if trial:
            click.echo(f"{trial.model} at {trial.server}:\n{table((f'  {part}', said) for part, said in trial.lines)}")
    if problems or (trial and not trial.works):
        sys.exit(1)


async def _problems(config: Config) -> list[str]:
    """Why models of a configuration cannot be used, whether they have a key or not; each reason once."""
    pool = ProviderPool(FixedConfig(config), probe=_no_server)
    found = dict[str, None]()
    for model in config.models or (None,):
        try:
            await pool.get(model, os.environ)
        except ConfigError as error:
            found[error.message] = None
        except NoModelError:
            pass
    await pool.aclose()
    return list(found)


async def _tried(config: Config, model: str) -> Trial:
    credentials = Credentials(Paths(os.environ))
    pool = ProviderPool(FixedConfig(config), keys=credentials.key, tokens=credentials)
    try:
        return await try_model(await pool.get(model or None, os.environ))
    except ProviderError as error:
        raise CommandError(error.message) from None
    finally:
        await pool.aclose()


async def _no_server(_url: str, _key: SecretStr) -> tuple[ServedModel, ...]:
    return ()


@config.command()
def path() -> None:
    """Print where the configuration file is, or would be.

    Example:
      cp "$(sould config path)" backup.toml
    """
    click.echo(_file())


@config.command()
def edit() -> None:
    """Open the configuration in its `default_editor`, $VISUAL or $EDITOR, then check it. A missing file begins as a commented example.

    It needs a terminal. Without one, change the file that `sould config path` names and run `sould config check`.

    Example:
      EDITOR=nano sould config edit
    """
    file = _file()
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandError(f"There is no terminal here for an editor; edit {file} yourself, then: sould config check")
    if not file.exists():
        _create(file)
    while True:
        done = subprocess.run([*editor(), str(file)], check=False)
        if done.returncode != 0:
            raise CommandError(f"The editor exited with {done.returncode}; {file} is as it left it.")
        try:
            _report(_load())
        except ConfigError as error:
            complain(error.message)
            if not click.confirm("Edit it again?", default=True, err=True):
                raise CommandError("The configuration cannot be used as it is.") from None
        else:
            tell_configured()
            return


def _load() -> Loaded:
    return load(Paths(os.environ), os.environ)


def _file() -> Path:
    return config_path(Paths(os.environ), os.environ)


def _create(file: Path) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(file, "x", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as new:
        new.write(TEMPLATE.read_text("utf-8"))


def _notices(loaded: Loaded) -> list[str]:
    """What is understood but has no effect, here or anywhere."""
    return [
        *loaded.notices,
        *(
            f"providers.{name}.api_key_env names {provider.api_key_env}, which is not set in this environment; without it only "
            f"a key of `sould login {name}` is used."
            for name, provider in loaded.config.providers.items()
            if provider.api_key_env and not provider.api_key.get_secret_value().strip()
            if not os.environ.get(provider.api_key_env, "").strip()
        ),
    ]


def _report(loaded: Loaded, *, usable: bool = True) -> None:
    """`usable`: nothing stands in the way of its models."""
    for notice in _notices(loaded):
        click.echo(f"note: {visible(notice)}")
    files = ", ".join(map(str, loaded.sources)) or f"{_file()} (does not exist: the defaults apply)"
    click.echo(f"The configuration {'is valid' if usable else 'can be read, but not all of it can be used'}: {files}")
    models = loaded.config.models
    if models:
        default = loaded.config.default_model
        rows = [
            (
                f"  {'*' if key == default else ' '} {key}",
                model.provider,
                f"{model.model}, {model.max_context_size} tokens",
            )
            for key, model in models.items()
        ]
        click.echo(f"{plural(len(models), 'model')}:\n{table(rows)}")
    else:
        click.echo("No models are configured; they come from the environment and from local servers.")
