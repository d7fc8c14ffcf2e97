"""Programs that the daemon runs by itself for a moment, git above all: bounded in time and output, and ended with the daemon.

What an agent's call runs is started by the guard (`guard`). This is for questions that threads ask, in which nobody may be
kept waiting and nothing may be left behind: the program and all that it starts are a process group, which is ended when the
time is up, when it prints too much, when the daemon stops, and when it is killed. Blocks: use it in a thread.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct, field

MOST_OUTPUT: Final = 256 * 1024 * 1024
"""Bytes that a program may print: git does so of 800,000 files."""
MOST_COMPLAINT: Final = 64 * 1024
"""Bytes of what it says on standard error; what is beyond is dropped."""
_PIECE: Final = 1 << 16
_LEASHED: Final = """\
exec 3<"$1" 4>"$2" && shift 2 || exit 126
(read -r _ <&3 || kill -KILL 0) </dev/null >/dev/null 2>&1 4>&- &
"$@" 3<&- 4>&-
code=$?
exec </dev/null >/dev/null 2>&1
echo >&4
wait $!
exit $code
"""
"""Runs its arguments and says by a line in the second pipe that they have ended; exits after a line in the first one.

Kills its process group when the first pipe ends without that line: be the program still running, or only what it left behind.
"""

Why: TypeAlias = Literal["", "time", "output", "stopping"]


class ProgramEnded(Struct, frozen=True):
    """A program has ended by itself with `code`, or was ended: then that is None, and `why` says the reason."""

    output: bytes = b""
    complaint: bytes = b""
    code: int | None = None
    why: Why = ""


class Bounds(Struct, frozen=True, kw_only=True):
    """How a program is run: in `cwd` with exactly `env`, until `deadline` (of `time.monotonic`) at the latest.

    `holding`: descriptors that it keeps open. `grouped`: it stays in the process group of this process, and is ended with that.
    """

    cwd: os.PathLike[str]
    env: Mapping[str, str]
    deadline: float
    umask: int = -1
    holding: tuple[int, ...] = ()
    grouped: bool = False
    most: int = MOST_OUTPUT

    def run(self, argv: Sequence[str], given: bytes = b"") -> ProgramEnded:
        """What the program makes of `given`, its standard input. Raises OSError: it could not be started."""
        if self.grouped:
            return self._run(argv, given)
        leash = _LEASHES.new()
        if leash is None:
            return ProgramEnded(why="stopping")
        try:
            ended = self._run(leash.command(argv), given, leash)
        finally:
            is_ours = _LEASHES.let_go(leash)
        return ended if is_ours else ProgramEnded(why="stopping")  # it was ended by `end_programs`

    def _run(self, argv: Sequence[str], given: bytes, leash: "_Leash | None" = None) -> ProgramEnded:
        try:
            process = self._start(argv, leash.passed if leash else ())
        finally:
            if leash:
                os.close(leash.saying)
        with process:  # closes the pipes, and waits
            exchange, why = _Exchange(process, memoryview(given), self.most), "time"
            try:
                why = exchange.run(self.deadline, leash.ended if leash else None)
                if leash and not why:
                    _LEASHES.let_live(leash)
                    process.wait()  # the shell has nothing left to do; with a time limit, Python looks only every millisecond
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0 if why else max(0.0, self.deadline - time.monotonic()))
            finally:
                was_ended = process.returncode is None
                if was_ended:
                    self._kill(process)
        if was_ended:
            return ProgramEnded(complaint=bytes(exchange.complaint), why=why or "time")
        return ProgramEnded(bytes(exchange.output), bytes(exchange.complaint), process.returncode)

    def _start(self, argv: Sequence[str], passed: Sequence[int]) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            argv,
            cwd=self.cwd,
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            umask=self.umask,
            pass_fds=(*passed, *self.holding),
            start_new_session=not self.grouped,
        )

    def _kill(self, process: "subprocess.Popen[bytes]") -> None:
        if self.grouped:
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


class _Exchange(Struct):
    """Of all three pipes of a program, so that neither side waits for the other."""

    process: "subprocess.Popen[bytes]"
    rest: memoryview
    most: int
    output: bytearray = field(default_factory=bytearray)
    complaint: bytearray = field(default_factory=bytearray)

    def run(self, deadline: float, ended: int | None) -> Why:
        """Until the program closes its ends and `ended` can be read, or why it is to be ended."""
        stdin, stdout, stderr = self.process.stdin, self.process.stdout, self.process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        os.set_blocking(stdin.fileno(), False)
        with selectors.DefaultSelector() as ready:
            ready.register(stdin, selectors.EVENT_WRITE, self._write)
            ready.register(stdout, selectors.EVENT_READ, self._read)
            ready.register(stderr, selectors.EVENT_READ, self._hear)
            if ended is not None:
                ready.register(ended, selectors.EVENT_READ, self._be_told)
            while ready.get_map():
                left = deadline - time.monotonic()
                if left <= 0:
                    return "time"
                for key, _ in ready.select(left):
                    if not key.data(key.fd):
                        ready.unregister(key.fileobj)
                        if key.fileobj is stdin:
                            stdin.close()
                if len(self.output) > self.most:
                    return "output"
        return ""

    def _write(self, descriptor: int) -> bool:
        """Whether there is more."""
        try:
            self.rest = self.rest[os.write(descriptor, self.rest) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:  # it does not want to know
            return False
        return bool(self.rest)

    def _be_told(self, _: int) -> bool:
        return False

    def _read(self, descriptor: int) -> bool:
        piece = os.read(descriptor, _PIECE)
        self.output += piece
        return bool(piece)

    def _hear(self, descriptor: int) -> bool:
        piece = os.read(descriptor, _PIECE)
        self.complaint += piece[: MOST_COMPLAINT - len(self.complaint)]
        return bool(piece)


class _Leash(Struct, frozen=True):
    """Two pipes. Whoever has `held` is ended when nobody has `ours` any more, be it that this process was killed.

    `ended` can be read when the program has ended, `saying` is the other end.
    """

    held: int
    ours: int
    ended: int
    saying: int

    @property
    def passed(self) -> tuple[int, int]:
        """What the program's shell gets."""
        return self.held, self.saying

    def command(self, argv: Sequence[str]) -> Sequence[str]:
        return ("/bin/sh", "-c", _LEASHED, argv[0], *(f"/dev/fd/{end}" for end in self.passed), *argv)


class _Leashes:
    """Those of the programs that run."""

    def __init__(self) -> None:
        self._all: dict[int, _Leash] = {}
        self._lock = threading.Lock()
        self._stopping = False

    def new(self) -> _Leash | None:
        """None: nothing is to begin any more. Raises OSError."""
        with self._lock:
            if self._stopping:
                return None
            with contextlib.ExitStack() as opened:
                pipes = [_pipe(opened), _pipe(opened)]
                opened.pop_all()
            leash = _Leash(*pipes[0], *pipes[1])
            self._all[leash.ours] = leash
            return leash

    def let_live(self, leash: _Leash) -> None:
        """The program has ended by itself; what it left behind lives on."""
        with self._lock, contextlib.suppress(BrokenPipeError):
            if leash.ours in self._all:
                os.write(leash.ours, b"\n")

    def let_go(self, leash: _Leash) -> bool:
        """End what is not to live; whether `let_all_go` had not."""
        os.close(leash.held)
        os.close(leash.ended)
        with self._lock:
            is_ours = self._all.pop(leash.ours, None) is not None
        if is_ours:
            os.close(leash.ours)
        return is_ours

    def let_all_go(self) -> None:
        """End all, and begin none."""
        with self._lock:
            self._stopping = True
            while self._all:
                os.close(self._all.popitem()[0])


def _pipe(opened: contextlib.ExitStack) -> tuple[int, int]:
    ends = os.pipe()
    for end in ends:
        opened.callback(os.close, end)
    return ends


_LEASHES: Final = _Leashes()


def end_programs() -> None:
    """This process is about to end: programs that run here end at once, and no more begin."""
    _LEASHES.let_all_go()
