"""Tasks that go on after the call that began them: commands and subagents, a few at a time (D7).

They belong to the session, not to a turn: the model is told before its next step when one has ended, the editor at once.
What is kept on disk is what they printed and how they ended; a task does not survive the daemon, and the model is told.
"""

import asyncio
import logging
import os
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct, field
from pydantic import Field, TypeAdapter, ValidationError

from sould.agents.base.errors import SouldError
from sould.agents.base.liveconfig import LiveConfig
from sould.agents.base.parsed import LATE, Parsed
from sould.agents.base.privatefile import write_private
from sould.agents.journal.log import SessionLog
from sould.agents.wire.display import BackgroundTaskBlock
from sould.agents.wire.messages import ContextNote, Notification

logger = logging.getLogger(__name__)

TaskKind: TypeAlias = Literal["shell", "agent"]
TaskStatus: TypeAlias = Literal["running", "completed", "failed", "timed_out", "stopped", "lost"]

PREVIEW = 32 * 1024
"""Bytes of a task's output that the model is given at once."""
MOST_OUTPUT = 64 * 1024 * 1024
_SEVERITY: dict[TaskStatus, str] = {"completed": "info", "stopped": "info"}
_KEPT = 100


class TaskError(SouldError):
    """A task cannot be begun or found; the sentence is for the model."""

    kind = "task"


class TaskRecord(Parsed):
    """What is known of a task."""

    id: str = Field(pattern=r"^(?:shell|agent)_[0-9]+$")
    kind: TaskKind
    description: str
    status: TaskStatus = "running"
    message: str = ""
    started: float = 0.0
    ended: float | None = None
    told: bool = False
    """The model knows that it has ended."""
    call_id: str = ""
    """The call that began it."""
    agent_id: str = ""
    """The subagent that works on it."""

    def end(self, status: TaskStatus, message: str) -> None:
        """It has ended just now."""
        self.status, self.message, self.ended = status, message, time.time()

    def go_on(self) -> None:
        """It has not ended after all."""
        self.status, self.message, self.ended = "running", "", None

    def note_told(self) -> None:
        """The model knows that it has ended."""
        self.told = True

    @property
    def block(self) -> BackgroundTaskBlock:
        """As people see it."""
        return BackgroundTaskBlock(task_id=self.id, kind=self.kind, status=self.status, description=self.description)


class TaskEnded(Struct, frozen=True):
    """How a task's work came out."""

    status: TaskStatus
    message: str


class Printed:
    """What a task prints, in a file of its own; beyond 64 MiB the rest is dropped."""

    def __init__(self, path: Path, *, anew: bool) -> None:
        self.path = path
        how = os.O_EXCL if anew else os.O_APPEND
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | how | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        self._size = 0

    def write(self, text: str) -> None:
        """More output. A disk that refuses costs the output, never the task."""
        data = text.encode("utf-8", errors="replace")[: MOST_OUTPUT - self._size]
        try:
            self._size += os.write(self._fd, data) if data else 0
        except OSError as error:
            logger.warning("output of a task was lost: %s", error.strerror)

    def close(self) -> None:
        """No more."""
        os.close(self._fd)


Work: TypeAlias = Callable[[Printed], Awaitable[TaskEnded]]
_RECORDS: TypeAdapter[list[TaskRecord]] = TypeAdapter(list[TaskRecord], config=LATE)


Rested: TypeAlias = Callable[[], None]
"""Told that the last task of a session has ended, or its last turn."""


class BackgroundTasks(Struct):
    """The tasks of one session. `serving` owns them. Injectable."""

    log: SessionLog
    directory: Path
    config: LiveConfig
    rested: Rested
    """Told when the last one has ended."""
    _records: dict[str, TaskRecord] = field(default_factory=dict[str, TaskRecord])
    _tasks: dict[str, "asyncio.Task[TaskEnded]"] = field(default_factory=dict[str, "asyncio.Task[TaskEnded]"])
    _stopping: dict[str, str] = field(default_factory=dict[str, str])
    _left: list[tuple[TaskRecord, Work, Printed]] = field(default_factory=list[tuple[TaskRecord, Work, Printed]])
    """Those that waited for an approval when the last daemon stopped, until `serving` begins."""
    _cut_off: list[TaskRecord] = field(default_factory=list[TaskRecord])
    """Those that the last daemon did not end."""
    _kept: Collection[str] = ()
    """Calls whose tasks the next daemon goes on with."""
    _group: asyncio.TaskGroup | None = None

    def __post_init__(self) -> None:
        try:
            found = _RECORDS.validate_json(self._file.read_bytes())
        except (OSError, ValidationError):
            found = []
        for record in found:
            if record.status == "running":
                self._cut_off.append(record)
                record.end("lost", "The daemon stopped while it ran; the task was ended with it.")
            self._records[record.id] = record

    @property
    def _file(self) -> Path:
        return self.directory / "tasks.json"

    @property
    def running(self) -> int:
        """How many run."""
        return len(self._tasks)

    def status_lines(self) -> Iterable[str]:
        """See `StatusSource`."""
        yield f"- background tasks running: {self.running}"

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None, None]:
        """Own the tasks while the block runs; when it is left none runs."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            for left in self._left:
                self._start(*left)
            self._left.clear()
            try:
                yield
            finally:
                self._group = None
                self.cancel("The session was closed.")

    def lost(self, call_id: str) -> TaskRecord | None:
        """The task that a call began, if the last daemon's end was its end, too, and the model does not know yet."""
        found = (record for record in self._records.values() if record.status == "lost" and not record.told)
        return next((record for record in found if record.call_id == call_id), None)

    def take_cut_off(self) -> Sequence[TaskRecord]:
        """The commands that the last daemon did not end, told once: how they ended is on disk from now on."""
        commands = [record for record in self._cut_off if record.kind == "shell"]
        if self._cut_off:
            self._cut_off.clear()
            self._save()
        return commands

    def take_up(self, record: TaskRecord, work: Work) -> None:
        """Go on with a lost one as soon as `serving` begins: it only waited for an approval (D16). Raises TaskError."""
        self._left.append((record, work, self._printed(record, anew=False)))
        record.go_on()

    def keep(self, calls: Collection[str]) -> None:
        """This daemon leaves, and the next one goes on with what these calls began."""
        self._kept = calls

    def cancel(self, reason: str) -> None:
        """End all of them; they are gone a moment later."""
        for task_id, task in self._tasks.items():
            self._stopping.setdefault(task_id, reason)
            task.cancel()

    def require_room(self) -> None:
        """Raises TaskError when as many run as may."""
        most = self.config.now.background.max_running_tasks
        if self._group is None:
            raise TaskError("The session is closing; nothing can be started in the background.")
        if len(self._tasks) >= most:
            raise TaskError(
                f"{most} background tasks are already running, which is the limit. Wait for one (TaskOutput with "
                "block) or end one (TaskStop)."
            )

    def agent_of(self, task_id: str) -> str:
        """The subagent that works, or worked, on a task; "" when none does."""
        record = self._records.get(task_id)
        return record.agent_id if record is not None else ""

    def begin(self, kind: TaskKind, description: str, work: Work, call_id: str = "", agent_id: str = "") -> TaskRecord:
        """Let `work` go on by itself. Raises TaskError when there is no room."""
        self.require_room()
        task_id = f"{kind}_{self._next_number()}"
        began = time.time()
        record = TaskRecord(
            id=task_id, kind=kind, description=description, started=began, call_id=call_id, agent_id=agent_id
        )
        self._start(record, work, self._printed(record, anew=True))
        return record

    def _start(self, record: TaskRecord, work: Work, printed: Printed) -> None:
        assert self._group is not None
        self._records[record.id] = record
        task = self._group.create_task(self._run(record, work, printed), name=record.id)
        self._tasks[record.id] = task
        task.add_done_callback(lambda done: self._ended(record, printed, done))
        self._save()

    def _printed(self, record: TaskRecord, *, anew: bool) -> Printed:
        folder = self.directory / "tasks"
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            return Printed(folder / f"{record.id}.log", anew=anew)
        except OSError as error:
            raise TaskError(f"The task's output cannot be saved: {error.strerror}.") from error

    def _next_number(self) -> int:
        return 1 + max((int(task_id.rpartition("_")[2]) for task_id in self._records), default=0)

    def find(self, task_id: str) -> TaskRecord:
        """Raises TaskError when there is none."""
        if task_id not in self._records:
            known = ", ".join(self._records) or "none"
            raise TaskError(f"There is no task {task_id!r}; there are: {known}.")
        return self._records[task_id]

    def output(self, task_id: str) -> tuple[str, Path]:
        """The end of what it has printed, and the file with all of it. Raises TaskError when there is none."""
        path = self.directory / "tasks" / f"{self.find(task_id).id}.log"
        try:
            with path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - PREVIEW))
                text = file.read(PREVIEW).decode("utf-8", errors="replace")
        except OSError:
            return "", path
        return (f"[... {size - PREVIEW} bytes left out ...]\n{text}" if size > PREVIEW else text), path

    async def wait(self, task_id: str, seconds: float) -> None:
        """Until it has ended, or for so long."""
        task = self._tasks.get(self.find(task_id).id)
        if task is not None:
            await asyncio.wait([task], timeout=seconds)

    async def settled(self) -> tuple[TaskRecord, ...]:
        """All, oldest first, when those that were told to end have ended: nobody is shown as running what is being killed."""
        stopping = [self._tasks[task_id] for task_id in self._stopping]
        if stopping:
            await asyncio.wait(stopping)
        return tuple(self._records.values())

    async def stop(self, task_id: str, reason: str = "The user stopped it.") -> TaskRecord:
        """End it; returns when nothing of it runs. Raises TaskError when there is none."""
        record = self.find(task_id)
        task = self._tasks.get(task_id)
        if task is not None:
            self._stopping[task_id] = reason or "Stopped."
            task.cancel()
            await asyncio.wait([task])
        return record

    def tell(self) -> None:
        """Before a step: the model is told which tasks have ended since it last asked."""
        news = [record for record in self._records.values() if record.status != "running" and not record.told]
        if not news:
            return
        lines = "\n".join(f"- {record.id} ({record.description}): {record.status}. {record.message}" for record in news)
        self.log.publish(ContextNote(text=f"Background tasks have ended. TaskOutput shows what they printed.\n{lines}"))
        self.saw(*news)

    def saw(self, *records: TaskRecord) -> None:
        """The model knows how these stand."""
        ended = [record for record in records if record.status != "running" and not record.told]
        for record in ended:
            record.note_told()
        if ended:
            self._save()

    async def _run(self, record: TaskRecord, work: Work, printed: Printed) -> TaskEnded:
        try:
            return await work(printed)
        except SouldError as error:
            return TaskEnded("failed", error.message)
        except Exception:  # the main of a task: our bug ends it, not the session
            logger.exception("task %s failed", record.id)
            return TaskEnded("failed", "sould hit a bug in this task; see `sould logs`.")

    def _ended(self, record: TaskRecord, printed: Printed, task: "asyncio.Task[TaskEnded]") -> None:
        """However it ended, and also when it was cancelled before it had begun."""
        printed.close()
        del self._tasks[record.id]
        stopped = self._stopping.pop(record.id, "") or _why(task)
        if task.cancelled() and record.call_id and record.call_id in self._kept:
            return
        ended = TaskEnded("stopped", stopped) if task.cancelled() else task.result()
        record.end(ended.status, ended.message)
        self._save()
        self.log.publish(
            Notification(
                id=secrets.token_hex(6),
                category="task",
                type=f"task.{record.status}",
                source_kind="background_task",
                source_id=record.id,
                title=f"Background task {record.status.replace('_', ' ')}: {record.description}",
                body=record.message,
                severity=_SEVERITY.get(record.status, "warning"),
                created_at=time.time(),
            )
        )
        if not self._tasks:
            self.rested()

    def _save(self) -> None:
        kept = list(self._records.values())[-_KEPT:]
        try:
            write_private(self._file, _RECORDS.dump_json(kept))
        except OSError as error:  # a list of tasks is not worth a failed call
            logger.warning("%s: %s", self._file, error.strerror)


def _why(task: "asyncio.Task[TaskEnded]") -> str:
    """What whoever cancelled a task said."""
    try:
        task.result()
    except asyncio.CancelledError as error:
        return str(error.args[0]) if error.args else "Stopped."
    return ""
