"""One language server's life: started, asked, shown files, and ended when nobody asks, when it has too much memory, or is of no use.

Whatever it does, only the question that it was asked fails. Its process is the guard's, so no end of the daemon leaves it
behind. Nothing here knows what is asked.
"""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from sould.agents.base.liveconfig import LiveConfig
from sould.agents.base.process.guard import ProcessGuard
from sould.agents.base.process.stdio_server import INPUT_CLOSE_GRACE, serving
from sould.agents.base.rpc.connection import Connection, Limits
from sould.agents.base.rpc.errors import ConnectionGoneError, RpcError
from sould.agents.base.rpc.framing import HEADERS
from sould.agents.base.tasks import beside, first_of, in_time, run_shielded_in_thread
from sould.agents.base.text import last_words
from sould.agents.base.workspace import TextFile, WorkspaceError
from sould.agents.files.directories.watching import Watches
from sould.agents.tools.languageservers.documents import ServerMessages, ShownDocuments, ToldProblems, folders
from sould.agents.tools.languageservers.programs import ServerLaunch
from sould.agents.tools.languageservers.shapes import members, text_of
from sould.agents.tools.languageservers.sources import SourceFiles
from sould.agents.tools.languageservers.stream import ProcessStream, footprint

logger = logging.getLogger(__name__)

START: Final = 60.0
"""Seconds until a server has said what it can do."""
FAREWELL: Final = 1.0
PATIENCE: Final = 180.0
"""Seconds without an answer after which one that is asked, and only computes, is of no use."""
IDLE_SHARE: Final = 0.05
"""Of a processor: less, while it is asked, and it waits for something that never comes."""
AT_ONCE: Final = 8
"""Questions; further ones wait."""
MOST_UNREAD: Final = 32 * 1024 * 1024
"""Bytes that a server lets lie."""
_LIMITS: Final = Limits(line=32 * 1024 * 1024, in_flight=256, bad_lines=10, bad_seconds=10.0)
MIB: Final = 1024 * 1024
_CAN: Final[Mapping[str, Any]] = {
    "general": {"positionEncodings": ["utf-32", "utf-16", "utf-8"]},
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "didChangeWatchedFiles": {"dynamicRegistration": False},
        "symbol": {},
        "workspaceEdit": {"documentChanges": True, "failureHandling": "abort"},
        "diagnostics": {"refreshSupport": False},
    },
    "window": {"workDoneProgress": True},
    "textDocument": {
        "synchronization": {"didSave": True},
        "publishDiagnostics": {"versionSupport": True, "relatedInformation": False},
        "diagnostic": {"dynamicRegistration": False, "relatedDocumentSupport": False},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "definition": {"linkSupport": True},
        "declaration": {"linkSupport": True},
        "typeDefinition": {"linkSupport": True},
        "implementation": {"linkSupport": True},
        "references": {},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "rename": {"prepareSupport": False},
    },
}


class Can(Struct, frozen=True):
    """What a server said that it can do."""

    provides: Mapping[str, Any]
    encoding: str = "utf-16"

    def does(self, method: str) -> bool:
        """Whether it answers a request."""
        name = method.removeprefix("textDocument/")
        return bool(self.provides.get("workspaceSymbolProvider" if name == "workspace/symbol" else f"{name}Provider"))


class ServerGoneError(Exception):
    """It cannot be asked; the sentence says why."""


class ServerBusyError(Exception):
    """It has not answered yet, and is at work; it can be asked again."""


class LanguageServer:
    """`run` is its life; everything else is for those who ask it, each within `used`."""

    def __init__(
        self, launch: ServerLaunch, guard: ProcessGuard, config: LiveConfig, watches: Watches, version: str
    ) -> None:
        self.launch = launch
        self.can = Can({})
        self.pid: int | None = None
        self.reason = ""
        """A sentence: why it ended, or never began; "" when it did its work."""
        self.answers = 0
        self.settled = asyncio.Event()
        """It can be asked, or never will be."""
        self.ended = asyncio.Event()
        self.problems = ToldProblems()
        self.documents = ShownDocuments(self.notify, self.problems)
        self.messages = ServerMessages(launch, self.problems, self.stop)
        project = launch.language
        self._sources = SourceFiles(launch.root, tuple(project.ids), project.project_files, watches)
        self._looking = asyncio.Lock()
        self._guard = guard
        self._config = config
        self._version = version
        self._connection: Connection | None = None
        self._stream: ProcessStream | None = None
        self._stopping = asyncio.Event()
        self._last_words = ""
        self._asked = asyncio.Semaphore(AT_ONCE)
        self._uses = 0
        self._used = 0.0
        self._answered = 0.0
        """When it answered last, or was ready."""

    # --- life -------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Start it and keep it, until it ends or nobody needs it."""
        try:
            await self._live()
        except TimeoutError:
            self._because(f"It did not answer within {START:g} s.")
        except WorkspaceError as error:
            self._because(str(error))
        except ConnectionGoneError:
            self._because("It ended before it was ready.")
        except RpcError as error:
            self._because(f"It refused to start: {error.message[:200]}")
        finally:
            self._connection = None
            self.pid = None
            self._stopping.set()
            self.ended.set()
            self.settled.set()
            if self.reason:
                logger.info("language server %s: %s", self.launch.name, self.trouble)
            await run_shielded_in_thread(self._sources.close)

    def stop(self, why: str = "") -> None:
        """Let it end. `why` completes the sentence "It was stopped because …"; "": it is of no more use."""
        if why:
            self._because(f"It was stopped because {why}.")
        self._connection = None
        self._stopping.set()

    @property
    def stopping(self) -> bool:
        """It has ended, or is about to."""
        return self._stopping.is_set()

    @property
    def idle(self) -> bool:
        """Nobody asks it anything just now."""
        return self._uses == 0

    @property
    def used(self) -> float:
        """When it was asked last (monotonic seconds of the loop)."""
        return self._used

    async def _live(self) -> None:
        launch = self.launch
        memory = self._config.now.languageservers.max_memory_mb * MIB
        async with serving(
            self._guard, launch.argv, launch.root, launch.variables, self._complain, memory=memory
        ) as process:
            self.pid = process.pid
            stream = self._stream = ProcessStream(process)
            connection = Connection(stream, self.messages, limits=_LIMITS, dialect=HEADERS)
            async with (
                beside(stream.pump(), f"input of {launch.name}"),
                beside(self._serve(connection, stream), f"output of {launch.name}"),
            ):
                async with asyncio.timeout(START):
                    await first_of(self._introduce(connection), self._stopping.wait())
                if not self.settled.is_set():
                    self._because("It ended before it was ready.")
                    await process.kill()
                    return
                await self._stay()
                if self.reason:
                    await process.kill()  # who is given up gets no time to end by itself
                else:
                    await in_time(FAREWELL, self._farewell(connection))

    async def _serve(self, connection: Connection, stream: ProcessStream) -> None:
        try:
            await connection.serve()
            if not stream.ended:
                self.stop("what it says is not the language server protocol")
            elif self._connection is not None:
                self._because("It ended.")
        finally:
            self._connection = None
            self._stopping.set()

    async def _introduce(self, connection: Connection) -> None:
        launch = self.launch
        await asyncio.to_thread(self._sources.look)
        given = {
            "processId": os.getpid(),
            "clientInfo": {"name": "sould", "version": self._version},
            "rootUri": launch.root.as_uri(),
            "workspaceFolders": folders(launch),
            "capabilities": _CAN,
            "initializationOptions": launch.known.options,
        }
        answer = members(await connection.request("initialize", given))
        provides = members(answer.get("capabilities"))
        self.can = Can(provides, text_of(provides.get("positionEncoding")) or "utf-16")
        connection.notify("initialized", {})
        if launch.known.settings:
            connection.notify("workspace/didChangeConfiguration", {"settings": launch.known.settings})
        self.documents.agree(provides.get("textDocumentSync"))
        self._connection = connection
        self._touch()
        self._answered = self._used
        self.settled.set()

    async def _stay(self) -> None:
        """Until it is to end, has ended, or nobody has asked it anything for long."""
        while not self._stopping.is_set():
            idle = self._config.look().languageservers.idle_stop_s
            left = idle if self._uses else self._used + idle - asyncio.get_running_loop().time()
            if left <= 0:
                self.stop()
                return
            await in_time(left, self._stopping.wait())

    async def _farewell(self, connection: Connection) -> None:
        try:
            await connection.request("shutdown", None)
            connection.notify("exit", {})
            await connection.drained()
        except (ConnectionGoneError, RpcError):
            return

    def _complain(self, lines: Sequence[str]) -> None:
        self._last_words = last_words(lines)

    def _because(self, sentence: str) -> None:
        self.reason = self.reason or sentence

    @property
    def trouble(self) -> str:
        """Why it ended, and what it said last: known when it has `ended`."""
        if not self.reason:
            return "It ended."
        return f"{self.reason} Its last output: {self._last_words}" if self._last_words else self.reason

    def _touch(self) -> None:
        self._used = asyncio.get_running_loop().time()

    # --- what it is asked -------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def use(self) -> AsyncGenerator[None, None]:
        """It is not idle while the block lasts."""
        self._uses += 1
        try:
            yield
        finally:
            self._uses -= 1
            self._touch()

    async def look(self, unsaved: Collection[Path] = ()) -> Sequence[Path]:
        """Tell it which files of the project changed since it was told last.

        `unsaved`: those that an editor holds unsaved now. Returns the files to be shown again, because they are others by now.
        """
        async with self._looking:
            events = await asyncio.to_thread(self._sources.look)
        if events:
            changes = [{"uri": event.path.as_uri(), "type": event.kind} for event in events]
            self.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        return self.documents.outdated({event.path for event in events}, unsaved)

    def newest(self, most: int) -> Sequence[Path]:
        """The project's source files that were changed last, as they were looked at."""
        return self._sources.newest(most)

    def show(self, file: TextFile) -> None:
        """Show it a file as it is now. Raises ServerGoneError."""
        if self._connection is None:
            raise ServerGoneError(self.trouble)
        self.documents.show(file)

    @property
    def memory(self) -> int:
        """Bytes that it has now, with all that it started."""
        return footprint(self.pid).memory if self.pid is not None else 0

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell it something, if it is there."""
        connection, stream = self._connection, self._stream
        if connection is None or stream is None:
            return
        if stream.buffered > MOST_UNREAD:
            self.stop("it does not read what it is sent")
        else:
            connection.notify(method, dict(params))

    async def ask(self, method: str, params: Mapping[str, Any], seconds: float, *, hurry: bool = False) -> Any:
        """Its answer, JSON of any shape. `hurry`: that it takes longer than this says nothing of it.

        Raises:
            RpcError: it refused.
            ServerBusyError: it did not answer in time, but says that it is at work.
            ServerGoneError: it is not there, or hangs; it was stopped then.
        """
        heard, began = self._signs, self._seconds_taken()
        try:
            async with asyncio.timeout(seconds), self._asked:
                connection = self._connection
                if connection is None:
                    raise ServerGoneError(self.trouble)
                answer = await connection.request(method, dict(params))
        except ConnectionGoneError:
            await in_time(2 * INPUT_CLOSE_GRACE, self.ended.wait())  # what it said last is known then
            raise ServerGoneError(self.trouble) from None
        except TimeoutError:
            computed = self._seconds_taken() - began > seconds * IDLE_SHARE
            at_work = hurry or computed or self._signs != heard or bool(self.messages.working)
            if at_work and asyncio.get_running_loop().time() - self._answered < PATIENCE:
                raise ServerBusyError(self.messages.working) from None
            self.stop(f"it did not answer within {seconds:g} s")
            raise ServerGoneError(self.trouble) from None
        self.answers += 1
        self._answered = asyncio.get_running_loop().time()
        return answer

    @property
    def _signs(self) -> tuple[int, int]:
        """Signs of life."""
        return self.messages.heard, self.answers

    def _seconds_taken(self) -> float:
        return footprint(self.pid).seconds if self.pid is not None else 0.0
