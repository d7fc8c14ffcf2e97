"""`sould mcp add|list|remove|test|auth|reset-auth`: the user's MCP servers.

Only the user's own file is ever written. `test` and `auth` connect from this process, so they work without a daemon;
the others read and write files and load nothing heavy.
"""

import asyncio
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import orjson

from sould.agents.base.environment import Environment
from sould.agents.base.privatefile import write_private
from sould.agents.llm.registry import KEY_VARIABLES
from sould.agents.mcp.signins import StoredSignIns
from sould.agents.mcp.specs import (
    LoadedServers,
    ServerSpec,
    TrustedServers,
    always,
    load_file,
    merge,
    read_entries,
)
from sould.agents.permissions.trust import TrustStore
from sould.daemon.cli.caller_check import refuse_agent
from sould.daemon.cli.output import CommandError, CommandGroup, complain, one_line, plural, table, visible
from sould.daemon.cli.running import tell_configured
from sould.daemon.dial import read_umask
from sould.daemon.hello import VERSION
from sould.daemon.paths import Paths

if TYPE_CHECKING:
    from sould.agents.mcp.server import Server

_NAME: Final = re.compile(r"\w[\w.-]*")
"""So that `/mcp:NAME:PROMPT` and `@NAME:URI` can be typed."""
_ADDRESS: Final = re.compile(r"[\w-]+(?:\.[\w-]+)*:\d+(?:/\S*)?|(?:localhost|[\w-]+(?:\.[\w-]+)+)/\S*")
"""An address without its scheme: a name with a port or a path."""
START_S = 60.0
"""Seconds a server gets when a person waits for it: it may be installing itself."""


@click.group(cls=CommandGroup)
def mcp() -> None:
    """Add, list, try and remove MCP servers: programs that bring tools.

    They are kept in mcp.json beside the configuration, in the form most programs use. Running sessions take changes up
    with their next turn. A project's own .mcp.json counts once you trust the project.

    Examples:
      sould mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
      sould mcp add --transport http --header "X-Team: core" docs https://example.com/mcp
      sould mcp test files
      sould mcp list
    """


@mcp.command()
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http", "sse"]),
    help="How to reach it; by default, told from what follows NAME.",
)
@click.option("--header", "headers", multiple=True, metavar="NAME:VALUE", help="Sent with every request; repeatable.")
@click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="Set for its process; repeatable.")
@click.argument("name")
@click.argument("target", nargs=-1, required=True)
def add(
    transport: str | None, headers: tuple[str, ...], variables: tuple[str, ...], name: str, target: tuple[str, ...]
) -> None:
    """Add the server NAME: a URL, or after -- a command with its arguments.

    A value may say ${NAME} for a variable of your environment, so that no secret stands in the file.

    Examples:
      sould mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
      sould mcp add --env "TOKEN=${GITHUB_TOKEN}" github -- github-mcp-server stdio
      sould mcp add --transport sse board https://example.com/sse
    """
    remote = target[0].startswith(("http://", "https://"))
    if _ADDRESS.fullmatch(target[0]) and not target[1:] and not Path(target[0]).exists():
        raise click.UsageError(
            f"{target[0]} is no program here. The address of a server starts with http:// or https://."
        )
    kind = transport or ("http" if remote else "stdio")
    if (kind == "stdio") == remote or (remote and target[1:]):
        raise click.UsageError("A server is either one URL (--transport http or sse) or, after --, a command.")
    if not remote and "://" in target[0]:
        raise click.UsageError(f"{target[0]} is not the address of a server: it starts with http:// or https://.")
    if not _NAME.fullmatch(name):
        raise click.UsageError(f"{name!r} is not a valid name: letters, digits, _, - and ., without spaces.")
    if variables if remote else headers:
        raise click.UsageError("--header is for URLs, --env for commands.")
    entry: dict[str, Any]
    if remote:
        entry = {"type": kind, "url": target[0], "headers": dict(_pair(text, ":", "--header") for text in headers)}
    else:
        entry = {"command": target[0], "args": target[1:], "env": dict(_pair(text, "=", "--env") for text in variables)}
    document = _document()
    replaced = name in document["mcpServers"]
    document["mcpServers"][name] = {key: value for key, value in entry.items() if value}
    _write(document)
    click.echo(f"{'Replaced' if replaced else 'Added'} {visible(name)}. Try it: sould mcp test {visible(name)}")


@mcp.command()
@click.argument("name")
def remove(name: str) -> None:
    """Remove the server NAME from your own file.

    Examples:
      sould mcp remove files
    """
    document = _document()
    if document["mcpServers"].pop(name, None) is None:
        raise CommandError(f"{_file()} has no server {name!r}.{_near(document)}")
    _write(document)
    click.echo(f"Removed {visible(name)}.")


@mcp.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print them as one JSON array.")
def list_servers(as_json: bool) -> None:
    """List the servers a session in this directory has. Nothing is started.

    Values of headers and variables are not shown.

    Examples:
      sould mcp list
      sould mcp list --json
    """
    loaded = _loaded()
    signed_in = _sign_ins()
    rows = [(spec, "signed in" if spec.url and signed_in.has(spec.url) else "") for spec in loaded.servers]
    if as_json:
        shown = [
            {"name": spec.name, "transport": spec.transport, "target": _target(spec), "source": spec.source}
            for spec, _ in rows
        ]
        click.echo(orjson.dumps(shown, option=orjson.OPT_INDENT_2).decode())
    elif rows:
        click.echo(
            table(
                (visible(s.name), s.transport, s.source, one_line(_target(s), 70) + f"  {note}".rstrip())
                for s, note in rows
            )
        )
    else:
        click.echo("There are no MCP servers. Add one: sould mcp add --help")
    for notice in loaded.notices:
        complain(notice)


@mcp.command("test")
@click.argument("name")
def try_server(name: str) -> None:
    """Start or reach the server NAME, and list its tools. Exits 1 when that fails.

    Examples:
      sould mcp test files
    """
    server = asyncio.run(_tried(_named(name)))
    if server.state != "connected":
        raise CommandError(f"{name}: {server.trouble}")
    click.echo(f"{visible(name)} is connected and has {plural(len(server.tools), 'tool')}.")
    if server.tools:
        click.echo(table((f"  {visible(tool)}", one_line(text, 90)) for tool, text in server.tools))


@mcp.command()
@click.argument("name")
@click.option("--browser/--no-browser", default=True, help="Open the page in a browser.")
def auth(name: str, browser: bool) -> None:
    """Sign in to the remote server NAME with your browser.

    The sign-in is kept below the state directory, readable by you alone, and renewed by itself.

    Examples:
      sould mcp auth docs
      sould mcp auth docs --no-browser
    """
    spec = _remote(name)
    outcome = asyncio.run(_signed_in(spec, browser=browser))
    if outcome:
        raise CommandError(f"{name}: {outcome}")
    click.echo(f"Signed in to {visible(name)}. New sessions use it.")


@mcp.command("reset-auth")
@click.argument("name")
def reset_auth(name: str) -> None:
    """Forget the sign-in of the remote server NAME.

    Examples:
      sould mcp reset-auth docs
    """
    gone = _sign_ins().forget(_remote(name).url)
    click.echo(f"Removed the sign-in of {visible(name)}." if gone else f"There is no sign-in to {visible(name)}.")


# --- files ------------------------------------------------------------------------------------------------------------


def _file() -> Path:
    return Path(Paths(os.environ).config) / "mcp.json"


def _document() -> dict[str, Any]:
    """The user's file as it stands, with its `mcpServers`; a file with a mistake is left alone."""
    path = _file()
    if not path.exists():
        return {"mcpServers": {}}
    entries, notices = read_entries(path)
    if notices and not entries:
        raise CommandError(f"{notices[0]} Fix it first; nothing was changed.")
    return orjson.loads(path.read_bytes())


def _write(document: dict[str, Any]) -> None:
    refuse_agent("the agent cannot decide for you which MCP servers run as you")
    path = _file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path, orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")
    tell_configured()


def _pair(text: str, mark: str, option: str) -> tuple[str, str]:
    name, found, value = text.partition(mark)
    if not found or not name.strip():
        raise click.UsageError(f"{option} takes NAME{mark}VALUE, not {text!r}.")
    return name.strip(), value.strip()


def _environment() -> Environment:
    return Environment(dict(os.environ), provider_keys=KEY_VARIABLES)


def _sign_ins() -> StoredSignIns:
    return StoredSignIns(Path(Paths(os.environ).state) / "mcp-sign-ins")


def _loaded() -> LoadedServers:
    """What a session in this directory would have."""
    environment, state = _environment(), Path(Paths(os.environ).state)
    share = environment.variables.get("KIMI_SHARE_DIR")
    kimi = (Path(share) if share else environment.home / ".kimi") / "mcp.json"
    places = [load_file(path, "user", environment.variables) for path in (kimi, _file())]
    project = TrustedServers(TrustStore(state / "trust.json"), Path.cwd())
    refusal = project.refusal()
    if refusal:
        places.append(LoadedServers(notices=(refusal,)))
    else:
        places += [load_file(path, "project", environment.variables) for path in project.files()]
    return merge(*places)


def _named(name: str) -> ServerSpec:
    loaded = _loaded()
    found = next((spec for spec in loaded.servers if spec.name == name), None)
    if found is None:
        said = next((notice for notice in loaded.notices if f".{name}:" in notice), "")
        raise CommandError(said or f"There is no server {name!r}.{_near({spec.name: 0 for spec in loaded.servers})}")
    return found


def _remote(name: str) -> ServerSpec:
    spec = _named(name)
    if not spec.url:
        raise CommandError(f"{name} is a program on this machine; only remote servers have a sign-in.")
    return spec


def _near(document: dict[str, Any]) -> str:
    names = ", ".join(document.get("mcpServers", document))
    return f" There is {visible(names)}." if names else ""


def _target(spec: ServerSpec) -> str:
    return spec.url or " ".join((spec.command, *spec.args))


# --- connecting -------------------------------------------------------------------------------------------------------


async def _tried(spec: ServerSpec) -> "_Tried":
    """Connect once, as a session would."""
    from sould.agents.base.config import Config, Mcp, McpClient  # noqa: PLC0415 -- only `test` connects
    from sould.agents.base.liveconfig import FixedConfig  # noqa: PLC0415 -- as above
    from sould.agents.base.process.guard import ProcessGuard  # noqa: PLC0415 -- as above
    from sould.agents.mcp.pool import McpPool  # noqa: PLC0415 -- as above
    from sould.agents.mcp.server import ServerPlace  # noqa: PLC0415 -- as above

    guard, umask = ProcessGuard(), read_umask()
    config = Config(mcp=Mcp(client=McpClient(start_timeout_ms=int(START_S * 1000))))
    pool = McpPool(guard, FixedConfig(config), _sign_ins(), VERSION)
    try:
        async with pool.running():
            server = pool.acquire(spec, ServerPlace(_environment().variables, Path.cwd(), (Path.cwd(),), umask), always)
            await server.attempted.wait()
            return _Tried(server)
    finally:
        await guard.aclose()


class _Tried:
    """What came of a test."""

    def __init__(self, server: "Server") -> None:
        self.state = server.state
        self.trouble = server.trouble
        self.tools = [(tool.name, tool.description) for tool in server.definitions]


async def _signed_in(spec: ServerSpec, *, browser: bool) -> str:
    """Sign in; why that failed, "" when it did not."""
    from sould.agents.mcp.link import Handlers, open_link, remote_transport  # noqa: PLC0415 -- only `auth` connects
    from sould.agents.mcp.oauth import InteractiveOAuth  # noqa: PLC0415 -- as above
    from sould.agents.mcp.results import Elicited  # noqa: PLC0415 -- as above

    def show(url: str) -> None:
        click.echo(f"Sign in at:\n{visible(url)}", err=True)

    async def nobody(_: object) -> Elicited:
        """Nobody answers a server's questions here."""
        return Elicited("cancel")

    variables = _environment().variables
    stored = _sign_ins()
    unfinished = stored.unfinished(spec.url)
    unfinished.unlink(missing_ok=True)
    oauth = InteractiveOAuth(spec, unfinished, variables, show=show, browser=browser)
    transport = remote_transport(spec, variables, oauth, lambda _: None)
    try:
        async with open_link(transport, lambda: (Path.cwd(),), Handlers(lambda: None, nobody), VERSION) as link:
            await link.definitions()
        return "" if stored.finish(spec.url) else "The server did not ask for a sign-in."
    except Exception as error:  # noqa: BLE001 -- the library raises anything; the user is told one sentence
        return f"The sign-in failed: {str(error)[:300] or type(error).__name__}"
    finally:
        unfinished.unlink(missing_ok=True)
