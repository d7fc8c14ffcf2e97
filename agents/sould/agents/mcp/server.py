"""One MCP server kept up: started, watched, restarted within limits, ended with everything it started.

A server's failure is its own: nothing raised here reaches a turn. Its process belongs to the daemon's guard, so that no
end of the daemon leaves it behind. What fastmcp needs is imported when the first server starts (D9).
"""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from msgspec import Struct

from sould.agents.base.environment import USUAL_UMASK, find_program
from sould.agents.base.liveconfig import LiveConfig
from sould.agents.base.network.failures import causes, why_unreachable
from sould.agents.base.process.guard import CommandStartError, GuardedProcess, ProcessGuard
from sould.agents.base.process.stdio_server import INPUT_CLOSE_GRACE, Restarts, serving
from sould.agents.base.tasks import beside, first_of, in_time
from sould.agents.base.workspace import WorkspaceError
from sould.agents.mcp.inflight import CallsInFlight
from sould.agents.mcp.results import (
    Asking,
    Elicitation,
    Elicited,
    PromptDefinition,
    ResourceDefinition,
    Sampled,
    Sampling,
    ToolDefinition,
)
from sould.agents.mcp.signins import StoredSignIns
from sould.agents.mcp.specs import MayStart, ServerSpec
from sould.agents.toolapi.base import tool_error
from sould.agents.wire.content import ContentPart
from sould.agents.wire.messages import ToolReturn

if TYPE_CHECKING:
    from fastmcp.client.transports import ClientTransport

    from sould.agents.mcp.link import Link

logger = logging.getLogger(__name__)

State: TypeAlias = Literal["pending", "connecting", "connected", "failed", "unauthorized"]

T = TypeVar("T")

LIST_AGAIN = 0.2
"""Seconds between two listings of what a server offers."""
BEGINNING = 100
"""Characters shown of output that is no MCP."""
LISTING = 1
"""Seconds that somebody who looks at a server waits for lists that it said to have changed."""


class ServerPlace(Struct, frozen=True):
    """Where a server runs: the environment, the directory and the roots of the sessions it serves."""

    variables: Mapping[str, str]
    cwd: Path
    roots: tuple[Path, ...]
    umask: int = USUAL_UMASK
    sampling: bool = False
    """Somebody can be asked whether the server may use the model, so it is told that it may ask."""


class UnavailableError(Exception):
    """A server's prompt or resource cannot be had; the sentence is for the user."""


class _Ending(Struct, frozen=True):
    """How an attempt to connect ended, and whether there was a connection before that."""

    connected: bool
    state: State
    trouble: str


MOST_PATIENCE = 4
"""How many times as long as configured a server may take to start that was too slow before."""

ServerListener: TypeAlias = Callable[[], None]
"""Told that a server's state or its tools are others now. Must not block."""


class Server:
    """`run` owns the connection; everything else only looks at it or calls through it."""

    def __init__(
        self,
        spec: ServerSpec,
        place: ServerPlace,
        guard: ProcessGuard,
        config: LiveConfig,
        sign_ins: StoredSignIns,
        version: str,
    ) -> None:
        self.spec = spec
        self.place = place
        self.state: State = "pending"
        self.trouble = ""
        """One sentence: why it is not connected."""
        self.definitions: tuple[ToolDefinition, ...] = ()
        self.left_out: tuple[str, ...] = ()
        """Tools that it runs as tasks only."""
        self.prompts: tuple[PromptDefinition, ...] = ()
        self.resources: tuple[ResourceDefinition, ...] = ()
        self.pid: int | None = None
        self.attempted = asyncio.Event()
        """The first attempt to connect has ended, well or badly."""
        self.users: list[MayStart] = []
        """Asked at every start, the automatic ones too: it is started only for a session that may start it then."""
        self.listeners: set[ServerListener] = set()
        """Told after every change of state or tools."""
        self._guard = guard
        self._config = config
        self._sign_ins = sign_ins
        self._version = version
        self._link: Link | None = None
        self._ended = asyncio.Event()
        self._relist = asyncio.Event()
        self._listed = asyncio.Event()
        """What it offers was asked for after the last change of it that was heard of."""
        self._listed.set()
        self._wanted = asyncio.Event()
        self._calls = CallsInFlight()
        self._restarts = Restarts()
        self._start_factor = 1
        """How many times as long as configured it may take to start: one that installs itself first would never end."""
        self._last_words = ""
        self._status = 0
        """Of the last HTTP response."""
        self._up = asyncio.Event()
        self._down = asyncio.Event()
        self._settled = asyncio.Event()
        """It is connected or is not, and nobody is at work on that."""

    async def run(self) -> None:
        """Connect, and again after every end, until cancelled."""
        failures = 0
        while True:
            self._restarts.began()
            self._wanted.clear()
            self._change("connecting", self.trouble)
            ending = await self._attempt()
            self._down.set()
            failures = 1 if ending.connected else failures + 1
            wait = self._wait(ending.state, failures)
            if ending.connected and wait is not None:  # back in a moment: its tools stay, and calls wait for it
                self._change("connecting", ending.trouble)
            else:
                self._forget()
                given_up = "" if wait is not None else " It is not started again until another session asks for it."
                self._change(ending.state, ending.trouble + given_up)
            await in_time(wait, self._wanted.wait())

    def want(self) -> None:
        """Somebody new uses this server: one that was given up is tried again."""
        if self.state in ("failed", "unauthorized"):
            self._restarts.forget()
            self._wanted.set()

    def move(self, place: ServerPlace) -> None:
        """Its sessions work in other directories now: a server that asked for them is told, and lists its tools again."""
        self.place = place
        self._list_again()

    async def listed(self) -> None:
        """Return once what it offers is as it last said, or after `LISTING` seconds: it may be busy."""
        await in_time(LISTING, self._listed.wait())

    def _list_again(self) -> None:
        self._listed.clear()
        self._relist.set()

    async def call(
        self, tool: str, arguments: Mapping[str, Any], asking: Asking, stream: Callable[[str], None]
    ) -> ToolReturn:
        """Call a tool. Whatever goes wrong is an error for the model; only cancellation is raised."""
        link = await self._connected()
        if link is None:
            return self.not_connected()
        limits = self._config.now.mcp.client
        seconds = self.spec.call_timeout or limits.tool_call_timeout_ms / 1000
        try:
            async with self._calls.call(asking, seconds):
                return await link.call(tool, arguments, limit=limits.output_chars, stream=stream)
        except TimeoutError:
            return tool_error(
                f"The MCP server {self.spec.name} did not answer within {seconds:g} s. It was asked to stop; it may "
                "or may not have done what was asked.",
                brief="No answer in time",
            )
        except Exception as error:  # noqa: BLE001 -- a tool call: whatever a server or the library does is its result
            return await self._failed_call(error)

    def not_connected(self) -> ToolReturn:
        """The error for a call that it cannot be given, with its trouble."""
        trouble = self.trouble or ("It is still starting." if not self._settled.is_set() else "")
        return tool_error(
            f"The MCP server {self.spec.name} is not connected, so nothing was run. {trouble} "
            "Go on without it or tell the user.",
            brief=f"{self.spec.name} is not connected",
        )

    async def settled(self) -> None:
        """Return when it is connected or has failed, at most the time that it has to start."""
        await in_time(self._start_seconds, self._settled.wait())

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """The text of one of its prompts, at most as long as a call's result.

        Raises:
            UnavailableError: there is none; the sentence says why.
        """
        text = await self._fetch("prompt", lambda link: link.prompt(name, arguments))
        return text[: self._config.now.mcp.client.output_chars]

    async def read(self, uri: str) -> tuple[tuple[ContentPart, ...], str]:
        """A resource's content, at most as long as a call's result, and a sentence when some of it was left out.

        Raises:
            UnavailableError: there is none; the sentence says why.
        """
        return await self._fetch("resource", lambda link: link.read(uri, self._config.now.mcp.client.output_chars))

    async def _fetch(self, what: str, asked: "Callable[[Link], Awaitable[T]]") -> T:
        link = await self._connected()
        if link is None:
            raise UnavailableError(f"The MCP server {self.spec.name} is not connected. {self.trouble}".rstrip())
        seconds = self.spec.call_timeout or self._config.now.mcp.client.tool_call_timeout_ms / 1000
        try:
            async with asyncio.timeout(seconds):
                return await asked(link)
        except TimeoutError:
            raise UnavailableError(f"The MCP server {self.spec.name} did not answer within {seconds:g} s.") from None
        except Exception as error:  # whatever a server or the library does, the user is told one sentence
            logger.info("%s of %s: %r", what, self.spec.name, error)
            raise UnavailableError(f"The MCP server {self.spec.name} gave no {what}: {str(error)[:300]}") from error

    async def _connected(self) -> "Link | None":
        """The connection, waiting for one that is being made."""
        if self._link is None and self.state in ("pending", "connecting"):
            await in_time(self._start_seconds, self._up.wait())
        return self._link

    async def _failed_call(self, error: Exception) -> ToolReturn:
        from sould.agents.mcp.link import ServerError, wants_sign_in  # noqa: PLC0415 -- D9

        if isinstance(error, ServerError):
            return tool_error(f"The MCP server {self.spec.name} refused the call: {error}", brief="Refused")
        logger.info("call to %s: %r", self.spec.name, error)
        self._ended.set()
        await in_time(2 * INPUT_CLOSE_GRACE, self._down.wait())  # what it said last is known when it is down
        why = "it needs a sign-in" if wants_sign_in(error) else "the connection to it ended"
        return tool_error(
            f"The MCP server {self.spec.name} did not answer: {why}. The call may or may not have run. "
            f"{self._last_words}".rstrip(),
            brief=f"{self.spec.name} disconnected",
        )

    @property
    def _start_seconds(self) -> float:
        return self.spec.start_timeout or self._start_factor * self._config.now.mcp.client.start_timeout_ms / 1000

    async def _attempt(self) -> "_Ending":
        """Connect, stay so until the connection ends, and say how it ended."""
        connected = False
        seconds = self._start_seconds
        self._ended.clear()
        self._down.clear()
        try:
            await asyncio.to_thread(_import)
            if refusal := await asyncio.to_thread(self._refusal):
                return _Ending(False, "failed", refusal)
            async with asyncio.timeout(seconds) as limit, self._opened() as link:
                await self._list(link)
                limit.reschedule(None)
                connected = True
                self._start_factor = 1
                self._link = link
                self._up.set()
                self._change("connected", "")
                await self._stay(link)
            state, trouble = "failed", "It ended."
        except TimeoutError:
            self._start_factor = min(2 * self._start_factor, MOST_PATIENCE)
            state, trouble = "failed", f"It did not answer within {seconds:g} s."
        except WorkspaceError as error:
            state, trouble = "failed", str(error)
        except Exception as error:  # noqa: BLE001 -- the library raises anything for a server that misbehaves
            state, trouble = self._understood(error)
        finally:
            self._link = None
            self._up.clear()
            self._listed.set()
        return _Ending(connected, state, f"{trouble} {self._last_words}".strip())

    def _refusal(self) -> str:
        """Why no session that uses it may start it now. Blocks."""
        said = [may_start() for may_start in tuple(self.users)]
        return "" if "" in said else next(iter(said), "No session uses it.")

    async def _list(self, link: "Link") -> None:
        tools = await link.definitions()
        self.definitions = tuple(tool for tool in tools if not tool.as_task)
        self.left_out = tuple(tool.name for tool in tools if tool.as_task)
        self.prompts = await link.prompts()
        self.resources = await link.resources()

    def _forget(self) -> None:
        self.definitions, self.prompts, self.resources = (), (), ()

    async def _stay(self, link: "Link") -> None:
        async with beside(link.hear_of_changes(self._list_again), f"changes of {self.spec.name}"):
            await self._follow(link)

    async def _follow(self, link: "Link") -> None:
        while not self._ended.is_set():
            await first_of(self._ended.wait(), self._relist.wait())
            if self._relist.is_set() and not self._ended.is_set():
                self._relist.clear()
                await link.tell_of_roots()
                await self._list(link)  # without limit: a server that does one thing at a time may be busy with a call
                if not self._relist.is_set():
                    self._listed.set()
                self._tell()
                await in_time(LIST_AGAIN, self._ended.wait())  # one that changes all the time is listed now and then

    @asynccontextmanager
    async def _opened(self) -> "AsyncGenerator[Link, None]":
        from sould.agents.mcp.link import Handlers, open_link  # noqa: PLC0415 -- D9

        sample = self._sample if self.place.sampling else None
        handlers = Handlers(lists_changed=self._list_again, elicit=self._elicit, sample=sample)
        stateless = self.spec.carrier is not None
        async with (
            self._transport() as transport,
            open_link(transport, lambda: self.place.roots, handlers, self._version, stateless=stateless) as link,
        ):
            yield link

    @asynccontextmanager
    async def _transport(self) -> "AsyncGenerator[ClientTransport, None]":
        self._last_words = ""
        self._status = 0
        if self.spec.carrier is not None:
            from sould.agents.mcp.transports import CarriedTransport  # noqa: PLC0415 -- D9

            yield CarriedTransport(self.spec.carrier, self.spec.server_id, self._ended)
            return
        if self.spec.transport != "stdio":
            from sould.agents.mcp.link import remote_transport  # noqa: PLC0415 -- D9

            auth = self._sign_ins.auth(self.spec, self.place.variables)
            yield remote_transport(self.spec, self.place.variables, auth, self._note_status)
            return
        from sould.agents.mcp.transports import ProcessTransport  # noqa: PLC0415 -- D9

        async with self._process() as process:
            transport = ProcessTransport(process, self._ended)
            try:
                yield transport
            finally:
                if transport.reason:
                    self._last_words = f"It was stopped because {transport.reason}."
                elif transport.noise and self._link is None:
                    first = self.spec.harmless([transport.noise[0][:BEGINNING]])
                    self._last_words = f"What it prints is no MCP, and begins: {first} {self._last_words}".rstrip()
                elif transport.noise and not self._last_words:
                    self._complain(transport.noise[-1:])

    @asynccontextmanager
    async def _process(self) -> AsyncGenerator[GuardedProcess, None]:
        """The server's process; its input ends first, then it gets TERM, then KILL, with all its descendants."""
        place, spec = self.place, self.spec
        variables = {**place.variables, **spec.env}
        argv = [self._program(variables.get("PATH", "")), *spec.args]
        running = serving(self._guard, argv, place.cwd / spec.cwd, variables, self._complain, umask=place.umask)
        async with running as process:
            self.pid = process.pid
            try:
                yield process
            finally:
                self.pid = None

    def _program(self, path: str) -> str:
        """The file to run: as it is named, else from the PATH, and there a project's own last. Raises CommandStartError."""
        command = self.spec.command
        if os.sep in command:
            return command
        found = find_program(command, path, self.place.roots) or find_program(command, path)
        if found is None:
            raise CommandStartError(
                f"The command was not started: {command} cannot be run (no directory of its PATH has it)."
            )
        return found

    def _complain(self, lines: Sequence[str]) -> None:
        self._last_words = f"Its last output: {self.spec.harmless(lines)}"

    def _note_status(self, status: int) -> None:
        self._status = status

    def _understood(self, error: Exception) -> tuple[State, str]:
        from sould.agents.mcp.link import wants_sign_in  # noqa: PLC0415 -- D9

        if wants_sign_in(error) or self._status in (401, 403):
            return "unauthorized", f"It needs a sign-in: run `sould mcp auth {self.spec.name}`."
        logger.info("MCP server %s: %r", self.spec.name, error)
        if self._ended.is_set():
            return "failed", "It ended before it was ready."
        if why := why_unreachable(error):
            return "failed", f"It could not be reached: {why}."
        if self._status >= 400:
            return "failed", f"It answered with HTTP {self._status}."
        *_, cause = causes(error)
        return "failed", f"It could not be used: {str(cause)[:300].rstrip('.') or type(cause).__name__}."

    async def _elicit(self, question: Elicitation) -> Elicited:
        answer = await self._calls.ask(lambda session: session.elicit(self.spec.name, question))
        return Elicited("cancel") if answer is None else answer

    async def _sample(self, wanted: Sampling) -> Sampled | str:
        answer = await self._calls.ask(lambda session: session.sample(self.spec.name, wanted))
        if answer is None:
            return (
                "Nobody can be asked: no call is running, or calls of several sessions, or too much is asked already."
            )
        return answer

    # --- state ------------------------------------------------------------------------------------------------------

    def _wait(self, state: State, failures: int) -> float | None:
        """Seconds until the next attempt; None when there were too many."""
        limits = self._config.now.mcp.client
        gone = self.spec.carrier is not None and self.spec.carrier.gone.is_set()
        if gone or state == "unauthorized":
            return None
        first, window = limits.restart_first_wait_s, limits.restart_window_s
        return self._restarts.wait(failures, first=first, most=limits.max_restarts, window=window)

    def _change(self, state: State, trouble: str) -> None:
        self.state = state
        self.trouble = trouble
        if state == "connecting":
            self._settled.clear()
        else:
            self._settled.set()
            self.attempted.set()
        self._tell()

    def _tell(self) -> None:
        for listener in tuple(self.listeners):
            listener()


def _import() -> None:
    for module in ("link", "transports"):
        import_module(f"sould.agents.mcp.{module}")
