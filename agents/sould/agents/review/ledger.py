"""The review ledger: the `Workspace` every session gets, wrapped round the disk or client one (D18)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sould.agents.review.blobs import BlobStore
from sould.agents.tools.base import ToolCallContext
from sould.agents.workspace import Command, ResolvedPath, RunningCommand, TextFile, Workspace


@dataclass(frozen=True, slots=True)
class Edit:
    """One write: texts by digest; `before` is None for a file that did not exist."""

    before: str | None
    after: str
    turn_id: str
    call_id: str
    timestamp: float


@dataclass(frozen=True, slots=True)
class FileChange:
    """What the agent did to one file since its text was last accepted. `base` None: the agent made the file."""

    path: Path
    base: str | None
    current: str
    edits: tuple[Edit, ...]


class Ledger:
    """A `Workspace` that saves each text before it is overwritten. Assign `inner` when the client behind it changes."""

    inner: Workspace

    @classmethod
    async def open(cls, path: Path, inner: Workspace, store: BlobStore, session_id: str) -> "Ledger":
        """Open the session's ledger file, made when missing; a write that was under way is settled against the disk."""
        raise NotImplementedError(path, inner, store, session_id)

    def for_call(self, call: ToolCallContext) -> Workspace:
        """The workspace as one tool call sees it: its writes are attributed to it."""
        raise NotImplementedError(call)

    @property
    def changes(self) -> Mapping[Path, FileChange]:
        """The changed files, by resolved path."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """Close the ledger file."""

    @property
    def root(self) -> Path:
        return self.inner.root

    @property
    def additional(self) -> Sequence[Path]:
        return self.inner.additional

    def resolve(self, path: str) -> ResolvedPath:
        return self.inner.resolve(path)

    async def read_text(self, path: Path) -> TextFile:
        return await self.inner.read_text(path)

    async def write_text(self, path: Path, text: str, *, expected: str | None) -> None:
        raise NotImplementedError(path, text, expected)

    async def read_bytes(self, path: Path, limit: int) -> bytes:
        return await self.inner.read_bytes(path, limit)

    async def unsaved(self) -> Mapping[Path, str]:
        return await self.inner.unsaved()

    async def run(self, command: Command) -> RunningCommand:
        return await self.inner.run(command)
