"""Signing in to a provider from the terminal: a page to open, a code to enter, and waiting until that is done (RFC 8628).

What is said goes to standard error for people, or to standard output as one JSON object a line for programs. Tokens and
device codes are in neither.
"""

import contextlib
import json
import os
import sys
import time
import webbrowser
from collections.abc import Callable

import click
from msgspec import Struct
from pydantic import JsonValue

from sould.agents.base.config import OAuth
from sould.agents.base.network.settings import NetworkSettings
from sould.agents.llm.authserver import AuthServer, AuthServerDownError, DeviceCode, SignInError, SignInRefusedError
from sould.agents.llm.tokens import Tokens
from sould.daemon.cli.output import CommandError, visible
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
