"""The daemon's side of the guard: starts commands in the guard program and streams what they say.

Nothing started here outlives this process, however it ends. Output that nobody reads stays in the pipe, so memory
does not grow with it. A descriptor is held per running process and given back with it.
"""

import array
import asyncio
import contextlib
import errno
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from sould.agents.base.environment import USUAL_UMASK
from sould.agents.base.tasks import shared
from sould.agents.base.workspace import CommandExit, WorkspaceError

GRACE: Final = 2.0
"""Seconds between TERM and KILL (D7)."""
HEADROOM: Final = 2048
"""Processes a command may add to what the system runs at its start."""
READ_SIZE: Final = 64 * 1024
EXIT_WAIT: Final = 10.0
"""Seconds the guard gets to end after its last process."""

_LIBRARY_PATHS = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
"""All the interpreter itself may need; a guard's environment is readable by every command."""
_PROGRAM = Path(__file__).with_name("guardmain.py")


class CommandStartError(WorkspaceError):
    """Nothing was started: no such directory or program, or the system has no room for it."""


ProcessEnded: TypeAlias = "Callable[[GuardedProcess], None]"
"""Called when a process and everything it started is gone."""


GracePeriod: TypeAlias = Callable[[], float]
"""Seconds from TERM to KILL, asked anew each time."""


class GuardedProcess:
    """One process and everything it starts. A `RunningCommand`."""

    def __init__(
        self,
        pid: int,
        control: socket.socket,
        output: int,
        stdin: int | None,
        errors: int | None,
        ended: "ProcessEnded",
    ) -> None:
        """Made by `ProcessGuard.start`; takes over the descriptors and calls `ended` when the tree is gone."""
        self.pid = pid
        self._control = control
        self._output = _Reader(output)
        self._errors = _Reader(errors) if errors is not None else None
        self._stdin = stdin
        self._ended = ended
        self._report = bytearray()
        self._exit: asyncio.Future[CommandExit] = asyncio.get_running_loop().create_future()
        self.survivors = 0
        """Processes that could not be ended, because they belong to another user."""
        asyncio.get_running_loop().add_reader(control.fileno(), self._on_report)

    def output(self) -> AsyncGenerator[bytes, None]:
        """Standard output and error as they come, ending when the whole tree is gone.

        Each piece is given once: who reads after a reader that was cancelled goes on behind it. Nothing is read ahead: while the
        consumer is busy the process waits at a full pipe.
        """
        return self._output.chunks(self._exit)

    def errors(self) -> AsyncGenerator[bytes, None]:
        """Standard error alone, in the same way (only when started with `errors`; `output` is then without it)."""
        assert self._errors is not None, "started without errors"
        return self._errors.chunks(self._exit)

    async def send(self, data: bytes) -> None:
        """Write to the process's standard input (only when started with `stdin`).

        Raises:
            BrokenPipeError: the process does not listen any more.
        """
        while data:
            if self._stdin is None:
                raise BrokenPipeError(errno.EPIPE, "its input is closed")
            try:
                data = data[os.write(self._stdin, data) :]
            except BlockingIOError:
                await _ready(self._stdin, writing=True)

    def close_input(self) -> None:
        """End of the process's standard input."""
        if self._stdin is not None:
            os.close(self._stdin)
            self._stdin = None

    async def wait(self) -> CommandExit:
        """The exit, once everything it started is gone. Drain `output` first: a process at a full pipe does not end.

        Output that nobody began to read by then is dropped.
        """
        ended = await shared(self._exit)
        self._drop_unread()
        return ended

    async def kill(self) -> None:
        """TERM, the grace, KILL; returns when nothing of the tree is alive. Harmless when it already ended."""
        if not self._exit.done():
            with contextlib.suppress(OSError):
                self._control.send(b"k")
        await self.wait()

    def _on_report(self) -> None:
        try:
            data = self._control.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._report += data
        size = int.from_bytes(self._report[:4], "big")
        if not data:
            self._finish(
                CommandExit(code=None, signal=signal.SIGKILL)
            )  # the keeper was killed; the guard ends the rest
        elif len(self._report) >= 4 + size:
            report: dict[str, Any] = json.loads(self._report[4 : 4 + size])
            self.survivors = report["survivors"]
            self._finish(_exit_of(report))

    def _finish(self, ended: CommandExit) -> None:
        asyncio.get_running_loop().remove_reader(self._control.fileno())
        self._control.close()
        self.close_input()
        self._exit.set_result(ended)
        self._ended(self)

    def _drop_unread(self) -> None:
        self._output.drop()
        if self._errors is not None:
            self._errors.drop()


class _Reader:
    """Our end of a pipe the process writes to."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor
        self._reading = False

    async def chunks(self, done: "asyncio.Future[CommandExit]") -> AsyncGenerator[bytes, None]:
        if self._descriptor is None:
            return
        self._reading = True
        try:
            while data := await self._read(self._descriptor, done):
                yield data
                await asyncio.sleep(0)  # a flood must not keep the loop from everybody else
        finally:
            self._reading = False
            if done.done():
                self.drop()

    def drop(self) -> None:
        """Close it, unless somebody reads."""
        if self._descriptor is not None and not self._reading:
            os.close(self._descriptor)
            self._descriptor = None

    @staticmethod
    async def _read(descriptor: int, done: "asyncio.Future[CommandExit]") -> bytes:
        while True:
            try:
                return os.read(descriptor, READ_SIZE)
            except BlockingIOError:
                if done.done():  # all is read; who still holds the pipe is not ours any more
                    return b""
                await _ready(descriptor, or_done=done)


class ProcessGuard:
    """Starts the guard on first use, and again when it has died. One per daemon."""

    def __init__(self, *, headroom: int = HEADROOM, grace: GracePeriod = lambda: GRACE) -> None:
        """`headroom`: processes one command may add.

        `grace`: seconds from TERM to KILL where `start` is not told, asked anew each time.
        """
        self._headroom = headroom
        self._grace = grace
        self._orders: socket.socket | None = None
        self._program: subprocess.Popen[bytes] | None = None
        self._running: set[GuardedProcess] = set()
        self._closed = False

    @property
    def running(self) -> int:
        """How many processes are in flight."""
        return len(self._running)

    @property
    def pid(self) -> int | None:
        """The guard program's pid; None before the first start and after its end."""
        return self._program.pid if self._program is not None else None

    async def start(
        self,
        argv: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        *,
        timeout: float | None = None,
        grace: float | None = None,
        stdin: bool = False,
        errors: bool = False,
        umask: int = USUAL_UMASK,
        memory: int | None = None,
    ) -> GuardedProcess:
        """Start `argv` in a session of its own, with exactly `env` and `umask`, its input empty unless `stdin`.

        With `errors` its standard error is a pipe of its own; read it, or the process waits when that pipe is full.

        None of its processes gets more than `memory` bytes of its own (Linux; elsewhere it is not held to that).

        After `timeout` seconds the whole tree is ended and the exit says `timed_out`.

        Raises:
            CommandStartError: nothing was started; the text says why.
        """
        order = {
            "argv": list(argv),
            "cwd": str(cwd),
            "env": dict(env),
            "timeout": timeout,
            "grace": self._grace() if grace is None else grace,
            "processes": self._headroom,
            "umask": umask,
            "stdin": stdin,
            "errors": errors,
            "memory": memory,
        }
        encoded = json.dumps(order).encode()
        try:
            process = await self._attempt(encoded, argv[0], cwd, stdin, errors)
            if process is None:  # the guard had died: once more with a new one
                process = await self._attempt(encoded, argv[0], cwd, stdin, errors)
        except OSError as error:
            raise CommandStartError(
                f"The command was not started: {os.strerror(error.errno or 0)}. Try again in a moment."
            ) from error
        if process is None:
            raise CommandStartError("The command was not started: the process guard died twice. Try again in a moment.")
        return process

    async def aclose(self) -> None:
        """Kill everything in flight and end the guard; later starts fail."""
        self._closed = True
        async with asyncio.TaskGroup() as ending:
            for process in tuple(self._running):
                ending.create_task(process.kill())
        if self._orders is not None:
            self._orders.close()
            self._orders = None
        if self._program is not None:
            await asyncio.to_thread(_end_program, self._program)
            self._program = None

    async def _attempt(self, order: bytes, program: str, cwd: Path, stdin: bool, errors: bool) -> GuardedProcess | None:
        """One start; None when the guard is gone, which was removed."""
        orders = self._connected()
        loop = asyncio.get_running_loop()
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            control, far_control = socket.socketpair()
            ours.callback(control.close)
            theirs.callback(far_control.close)
            control.setblocking(False)
            output = _pipe(reader=ours, writer=theirs)
            given = [far_control.fileno(), output[1]]
            feed = _pipe(reader=theirs, writer=ours) if stdin else None
            if feed is not None:
                given.append(feed[0])
                os.set_blocking(feed[1], False)
            complaints = _pipe(reader=ours, writer=theirs) if errors else None
            if complaints is not None:
                given.append(complaints[1])
                os.set_blocking(complaints[0], False)
            os.set_blocking(output[0], False)
            try:
                await _pass(orders, given)
                theirs.close()
                with contextlib.suppress(BrokenPipeError):  # it refused without reading; why is still to be received
                    await loop.sock_sendall(control, len(order).to_bytes(4, "big") + order)
                reply = await _receive(control)
            except (BrokenPipeError, ConnectionResetError):
                reply = None
            if reply is None:
                self._forget(orders)
                return None
            if "failed" in reply:
                raise _start_error(reply["failed"], reply["errno"], program, cwd)
            ours.pop_all()
        process = GuardedProcess(
            reply["started"],
            control,
            output[0],
            feed[1] if feed else None,
            complaints[0] if complaints else None,
            self._running.discard,
        )
        self._running.add(process)
        return process

    def _connected(self) -> socket.socket:
        if self._closed:
            raise CommandStartError("The command was not started: sould is stopping.")
        if self._orders is None:
            ours, theirs = socket.socketpair()
            ours.setblocking(False)
            with theirs:
                self._program = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-X", "utf8", str(_PROGRAM)],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    env={name: os.environ[name] for name in _LIBRARY_PATHS if name in os.environ},
                    cwd="/",
                    start_new_session=True,
                )
            self._orders = ours
        return self._orders

    def _forget(self, orders: socket.socket) -> None:
        if self._orders is orders:
            self._orders = None
            program, self._program = self._program, None
            orders.close()
            if program is not None:
                _end_program(program)


def _end_program(program: subprocess.Popen[bytes]) -> None:
    """Wait for a guard whose socket is closed; it ends when its last keeper does."""
    try:
        program.wait(EXIT_WAIT)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()


def _pipe(*, reader: contextlib.ExitStack, writer: contextlib.ExitStack) -> tuple[int, int]:
    ends = os.pipe()
    reader.callback(os.close, ends[0])
    writer.callback(os.close, ends[1])
    return ends


async def _pass(orders: socket.socket, descriptors: Sequence[int]) -> None:
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors).tobytes())]
    while True:
        try:
            orders.sendmsg([b"c"], rights)
        except BlockingIOError:
            await _ready(orders.fileno(), writing=True)
        else:
            return


async def _receive(control: socket.socket) -> dict[str, Any] | None:
    received = bytearray()
    loop = asyncio.get_running_loop()
    while len(received) < 4 or len(received) < 4 + int.from_bytes(received[:4], "big"):
        wanted = 4 + int.from_bytes(received[:4], "big") if len(received) >= 4 else 4
        more = await loop.sock_recv(control, wanted - len(received))  # not a byte of what comes after
        if not more:
            return None
        received += more
    return json.loads(received[4:])


async def _ready(descriptor: int, *, writing: bool = False, or_done: "asyncio.Future[Any] | None" = None) -> None:
    """Until the descriptor is ready or `or_done` is."""
    loop = asyncio.get_running_loop()
    waiter = loop.create_future()

    def wake(*_: object) -> None:
        if not waiter.done():
            waiter.set_result(None)

    add, remove = (loop.add_writer, loop.remove_writer) if writing else (loop.add_reader, loop.remove_reader)
    add(descriptor, wake)
    if or_done is not None:
        or_done.add_done_callback(wake)
    try:
        await waiter
    finally:
        remove(descriptor)
        if or_done is not None:
            or_done.remove_done_callback(wake)


def _exit_of(report: dict[str, Any]) -> CommandExit:
    code = os.waitstatus_to_exitcode(report["status"]) if report["status"] is not None else -signal.SIGKILL
    return CommandExit(
        code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        timed_out=report["timed_out"],
        strays=report["strays"],
    )


def _start_error(stage: str, number: int, program: str, cwd: Path) -> CommandStartError:
    why = os.strerror(number)
    if stage == "cwd":
        return CommandStartError(f"The command was not started: its directory {cwd} cannot be entered ({why}).")
    if stage == "exec" and number == errno.E2BIG:
        return CommandStartError("The command was not started: it is too long. Put the text into a file and use that.")
    if stage == "exec":
        return CommandStartError(f"The command was not started: {program} cannot be run ({why}).")
    return CommandStartError(
        f"The command was not started: the system has no room for another process ({why}). Try again in a moment."
    )
