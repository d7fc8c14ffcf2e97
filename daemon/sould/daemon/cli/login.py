"""`sould login` and `sould logout`: keys of model providers, and sign-ins with a page to open and a code to enter (RFC 8628).

What is said of a sign-in goes to standard error for people, or to standard output as one JSON object a line for programs. No key,
token or device code is shown, logged or put on a command line.
"""

import contextlib
import json
import os
import sys
import time
import webbrowser
from collections.abc import Callable, Mapping
from typing import Final

import click
from msgspec import Struct
from pydantic import JsonValue, SecretStr

from sould.agents.base.config import OAuth, ProviderConfig
from sould.agents.base.network.settings import NetworkSettings
from sould.agents.base.privatefile import write_private
from sould.agents.llm.authserver import AuthServer, AuthServerDownError, DeviceCode, SignInError, SignInRefusedError
from sould.agents.llm.discovery import Found, known_services
from sould.agents.llm.server import ServedModel
from sould.agents.llm.tokens import Tokens
from sould.daemon.cli.caller_check import refuse_agent
from sould.daemon.cli.output import USAGE, Command, CommandError, visible
from sould.daemon.configuration.configfile import config_path
from sould.daemon.configuration.configuration import Loaded, load
from sould.daemon.configuration.credentials import Credentials, NoKeyringError
from sould.daemon.paths import Paths

LEAST_WAIT_S = 0.2
MOST_WAIT_S = 60.0
SLOWER_S = 5.0
"""What RFC 8628, 3.5 adds to the interval for each `slow_down`."""
REASONS = {
    "access_denied": "the request was refused on that page",
    "expired_token": "the code was not entered in time",
}
_SHOWN: Final = 8
"""Models that are named where one is asked for."""


class Teller(Struct, frozen=True):
    """Where the steps of a sign-in are told."""

    as_json: bool

    def tell(self, kind: str, message: str, data: dict[str, JsonValue] | None = None) -> None:
        """One step. `kind`: info, verification_url, waiting, success, error."""
        if not self.as_json:
            click.echo(visible(message), err=True)
            return
        line: dict[str, JsonValue] = {"type": kind, "message": message}
        click.echo(json.dumps(line if data is None else {**line, "data": data}))

    def failed(self, message: str) -> CommandError:
        """The failure to raise; programs are told on their own line, too."""
        if self.as_json:
            self.tell("error", message)
        return CommandError(message)


def sign_in(provider: str, oauth: OAuth, *, as_json: bool, allow_file: bool, browser: bool) -> None:
    """Sign in and keep the tokens. Raises CommandError."""
    teller = Teller(as_json)
    paths = Paths(os.environ)
    if not oauth.token_url:
        raise teller.failed(
            f"{provider} uses the sign-in of kimi-cli, which sould reads while it is valid and never renews: sign in "
            "with kimi-cli, or use a key of your own (`sould login kimi`)."
        )
    credentials = Credentials(paths)
    # asked first: nobody should sign in only to be told that it cannot be kept
    allow_file = _may_use_file(credentials, f"{paths.state}/credentials.json", teller, allow_file=allow_file)
    server = AuthServer(provider, oauth, NetworkSettings.of(os.environ))
    try:
        tokens = device_flow(server, teller.tell, time.sleep, browser=browser)
    except SignInRefusedError as error:
        reason = REASONS.get(error.code)
        sentence = f"You are not signed in: {reason}." if reason else error.message
        raise teller.failed(f"{sentence} Try again: sould login {provider}") from None
    except SignInError as error:
        raise teller.failed(error.message) from None
    where = credentials.store_tokens(provider, tokens, allow_file=allow_file)
    kept = "the system's keyring" if where == "keyring" else f"{paths.state}/credentials.json (mode 0600)"
    teller.tell("success", f"You are signed in to {provider}; the sign-in is stored in {kept}.")


def device_flow(
    server: AuthServer,
    tell: Callable[[str, str, dict[str, JsonValue] | None], None],
    wait: Callable[[float], None],
    *,
    browser: bool = False,
) -> Tokens:
    """Show where to go, then ask as often as the server allows until the user has decided.

    Raises:
        SignInError: nothing came of it.
    """
    code = server.begin()
    tell("verification_url", _instructions(code), {"verification_url": code.page, "user_code": code.user_code})
    if browser:
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(code.page)
    interval = max(code.interval, LEAST_WAIT_S)
    deadline = time.monotonic() + code.expires_in
    told = False
    while time.monotonic() < deadline:
        wait(interval)
        try:
            answer = server.poll(code)
        except AuthServerDownError:
            interval = min(interval * 2, MOST_WAIT_S)
            continue
        if isinstance(answer, Tokens):
            return answer
        if answer == "slow_down":
            interval += SLOWER_S
        if not told:
            tell("waiting", "Waiting until you have done so; Ctrl-C gives up.", None)
            told = True
    raise SignInRefusedError("The code was not entered in time", "expired_token")


def _instructions(code: DeviceCode) -> str:
    return f"Open this page in a browser, on any device:\n  {code.page}\nand enter the code: {code.user_code}"


def _may_use_file(credentials: Credentials, file: str, teller: Teller, *, allow_file: bool) -> bool:
    """Whether tokens may go to a file: asked once, and only where there is no keyring."""
    try:
        credentials.require_keyring()
    except NoKeyringError as error:
        if allow_file:
            return True
        if teller.as_json or not sys.stdin.isatty():
            raise teller.failed(f"{error.message} To store the sign-in in {file} (mode 0600), add --file.") from None
        if not click.confirm(f"{error.message} Store the sign-in in {file} (mode 0600)?", err=True):
            raise CommandError("You were not signed in.") from None
        return True
    return allow_file


@click.command(cls=Command)
@click.argument("provider", required=False)
@click.option("-m", "--model", default="", help="With an address: the model; you are asked for it otherwise.")
@click.option("--file", "allow_file", is_flag=True, help="Where there is no keyring, use a file without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print the steps of a sign-in as one JSON object per line.")
@click.option("--no-browser", is_flag=True, help="Do not open the page of a sign-in here, only show its address.")
def login(provider: str | None, model: str, allow_file: bool, as_json: bool, no_browser: bool) -> None:
    """Keep the key of a model PROVIDER (kimi, openai, openrouter, or one of your configuration), or sign in to it.

    PROVIDER may be the address of any server that answers as OpenAI's does. The key is tried before it is kept: a model is
    asked for a word with it.

    The key goes to the keyring of your system. Where there is none you are asked once whether a file that only you can
    read (mode 0600) will do. It is read from the terminal without being shown, or from standard input.

    A provider that declares `oauth` in the configuration is signed in to instead: you open a page and enter a code. The
    sign-in is kept in the same place and renewed in time.

    A provider that is not in the configuration yet is added to it, with its usual model.

    Examples:
      sould login
      sould login openrouter
      sould login https://api.groq.com/openai/v1
      pass show moonshot | sould login kimi --file
      sould login acme --json     # for programs: a line with the page's address, then the outcome
    """
    refuse_agent("the agent cannot decide for you with which key models are asked")
    loaded = load(Paths(os.environ), os.environ)
    known = {service.name: service for service in known_services()}
    configured = loaded.config.providers
    if as_json:
        _sign_in_for_program(provider, configured, allow_file=allow_file)
        return
    # scripts and echoes begin with an underscore and need no key
    names = [name for name in dict.fromkeys((*configured, *known)) if not _keyless(configured.get(name))]
    name = provider or _choose(names)
    if "://" in name:
        found, key = _at_address(name, model, configured)
        _keep(found, key, loaded, allow_file=allow_file)
        return
    if model:
        raise CommandError("--model goes with an address; models are chosen by: sould run -m MODEL", USAGE)
    if name not in names:
        if name in configured:
            raise CommandError(f"Provider {name!r} needs no key.", USAGE)
        raise CommandError(
            f"There is no provider {name!r}; known are: {', '.join(names)}. Of another, give the address: sould login https://…",
            USAGE,
        )
    oauth = configured[name].oauth if name in configured else None
    if oauth is not None:
        sign_in(name, oauth, as_json=False, allow_file=allow_file, browser=sys.stdin.isatty() and not no_browser)
        return
    models = {key: each for key, each in loaded.config.models.items() if each.provider == name}
    found = Found(name, configured[name], models) if name in configured else known[name]
    _keep(found, _read_key(name), loaded, allow_file=allow_file)


def _at_address(given: str, model: str, configured: Mapping[str, ProviderConfig]) -> tuple[Found, SecretStr]:
    """The provider there with one model, and its key: empty for a server that wants none."""
    from sould.daemon.cli.newserver import base_url, found_at, listed, provider_name  # noqa: PLC0415 -- loads HTTP

    address = base_url(given)
    name = provider_name(address, configured)
    key = _read_key(name, may_be_none=True)
    served = {each.name: each for each in listed(address, key)}
    if not model and sys.stdin.isatty():
        names = ", ".join([*served][:_SHOWN])
        asked = f"Model (it has {names}{', …' if len(served) > _SHOWN else ''})" if served else "Model"
        model = click.prompt(asked, default=next(iter(served), None), err=True).strip()
    model = model or next(iter(served), "")
    if not model:
        raise CommandError(f"It does not say which models it has. Name one: sould login {address} --model MODEL", USAGE)
    return found_at(address, name, served.get(model) or ServedModel(model)), key


def _keep(found: Found, key: SecretStr, loaded: Loaded, *, allow_file: bool) -> None:
    """Try the key, store it, and add a provider that is new to the configuration."""
    from sould.daemon.cli.newserver import why_silent  # noqa: PLC0415 -- as above

    name, model = found.name, next(iter(found.models), "")
    silent = why_silent(found, key) if model else ""
    if key.get_secret_value():
        where = _store(name, key, allow_file=allow_file)
        click.echo(f"The key of {name} is stored in {where}.", err=True)
    if silent:
        said = f"But {visible(model)} did not answer: {visible(silent).rstrip('.')}."
        click.echo(f"{said} See `sould doctor models`, then try: sould run -m {visible(model)} hello", err=True)
    elif not model:
        click.echo(f"It was not tried: {name} has no model in the configuration.", err=True)
    else:
        click.echo(f"{visible(model)} answers.", err=True)
    if name not in loaded.config.providers:
        configure(found, loaded)


@click.command(cls=Command)
@click.argument("provider", required=False)
def logout(provider: str | None) -> None:
    """Forget the key of a model PROVIDER, or its sign-in; or list the providers whose keys are kept.

    Keys in the environment and in the configuration file are yours: they stay, as does the sign-in of another program.

    Examples:
      sould logout
      sould logout openrouter
    """
    credentials = _credentials()
    if provider is None:
        stored, signed_in = credentials.stored(), credentials.signed_in()
        lines = [f"{name}  {where}{'  sign-in' if name in signed_in else ''}" for name, where in stored.items()]
        click.echo("\n".join(lines) or "No keys are stored.")
        return
    refuse_agent("the agent cannot decide for you with which key models are asked")
    signed_in = provider in credentials.signed_in()
    if not credentials.forget(provider):
        raise CommandError(f"No key of {provider!r} is stored; `sould logout` lists those that are.")
    click.echo(f"You are signed out of {provider}." if signed_in else f"The key of {provider} was removed.", err=True)


def _sign_in_for_program(provider: str | None, configured: Mapping[str, ProviderConfig], *, allow_file: bool) -> None:
    """Only the one provider that can be signed in to need not be named."""
    offered = {name: each.oauth for name, each in configured.items() if each.oauth is not None}
    name = provider or (next(iter(offered)) if len(offered) == 1 else "")
    oauth = offered.get(name)
    if oauth is None:
        which = f"those that do: {', '.join(offered)}" if offered else "no provider of the configuration does"
        missing = f"{name!r} does not declare `oauth`" if name else "no provider was named that declares `oauth`"
        raise Teller(as_json=True).failed(
            f"There is nothing to sign in to: {missing}; {which}. `sould login PROVIDER` stores a key."
        )
    sign_in(name, oauth, as_json=True, allow_file=allow_file, browser=False)


def _keyless(provider: ProviderConfig | None) -> bool:
    return provider is not None and provider.type.startswith("_")


def _credentials() -> Credentials:
    return Credentials(Paths(os.environ))


def _choose(names: list[str]) -> str:
    if not sys.stdin.isatty():
        raise CommandError(f"Name the provider: sould login PROVIDER (one of {', '.join(names)})", USAGE)
    asked = f"Provider ({', '.join(names)}), or the address of another"
    return click.prompt(asked, default=names[0], err=True).strip()


def _read_key(provider: str, *, may_be_none: bool = False) -> SecretStr:
    if sys.stdin.isatty():
        asked = f"Key of {provider} (not shown{'; empty if it wants none' if may_be_none else ''})"
        text: str = click.prompt(asked, default="", show_default=False, hide_input=True, err=True)
    else:
        text = sys.stdin.readline()
    key = text.strip()
    if not key and not may_be_none:
        raise CommandError("The key is empty; nothing was changed.", USAGE)
    if not key.isascii() or not key.isprintable() or " " in key:
        raise CommandError(
            "That is not a key: it has spaces or characters that no key has. Nothing was changed.", USAGE
        )
    return SecretStr(key)


def _store(provider: str, key: SecretStr, *, allow_file: bool) -> str:
    """Keep it; where it is now, in words."""
    credentials = _credentials()
    file = f"{Paths(os.environ).state}/credentials.json (mode 0600)"
    try:
        where = credentials.store(provider, key, allow_file=allow_file)
    except NoKeyringError as error:
        if not sys.stdin.isatty():
            raise CommandError(f"{error.message} To store the key in {file}, add --file.") from None
        if not click.confirm(f"{error.message} Store the key in {file}?", err=True):
            raise CommandError("The key was not stored.") from None
        where = credentials.store(provider, key, allow_file=True)
    return "the system's keyring" if where == "keyring" else file


def configure(service: Found, loaded: Loaded) -> None:
    """Add the provider and its models to the configuration file, so that a key has something to open."""
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
    write_private(path.resolve(), text.encode())
    model = next(iter(service.models))
    chosen = "" if tables.startswith("default_model") else f"-m {model} "
    click.echo(f'Its model {model} was added to {path}. Try: sould run {chosen}"hello"', err=True)


def _tables(service: Found, *, default: bool) -> str:
    provider = service.provider
    vendor = f'vendor = "{provider.vendor}"\n' if provider.vendor else ""
    lines = [f'[providers.{service.name}]\ntype = "{provider.type}"\n{vendor}base_url = "{provider.base_url}"']
    for key, model in service.models.items():
        if default:
            lines.insert(0, f'default_model = "{key}"')
        capabilities = ", ".join(f'"{name}"' for name in sorted(model.capabilities))
        lines.append(
            f'[models."{key}"]\nprovider = "{service.name}"\nmodel = "{model.model}"\n'
            f"max_context_size = {model.max_context_size}\ncapabilities = [{capabilities}]"
        )
    return "\n\n".join(lines)
