"""Which MCP servers a session has, and whether a project's may start.

Servers are read from `mcp.json` files and from what the editor says, and merged by name. One bad entry costs that entry and
a sentence, never the others. Nothing is started or connected here, and no file of a project that is not trusted is read.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, cast

import orjson
from msgspec import Struct
from msgspec.structs import asdict
from pydantic import AliasChoices, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from sould.agents.base.file_ownership import why_not_own
from sould.agents.base.parsed import Parsed
from sould.agents.base.regularfile import read_beginning
from sould.agents.base.text import fault, last_words
from sould.agents.llm.provider_errors import Redactor
from sould.agents.permissions.projectfiles import MCP_FILES, served_files
from sould.agents.permissions.trust import TrustStore
from sould.agents.soul.session_request import McpServer, Transport

MayStart: TypeAlias = Callable[[], str]
"""Why one of a server's sessions may not start it now, in a sentence; "" when it may. Blocks."""
Source: TypeAlias = Literal["user", "project", "editor"]
LARGEST_FILE = 1024 * 1024
_SHORTEST_SECRET = 6
_SECRET = re.compile(r"key|token|secret|passw|auth|credential", re.IGNORECASE)
"""In the name of a variable: it holds one."""
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_TRANSPORTS = {"streamable-http": "http", "streamable_http": "http", "streamableHttp": "http"}


def always() -> str:
    """Of a server that the user named. A `MayStart`."""
    return ""


class ServerSpec(McpServer, frozen=True, kw_only=True):
    """One server, ready to be started: variables are filled in. Times in seconds; None is the configuration's."""

    source: Source
    cwd: str = ""
    start_timeout: float | None = None
    call_timeout: float | None = None
    shared: bool = True
    """Sessions with the same command, arguments, environment, directory and roots use one process."""

    def harmless(self, lines: Sequence[str]) -> str:
        """What it said last: without the secrets it was given, and nothing that moves a cursor."""
        given = [value for name, value in self.env.items() if _SECRET.search(name)]
        given += [word for value in self.headers.values() for word in value.split()]
        secrets = Redactor.of(SecretStr(word) for word in given if len(word) >= _SHORTEST_SECRET)
        return last_words([secrets.line(line) for line in lines])


class LoadedServers(Struct, frozen=True):
    """The servers of one place, and a sentence for each entry that cannot be used."""

    servers: tuple[ServerSpec, ...] = ()
    notices: tuple[str, ...] = ()


class ServerEntry(Parsed):
    """One entry of `mcpServers`, as most programs write it; keys of other programs are ignored. Times in milliseconds."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    type: Annotated[
        Transport | None,
        BeforeValidator(lambda value: _TRANSPORTS.get(value, value) if isinstance(value, str) else value),
    ] = Field(default=None, validation_alias=AliasChoices("type", "transport"))
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    timeout: Annotated[int, Field(ge=1)] | None = None
    start_timeout: Annotated[int, Field(ge=1)] | None = None
    shared: bool = True
    enabled: bool = True
    disabled: bool = False

    @property
    def transport(self) -> Transport:
        """What it says, else what it has."""
        return self.type or ("http" if self.url else "stdio")


def read_entries(path: Path) -> tuple[dict[str, ServerEntry], tuple[str, ...]]:
    """The entries of one file by name, and what is wrong with it. A missing file has none."""
    try:
        text = read_beginning(path, LARGEST_FILE + 1)
    except FileNotFoundError:
        return {}, ()
    except OSError as error:
        return {}, (f"{path}: cannot be read ({error.strerror}).",)
    if len(text) > LARGEST_FILE:
        return {}, (f"{path}: is larger than {LARGEST_FILE // 1024} KiB.",)
    return _read(text, str(path))


def _read(text: str | bytes, path: str) -> tuple[dict[str, ServerEntry], tuple[str, ...]]:
    try:
        document: object = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return {}, (f"{path}: line {error.lineno}: {error.msg}.",)
    servers = cast("dict[str, Any]", document).get("mcpServers") if isinstance(document, dict) else None
    if not isinstance(servers, dict):
        return {}, (f"{path}: has no object `mcpServers`.",)
    return _parsed(path, cast("dict[str, Any]", servers))


def _parsed(path: str, servers: dict[str, Any]) -> tuple[dict[str, ServerEntry], tuple[str, ...]]:
    entries: dict[str, ServerEntry] = {}
    notices: list[str] = []
    for name, raw in servers.items():
        try:
            entry = ServerEntry.model_validate(raw)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in ("mcpServers", name, *first["loc"]))
            notices.append(f"{path}: {where}: {fault(first)}.")
            continue
        problem = _problem(entry)
        if problem:
            notices.append(f"{path}: mcpServers.{name}: {problem}.")
        else:
            entries[name] = entry
    return entries, tuple(notices)


def _problem(entry: ServerEntry) -> str:
    if entry.transport == "stdio":
        return "" if entry.command else "needs `command` or `url`"
    if entry.transport == "acp":
        return "only an editor can serve tools over its own connection"
    return "" if entry.url.startswith(("http://", "https://", "${")) else "needs a `url` that begins with http"


def load_file(path: Path, source: Source, variables: Mapping[str, str]) -> LoadedServers:
    """The servers of a file that are switched on, with `${NAME}` and `${NAME:-else}` filled in from `variables`.

    A user's file that others may change starts nothing; a project's counts as it was trusted.
    """
    if source == "user" and (problem := why_not_own(path)):
        return LoadedServers((), (problem,))
    entries, notices = read_entries(path)
    return _usable(entries, notices, str(path), source, variables)


def load_text(text: str, name: str, variables: Mapping[str, str]) -> LoadedServers:
    """The same of the content of a user's file, which is called `name`."""
    entries, notices = _read(text, name)
    return _usable(entries, notices, name, "user", variables)


def _usable(
    entries: Mapping[str, ServerEntry], notices: Sequence[str], path: str, source: Source, variables: Mapping[str, str]
) -> LoadedServers:
    found: list[ServerSpec] = []
    said = list(notices)
    for name, entry in entries.items():
        if entry.disabled or not entry.enabled:
            continue
        missing: list[str] = []
        spec = _spec(name, entry, source, variables, missing)
        if missing:
            said.append(f"{path}: mcpServers.{name}: the variable {missing[0]} is not set, so it is not started.")
        else:
            found.append(spec)
    return LoadedServers(tuple(found), tuple(said))


def _spec(
    name: str, entry: ServerEntry, source: Source, variables: Mapping[str, str], missing: list[str]
) -> ServerSpec:
    def filled(text: str) -> str:
        def value(match: re.Match[str]) -> str:
            otherwise = cast("str | None", match[2])
            found = variables.get(match[1], otherwise)
            if found is None:
                missing.append(match[1])
            return found or ""

        return _VARIABLE.sub(value, text)

    return ServerSpec(
        name=name,
        transport=entry.transport,
        source=source,
        command=filled(entry.command),
        args=tuple(map(filled, entry.args)),
        env={key: filled(value) for key, value in entry.env.items()},
        cwd=filled(entry.cwd),
        url=filled(entry.url),
        headers={key: filled(value) for key, value in entry.headers.items()},
        start_timeout=entry.start_timeout / 1000 if entry.start_timeout else None,
        call_timeout=entry.timeout / 1000 if entry.timeout else None,
        shared=entry.shared,
    )


def from_editor(servers: Sequence[McpServer]) -> LoadedServers:
    """What the client that opened the session asked for."""
    found: list[ServerSpec] = []
    notices: list[str] = []
    for server in servers:
        if server.problem:
            notices.append(server.problem)
        elif server.transport == "stdio" and not server.command:
            notices.append(f"The editor's MCP server {server.name!r} has no command.")
        elif server.transport in ("http", "sse") and not server.url.startswith(("http://", "https://")):
            notices.append(f"The editor's MCP server {server.name!r} has no URL that begins with http.")
        elif server.transport == "acp" and not (server.server_id and server.carrier):
            notices.append(f"The editor's MCP server {server.name!r} has no `serverId`.")
        else:
            known = isinstance(server, ServerSpec)
            found.append(server if known else ServerSpec(**asdict(server), source="editor"))
    return LoadedServers(tuple(found), tuple(notices))


def merge(*places: LoadedServers) -> LoadedServers:
    """One server a name: a later place wins and keeps the position of the one it replaces."""
    servers = {server.name: server for place in places for server in place.servers}
    return LoadedServers(tuple(servers.values()), tuple(notice for place in places for notice in place.notices))


class TrustedServers:
    """The MCP files of one workspace, and the user's decision about them.

    What counts is their content at that moment, and that of every file of the workspace that they name: one changed byte, and
    nothing is started until the user trusts the workspace anew (D23).
    """

    def __init__(self, trust: TrustStore, workspace: Path) -> None:
        self._trust = trust
        self._workspace = Path(os.path.realpath(workspace))

    @property
    def places(self) -> tuple[Path, ...]:
        """Where the project's files may be."""
        return tuple(self._workspace / name for name in MCP_FILES)

    def files(self) -> tuple[Path, ...]:
        """The project's files that exist."""
        return tuple(path for path in self.places if path.is_file())

    @property
    def undecided(self) -> bool:
        """The user has not said whether they trust the project, and is told what waits for that by others (D1)."""
        return self._trust.state(self._workspace) == "unknown"

    def refusal(self) -> str:
        """Why the project's servers are not started; "" when they may be. Looks into no file of an untrusted project."""
        names = " and ".join(str(path.relative_to(self._workspace)) for path in self.files())
        if not names:
            return ""
        state = self._trust.state(self._workspace)
        if state == "restricted":
            return f"The MCP servers of {names} are not started: you restricted this project."
        if state != "trusted":
            return f"The MCP servers of {names} are not started until you trust this project: run `sould trust`."
        changed = self._trust.changed(self._workspace, (*self.files(), *served_files(self._workspace, MCP_FILES)))
        if not changed:
            return ""
        which = ", ".join(str(self._shown(path)) for path in changed[:5])
        return (
            f"The MCP servers of {names} changed since you trusted this project ({which}), so none of them is started: "
            "review the change, then run `sould trust` again."
        )

    def _shown(self, path: Path) -> Path:
        return path.relative_to(self._workspace) if path.is_relative_to(self._workspace) else path
