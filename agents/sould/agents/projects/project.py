"""One project of the daemon: who changed which of its files, in which order, and what they held before (D39).

It opens with a root and the state directory alone: no model, no session, no client. Sessions write through
`sessionfiles`, which saves the old text and announces every write here before it begins.
"""

import asyncio
import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from sould.agents.diskfile import sweep
from sould.agents.errors import ProjectOpenElsewhereError
from sould.agents.patience import run_shielded_in_thread
from sould.agents.privatefile import write_private
from sould.agents.projects.blobs import BlobMissingError, BlobStore
from sould.agents.projects.editlog import Captured, EditLogFile, Event, Inherited, Intent, Rooted, Settled
from sould.agents.projects.moments import moment
from sould.agents.projects.nodes import digest_of_node, read_node
from sould.agents.projects.refs import DIRECTORY, UNKEPT
from sould.agents.projects.state import Edit, EditState
from sould.agents.workspace import WorkspaceError

LOG: Final = "edits.jsonl"
HOLDER: Final = "edits.pid"
"""Beside it: which process had it open last; the lock itself is the kernel's."""


class Project:
    """The edits below one root, numbered in the order they were made. One daemon at a time has it open."""

    def __init__(self, root: Path, file: EditLogFile, store: BlobStore) -> None:
        self.root = root
        self._file = file
        self._store = store
        self._state = EditState(root)
        for event in file.events:
            self._state.apply(event)
        file.events.clear()

    @classmethod
    async def open(cls, directory: Path, root: Path, store: BlobStore) -> "Project":
        """Open the log in `directory`, made when missing; writes that were under way are settled against the disk.

        Raises:
            OSError: it cannot be opened.
            ProjectOpenElsewhereError: another process holds it.
        """
        with contextlib.ExitStack() as undo:
            file = await run_shielded_in_thread(_opened, directory, root, undo)
            project = cls(root, file, store)
            if project._state.written_at != root:
                await project._append(Rooted(n=0, root=str(root)), sync=True)
            await project._settle_found()
            undo.pop_all()
        return project

    async def move_to(self, root: Path) -> None:
        """Its directory is there by now: so are all its files, of earlier edits, too. Raises OSError: it could not be kept."""
        await run_shielded_in_thread(self._file.append, Rooted(n=0, root=str(root)), sync=True)
        self._state.move_to(root)
        self.root = root

    async def aclose(self) -> None:
        """Let go of the log; no write may follow."""
        await run_shielded_in_thread(self._file.close)

    # --- what was changed --------------------------------------------------------------------------------------------

    def edits(self, session_id: str | None = None) -> Mapping[Path, Sequence[Edit]]:
        """The edits of all sessions, or those that one made or inherited, by resolved path, oldest first."""
        return self._state.edits(session_id)

    def edits_since(self, session_id: str, mark: int) -> Mapping[Path, Sequence[Edit]]:
        """The edits that a session has made since `moment` gave the mark."""
        found = (
            (path, [edit for edit in edits if edit.order >= mark]) for path, edits in self.edits(session_id).items()
        )
        return {path: edits for path, edits in found if edits}

    def unsettled(self, path: Path) -> Sequence[Edit]:
        """Edits of a file of which nobody knows yet if they happened."""
        return [edit for at, edit in self._state.unsettled() if at == path]

    async def content(self, digest: str) -> bytes:
        """What a file held, nothing for a directory. Raises BlobMissingError."""
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

    # --- changing, for `sessionfiles` ----------------------------------------------------------------------------------

    async def announce(self, draft: Intent, contents: Sequence[bytes]) -> int:
        """Save the contents, then that the write is about to begin; its number. Raises OSError: then nothing may be written."""
        intent = draft.model_copy(update={"n": self._state.next_n})
        self._state.apply(intent, moment())
        try:
            await run_shielded_in_thread(self._save, contents, intent)
        except OSError:
            self._state.apply(Settled(n=intent.n, written=False))
            raise
        return intent.n

    async def settle(self, n: int, *, written: bool) -> None:
        """The write is in the file, or is not."""
        with contextlib.suppress(OSError):  # not needed for the truth: the file itself tells at the next open
            await self._append(Settled(n=n, written=written), sync=False)

    async def judge(self, path: Path, found: str | None) -> None:
        """Settle earlier writes of unknown outcome by what the file holds; a third text settles nothing."""
        for edit in self.unsettled(path):
            await self._judge(edit, found)

    async def record(self, drafts: Iterable[Captured]) -> None:
        """Keep changes that were found when they had been made. Raises OSError: they could not be kept."""
        first = self._state.next_n
        events = [draft.model_copy(update={"n": first + index}) for index, draft in enumerate(drafts)]
        await self._append_all(events, seen=True)

    async def inherit(self, session_id: str, source: str) -> None:
        """A session goes on where another one is: its edits until now count as this one's, too. Raises OSError."""
        await self._inherit(session_id, self._state.numbers(source))

    async def take_over(self, session_id: str, edits: Sequence[tuple[Intent, bool]]) -> None:
        """Take a session's edits from its own log of earlier versions, once; of each, if it is known to have happened.

        Of a fork, that log held the edits of the session it was forked from, too. Raises OSError.
        """
        events: list[Event] = []
        for n, (event, settled) in enumerate((each for each in edits if self._state.taken(each[0]) is None), 1):
            number = self._state.next_n - 1 + n
            events.append(event.model_copy(update={"n": number, "taken_from": event.n}))
            if settled:
                events.append(Settled(n=number, written=True))
        await self._append_all(events)
        foreign = [event for event, _ in edits if event.session_id != session_id]
        numbers = [n for event in foreign if (n := self._state.taken(event)) is not None]
        await self._inherit(session_id, numbers)
        await self._settle_found()

    async def _inherit(self, session_id: str, numbers: Sequence[int]) -> None:
        if not set(numbers) <= set(self._state.numbers(session_id)):
            event = Inherited(n=self._state.next_n, session_id=session_id, numbers=tuple(numbers))
            await self._append(event, sync=True)

    async def _append(self, event: Event, *, sync: bool) -> None:
        self._state.apply(event)
        await run_shielded_in_thread(self._file.append, event, sync=sync)

    async def _append_all(self, events: Sequence[Event], *, seen: bool = False) -> None:
        """Keep events with numbers of their own, known at once: others number theirs meanwhile. `seen`: they happened now."""
        for event in events:
            self._state.apply(event, moment() if seen else 0)
        try:
            if events:
                await run_shielded_in_thread(self._file.append, *events, sync=True)
        except OSError:
            for event in events:
                self._state.apply(Settled(n=event.n, written=False))
            raise

    def _save(self, contents: Sequence[bytes], intent: Intent) -> None:
        for data in contents:
            self._store.put(data, secret=intent.secret)
        self._file.append(intent, sync=True)

    async def _settle_found(self) -> None:
        for path, edit in self._state.unsettled():
            await asyncio.to_thread(sweep, path.parent, list(_texts(self._store, edit)))
            await self._judge(edit, await asyncio.to_thread(_digest_at, path))

    async def _judge(self, edit: Edit, found: str | None) -> None:
        if found == edit.after:
            await self.settle(edit.n, written=True)
        elif found == edit.before:
            await self.settle(edit.n, written=False)


def _opened(directory: Path, root: Path, undo: contextlib.ExitStack) -> EditLogFile:
    """The open log; `undo` closes it, also when nobody waits for it any more."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    holder = _holder(directory)
    try:
        file = EditLogFile(directory / LOG, holder)
        undo.callback(file.close)
    except BlockingIOError:
        raise ProjectOpenElsewhereError(
            f"The edit log of {root} ({directory / LOG}) is open in pid {holder}; "
            "stop that process, or work in the editor that started it."
        ) from None
    with contextlib.suppress(OSError):  # a full disk must not keep a project from being opened
        write_private(directory / HOLDER, b"%d\n" % os.getpid())
    return file


def _holder(directory: Path) -> str:
    try:
        return (directory / HOLDER).read_text(encoding="ascii", errors="replace").strip() or "unknown"
    except OSError:
        return "unknown"


def _digest_at(path: Path) -> str | None:
    try:
        return digest_of_node(read_node(path))
    except WorkspaceError:
        return None


def _texts(store: BlobStore, edit: Edit) -> Iterator[bytes]:
    """What the edit replaced and what it wrote, as far as it was saved."""
    for digest in (edit.before, edit.after):
        if digest not in (None, DIRECTORY, UNKEPT):
            with contextlib.suppress(BlobMissingError):
                yield store.get(digest)
