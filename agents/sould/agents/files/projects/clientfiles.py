"""The files as the user sees them: in the client that has a file open, else in one that cannot say, else on disk (D44).

Tools hold this one object for the session's life; which client stands behind it changes under them.
"""

from collections.abc import Collection
from pathlib import Path

from sould.agents.base.workspace import Expected, TextFile, TextFiles, Workspace
from sould.agents.files.reviewing.buffers import Buffers


class ClientFiles:
    """`TextFiles` that delegate to a client's for each file, or to the disk."""

    def __init__(self, disk: Workspace, buffers: Buffers) -> None:
        self.disk = disk
        """The files without any editor."""
        self._buffers = buffers
        self.attached: dict[str, TextFiles] = {}
        """What clients with buffers read and write through, by client, the newest last."""
        self._asking = ""

    def attach(self, client_id: str, workspace: TextFiles | None) -> None:
        """A client came, with buffers or without."""
        if workspace is not None:
            self.attached[client_id] = workspace

    def detach(self, client_id: str) -> None:
        """A client left; what it was asked for falls back to the disk by its own files (D13)."""
        self.attached.pop(client_id, None)

    def turn_of(self, client_id: str) -> None:
        """The turn that begins now was asked for by this client: it comes first where nobody has the file open."""
        self._asking = client_id

    @property
    def asking(self) -> str:
        """The client that asked for the turn; "" before the first."""
        return self._asking

    def _serving(self, path: Path) -> TextFiles:
        """Of the clients that have it open, also without the session, the one focused last; else who asked for the turn, or the newest."""
        all_holders = self._buffers.holders(path)
        told = (self.attached.get(holder) or self._buffers.workspace(holder) for holder in all_holders)
        holders = [each for each in told if each is not None]
        newest = next(reversed(self.attached.values()), self.disk)
        return holders[0] if holders else self.attached.get(self._asking, newest)

    async def read_text(self, path: Path) -> TextFile:
        """See `TextFiles`."""
        return await self._serving(path).read_text(path)

    async def known_text(self, path: Path) -> TextFile:
        """See `TextFiles`."""
        return await self._serving(path).known_text(path)

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """See `TextFiles`."""
        return await self._serving(path).write_text(path, text, expected=expected)

    async def delete(self, path: Path, *, expected: str) -> None:
        """See `TextFiles`."""
        await self._serving(path).delete(path, expected=expected)

    async def unsaved(self) -> Collection[Path]:
        """See `TextFiles`."""
        return {path for client in self.attached.values() for path in await client.unsaved()} | self._buffers.unsaved()
