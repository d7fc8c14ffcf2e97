"""The MCP servers of one session: which it has, what state they are in, and the tools they bring.

Says everything through the session's log and never makes anybody wait: a server that fails is reported once and its
tools are gone until it is back.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from sould.agents.base.filestamp import FileStamp, file_stamp
from sould.agents.base.tasks import in_time
from sould.agents.journal.log import SessionLog
from sould.agents.mcp.asking import Sampler, ask_user
from sould.agents.mcp.naming import may_be_of
from sould.agents.mcp.pool import McpPool
from sould.agents.mcp.results import Elicitation, Elicited, PromptDefinition, Sampled, Sampling
from sould.agents.mcp.server import Server, ServerPlace
from sould.agents.mcp.specs import (
    LoadedServers,
    MayStart,
    ServerSpec,
    TrustedServers,
    always,
    from_editor,
    load_file,
    merge,
)
from sould.agents.mcp.tools import NAME as RESOURCES
from sould.agents.mcp.tools import McpTool, ReadMcpResource, mentioned, read_mentioned
from sould.agents.permissions.approval import Approval
from sould.agents.soul.session_request import McpServer, SessionRequest
from sould.agents.toolapi.base import Tool
from sould.agents.wire.content import UserInput
from sould.agents.wire.messages import (
    ContextNote,
    MCPLoadingBegin,
    MCPLoadingEnd,
    McpServerStatus,
    McpStatus,
    SessionChanged,
    StatusUpdate,
    ToolReturn,
)
from sould.agents.wire.notice import notice

_Version: TypeAlias = tuple[Path, FileStamp]
"""A file as the disk has it."""
_Read: TypeAlias = tuple[str, tuple[_Version, ...]]
"""Why the project's files were not read, and those that were."""


class Files(Struct, frozen=True):
    """Where servers are configured: the user's files, and the project's with the user's decision about them."""

    user: tuple[Path, ...]
    project: TrustedServers

    @property
    def places(self) -> tuple[Path, ...]:
        """All of them, those that are not there, too."""
        return (*self.user, *self.project.places)


class SessionServers:
    """`start` when the session begins to serve, `aclose` when it ends. A `ToolSource`."""

    def __init__(
        self,
        pool: McpPool,
        files: Files,
        log: SessionLog,
        approval: Approval,
        variables: Mapping[str, str],
        opening: SessionRequest,
        sampler: Sampler,
    ) -> None:
        self._pool = pool
        self._files = files
        self._log = log
        self._approval = approval
        self._variables = variables
        self._asked = {_offer(server): server for server in opening.mcp_servers}
        self._cwd = opening.cwd
        self._umask = opening.umask
        self._roots = (opening.cwd, *opening.additional)
        self._sampler = sampler
        self._can_ask = "questions" in opening.capabilities
        self._servers: dict[str, Server] = {}
        self._tools: dict[str, Tool[Any]] = {}
        self._seen: dict[str, McpTool] = {}
        self._read: _Read | None = None
        self.of_project = False
        """The project brings some, whose files are judged before every turn."""
        self._said: set[str] = set()
        self._reported: set[str] = set()
        self._loading = False
        self._status: tuple[McpStatus, Mapping[str, Tool[Any]]] | None = None
        self._prompts: dict[str, tuple[PromptDefinition, ...]] = {}
        self._patience = 0.0
        self._open = False

    # --- life -------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to connect to everything that is configured; returns at once."""
        self._open = True
        self._wait_again()
        self._renew()

    def _wait_again(self) -> None:
        """A turn that begins now gives servers a moment."""
        self._patience = time.monotonic() + self._pool.limits.turn_wait_ms / 1000

    async def refresh(self, *, wait: bool = True) -> None:
        """Before a turn: follow changed files, and give servers that are only just starting a moment, unless told not to `wait`."""
        if not self._open:
            return
        self._renew()
        if wait:
            await self.wait()

    async def wait(self) -> None:
        """Give servers that are only just starting a moment, and name those that need longer."""
        if all(server.attempted.is_set() for server in self._servers.values()):
            return
        await in_time(max(0.0, self._patience - time.monotonic()), self._all_attempted())
        for name, server in self._servers.items():
            if not server.attempted.is_set():
                self._tell(f"Server {name} is still starting; its tools come when it is ready.", "info")

    def follow(self) -> None:
        """Between turns: follow changed files now."""
        if self._open:
            self._renew()

    async def _all_attempted(self) -> None:
        for server in list(self._servers.values()):
            await server.attempted.wait()

    def add(self, servers: Sequence[McpServer]) -> None:
        """A further client brings servers; those whose name is known stay as they are.

        But those that a client serves itself: it may offer them anew.
        """
        known = {server.name for server in self._asked.values() if not server.problem}
        new = {
            _offer(each): each for each in servers if each.problem or each.carrier is not None or each.name not in known
        }
        if new and self._open:
            self._asked |= new
            self._again()

    def left(self, client_id: str) -> None:
        """A client is gone, and the servers it served itself with it."""
        gone = [key for key in self._asked if key[1] == client_id]
        for key in gone:
            del self._asked[key]
        if gone and self._open:
            self._again()

    def work_in(self, directories: Iterable[Path]) -> None:
        """The session works in these besides its own directory: its servers get them as roots (D36)."""
        self._roots = (self._cwd, *directories)
        if not self._open:
            return
        for name, server in self._servers.items():
            moved = self._pool.move(server, self._place, self._may_start(server.spec))
            if moved is not server:
                server.listeners.discard(self._changed)
                moved.listeners.add(self._changed)
                self._servers[name] = moved
        self._wait_again()
        self._changed()

    def miss(self, names: Iterable[str]) -> None:
        """A client brought these before sould was killed, and nobody has written down what they are: tell its user."""
        have = {server.name for server in self._asked.values()}
        missing = [name for name in names if name not in have]
        if missing:
            which = f"server{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
            gone = (
                f"Since sould was stopped, the MCP {which} of your editor {'are' if len(missing) > 1 else 'is'} missing"
            )
            self._tell(f"{gone}: open the session again there.", "warning", again=True)

    def _again(self) -> None:
        self._read = None
        self._renew()

    async def aclose(self) -> None:
        """Let go of every server; nothing is published any more."""
        self._open = False
        for server in self._servers.values():
            self._let_go(server)
        self._servers.clear()
        self._tools.clear()

    # --- what they bring ----------------------------------------------------------------------------------------------

    @property
    def tools(self) -> Mapping[str, Tool[Any]]:
        """The tools of the servers that are connected, by the names the model uses; the same object until they change."""
        return self._tools

    async def arrived(self, name: str) -> None:
        """See `ToolSource`."""
        starting = [server.settled() for server in self._named(name) if not server.definitions]
        if name not in self._tools and starting:
            await asyncio.gather(*starting)

    def missing(self, name: str) -> ToolReturn | None:
        """See `ToolSource`."""
        return next((server.not_connected() for server in self._named(name) if server.state != "connected"), None)

    def _named(self, name: str) -> list[Server]:
        """The servers whose tool this may be."""
        return [server for key, server in self._servers.items() if name == RESOURCES or may_be_of(name, key)]

    def server_of(self, tool: str) -> str:
        """A `ServerOf`: also of a tool that is gone, or has not come yet."""
        seen = self._seen.get(tool)
        if seen is not None:
            return seen.server.spec.name
        return max((name for name in self._servers if may_be_of(tool, name)), key=len, default="")

    @property
    def places(self) -> tuple[Path, ...]:
        """The files that say which servers there are, those that are not there, too."""
        return self._files.places

    @property
    def servers(self) -> Mapping[str, Server]:
        """The session's servers by name."""
        return self._servers

    def status_lines(self) -> Iterable[str]:
        """See `StatusSource`."""
        yield f"- MCP servers: {len(self._servers)}"

    async def elicit(self, server: str, question: Elicitation) -> Elicited:
        """Put a server's question to whoever looks at the session."""
        return await ask_user(self._log, server, question)

    async def sample(self, server: str, wanted: Sampling) -> Sampled | str:
        """Let a server use the model, if the user allows it."""
        return await self._sampler.answer(server, wanted)

    async def read_mentions(self, given: UserInput) -> None:
        """Read the resources that a prompt mentions and give them to the model with it."""
        for server, uri in mentioned(given, self._servers) if self._servers else ():
            note, problem = await read_mentioned(server, uri)
            self._log.publish(ContextNote(text=note))
            if problem:
                self._tell(problem, "warning", again=True)

    # --- which servers ------------------------------------------------------------------------------------------------

    def _renew(self) -> None:
        """Take over what the files and the clients say now."""
        refusal = self._files.project.refusal()
        self.of_project = bool(self._files.project.files())
        sources = (*self._files.user, *(() if refusal else self._files.project.files()))
        read = (refusal, tuple((path, file_stamp(path)) for path in sources))
        if refusal and not self._files.project.undecided:
            self._tell(refusal, "warning")
        if read == self._read:
            return
        if self._read is not None:
            self._tell_changed(self._read[1], read[1])
        self._read = read
        wanted = self._load(bool(refusal))
        for sentence in wanted.notices:
            self._tell(sentence, "warning")
        self._take(wanted.servers)

    def _tell_changed(self, before: tuple["_Version", ...], now: tuple["_Version", ...]) -> None:
        changed = [str(path) for path, stamp in now if (path, stamp) not in before]
        if changed:
            self._tell(
                f"Your MCP servers were reloaded, because these changed: {', '.join(changed)}.", "info", again=True
            )

    def _load(self, refused: bool) -> LoadedServers:
        users = [load_file(path, "user", self._variables) for path in self._files.user]
        files = () if refused else self._files.project.files()
        projects = [load_file(path, "project", self._variables) for path in files]
        return merge(*users, *projects, from_editor(_first_of_each_name(self._asked.values())))

    @property
    def _place(self) -> ServerPlace:
        return ServerPlace(self._variables, self._cwd, self._roots, self._umask, sampling=self._can_ask)

    def _take(self, specs: Sequence[ServerSpec]) -> None:
        place = self._place
        before = dict(self._servers)
        self._servers.clear()
        for spec in specs:
            known = before.get(spec.name)
            if known is not None and known.spec == spec:
                self._servers[spec.name] = before.pop(spec.name)
                continue
            server = self._pool.acquire(spec, place, self._may_start(spec))
            server.listeners.add(self._changed)
            self._servers[spec.name] = server
        for server in before.values():
            self._let_go(server, removed=True)
        if self._servers or before:
            self._changed()

    def _let_go(self, server: Server, *, removed: bool = False) -> None:
        server.listeners.discard(self._changed)
        self._pool.release(server, self._may_start(server.spec), removed=removed)

    def _may_start(self, spec: ServerSpec) -> MayStart:
        """A project's server is started as long as it is what the user trusted; all others are the user's own."""
        return self._files.project.refusal if spec.source == "project" else always

    # --- what is said ---------------------------------------------------------------------------------------------------

    def _changed(self) -> None:
        """A server's state or tools changed, or the list of servers did."""
        if not self._open:
            return
        self._collect()
        self._tell_commands()
        for name, server in self._servers.items():
            if server.state == "connected":
                self._reported.discard(name)
                if server.left_out:
                    self._tell(_left_out(name, server.left_out), "info")
            elif server.state in ("failed", "unauthorized") and name not in self._reported:
                self._reported.add(name)
                self._tell(_unavailable(name, server.trouble), "warning", again=True)
        self._publish_status()

    def _tell_commands(self) -> None:
        prompts = {name: server.prompts for name, server in self._servers.items() if server.prompts}
        if prompts != self._prompts:
            self._prompts = prompts
            self._log.publish(SessionChanged(commands=True))

    def _collect(self) -> None:
        tools: dict[str, Tool[Any]] = {}
        for server in self._servers.values():
            for definition in server.definitions:
                tool = McpTool(server, definition, self._approval, self)
                known = self._seen.get(tool.name)
                if known is not None and known.server is server and known.definition == definition:
                    tool = known
                elif known is not None and not (known.definition == definition and known.server.spec == server.spec):
                    self._approval.forget(f"mcp:{tool.name}")  # what was allowed was another tool
                self._seen[tool.name] = tool
                tools.setdefault(tool.name, tool)
        names = tuple(name for name, server in self._servers.items() if server.resources)
        if names:
            known = self._tools.get(RESOURCES)
            if not (isinstance(known, ReadMcpResource) and known.names == names):
                known = ReadMcpResource(names, lambda: self._servers, self._approval)
            tools[RESOURCES] = known
        if list(tools.items()) != list(self._tools.items()):
            self._tools = tools

    def _publish_status(self) -> None:
        servers = tuple(
            McpServerStatus(
                name=name,
                status=server.state,
                tools=tuple(definition.name for definition in server.definitions),
            )
            for name, server in self._servers.items()
        )
        status = McpStatus(
            loading=any(not server.attempted.is_set() for server in self._servers.values()),
            connected=sum(server.state == "connected" for server in self._servers.values()),
            total=len(servers),
            tools=sum(isinstance(tool, McpTool) for tool in self._tools.values()),
            servers=servers,
        )
        if (status, self._tools) == self._status:
            return
        self._status = (status, self._tools)
        if status.loading and not self._loading:
            self._log.publish(MCPLoadingBegin())
        self._log.publish(StatusUpdate(mcp_status=status))
        if self._loading and not status.loading:
            self._log.publish(MCPLoadingEnd())
        self._loading = status.loading

    def _tell(self, sentence: str, severity: str, *, again: bool = False) -> None:
        if sentence in self._said and not again:
            return
        self._said.add(sentence)
        said = notice("mcp", "MCP", sentence, severity=severity)
        self._log.publish(said.model_copy(update={"category": "mcp", "source_kind": "mcp"}))


def _offer(server: McpServer) -> tuple[str, str]:
    """The server's name, and the client that serves it itself, if one does, or what is wrong with it."""
    return server.name, server.carrier.id if server.carrier is not None else server.problem


def _first_of_each_name(servers: Iterable[McpServer]) -> tuple[McpServer, ...]:
    """Those that cannot be used take no name."""
    found: dict[tuple[str, str], McpServer] = {}
    for server in servers:
        found.setdefault((server.name, server.problem), server)
    return tuple(found.values())


def _left_out(name: str, tools: Sequence[str]) -> str:
    """One plain sentence about tools that cannot be called."""
    return f"Server {name} runs these tools only as tasks, which sould does not start, so they are left out: {', '.join(tools)}."


def _unavailable(name: str, trouble: str) -> str:
    """One plain sentence of what is wrong with a server, below the title "MCP"."""
    if trouble.startswith("It "):
        return f"Server {name} {trouble.removeprefix('It ')}"
    return f"Server {name} is not available. {trouble}"
