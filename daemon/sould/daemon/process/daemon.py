"""The daemon as one object: socket, frontends, sessions and life, wired together; how it ends and how it hands over.

`run` is readable from top to bottom: serve until the lifecycle says leave, then leave in the way it says.
"""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable
from functools import partial

from sould.acp.server.server import serve_acp
from sould.agents.base.importing import load, load_here
from sould.agents.base.rpc.framing import ByteStream
from sould.agents.base.tasks import no_longer
from sould.agents.clients.connections import ConnectionServices
from sould.daemon.activation import notify
from sould.daemon.fdstream import Released
from sould.daemon.hello import PROTOCOL, VERSION
from sould.daemon.launch import inherited
from sould.daemon.limits import Limits
from sould.daemon.partial_lines import FrameTail, LineTail
from sould.daemon.paths import Paths
from sould.daemon.process.connection_host import serve_connection
from sould.daemon.process.handover import HandedConnection, HandoverState, give, hand_over
from sould.daemon.process.handshake import RefusedHelloError
from sould.daemon.process.lifecycle import Exit, Lifecycle, describe_clients
from sould.daemon.process.records import sweep_records
from sould.daemon.process.server import Connection, Server
from sould.daemon.process.sessions import Build, Sessions, StoredAccounts

_log = logging.getLogger(__name__)

SETTLE = 0.5
METHODS = "sould.daemon.process.daemon_methods"
LSP = "sould.editors.lsp.server"
WIRE = "sould.daemon.wire.server"


class Daemon:
    """One per process. `inheritance` says what it starts with, `umask` is that of whoever started the first one."""

    def __init__(self, paths: Paths, limits: Limits, inheritance: HandoverState, umask: int, build: Build) -> None:
        self.paths = paths
        self.limits = limits
        self.started = time.monotonic()
        self.lock = inheritance.lock
        self.sessions = Sessions(paths, umask, build.compose)
        self._command = build.command
        self.lifecycle = Lifecycle(paths, limits, self.sessions, inheritance.lock, activated=inheritance.activated)
        serve = partial(serve_acp, accounts=StoredAccounts(paths, self.sessions))
        acp = partial(serve_connection, paths, self.sessions, serve, LineTail)
        lsp = partial(serve_connection, paths, self.sessions, _serve_lsp, FrameTail)
        wire = partial(serve_connection, paths, self.sessions, _serve_wire, LineTail)
        frontends = {"acp": acp, "lsp": lsp, "control": self._control, "wire": wire}
        self.server = Server(inheritance.listener, frontends, limits, admit=self._admit, changed=self._changed)
        self._inheritance = inheritance
        self._closed = asyncio.Event()
        self._hurry = asyncio.Event()

    def _changed(self) -> None:
        self.lifecycle.changed()

    async def run(self) -> Exit:
        """Serve until it is time to leave; then everything is closed or handed over."""
        self.lifecycle.install_signals(self._hurry.set)
        async with asyncio.TaskGroup() as group:
            group.create_task(self.server.run(), name="server")
            group.create_task(self.sessions.run(self._closed), name="sessions")
            await asyncio.sleep(0)  # the server has its task group then
            for heir in self._inheritance.heirs:
                self._adopt(heir)
            if self._inheritance.giver is None:
                notify("READY=1")
            self._inheritance.accept()
            group.create_task(self._settle_in(), name="settle in")
            attending = group.create_task(self._attend(), name="attention")
            while True:
                reason = await self.lifecycle.watch(self.server)
                _log.info("leaving: %s; clients: %s", reason.value, describe_clients(self._connections))
                if reason is not Exit.RESTART:
                    await self._end(reason)
                    break
                if await self._hand_over():
                    asyncio.get_running_loop().call_later(self.limits.stop, self._give_up)
                    break
                self.lifecycle.stay(self.server)
            self.server.close()
            attending.cancel()
            self._closed.set()
        return reason

    async def _settle_in(self) -> None:
        """What may wait until the first client has its answer."""
        await asyncio.sleep(SETTLE)
        for step in (self._sweep, self._import_methods):
            try:
                await asyncio.to_thread(step)
            except (OSError, ImportError) as error:  # no descriptors, no memory, a disk that fails: clients come first
                _log.warning("not done at the start: %s", error)
        await self.sessions.resume_loops()

    async def _attend(self) -> None:
        """The user is told what waits, once there are sessions."""
        await self.sessions.composed.wait()
        from sould.daemon.process.desktop_notifications import Attention  # noqa: PLC0415 -- sessions are there, and loaded

        built = self.sessions.built
        if built is not None:  # else they have ended again already
            environment = inherited(self.paths.environment)
            await Attention(built.port.inbox, built.config, environment, self.server.last_word).run()

    def _sweep(self) -> None:
        sweep_records(self.paths.runtime)

    def _import_methods(self) -> None:
        """So that it works when our files are gone."""
        load_here(METHODS)

    async def _control(self, connection: Connection) -> int:
        await load(METHODS)
        from sould.daemon.process.daemon_methods import DaemonMethods  # noqa: PLC0415 -- an editor's first answer must not wait for it
        from sould.daemon.process.standing import Standing  # noqa: PLC0415 -- as above

        standing = Standing(self.paths, self.server, self.sessions, self.lifecycle, started=self.started)
        methods = DaemonMethods(self.paths, self.sessions, self.lifecycle, standing)
        return await methods(connection)

    @property
    def _connections(self) -> list[Connection]:
        return list(self.server.connections.values())

    def _adopt(self, heir: HandedConnection) -> None:
        reader, writer = heir.descriptors[:2] if heir.descriptors else (-1, -1)
        inherited = Released(reader, writer, heir.unread, heir.unwritten)
        self.server.adopt(
            Connection(
                self.server.next_id(),
                heir.sock,
                heir.hello,
                heir.descriptors,
                inherited=inherited,
                handed=heir.private,
            )
        )

    # --- who may come in ----------------------------------------------------------------------------------------

    def _admit(self, connection: Connection) -> None:
        """Versions: talk when the protocols overlap; make room for a newer client when nothing is lost by it.

        Raises:
            RefusedHelloError: no common protocol, and ours is the newer one; or an agent would be its own user.
        """
        hello = connection.hello
        if connection.of_agent and hello.frontend != "control":
            raise RefusedHelloError(
                "what the agent runs cannot use its sessions or start others, because it would answer for you; "
                "do this in a terminal or an editor of your own"
            )
        low, high = hello.protocol
        ours = f"sould {VERSION} (pid {os.getpid()})"
        turns = self.sessions.running_turns
        if high < PROTOCOL[0]:
            raise RefusedHelloError(
                f"{ours} speaks protocol {PROTOCOL[0]}-{PROTOCOL[1]}, this client {hello.version} speaks {low}-{high}; "
                f"update the client, or stop the daemon with: sould stop"
            )
        if low > PROTOCOL[1]:
            connection.say(
                f"{ours} is older than this client {hello.version}; "
                f"finishing {turns} running turn{'' if turns == 1 else 's'}, then restarting"
            )
            connection.wait_for_newer()
            self.lifecycle.leave(Exit.REPLACED)
        elif hello.frontend != "control" and version_key(hello.version) > version_key(VERSION):
            if turns or hello.reattach:
                connection.say(f"{ours} is older than this client {hello.version}; to replace it run: sould restart")
            else:
                connection.wait_for_newer()
                self.lifecycle.leave(Exit.REPLACED)

    # --- leaving ------------------------------------------------------------------------------------------------

    async def _end(self, reason: Exit) -> None:
        """Close the turns, flush what was said, let the clients go: for good (STOP), or to the next daemon."""
        loop = asyncio.get_running_loop()
        limit = self.lifecycle.stop_limit
        loop.call_later(limit + 0.9, self._give_up)
        self.server.pause()
        if reason is Exit.STOP:
            await self._at_most(limit, self.sessions.stop_turns("daemon stopping"))
        else:
            await self._at_most(limit, self.sessions.stop_turns("daemon replaced"))
        await self._flush()
        for connection in self._connections:
            if reason is Exit.STOP:
                if connection.stream is not None:
                    connection.stream.abandon()
            elif connection.task is not None:
                connection.task.cancel()
        await self._at_most(0.3, self._all_ended())
        for connection in self._connections:
            if connection.task is not None:
                connection.task.cancel()

    async def _flush(self) -> None:
        """Answers that the ended turns gave are on their way: let them leave."""
        await asyncio.sleep(0.01)  # the frontends' tasks write them in the next ticks
        streams = [connection.stream for connection in self._connections if connection.stream is not None]
        if streams:
            await self._at_most(0.3, asyncio.gather(*(stream.drained() for stream in streams)))

    async def _all_ended(self) -> None:
        tasks = [connection.task for connection in self._connections if connection.task is not None]
        if tasks:
            await asyncio.wait(tasks)

    async def _at_most(self, seconds: float, work: Awaitable[object]) -> None:
        """Await `work`, but no longer than this, and hardly at all once a second TERM came."""
        await no_longer(work, seconds, self._hurry)

    def _give_up(self) -> None:
        """Something does not end: the journals are whole at any moment, so leaving now loses nothing acknowledged."""
        _log.error("some tasks did not end in time; leaving without them")
        logging.shutdown()
        os._exit(0)

    async def _hand_over(self) -> bool:
        """Give everything to a new process (D11); False when it did not start, and all goes on here."""
        self.server.pause()
        stopping = self.sessions.stop_turns("daemon restarting", handing_over=True)
        await self._at_most(self.lifecycle.stop_limit, stopping)
        await self._at_most(1.0, self._settled())
        await self._flush()
        connections = [each for each in self._connections if each.hello.frontend != "control"]
        heirs = list(map(hand_over, connections))
        for connection in connections:
            if connection.task is not None:
                connection.task.cancel()
        await self._at_most(1.0, self._ended(connections))
        estate = HandoverState(self.server.listener, self.lock, heirs, activated=self.lifecycle.activated)
        if await give(estate, self.sessions.umask, self._command):
            return True
        _log.error("the new daemon did not start; going on with %s", VERSION)
        for heir in heirs:
            self._adopt(heir)
        return False

    async def _settled(self) -> None:
        while not all(connection.settled for connection in self._connections):  # noqa: ASYNC110 -- no event says so
            await asyncio.sleep(0.01)

    async def _ended(self, connections: list[Connection]) -> None:
        tasks = [connection.task for connection in connections if connection.task is not None]
        if tasks:
            await asyncio.wait(tasks)


async def _serve_lsp(stream: ByteStream, services: ConnectionServices) -> None:
    await load(LSP)
    from sould.editors.lsp.server import serve_lsp  # noqa: PLC0415 -- only where somebody wants it

    await serve_lsp(stream, services)


async def _serve_wire(stream: ByteStream, services: ConnectionServices) -> None:
    await load(WIRE)
    from sould.daemon.wire.server import serve_wire  # noqa: PLC0415 -- only where somebody wants it

    await serve_wire(stream, services)


def version_key(version: str) -> tuple[int, ...]:
    """For comparing: the numbers of a version, up to what is none."""
    numbers: list[int] = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)
