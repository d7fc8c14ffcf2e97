"""`sould login` and `sould logout`: keys of model providers. A key is never shown, logged or put on a command line."""

import os
import sys

import click
from pydantic import SecretStr

from sould.agents.config import ProviderConfig
from sould.agents.llm.discovery import Found, known_services
from sould.daemon.cli.helptext import Command
from sould.daemon.cli.output import USAGE, CommandError, visible
from sould.daemon.configuration import Loaded, config_path, load
from sould.daemon.credentials import Credentials, NoKeyringError
from sould.daemon.paths import Paths


@click.command(cls=Command)
@click.argument("provider", required=False)
@click.option("--file", "allow_file", is_flag=True, help="Where there is no keyring, use a file without asking.")
def login(provider: str | None, allow_file: bool) -> None:
    """Keep the key of a model PROVIDER: kimi, openai, openrouter, or one of your configuration.

    The key goes to the keyring of your system. Where there is none you are asked once whether a file that only you can
    read (mode 0600) will do. It is read from the terminal without being shown, or from standard input.

    A provider that is not in the configuration yet is added to it, with its usual model.

    Examples:
      sould login
      sould login openrouter
      pass show moonshot | sould login kimi --file
    """
    loaded = load(Paths(os.environ), os.environ)
    known = {service.name: service for service in known_services()}
    configured = loaded.config.providers
    # scripts and echoes begin with an underscore and need no key
    names = [name for name in dict.fromkeys((*configured, *known)) if not _keyless(configured.get(name))]
    name = provider or _choose(names)
    if name not in names:
        if name in configured:
            raise CommandError(f"Provider {name!r} needs no key.", USAGE)
        raise CommandError(
            f"There is no provider {name!r}; known are: {', '.join(names)}. Others: sould config edit", USAGE
        )
    where = _store(name, _read_key(name), allow_file=allow_file)
    click.echo(f"The key of {name} is kept in {where}.", err=True)
    if name not in loaded.config.providers:
        _configure(known[name], loaded)


@click.command(cls=Command)
@click.argument("provider", required=False)
def logout(provider: str | None) -> None:
    """Forget the key of a model PROVIDER, or list the providers whose keys are kept.

    Keys in the environment and in the configuration file are yours: they stay.

    Examples:
      sould logout
      sould logout openrouter
    """
    credentials = _credentials()
    if provider is None:
        stored = credentials.stored()
        click.echo("\n".join(f"{name}  {where}" for name, where in stored.items()) or "No keys are kept.")
    elif credentials.forget(provider):
        click.echo(f"The key of {provider} is forgotten.", err=True)
    else:
        raise CommandError(f"No key of {provider!r} is kept; `sould logout` lists those that are.")


def _keyless(provider: ProviderConfig | None) -> bool:
    return provider is not None and provider.type.startswith("_")


def _credentials() -> Credentials:
    return Credentials(Paths(os.environ))


def _choose(names: list[str]) -> str:
    if not sys.stdin.isatty():
        raise CommandError(f"Say whose key it is: sould login PROVIDER (one of {', '.join(names)})", USAGE)
    return click.prompt("Provider", type=click.Choice(names), default=names[0], err=True)


def _read_key(provider: str) -> SecretStr:
    if sys.stdin.isatty():
        text: str = click.prompt(f"Key of {provider} (not shown)", hide_input=True, err=True)
    else:
        text = sys.stdin.readline()
    key = text.strip()
    if not key:
        raise CommandError("The key is empty; nothing was changed.", USAGE)
    if not key.isascii() or not key.isprintable() or " " in key:
        raise CommandError("That is no key: it holds blanks or characters no key has. Nothing was changed.", USAGE)
    return SecretStr(key)


def _store(provider: str, key: SecretStr, *, allow_file: bool) -> str:
    """Keep it; where it is now, in words."""
    credentials = _credentials()
    file = f"{Paths(os.environ).state}/credentials.json (mode 0600)"
    try:
        where = credentials.store(provider, key, allow_file=allow_file)
    except NoKeyringError as error:
        if not sys.stdin.isatty():
            raise CommandError(f"{error.message} To keep the key in {file}, add --file.") from None
        if not click.confirm(f"{error.message} Keep the key in {file}?", err=True):
            raise CommandError("The key was not kept.") from None
        where = credentials.store(provider, key, allow_file=True)
    return "the system's keyring" if where == "keyring" else file


def _configure(service: Found, loaded: Loaded) -> None:
    """Add the provider and its model to the configuration file, so that the key has something to open."""
    path = config_path(Paths(os.environ), os.environ)
    tables = _tables(service, default=not loaded.config.default_model and not loaded.config.models)
    if path.suffix != ".toml":
        click.echo(f"Add this provider to {path} in its own syntax:\n{visible(tables)}", err=True)
        return
    before = path.read_text("utf-8") if path.exists() else ""
    first, rest = tables.split("\n\n", 1) if tables.startswith("default_model") else ("", tables)
    text = "\n\n".join(part for part in (first, before.strip(), rest.strip()) if part) + "\n"
    load(Paths(os.environ), os.environ, text=text)  # what would not load is not written
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with open(temporary, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(text)
    temporary.replace(path.resolve())
    model = next(iter(service.models))
    chosen = "" if tables.startswith("default_model") else f"-m {model} "
    click.echo(f'Its model {model} was added to {path}. Try: sould run {chosen}"hello"', err=True)


def _tables(service: Found, *, default: bool) -> str:
    provider = service.provider
    lines = [f'[providers.{service.name}]\ntype = "{provider.type}"\nbase_url = "{provider.base_url}"']
    for key, model in service.models.items():
        if default:
            lines.insert(0, f'default_model = "{key}"')
        capabilities = ", ".join(f'"{name}"' for name in sorted(model.capabilities))
        lines.append(
            f'[models."{key}"]\nprovider = "{service.name}"\nmodel = "{model.model}"\n'
            f"max_context_size = {model.max_context_size}\ncapabilities = [{capabilities}]"
        )
    return "\n\n".join(lines)
