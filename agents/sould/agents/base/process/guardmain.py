"""The guard program: starts commands for the daemon and leaves none of their processes behind.

Started once per daemon as `python -I -S guardmain.py`, descriptor 0 being a socket. Each message on it is one byte with
descriptors: control socket, output pipe, then, when the order says so, the command's input and a pipe of its own for
what it says on standard error. For each the guard forks a *keeper*, which reads its order (4-byte length, JSON) from the
control socket, starts the command in a session of its own and watches three things: the command's end, the order to
kill, and the control socket's end of file, which means that the daemon is gone. Keeper and guard are child subreapers,
so a process that double-forks and calls setsid still becomes their child and is found. If a keeper is killed, its
orphans fall to the guard, which ends them.

It must never import anything of ours, never write anywhere, never hold a descriptor of the daemon's besides those
above. On macOS there is neither subreaper nor /proc: there only the command's process group is ended, and a process
that left it survives.
"""

import array
import contextlib
import errno
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

NATURAL_END = 0.1
"""Seconds that processes outliving the command get to end by themselves, such as the `tee` of a process substitution."""
ORPHAN_GRACE = 1.0
"""Seconds between TERM and KILL when the daemon is gone."""
GIVE_UP = 5.0
"""Seconds after KILL; what is still there then belongs to another user or hangs in the kernel, and is reported."""
ROUND = 0.05
ORPHAN_ROUNDS = 1000
LARGEST_ORDER = 64 * 1024 * 1024

_PR_SET_PDEATHSIG, _PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 1, 15, 36
_LINUX = sys.platform == "linux"


def main() -> None:
    """Serve until the daemon closes its end and the last keeper is gone."""
    orders = socket.socket(fileno=0)
    os.set_inheritable(0, False)
    _prctl(_PR_SET_NAME, b"sould-guard")
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()
    gc.freeze()
    wakeup = _watch_children()
    keepers: set[int] = set()
    abandoned: set[int] = set()
    waiting = select.poll()
    waiting.register(wakeup, select.POLLIN)
    waiting.register(orders, select.POLLIN)
    serving = True
    while serving or keepers:
        for descriptor, _ in waiting.poll():
            if descriptor == wakeup:
                _drain(wakeup)
                _end_orphans(keepers, abandoned)
            elif not _take_order(orders, keepers):
                serving = False
                waiting.unregister(orders)


def _take_order(orders: socket.socket, keepers: set[int]) -> bool:
    try:
        message, ancillary, _, _ = orders.recvmsg(1, socket.CMSG_SPACE(4 * 4))
    except OSError:
        return False
    if not message:
        return False
    descriptors = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    if len(descriptors) < 2:
        _close(descriptors)
        return True
    try:
        pid = os.fork()
    except OSError as error:
        with socket.socket(fileno=os.dup(descriptors[0])) as control:
            _say(control, {"failed": "fork", "errno": error.errno})
        _close(descriptors)
        return True
    if pid == 0:
        _keep(list(descriptors))
    keepers.add(pid)
    _close(descriptors)
    return True


def _end_orphans(keepers: set[int], abandoned: set[int]) -> None:
    """Forget ended keepers; whatever else has become our child lost its keeper and is ended at once.

    What survives that belongs to another user: it is `abandoned`, not tried for ever.
    """
    orphans: list[int] = []
    for _ in range(ORPHAN_ROUNDS):
        ended, _ = _reap()
        keepers.difference_update(pid for pid, _ in ended)
        orphans = [pid for pid in _children(os.getpid()) if pid not in keepers and pid not in abandoned]
        if not orphans:
            return
        _signal_all(_with_descendants(orphans), signal.SIGKILL)
        time.sleep(0.001)
    abandoned.update(orphans)


# --- the keeper: one per command ------------------------------------------------------------------------------------------


def _keep(descriptors: list[int]) -> NoReturn:
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        kept = _above(descriptors)
        _close_all_but(kept)
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        control = socket.socket(fileno=kept[0])
        control.setblocking(True)
        order = _receive(control)
        if order is not None:
            given = iter(kept[2:])
            source = next(given) if order["stdin"] else None
            _Keeper(control, order).run(kept[1], source, next(given) if order["errors"] else kept[1])
        status = 0
    finally:
        os._exit(status)


class _Keeper:
    def __init__(self, control: socket.socket, order: dict[str, Any]) -> None:
        self.control = control
        self.order = order
        self.grace: float = order["grace"]
        self.status: int | None = None
        self.command = 0
        self.timed_out = False
        self.wakeup = _watch_children()
        self.poll = select.poll()
        self.poll.register(self.wakeup, select.POLLIN)
        self.poll.register(control, select.POLLIN)

    def run(self, output: int, given_input: int | None, errors: int) -> None:
        """Start the command, watch it, end what it leaves, report."""
        failure = self._start(output, given_input, errors)
        _close({output, errors} | ({given_input} if given_input is not None else set()))
        if failure is not None:
            _say(self.control, failure)
            return
        _say(self.control, {"started": self.command})
        strays = self._watch()
        survivors = len(_descendants(os.getpid())) if self._reap() else 0
        _say(
            self.control,
            {"status": self.status, "timed_out": self.timed_out, "strays": strays, "survivors": survivors},
        )

    def _start(self, output: int, given_input: int | None, errors: int) -> dict[str, Any] | None:
        """Fork and exec; None when the command runs, else what failed."""
        said, says = os.pipe()
        try:
            self.command = os.fork()
        except OSError as error:
            return {"failed": "fork", "errno": error.errno}
        if self.command == 0:
            _become_command(self.order, output, given_input, errors, says)
        os.close(says)
        trouble = os.read(said, 4096)
        os.close(said)
        if not trouble:
            return None
        os.waitpid(self.command, 0)
        stage, _, number = trouble.decode().partition(" ")
        return {"failed": stage, "errno": int(number)}

    def _watch(self) -> int:
        """Until nothing is left. The number of processes that the command left behind and we ended."""
        limit: float | None = self.order["timeout"]
        deadline = None if limit is None else time.monotonic() + limit
        while self.status is None:
            ordered, orphaned = self._wait(None if deadline is None else deadline - time.monotonic())
            self.timed_out = self.status is None and deadline is not None and time.monotonic() >= deadline
            if ordered or orphaned or self.timed_out:
                self._end(ORPHAN_GRACE if orphaned else self.grace)
                return 0
        self._until(lambda: False, time.monotonic() + NATURAL_END)
        if not self._reap():
            return 0
        strays = len(_descendants(os.getpid()))
        self._end(self.grace)
        return strays

    def _end(self, grace: float) -> None:
        """TERM to every descendant, newcomers included, then KILL until none is left."""
        told: set[int] = set()
        deadline = time.monotonic() + grace

        def tell() -> bool:
            new = [pid for pid in self._alive() if pid not in told]
            told.update(new)
            _signal_all(new, signal.SIGTERM)
            _signal_all(new, signal.SIGCONT)
            return False

        if self._until(tell, deadline):
            return
        give_up = time.monotonic() + GIVE_UP
        while self._reap() and time.monotonic() < give_up:
            _signal_all(_freeze(self._alive), signal.SIGKILL)
            self._until(lambda: True, time.monotonic() + ROUND)

    def _until(self, each_round: Callable[[], bool], deadline: float) -> bool:
        """Wait for the last child to end; `each_round` returning True ends the wait after one round. True: none is left."""
        while self._reap():
            done = each_round()
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            _drain_when_ready(self.wakeup, min(left, ROUND))
            if done:
                return not self._reap()
        return True

    def _wait(self, seconds: float | None) -> tuple[bool, bool]:
        """Until something happens: (ordered to kill, daemon gone)."""
        ready = self.poll.poll(None if seconds is None else max(0, seconds) * 1000 + 1)
        ordered = orphaned = False
        for descriptor, _ in ready:
            if descriptor == self.wakeup:
                _drain(self.wakeup)
                self._reap()
            else:
                with contextlib.suppress(OSError):
                    ordered = bool(self.control.recv(64))
                orphaned = not ordered
        return ordered, orphaned

    def _reap(self) -> bool:
        """Collect the dead. Whether any child is left."""
        ended, left = _reap()
        for pid, status in ended:
            if pid == self.command:
                self.status = status
        return left

    def _alive(self) -> list[int]:
        found = _descendants(os.getpid())
        if not _LINUX and self.status is None:
            found.append(-self.command)
        return found


def _become_command(order: dict[str, Any], output: int, given_input: int | None, errors: int, says: int) -> NoReturn:
    """In the forked child: turn into the command, or write `stage errno` to `says` and exit."""
    stage = "start"
    try:
        signal.set_wakeup_fd(-1)
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        source = os.open(os.devnull, os.O_RDONLY) if given_input is None else given_input
        source, output, errors, says = _above([source, output, errors, says])
        os.dup2(source, 0)
        os.dup2(output, 1)
        os.dup2(errors, 2)
        os.dup2(says, 3, inheritable=False)
        os.closerange(4, _most_descriptors())
        says = 3
        _limit(order["processes"], order["memory"])
        os.umask(order["umask"])
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        stage = "cwd"
        os.chdir(order["cwd"])
        stage = "exec"
        os.execvpe(order["argv"][0], order["argv"], order["env"])
    except OSError as error:
        os.write(says, f"{stage} {error.errno}".encode())
    except BaseException:  # noqa: BLE001 -- a forked child must never return into the keeper's code
        os.write(says, f"{stage} {errno.EINVAL}".encode())
    finally:
        os._exit(127)


def _limit(headroom: int, memory: int | None) -> None:
    """No core files, and at most `headroom` processes more than the whole system has now (fork bombs).

    `memory` holds for what a process writes into, not for the address space that some reserve and never use.
    """
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory is not None:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/loadavg", encoding="ascii") as loads:
            tasks = int(loads.read().split()[3].split("/")[1])
        soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
        most = tasks + headroom
        if soft == resource.RLIM_INFINITY or most < soft:
            resource.setrlimit(resource.RLIMIT_NPROC, (most, hard))


# --- processes ----------------------------------------------------------------------------------------------------------------


def _children(parent: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{parent}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{parent}/task/{task}/children", encoding="ascii") as names:
                found.extend(int(name) for name in names.read().split())
    return found


def _with_descendants(roots: Iterable[int]) -> list[int]:
    found: dict[int, None] = dict.fromkeys(roots)
    pending = list(found)
    while pending:
        new = [pid for pid in _children(pending.pop()) if pid not in found]
        found.update(dict.fromkeys(new))
        pending.extend(new)
    return list(found)


def _descendants(root: int) -> list[int]:
    return _with_descendants(_children(root))


def _freeze(alive: Callable[[], list[int]]) -> list[int]:
    """Stop everything until nothing new appears, so that a fork bomb cannot outrun us. All that was found."""
    seen: set[int] = set()
    while new := [pid for pid in alive() if pid not in seen]:
        seen.update(new)
        _signal_all(new, signal.SIGSTOP)
    return list(seen)


def _signal_all(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def _reap() -> tuple[list[tuple[int, int]], bool]:
    """Collect dead children: who, with what status; and whether any child is left."""
    ended: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended, False
        if pid == 0:
            return ended, True
        ended.append((pid, status))


def _watch_children() -> int:
    """A descriptor that becomes readable when a child changes state."""
    readable, writable = os.pipe()
    os.set_blocking(readable, False)
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _ignore)
    return readable


def _ignore(*_: object) -> None:
    """A handler, because an ignored SIGCHLD would not wake us."""


# --- descriptors and messages -----------------------------------------------------------------------------------------------------


def _receive(control: socket.socket) -> dict[str, Any] | None:
    head = _receive_exactly(control, 4)
    size = int.from_bytes(head, "big")
    if len(head) < 4 or size > LARGEST_ORDER:
        return None
    body = _receive_exactly(control, size)
    return json.loads(body) if len(body) == size else None


def _receive_exactly(control: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        more = control.recv(min(size - len(received), 1 << 20))
        if not more:
            break
        received += more
    return bytes(received)


def _say(control: socket.socket, message: dict[str, Any]) -> None:
    body = json.dumps(message).encode()
    with contextlib.suppress(OSError):
        control.sendall(len(body).to_bytes(4, "big") + body)


def _drain(descriptor: int) -> None:
    with contextlib.suppress(BlockingIOError):
        while os.read(descriptor, 4096):
            pass


def _drain_when_ready(descriptor: int, seconds: float) -> None:
    if select.select([descriptor], [], [], seconds)[0]:
        _drain(descriptor)


def _above(descriptors: list[int]) -> list[int]:
    """The same descriptors, none of them 0 to 3: those are about to be given away."""
    return [descriptor if descriptor > 3 else _lift(descriptor) for descriptor in descriptors]


def _lift(descriptor: int) -> int:
    lifted = descriptor
    while lifted <= 3:
        lifted = os.dup(lifted)
    return lifted


def _close_all_but(kept: list[int]) -> None:
    low = 0
    for descriptor in [*sorted(kept), _most_descriptors()]:
        os.closerange(low, descriptor)
        low = descriptor + 1
    for number in range(3):
        with contextlib.suppress(OSError):
            os.fstat(number)
            continue
        os.open(os.devnull, os.O_RDWR)


def _close(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)


def _most_descriptors() -> int:
    most = os.sysconf("SC_OPEN_MAX")
    return most if most > 0 else 65_536


def _prctl(option: int, value: int | bytes) -> None:
    if not _LINUX:
        return
    import ctypes  # noqa: PLC0415 -- Linux only

    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
