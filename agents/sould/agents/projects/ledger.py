"""The review ledger: the `Workspace` every session gets, wrapped round the disk or client one (D18).

Before a text is overwritten it is in the blob store and the intent is on disk, so that whatever happens next, the old
text can be had back and who replaced it is known. The ledger never decides what is kept or rejected.
"""

import asyncio
import contextlib
import os
import stat
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sould.agents.diskfile import digest_of, sweep
from sould.agents.environment import USUAL_UMASK
from sould.agents.filelocks import FileLocks
from sould.agents.patience import run_shielded_in_thread
from sould.agents.projects.blobs import BlobMissingError, BlobStore
from sould.agents.projects.capture import Capture, Change, explained
from sould.agents.projects.journal import Captured, Event, Intent, LedgerFile, Settled, read_events
from sould.agents.projects.nodes import Node, is_file, read_node, replace_node, set_permissions
from sould.agents.projects.secretblobs import SecretJudge
from sould.agents.projects.state import DIRECTORY, UNKEPT, Edit, FileChange, LedgerState
from sould.agents.toolapi.base import ToolCallContext
from sould.agents.workspace import (
    Command,
    Expected,
    FileChangedError,
    JustRead,
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

    def __init__(
        self,
        inner: Workspace,
        store: BlobStore,
        file: LedgerFile,
        session_id: str,
        secrets: SecretJudge | None = None,
        umask: int = USUAL_UMASK,
        locks: FileLocks | None = None,
    ) -> None:
        """`umask`: of what is made where the mode it had is not known, the session's own. `locks`: the daemon's."""
        self.inner = inner
        self._secrets = secrets
        self.umask = umask
        self.capture: Capture | None = None
        """Sees what commands do to files; without it only the tools' own writes are known."""
        self._store = store
        self._file = file
        self._session_id = session_id
        self._locks = locks or FileLocks()
        self._state = LedgerState()
        for event in file.events:
            self._state.apply(event)
        file.events.clear()

    @classmethod
    async def open(
        cls,
        path: Path,
        inner: Workspace,
        store: BlobStore,
        session_id: str,
        secrets: SecretJudge | None = None,
        umask: int = USUAL_UMASK,
        locks: FileLocks | None = None,
    ) -> "Ledger":
        """Open the session's ledger file, made when missing; writes that were under way are settled against the files.

        What `secrets` calls one is kept in memory only.

        Raises:
            OSError: the file cannot be opened, or another process holds it (BlockingIOError).
        """
        ledger = cls(inner, store, await asyncio.to_thread(LedgerFile, path), session_id, secrets, umask, locks)
        for changed, edit in ledger._state.unsettled():
            await asyncio.to_thread(sweep, changed.parent, list(_texts(store, edit)))
            found = await ledger._digest(changed)
            await ledger._judge(edit.n, edit.before, edit.after, found)
        return ledger

    async def copy_from(self, path: Path) -> None:
        """Know the edits of another session's ledger file, too: this session, still new, goes on where that one is.

        Raises:
            OSError: the file cannot be read, or they could not be kept.
        """
        events, _ = read_events(await asyncio.to_thread(path.read_bytes))
        await run_shielded_in_thread(self._file.append, *events, sync=True)
        for event in events:
            self._state.apply(event)

    async def aclose(self) -> None:
        """Close the ledger file; no write may follow."""
        if self.capture is not None:
            await self.capture.aclose()
        await run_shielded_in_thread(self._file.close)

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
        return (await self.content(digest)).decode()

    async def content(self, digest: str) -> bytes:
        """A content named in `changes`, nothing for a directory. Raises BlobMissingError."""
        if digest == DIRECTORY:
            return b""
        if digest == UNKEPT:
            raise BlobMissingError("what it held was not saved: it was too large, or there was no time to")
        try:
            return await asyncio.to_thread(self._store.get, digest)
        except BlobMissingError:
            if self._state.is_secret(digest):
                raise BlobMissingError("it held secrets, so what it was ended with the daemon that kept it") from None
            raise

    @property
    def next_n(self) -> int:
        """The number of the next edit."""
        return self._state.next_n

    async def note(self, changes: Sequence[Change], since: int, turn_id: str, call_id: str) -> list[Path]:
        """Keep changes that were found on disk, but for what the edits from number `since` on explain; what is left.

        Raises:
            OSError: they could not be kept.
        """
        own = self._state.since(since)
        events: list[Captured] = []
        for found in changes:
            for change in explained(found, own.get(found.path, ())):
                event = Captured(
                    n=self._state.next_n + len(events),
                    path=str(change.path),
                    before=change.before,
                    after=change.after,
                    before_mode=change.before_mode,
                    after_mode=change.after_mode,
                    session_id=self._session_id,
                    turn_id=turn_id,
                    call_id=call_id,
                    timestamp=time.time(),
                    shared=change.shared,
                    secret=change.secret,
                )
                events.append(event)
        for event in events:
            self._state.apply(event)
        try:
            if events:
                await run_shielded_in_thread(self._file.append, *events, sync=True)
        except OSError:
            for event in events:
                self._state.apply(Settled(n=event.n, written=False))
            raise
        return [Path(event.path) for event in events]

    # --- whatever a path is ------------------------------------------------------------------------------------------

    async def node(self, path: Path) -> Node | None:
        """What is there, a file's text as the user sees it. Raises WorkspaceError."""
        node = await asyncio.to_thread(read_node, path)
        if not is_file(node):
            return node
        try:
            data = (await self.inner.read_text(path)).text.encode()
        except (NotAFileError, NotTextError):
            return node
        return Node(node.mode if node is not None else None, data)

    async def put(self, path: Path, found: Node | None, wanted: Node | None, turn_id: str, call_id: str) -> None:
        """Put `wanted` where `found` is, as an edit. Raises as `write`; a directory goes only when it is empty."""
        async with self._locks.editing(path):
            await self._settle_earlier(path, found)
            intent = self._intent(path, _digest_of(found), _digest_of(wanted), turn_id, call_id)
            modes = {"before_mode": found and found.mode, "after_mode": wanted and wanted.mode}
            intent = intent.model_copy(update=modes)
            contents = [node.data for node in (found, wanted) if node is not None and node.kind != stat.S_IFDIR]
            await self._announce(path, intent, contents)
            try:
                if is_file(found) and is_file(wanted) and _is_text(found) and _is_text(wanted):
                    await self._put_text(path, found, wanted)
                else:
                    await run_shielded_in_thread(replace_node, path, found, wanted, self.umask)
            except FileChangedError:
                await self._settle(intent.n, written=False)
                raise
            await self._settle(intent.n, written=True)

    async def _put_text(self, path: Path, found: Node | None, wanted: Node | None) -> None:
        """Through the editor, so that its buffer follows."""
        expected = digest_of(found.data) if found is not None else None
        if wanted is None:
            if expected is not None:
                await self.inner.delete(path, expected=expected)
            return
        if found is None or found.data != wanted.data:
            await self.inner.write_text(path, wanted.data.decode(), expected=expected)
        with contextlib.suppress(FileNotFoundError):  # it may be in an editor's buffer only
            await run_shielded_in_thread(set_permissions, path, wanted.permissions)

    async def _settle_earlier(self, path: Path, found: Node | None) -> None:
        for _, edit in self._state.unsettled(path):
            await self._judge(edit.n, edit.before, edit.after, _digest_of(found))

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

    async def known_text(self, path: Path) -> TextFile:
        """As the workspace inside."""
        return await self.inner.known_text(path)

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """Write for no tool call in particular (a command of the user's)."""
        return await self.write(path, text, expected=expected, turn_id="", call_id="")

    async def delete(self, path: Path, *, expected: str) -> None:
        """Delete for no tool call in particular."""
        await self.remove(path, expected=expected, turn_id="", call_id="")

    async def read_bytes(self, path: Path, limit: int) -> bytes:
        """As the workspace inside."""
        return await self.inner.read_bytes(path, limit)

    async def unsaved(self) -> Collection[Path]:
        """As the workspace inside."""
        return await self.inner.unsaved()

    async def run(self, command: Command) -> RunningCommand:
        """As the workspace inside."""
        return await self.inner.run(command)

    async def write(self, path: Path, text: str, *, expected: Expected, turn_id: str, call_id: str) -> TextFile:
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
            written = await self._change(path, text, data, expected, turn_id, call_id)
        return written or TextFile(path, text, digest_of(data))

    async def remove(self, path: Path, *, expected: str, turn_id: str, call_id: str) -> None:
        """Save the text, note the intent, delete the file, note the outcome. Raises as `write`."""
        async with self._locks.editing(path):
            await self._change(path, None, None, expected, turn_id, call_id)

    async def _change(
        self, path: Path, text: str | None, data: bytes | None, expected: Expected, turn_id: str, call_id: str
    ) -> TextFile | None:
        before = await self._before(path, expected)
        digest = before.digest if before is not None else None
        written: TextFile | None = None
        mode, missing = await asyncio.to_thread(_surroundings, path)
        intent = self._intent(path, digest, digest_of(data) if data is not None else None, turn_id, call_id)
        if before is not None:
            intent = intent.model_copy(update={"before_mode": mode, "after_mode": mode if data is not None else None})
        kept = [each for each in (before.text.encode() if before is not None else None, data) if each is not None]
        await self._announce(path, intent, kept)
        try:
            if text is not None:
                written = await self.inner.write_text(path, text, expected=JustRead(before))
            elif digest is not None:
                await self.inner.delete(path, expected=digest)
        except FileChangedError:
            await self._settle(intent.n, written=False)
            raise
        # Any other failure, cancellation included, leaves the edit unsettled: the file will tell which text it holds.
        await self._settle(intent.n, written=True)
        if missing and data is not None:
            made = await asyncio.to_thread(_made, missing)
            with contextlib.suppress(OSError):  # then they stay when the edit is taken back
                await self.note(made, intent.n + 1, turn_id, call_id)
        return written

    def _intent(self, path: Path, before: str | None, after: str | None, turn_id: str, call_id: str) -> Intent:
        return Intent(
            n=self._state.next_n,
            path=str(path),
            before=before,
            after=after,
            session_id=self._session_id,
            turn_id=turn_id,
            call_id=call_id,
            timestamp=time.time(),
        )

    async def _announce(self, path: Path, intent: Intent, contents: Sequence[bytes]) -> None:
        """Save the contents, then the intent; its number is taken at once. Raises WorkspaceError: then nothing may be written."""
        self._state.apply(intent)  # takes the number; what is saved says in which way
        intent = intent.model_copy(update={"secret": await asyncio.to_thread(self._is_secret, path, contents)})
        self._state.apply(intent)
        try:
            await run_shielded_in_thread(self._save, contents, intent)
        except OSError as error:
            self._state.apply(Settled(n=intent.n, written=False))
            raise WorkspaceError(
                f"{path} was not written: its old text could not be saved ({error.strerror or 'the disk refused'})"
            ) from error

    async def _before(self, path: Path, expected: Expected) -> TextFile | None:
        """The text to be replaced; what earlier writes came to is settled by it."""
        found: TextFile | None = None
        if isinstance(expected, JustRead):
            found, expected = expected.file, expected.digest
        else:
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
            return _digest_of(await self.node(path))
        except WorkspaceError:
            return None

    async def _judge(self, n: int, before: str | None, after: str | None, found: str | None) -> None:
        """Settle a write of unknown outcome by what the file holds; a third text settles nothing and the edit stays."""
        if found == after:
            await self._settle(n, written=True)
        elif found == before:
            await self._settle(n, written=False)

    def _is_secret(self, path: Path, contents: Sequence[bytes]) -> bool:
        return self._secrets is not None and any(self._secrets.secret_in(path, data) for data in contents)

    def _save(self, contents: Sequence[bytes], intent: Intent) -> None:
        for data in contents:
            self._store.put(data, secret=intent.secret)
        self._file.append(intent, sync=True)

    async def _settle(self, n: int, *, written: bool) -> None:
        event: Event = Settled(n=n, written=written)
        self._state.apply(event)
        try:
            await run_shielded_in_thread(self._file.append, event, sync=False)
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

    async def known_text(self, path: Path) -> TextFile:
        """As the ledger."""
        return await self.ledger.known_text(path)

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """Write in the name of this call."""
        return await self.ledger.write(path, text, expected=expected, turn_id=self.turn_id, call_id=self.call_id)

    async def delete(self, path: Path, *, expected: str) -> None:
        """Delete in the name of this call."""
        await self.ledger.remove(path, expected=expected, turn_id=self.turn_id, call_id=self.call_id)

    async def read_bytes(self, path: Path, limit: int) -> bytes:
        """As the ledger."""
        return await self.ledger.read_bytes(path, limit)

    async def unsaved(self) -> Collection[Path]:
        """As the ledger."""
        return await self.ledger.unsaved()

    async def run(self, command: Command) -> RunningCommand:
        """As the ledger; what it does to files is this call's, also after the call has ended."""
        capture = self.ledger.capture
        if capture is None:
            return await self.ledger.run(command)
        return await capture.running(self.call_id, self.turn_id, lambda: self.ledger.run(command))


def _digest_of(node: Node | None) -> str | None:
    if node is None:
        return None
    return DIRECTORY if node.kind == stat.S_IFDIR else digest_of(node.data)


def _is_text(node: Node | None) -> bool:
    if node is None:
        return True
    try:
        node.data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in node.data


def _surroundings(path: Path) -> tuple[int | None, list[Path]]:
    """The mode of what is there, and the directories above it that are missing, the uppermost first."""
    try:
        return os.lstat(path).st_mode, []
    except OSError:
        missing = [parent for parent in path.parents if not os.path.lexists(parent)]
        return None, missing[::-1]


def _made(directories: Sequence[Path]) -> list[Change]:
    return [Change(at, None, DIRECTORY, None, os.lstat(at).st_mode) for at in directories if at.is_dir()]


def _texts(store: BlobStore, edit: Edit) -> Iterator[bytes]:
    """What the edit replaced and what it wrote, as far as it was saved."""
    for digest in (edit.before, edit.after):
        if digest not in (None, DIRECTORY, UNKEPT):
            with contextlib.suppress(BlobMissingError):
                yield store.get(digest)
