"""One project of the daemon: who changed which of its files, in which order, and what they held before (D39).

It opens with a root and the state directory alone: no model, no session, no client. Sessions write through
`sessionfiles`, which saves the old text and announces every write here before it begins.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from sould.agents.base.diskfile import digest_of
from sould.agents.base.tasks import run_shielded_in_thread
from sould.agents.base.workspace import WorkspaceError
from sould.agents.files.directories.nodes import Held, content_of, digest_of_node, held_in, read_node, ref_of
from sould.agents.files.edits.ageing import Aged, Needed, aged
from sould.agents.files.edits.blobs import BlobMissingError, BlobStore
from sould.agents.files.edits.editlog import (
    Captured,
    Checkpoint,
    Decided,
    EditLogFile,
    Event,
    Inherited,
    Intent,
    MadeSure,
    Rooted,
    Settled,
    Told,
    UserChanged,
)
from sould.agents.files.edits.logkeeping import OpenLog, opened
from sould.agents.files.edits.moments import moment
from sould.agents.files.edits.outcomes import mode_held
from sould.agents.files.edits.past import ProjectPast
from sould.agents.files.edits.reviewed import digest_held
from sould.agents.files.edits.snapshot import Snapshot, Snapshots
from sould.agents.files.edits.state import EditState, LoggedEdit
from sould.agents.files.edits.texts import encoded
from sould.agents.files.edits.tornwrites import take_back_decisions, take_back_edit
from sould.agents.files.review.file import TrackedFile
from sould.agents.files.review.useredit import How

SLICE: Final = 0.001
"""Seconds of taking in changes that were found, before everybody else has a turn."""


class Project(ProjectPast):
    """The edits below one root, numbered in the order they were made. One daemon at a time has it open."""

    def __init__(self, root: Path, file: EditLogFile, snapshots: Snapshots, store: BlobStore) -> None:
        """Folds the log: that blocks."""
        found = snapshots.read()
        super().__init__(root, file, store, EditState(root, found.edits if found is not None else None))
        self.log_id = snapshots.directory.name
        if found is not None:
            self.review.restore(found.review)
            self.review.relocate(str(found.root), str(root))
        kept_to = found.size if found is not None else 0
        self._log = OpenLog(file, snapshots, kept_to, self._snapshot)
        self._fold(file.events(kept_to))

    def _fold(self, events: Sequence[tuple[int, Event]]) -> None:
        checkpoint = max((start for start, event in events if isinstance(event, Checkpoint)), default=-1)
        todo = deque(events)
        while todo:
            self._fold_settled(todo)
            if not todo:
                break
            start, event = todo.popleft()
            self._state.apply(event)
            if isinstance(event, Checkpoint):
                self.review.begin_at(event, str(self._state.written_at or self.root), str(self.root))
            elif start < checkpoint:  # for undo: the review begins behind it
                self.review.note_places([self._state.located(event)], [start])
            else:
                self.review.fold(self._state.located(event), start)

    def _fold_settled(self, todo: deque[tuple[int, Event]]) -> None:
        """Take the first events where they are decisions carried out that can be taken at once."""
        for _ in range(self.review.fold_at_once(_settled(todo))):
            start, event = todo.popleft()
            self._state.apply(event)
            self.review.note_places([event], [start])

    @classmethod
    async def open(cls, directory: Path, root: Path, store: BlobStore) -> "Project":
        """Open the log in `directory`, made when missing; writes that were under way are settled against the disk.

        Raises:
            OSError: it cannot be opened.
            ProjectOpenElsewhereError: another process holds it.
        """
        with contextlib.ExitStack() as undo:
            file = await run_shielded_in_thread(opened, directory, root, undo)
            snapshots = Snapshots(directory, file, store)
            project = await run_shielded_in_thread(cls, root, file, snapshots, store)
            if project._state.written_at != root:
                await project.append(Rooted(n=0, root=str(root)), sync=True)
            await project._settle_found()
            await project._settle_decided()
            undo.pop_all()
        return project

    async def move_to(self, root: Path) -> None:
        """Its directory is there by now: so are all its files, of earlier edits, too. Raises OSError: it could not be kept."""
        async with self._log.changing():
            await run_shielded_in_thread(self._file.append, Rooted(n=0, root=str(root)), sync=True)
            self._state.move_to(root)
            self.review.relocate(str(self.root), str(root))
            self.root = root

    async def aclose(self) -> None:
        """Let go of the log; no write may follow."""
        await self._log.aclose()

    # --- ageing ---------------------------------------------------------------------------------------------------------

    async def age(self, sessions: Collection[str], since: float) -> int:
        """Drop what is settled and older than `since`, and what no session that exists can rewind; how many events went.

        0, too, when something is being written just now. Raises OSError: the log is as it was.
        """
        needed = Needed(self._state.numbers_needed(sessions), sessions, since)
        return await self._log.alone(lambda: self._age(needed))

    async def _age(self, needed: Needed) -> int:
        result, starts = await run_shielded_in_thread(self._rewritten, needed)
        if starts:
            self._state.keep_only(result.numbers)
            self.review.begin_again(result.review, result.events, starts)
            await self._log.keep()
        return result.gone

    def _rewritten(self, needed: Needed) -> tuple[Aged, Sequence[int]]:
        """The log without what nobody needs, and where its events begin by now; nowhere, when there is nothing to drop."""
        at = EditState(self.root)
        events: list[Event] = []
        for _, event in self._file.events():
            at.apply(event)
            events.append(at.located(event))
        result = aged(events, self.review.state, str(self.root), self._state.next_n, needed)
        return result, self._file.rewrite(result.events) if result.gone else ()

    def _snapshot(self) -> Snapshot:
        return Snapshot(self._file.size, self.root, self._state.kept(), self.review.kept())

    # --- changing, for `sessionfiles` ----------------------------------------------------------------------------------

    async def announce(
        self, draft: Intent, before: bytes | None, after: bytes | None, becomes: TrackedFile | None = None
    ) -> int:
        """Save what is there and what will be, then that the write is about to begin; its number.

        `becomes`: what the review knows of the file once a write that takes edits back is done. The file is held meanwhile.
        Raises OSError: then nothing may be written.
        """
        async with self._log.changing():
            intent = replace(draft, n=self._state.next_n)
            self._state.apply(intent, moment())
            try:
                found = await self.found(intent.path, held_in(before, intent.before_mode), "disk")
                intent = await asyncio.to_thread(self.review.prepared, intent, before, after, becomes)
                self.review.fold(intent)
                whole = encoded(becomes) if becomes is not None and intent.becomes else None
                starts = await run_shielded_in_thread(self._save, intent, (before, after), whole, found)
            except OSError:
                self._apply(Settled(n=intent.n, written=False))
                raise
            self.review.note_places((*found, intent), starts)
        return intent.n

    async def found(self, path: str, held: Held, how: How, left: str = "") -> Sequence[UserChanged]:
        """What somebody who is no agent made of a path under review, where this stands: known from now on, and to be appended.

        `left`: an editor that ended with what it held until now. A file of secrets is not in it, of which nothing may be.
        """
        while True:
            known = self.review.state.files.get(path)
            event = await asyncio.to_thread(self.review.found, path, held, how) if known is not None else None
            if self.review.state.files.get(path) is known:
                break
        if event is None:
            return ()
        event = replace(event, n=self._state.next_n, first_id=self.review.state.next_id, left=left)
        self._apply(event)
        return (event,) if path not in self.review.state.secret else ()

    async def settle(self, n: int, *, written: bool, shown_in: str = "") -> None:
        """The write is in the file, or is not. `shown_in`: see `AgentCall`."""
        with contextlib.suppress(OSError):  # not needed for the truth: the file itself tells at the next open
            event = Settled(n=n, written=written, first_id=self.review.state.next_id, shown_in=shown_in)
            await self.append(event, sync=False)

    async def settle_all(self, numbers: Iterable[int], *, written: bool) -> None:
        """Decisions are carried out, or are not."""
        async with self._log.changing():
            events: list[Settled] = []
            todo = list(numbers)
            while todo:
                settled = partial(Settled, written=written, first_id=self.review.state.next_id)
                count = self.review.fold_at_once(settled(n=n) for n in todo) if written else 0
                taken = [settled(n=n) for n in todo[: count or 1]]
                if not count:
                    self.review.fold(taken[0])
                for each in taken:
                    self._state.apply(each)
                events += taken
                del todo[: len(taken)]
            with contextlib.suppress(OSError):  # the file itself tells at the next open
                await self._write(events, sync=False)

    async def append_numbered(self, drafts: Iterable[Decided]) -> list[Decided]:
        """Keep decisions before they are carried out, with their numbers. Raises OSError: they are not made."""
        async with self._log.changing():
            events: list[Decided] = []
            for draft in drafts:
                events.append(replace(draft, n=self._state.next_n))
                self._apply(events[-1])
            try:
                await self._write(events, sync=True)
            except OSError:
                for event in events:
                    self._apply(Settled(n=event.n, written=False))
                raise
            return events

    async def look(self, path: str, held: Held, how: How, mode: int | None = None, *, left: str = "") -> None:
        """Of a file under review, which nobody else may write now, this is there; `mode`: its permissions, where known.

        `left`: see `found`.
        """
        async with self._log.changing():
            found = await self.found(path, held, how, left)
            modes = self.review.mode_found(path, mode, self._state.next_n)
            for each in modes:
                self._apply(each)
            if found or modes:
                with contextlib.suppress(OSError):  # then it is found again at the next look
                    await self._write((*found, *modes), sync=False)

    async def _look_before(self, found: Iterable[Captured], since: int) -> None:
        """Take what files held when a call began, at the mark, that was found to have changed them: what is new in it is the user's."""
        for each in {
            event.path: event for event in reversed([*found])
        }.values():  # of several, what the first one found
            unsure = each.shared or each.secret or any(edit.order >= since for edit in self.edits_of(Path(each.path)))
            if not unsure and self.review.differs(each.path, each.refs[0]):
                with contextlib.suppress(BlobMissingError):
                    await self.look(each.path, await self._held_before(each), "disk")

    async def _held_before(self, event: Captured) -> Held:
        """What stood there. Raises BlobMissingError."""
        data = await self.content(event.before) if event.before is not None else None
        return held_in(data, event.before_mode)

    async def judge(self, path: Path, found: str | None) -> None:
        """Settle earlier writes of unknown outcome by what the file holds; a third text settles nothing."""
        for edit in self.unsettled(path):
            await self._judge(edit, found)

    async def record_saved(self, draft: Captured, data: bytes) -> None:
        """An editor made this of a write while it saved it, which is the writer's; `draft` has all but what is there now."""
        if digest_of(data) != draft.before:
            with contextlib.suppress(OSError):  # then it is the user's, found at the next look
                after = await run_shielded_in_thread(self._store.put, data, secret=draft.secret)
                await self.record([replace(draft, after=after)])

    async def record(self, drafts: Sequence[Captured], since: int | None = None) -> None:
        """Keep changes that were found when they had been made. `since`: when the call began, None when it made nothing else.

        Raises OSError: they could not be kept.
        """
        drafts = await asyncio.to_thread(self.review.with_links, drafts)
        if since is not None:
            await self._look_before(drafts, since)
        async with self._log.changing():
            found = await self._found_before(drafts)
            first = self._state.next_n
            events = [replace(draft, n=first + index) for index, draft in enumerate(drafts)]
            for event in events:
                self._state.apply(event, moment())
            try:
                events = await self._captured(events)
                await self._write((*found, *events), sync=True)
            except OSError:
                for event in events:
                    self._state.apply(Settled(n=event.n, written=False))
                raise

    async def _found_before(self, drafts: Iterable[Captured]) -> list[UserChanged]:
        """What users had made of files under review before a call changed them: contents that no edit ever left there."""
        found: list[UserChanged] = []
        for draft in drafts:
            if draft.path not in self.review.state.files or draft.before is None:
                continue
            edits = self.edits_of(Path(draft.path))
            if not any(draft.before in (edit.before, edit.after) for edit in edits):
                with contextlib.suppress(BlobMissingError):
                    found += await self.found(draft.path, await self._held_before(draft), "disk")
        return found

    async def _captured(self, events: Sequence[Captured]) -> list[Captured]:
        """The changes as the review takes them, which knows of them from now on."""
        known = dict(self.review.state.files)
        computed = await run_shielded_in_thread(self.review.captured, events)
        sources = {each.moved_from for each in computed}
        folded: list[Captured] = []
        pause = time.monotonic() + SLICE
        for event, found in zip(events, computed, strict=True):
            is_moved = event.path in sources and event.after is None  # with the event of where it is now
            is_known = self.review.state.files.get(event.path) is known.get(event.path)  # else somebody was quicker
            each = found if is_known or is_moved else self.review.captured([event])[0]
            folded.append(replace(each, first_id=self.review.state.next_id) if each.reviewed else each)
            self.review.fold(folded[-1])
            self._state.note_moved(folded[-1])
            if time.monotonic() > pause:
                await asyncio.sleep(0)
                pause = time.monotonic() + SLICE
        return folded

    async def make_sure(self, session_id: str, turn_id: str, call_id: str) -> None:
        """What was captured of a call, and may have been the user's, was the call's. Raises OSError: it is not kept."""
        if self._state.unsure_of(session_id, turn_id, call_id):
            event = MadeSure(n=self._state.next_n, session_id=session_id, turn_id=turn_id, call_id=call_id)
            await self.append(event, sync=False)

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
            events.append(replace(event, n=number, taken_from=event.n))
            if settled:
                events.append(Settled(n=number, written=True))
        if events:
            await self.append(*events, sync=True)
        foreign = [event for event, _ in edits if event.session_id != session_id]
        numbers = [n for event in foreign if (n := self._state.taken(event)) is not None]
        await self._inherit(session_id, numbers)
        await self._settle_found()

    async def _inherit(self, session_id: str, numbers: Sequence[int]) -> None:
        if not set(numbers) <= set(self._state.numbers(session_id)):
            event = Inherited(n=self._state.next_n, session_id=session_id, numbers=tuple(numbers))
            await self.append(event, sync=True)

    async def append(self, *events: Event, sync: bool) -> None:
        """Take events, whose numbers are their own, and keep them. Raises OSError: they are not kept."""
        async with self._log.changing():
            for event in events:
                self._apply(event)
            await self._write(events, sync=sync)

    async def _write(self, events: Sequence[Event], *, sync: bool) -> None:
        """Keep events that are known by now. Raises OSError: they are not kept."""
        self.review.note_places(events, await run_shielded_in_thread(self._file.append, *events, sync=sync))

    async def told(self, draft: Told) -> None:
        """Some agent was told of rejects."""
        with contextlib.suppress(OSError):  # then it is told again by the next daemon
            await self.append(replace(draft, n=self._state.next_n), sync=True)

    @property
    def next_n(self) -> int:
        """The number of the next event."""
        return self._state.next_n

    def _apply(self, event: Event) -> None:
        self._state.apply(event)
        self.review.fold(event)

    def _save(
        self, intent: Intent, contents: Sequence[bytes | None], whole: bytes | None, found: Sequence[UserChanged]
    ) -> Sequence[int]:
        for data in contents:
            if data is not None:
                self._store.put(data, secret=intent.secret)
        if whole is not None:
            self._store.put(whole, secret=intent.secret or intent.path in self.review.state.secret)
        return self._file.append(*found, intent, sync=True)

    async def _settle_found(self) -> None:
        for path, edit in self._state.unsettled():
            await run_shielded_in_thread(take_back_edit, path, edit, self._store)
            await self._judge(edit, await asyncio.to_thread(_digest_at, path))

    async def _settle_decided(self) -> None:
        """Before anybody writes: decisions that a killed daemon had carried out are done, and what it left of others goes."""
        for file, steps in tuple(self.review.state.waiting()):
            path = Path(file.path)
            in_place = self.was_written_in_place(path)
            results = [after for _, after in steps]
            await run_shielded_in_thread(take_back_decisions, file, results, self._store, in_place=in_place)
            found, mode = await asyncio.to_thread(_found_at, path)
            if all(mode_held(after) == mode_held(file) for _, after in steps):
                mode = None  # whoever gave the file its permissions: none of these is about them
            left = [
                n for n, (_, after) in enumerate(steps, 1) if after.path == file.path and _is_as(after, found, mode)
            ]
            if not _is_as(file, found, mode):
                await self.settle_all([number for number, _ in steps[: max(left, default=0)]], written=True)

    async def _judge(self, edit: LoggedEdit, found: str | None) -> None:
        if found == edit.after:
            await self.settle(edit.n, written=True)
        elif found == edit.before:
            await self.settle(edit.n, written=False)


def _settled(events: Iterable[tuple[int, Event]]) -> Iterator[Settled]:
    """The first of them that are."""
    for _, event in events:
        if not isinstance(event, Settled):
            return
        yield event


def _digest_at(path: Path) -> str | None:
    try:
        return digest_of_node(read_node(path))
    except WorkspaceError:
        return None


def _found_at(path: Path) -> tuple[str | None, int | None]:
    """What is there, as `digest_held` would name it, and its permissions."""
    try:
        node = read_node(path)
    except WorkspaceError:
        return None, None
    if node is None:
        return None, None
    return ref_of(held_in(content_of(node), node.mode)), node.permissions


def _is_as(file: TrackedFile, found: str | None, mode: int | None) -> bool:
    """Whether this is what is there; `mode` None: its permissions are no matter."""
    return digest_held(file) == found and (mode is None or mode_held(file) == mode)
