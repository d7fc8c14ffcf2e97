"""The files as the user sees them: in the client that has a file open, else in one that cannot say, else on disk (D44).

Tools hold this one object for the session's life; which client stands behind it changes under them.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from sould.agents.base.workspace import Command, Expected, ResolvedPath, RunningCommand, TextFile, Workspace
from sould.agents.files.reviewing.buffers import Buffers


class ClientFiles:
    """A session's `Workspace` that delegates to a client's for each file, or to the disk."""

    def __init__(self, disk: Workspace, buffers: Buffers) -> None:
        self._disk = disk
        self._buffers = buffers
        self._clients: dict[str, Workspace] = {}
        self._asking = ""

    def attach(self, client_id: str, workspace: Workspace | None) -> None:
        """A client came, with buffers or without."""
        if workspace is not None:
            self._clients[client_id] = workspace

    def detach(self, client_id: str) -> None:
        """A client left; what it was asked for falls back to the disk by its own workspace (D13)."""
        self._clients.pop(client_id, None)

    @property
    def attached(self) -> Mapping[str, Workspace]:
        """What clients with buffers read and write through, by client, the newest last."""
        return self._clients

    def turn_of(self, client_id: str) -> None:
        """The turn that begins now was asked for by this client: it comes first where nobody has the file open."""
        self._asking = client_id

    @property
    def asking(self) -> str:
        """The client that asked for the turn; "" before the first."""
        return self._asking

    def _serving(self, path: Path) -> Workspace:
        """Of the clients that have it open, also without the session, the one focused last; else who asked for the turn, or the newest."""
        all_holders = self._buffers.holders(path)
        told = (self._clients.get(holder) or self._buffers.workspace(holder) for holder in all_holders)
        holders = [each for each in told if each is not None]
        newest = next(reversed(self._clients.values()), self._disk)
        return holders[0] if holders else self._clients.get(self._asking, newest)

    @property
    def disk(self) -> Workspace:
        """The files without any editor."""
        return self._disk

    @property
    def root(self) -> Path:
        """See `Workspace`."""
        return self._disk.root

    @property
    def additional(self) -> Sequence[Path]:
        """See `Workspace`."""
        return self._disk.additional

    def resolve(self, path: str) -> ResolvedPath:
        """See `Workspace`."""
        return self._disk.resolve(path)

    async def read_text(self, path: Path) -> TextFile:
        """See `Workspace`."""
        return await self._serving(path).read_text(path)

    async def known_text(self, path: Path) -> TextFile:
        """See `Workspace`."""
        return await self._serving(path).known_text(path)

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """See `Workspace`."""
        return await self._serving(path).write_text(path, text, expected=expected)

    async def delete(self, path: Path, *, expected: str) -> None:
        """See `Workspace`."""
        await self._serving(path).delete(path, expected=expected)

    async def read_bytes(self, path: Path, limit: int) -> bytes:
        """See `Workspace`."""
        return await self._disk.read_bytes(path, limit)

    async def unsaved(self) -> Collection[Path]:
        """See `Workspace`."""
        return {path for client in self._clients.values() for path in await client.unsaved()} | self._buffers.unsaved()

    async def run(self, command: Command) -> RunningCommand:
        """See `Workspace`; commands never go through an editor (D13)."""
        return await self._disk.run(command)
