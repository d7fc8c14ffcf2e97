"""The log of a project that is open, as one file: who writes to it takes turns with who keeps and who ages it.

What the events say is the project's; nothing here reads one.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Final, TypeAlias

from sould.agents.base.errors import ProjectOpenElsewhereError
from sould.agents.base.privatefile import write_private
from sould.agents.base.tasks import Behind, run_shielded_in_thread, shared, shielded
from sould.agents.files.edits.editlog import EditLogFile
from sould.agents.files.edits.snapshot import Snapshot, Snapshots

LOG: Final = "edits.jsonl"
HOLDER: Final = "edits.pid"
"""Beside it: which process had it open last; the lock itself is the kernel's."""
UNKEPT_BYTES: Final = 50_000
"""Of the log, behind its snapshot: some 250 events. Folding them is what opening takes longer after a crash."""
SnapshotMaker: TypeAlias = Callable[[], Snapshot]
"""Says what the project is now."""


def opened(directory: Path, root: Path, undo: contextlib.ExitStack) -> EditLogFile:
    """The log's file, open in this process alone; `undo` closes it, also when nobody waits for it any more. Reads no event."""
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


class OpenLog:
    """Of one project. `kept_to`: up to which byte of the log the snapshot goes."""

    def __init__(self, file: EditLogFile, snapshots: Snapshots, kept_to: int, make: SnapshotMaker) -> None:
        self._file = file
        self._snapshots = snapshots
        self._kept_to = kept_to
        self._make = make
        self._keeping = Behind("keeping a snapshot")
        self._changes_under_way = 0
        self._ageing: asyncio.Future[None] | None = None
        """Done when the log may be written to again."""

    @contextlib.asynccontextmanager
    async def changing(self) -> AsyncGenerator[None]:
        """What is known and what the log holds are not the same, as long as the block lasts."""
        while self._ageing is not None:
            await shared(self._ageing)
        self._changes_under_way += 1
        try:
            yield
        finally:
            self._changes_under_way -= 1
            is_due = self._file.size - self._kept_to >= UNKEPT_BYTES
            if is_due and not self._changes_under_way and not self._keeping.busy:
                self._keeping.begin(self._keep(self._make()))

    async def alone(self, work: Callable[[], Awaitable[int]]) -> int:
        """What the work returns, for which nothing is written meanwhile; 0 without it, when something is just being written."""
        if self._changes_under_way or self._ageing is not None:
            return 0
        self._ageing = asyncio.get_running_loop().create_future()
        try:
            return await shielded(self._alone(work))
        finally:
            self._ageing.set_result(None)
            self._ageing = None

    async def _alone(self, work: Callable[[], Awaitable[int]]) -> int:
        await self._keeping.aclose()
        return await work()

    async def keep(self) -> None:
        """Write a snapshot of the project as it is."""
        await self._keep(self._make())

    async def _keep(self, snapshot: Snapshot) -> None:
        self._kept_to = snapshot.size  # also when the disk has no room for it: it is tried again with the next one
        with contextlib.suppress(OSError):
            await run_shielded_in_thread(self._snapshots.write, snapshot)

    async def aclose(self) -> None:
        """Keep what is not kept yet, and let go of it; no write may follow."""
        await self._keeping.aclose()
        if self._file.size > self._kept_to:
            await self.keep()
        await run_shielded_in_thread(self._file.close)
