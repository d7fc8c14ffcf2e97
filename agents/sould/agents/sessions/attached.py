"""The workspace of whoever is looking: the buffers of the client that asked, else of one that offers any, else the disk.

Tools hold this one object for the session's life; which client stands behind it changes under them.
"""

from collections.abc import Collection, Sequence
from pathlib import Path

from sould.agents.workspace import Command, Expected, ResolvedPath, RunningCommand, TextFile, Workspace


class AttachedWorkspace:
    """A `Workspace` that delegates to the current client's, or to the disk."""

    def __init__(self, disk: Workspace) -> None:
        self._disk = disk
        self._clients: dict[str, Workspace] = {}
        self._asking = ""

    def attach(self, client_id: str, workspace: Workspace | None) -> None:
        """A client came, with buffers or without."""
        if workspace is not None:
            self._clients[client_id] = workspace

    def detach(self, client_id: str) -> None:
        """A client left; what it was asked for falls back to the disk by its own workspace (D13)."""
        self._clients.pop(client_id, None)

    def turn_of(self, client_id: str) -> None:
        """The turn that begins now was asked for by this client: its buffers come first."""
        self._asking = client_id

    @property
    def _current(self) -> Workspace:
        newest = next(reversed(self._clients.values()), self._disk)
        return self._clients.get(self._asking, newest)

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
        return await self._current.read_text(path)

    async def known_text(self, path: Path) -> TextFile:
        """See `Workspace`."""
        return await self._current.known_text(path)

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """See `Workspace`."""
        return await self._current.write_text(path, text, expected=expected)

    async def delete(self, path: Path, *, expected: str) -> None:
        """See `Workspace`."""
        await self._current.delete(path, expected=expected)

    async def read_bytes(self, path: Path, limit: int) -> bytes:
        """See `Workspace`."""
        return await self._disk.read_bytes(path, limit)

    async def unsaved(self) -> Collection[Path]:
        """See `Workspace`."""
        return await self._current.unsaved()

    async def run(self, command: Command) -> RunningCommand:
        """See `Workspace`; commands never go through an editor (D13)."""
        return await self._disk.run(command)
