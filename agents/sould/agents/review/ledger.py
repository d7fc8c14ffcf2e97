"""The review ledger: the `Workspace` every session gets, wrapped round the disk or client one (D18).

Before a text is overwritten it is in the blob store and the intent is on disk, so that whatever happens next, the old
text can be had back and who replaced it is known. The ledger never decides what is kept or rejected.
"""

import asyncio
import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sould.agents.diskfile import digest_of, sweep
from sould.agents.patience import uninterrupted
from sould.agents.review.blobs import BlobMissingError, BlobStore
from sould.agents.review.journal import Event, Intent, LedgerFile, Settled
from sould.agents.review.state import Edit, FileChange, LedgerState
from sould.agents.tools.base import ToolCallContext
from sould.agents.tools.locks import FileLocks
from sould.agents.workspace import (
    Command,
    FileChangedError,
    NotAFileError,
    NotTextError,
    ResolvedPath,
    RunningCommand,
    TextFile,
    Workspace,
    WorkspaceError,
)


class Ledger:
    """A `Workspace` that remembers what the agent changed. Assign `inner` when the client behind it comes or goes.

    As a service it is a `PerCall`: a tool's writes carry the tool call that made them.
    """

    def __init__(self, inner: Workspace, store: BlobStore, file: LedgerFile, session_id: str) -> None:
        self.inner = inner
        self._store = store
        self._file = file
        self._session_id = session_id
        self._locks = FileLocks()
        self._state = LedgerState()
        for event in file.events:
            self._state.apply(event)
        file.events.clear()

    @classmethod
    async def open(cls, path: Path, inner: Workspace, store: BlobStore, session_id: str) -> "Ledger":
        """Open the session's ledger file, made when missing; writes that were under way are settled against the files.

        Raises:
            OSError: the file cannot be opened, or another process holds it (BlockingIOError).
        """
        ledger = cls(inner, store, await asyncio.to_thread(LedgerFile, path), session_id)
        for changed, edit in ledger._state.unsettled():
            await asyncio.to_thread(sweep, changed.parent, list(_texts(store, edit)))
            found = await ledger._digest(changed)
            await ledger._judge(edit.n, edit.before, edit.after, found)
        return ledger

    async def aclose(self) -> None:
        """Close the ledger file; no write may follow."""
        await uninterrupted(self._file.close)

    # --- what was changed --------------------------------------------------------------------------------------------

    @property
    def changes(self) -> Mapping[Path, FileChange]:
        """The files the agent changed, by resolved path."""
        return self._state.changes

    @property
    def edits(self) -> Mapping[Path, Sequence[Edit]]:
        """Every edit by resolved path, oldest first, taken back or not."""
        return self._state.edits

    async def text(self, digest: str) -> str:
        """A text named in `changes`. Raises BlobMissingError."""
        return (await asyncio.to_thread(self._store.get, digest)).decode()

    # --- the workspace -----------------------------------------------------------------------------------------------

    def for_call(self, call: ToolCallContext) -> "AttributedWorkspace":
        """The workspace as one tool call sees it."""
        return AttributedWorkspace(self, call.turn_id, call.id)

    @property
    def root(self) -> Path:
        """The session's working directory."""
        return self.inner.root

    @property
    def additional(self) -> Sequence[Path]:
        """Further directories that count as inside."""
        return self.inner.additional

    def resolve(self, path: str) -> ResolvedPath:
        """As the workspace inside."""
        return self.inner.resolve(path)

    async def read_text(self, path: Path) -> TextFile:
        """As the workspace inside."""
        return await self.inner.read_text(path)

    async def write_text(self, path: Path, text: str, *, expected: str | None) -> None:
        """Write for no tool call in particular (a command of the user's)."""
        await self.write(path, text, expected=expected, turn_id="", call_id="")

    async def delete(self, path: Path, *, expected: str) -> None:
        """Delete for no tool call in particular."""
        await self.remove(path, expected=expected, turn_id="", call_id="")

    async def read_bytes(self, path: Path, limit: int) -> bytes:
        """As the workspace inside."""
        return await self.inner.read_bytes(path, limit)

    async def unsaved(self) -> Mapping[Path, str]:
        """As the workspace inside."""
        return await self.inner.unsaved()

    async def run(self, command: Command) -> RunningCommand:
        """As the workspace inside."""
        return await self.inner.run(command)

    async def write(self, path: Path, text: str, *, expected: str | None, turn_id: str, call_id: str) -> None:
        """Save the old text, note the intent, write, note the outcome.

        Raises:
            FileChangedError: the file is not what was read; nothing was written.
            WorkspaceError: the old text could not be saved (nothing was written), or the write failed.
        """
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            raise NotTextError(f"the new text of {path} is not valid Unicode (position {error.start})") from None
        async with self._locks.editing(path):
            await self._change(path, text, data, expected, turn_id, call_id)

    async def remove(self, path: Path, *, expected: str, turn_id: str, call_id: str) -> None:
        """Save the text, note the intent, delete the file, note the outcome. Raises as `write`."""
        async with self._locks.editing(path):
            await self._change(path, None, None, expected, turn_id, call_id)

    async def _change(
        self, path: Path, text: str | None, data: bytes | None, expected: str | None, turn_id: str, call_id: str
    ) -> None:
        before = await self._before(path, expected)
        intent = Intent(
            n=self._state.next_n,
            path=str(path),
            before=expected,
            after=digest_of(data) if data is not None else None,
            session_id=self._session_id,
            turn_id=turn_id,
            call_id=call_id,
            timestamp=time.time(),
        )
        self._state.apply(intent)
        try:
            await uninterrupted(self._save, before, data, intent)
        except OSError as error:
            self._state.apply(Settled(n=intent.n, written=False))
            raise WorkspaceError(
                f"{path} was not written: its old text could not be saved ({error.strerror or 'the disk refused'})"
            ) from error
        try:
            if text is not None:
                await self.inner.write_text(path, text, expected=expected)
            elif expected is not None:
                await self.inner.delete(path, expected=expected)
        except FileChangedError:
            await self._settle(intent.n, written=False)
            raise
        # Any other failure, cancellation included, leaves the edit unsettled: the file will tell which text it holds.
        await self._settle(intent.n, written=True)

    async def _before(self, path: Path, expected: str | None) -> TextFile | None:
        """The text to be replaced; what earlier writes came to is settled by it."""
        found: TextFile | None = None
        if expected is not None or self._state.unsettled(path):
            try:
                found = await self.inner.read_text(path)
            except NotAFileError:
                if expected is not None:
                    raise FileChangedError(f"{path} was deleted since it was read; nothing was written") from None
        digest = found.digest if found is not None else None
        for _, edit in self._state.unsettled(path):
            await self._judge(edit.n, edit.before, edit.after, digest)
        if digest != expected:
            raise FileChangedError(f"{path} changed since it was read; nothing was written")
        return found

    async def _digest(self, path: Path) -> str | None:
        try:
            return (await self.inner.read_text(path)).digest
        except WorkspaceError:
            return None

    async def _judge(self, n: int, before: str | None, after: str | None, found: str | None) -> None:
        """Settle a write of unknown outcome by what the file holds; a third text settles nothing and the edit stays."""
        if found == after:
            await self._settle(n, written=True)
        elif found == before:
            await self._settle(n, written=False)

    def _save(self, before: TextFile | None, data: bytes | None, intent: Intent) -> None:
        if before is not None:
            self._store.put(before.text.encode())
        if data is not None:
            self._store.put(data)
        self._file.append(intent, sync=True)

    async def _settle(self, n: int, *, written: bool) -> None:
        event: Event = Settled(n=n, written=written)
        self._state.apply(event)
        try:
            await uninterrupted(self._file.append, event, sync=False)
        except OSError:
            return  # not needed for the truth: the file itself tells at the next open


@dataclass(frozen=True, slots=True)
class AttributedWorkspace:
    """The ledger as one tool call sees it."""

    ledger: Ledger
    turn_id: str
    call_id: str

    @property
    def root(self) -> Path:
        """The session's working directory."""
        return self.ledger.root

    @property
    def additional(self) -> Sequence[Path]:
        """Further directories that count as inside."""
        return self.ledger.additional

    def resolve(self, path: str) -> ResolvedPath:
        """As the ledger."""
        return self.ledger.resolve(path)

    async def read_text(self, path: Path) -> TextFile:
        """As the ledger."""
        return await self.ledger.read_text(path)

    async def write_text(self, path: Path, text: str, *, expected: str | None) -> None:
        """Write in the name of this call."""
        await self.ledger.write(path, text, expected=expected, turn_id=self.turn_id, call_id=self.call_id)

    async def delete(self, path: Path, *, expected: str) -> None:
        """Delete in the name of this call."""
        await self.ledger.remove(path, expected=expected, turn_id=self.turn_id, call_id=self.call_id)

    async def read_bytes(self, path: Path, limit: int) -> bytes:
        """As the ledger."""
        return await self.ledger.read_bytes(path, limit)

    async def unsaved(self) -> Mapping[Path, str]:
        """As the ledger."""
        return await self.ledger.unsaved()

    async def run(self, command: Command) -> RunningCommand:
        """As the ledger."""
        return await self.ledger.run(command)


def _texts(store: BlobStore, edit: Edit) -> Iterator[bytes]:
    """What the edit replaced and what it wrote, as far as it was saved."""
    for digest in (edit.before, edit.after):
        if digest is not None:
            with contextlib.suppress(BlobMissingError):
                yield store.get(digest)
