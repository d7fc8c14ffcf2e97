"""One editor window as a client: who it is, what it can do, what its user chose. What it has open is `LspClient`'s.

What works with a window is given this. Imports nothing heavy (D9).
"""

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from msgspec import to_builtins
from msgspec.structs import replace

from sould.agents.base.rpc.errors import RpcError
from sould.agents.base.rpc.framing import ByteStream
from sould.agents.clients.connections import ConnectionRecord, ConnectionServices
from sould.agents.clients.frontend.connection import MOST_SIGNED, ClientConnection
from sould.editors.lsp.introduction import MOST_FOLDERS, EditorCapabilities, EditorIntroduction, Json, Settings

if TYPE_CHECKING:
    from sould.editors.lsp.protocol import EditorServer


class CountedStream:
    """A `ByteStream` over another one, counted by messages: the next daemon must complete one that was cut off (D11).

    Each `write` is one message.
    """

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._sizes: deque[int] = deque()
        """Of the messages that may not have left, oldest first."""

    @property
    def buffered(self) -> int:
        """See `ByteStream`."""
        return self._stream.buffered

    @property
    def owed(self) -> int:
        """So many bytes are missing of the message of which the editor has the beginning; 0: it has only whole ones."""
        left = self._stream.buffered
        for size in reversed(self._sizes):
            if left < size:
                return left
            left -= size
        return 0

    async def read(self) -> bytes:
        """See `ByteStream`."""
        return await self._stream.read()

    def write(self, data: bytes) -> None:
        """See `ByteStream`."""
        if not self._stream.buffered:
            self._sizes.clear()
        self._sizes.append(len(data))
        self._stream.write(data)

    async def drained(self) -> None:
        """See `ByteStream`."""
        await self._stream.drained()

    def on_drain(self, callback: Callable[[], None]) -> None:
        """See `ByteStream`."""
        self._stream.on_drain(callback)

    async def aclose(self) -> None:
        """See `ByteStream`."""
        await self._stream.aclose()


NOT_INITIALIZED = -32002


class EditorConnection(ClientConnection):
    """One editor window."""

    def __init__(self, services: ConnectionServices, stream: CountedStream) -> None:
        super().__init__(services)
        self._stream = stream
        self.editor: EditorIntroduction | None = None
        self.leaving = False
        """It said that it will end."""

    def introduce(self, editor: EditorIntroduction, params: Json) -> None:
        """The editor said who it is and what it can do; `params` are its words."""
        self.editor = editor
        self._initialize = params

    def require_initialized(self) -> None:
        """Refuse work before the handshake."""
        if self.editor is None:
            raise RpcError(NOT_INITIALIZED, "The connection is not initialised: send `initialize` first.")

    def choose(self, settings: Settings) -> None:
        """The user chose other settings."""
        if self.editor is not None:
            self.editor = replace(self.editor, settings=settings)
            self._initialize = {**self._initialize, "initializationOptions": to_builtins(settings)}
            self.services.memory.remember()

    def change_folders(self, gone: Collection[str], come: Collection[str]) -> None:
        """The window has other roots."""
        if self.editor is not None:
            folders = dict.fromkeys((*(each for each in self.editor.folders if each not in gone), *come))
            self.editor = replace(self.editor, folders=tuple(folders)[:MOST_FOLDERS])
            named = [{"uri": uri, "name": ""} for uri in self.editor.folders]
            self._initialize = {**self._initialize, "workspaceFolders": named}
            self.services.memory.remember()

    @property
    @abstractmethod
    def lsp(self) -> "EditorServer":
        """What says things to the editor and asks it in the words of the protocol."""

    def announce_end(self) -> None:
        """The editor will end the connection; it asks for nothing any more."""
        self.leaving = True

    async def end(self) -> None:
        """The editor ends the connection."""
        await self._stream.aclose()

    @property
    def hints(self) -> bool:
        """Hunks are told as diagnostics, too."""
        return self.editor is not None and self.editor.settings.hints

    @property
    def can(self) -> EditorCapabilities:
        """What the editor can do; nothing before `initialize`."""
        return self.editor.can if self.editor else EditorCapabilities()

    @property
    def name(self) -> str:
        """What people call this editor."""
        return self._own_name()[:MOST_SIGNED] or "an LSP client"

    def _own_name(self) -> str:
        return self.editor.name if self.editor else ""

    @property
    def speaks_for_user(self) -> bool:
        """See `Client`."""
        return True

    @property
    def chooses_for_project(self) -> bool:
        """See `Client`."""
        return True

    def snapshot(self) -> ConnectionRecord:
        """See `Resumable`."""
        return replace(super().snapshot(), owed=self._stream.owed)
