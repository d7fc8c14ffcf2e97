"""The daemon process: from an inherited socket and lock to the end, with as little as possible before it answers.

`main` is what the starter runs (`--listen FD --lock FD`), what a service manager's unit becomes (`--listen FD`), what a
planned restart runs (`--handover FD`), and what `sould daemon` runs by hand in the foreground. What a turn needs is
imported later, in the background (D9).
"""

import asyncio
import contextlib
import gc
import logging
import os
import resource
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from sould.agents.base.filelock import share
from sould.agents.base.loglevel import LOG_LEVELS
from sould.agents.base.process.bounded import end_programs
from sould.agents.base.tasks import WHERE
from sould.daemon.dial import BridgeError
from sould.daemon.hello import VERSION
from sould.daemon.identity import Identity, read_owner, write_owner
from sould.daemon.launch import DEADLINE, publish, take_lock
from sould.daemon.limits import Limits
from sould.daemon.paths import Paths, UnsafePathError, ensure_private
from sould.daemon.process.daemon import Daemon
from sould.daemon.process.handover import HandoverState, receive
from sould.daemon.process.lifecycle import Exit
from sould.daemon.process.sessions import OURS, Build

SIZE, KEEP = 10 * 1024 * 1024, 5
_log = logging.getLogger(__name__)
COLLECT = (5_000, 1, 400)
"""When garbage is looked for. Young objects often and few at a time, which takes two milliseconds at most; all of them
hardly ever while turns run, for that takes a tenth of a second where a long session is open; `Sessions` does so when one
has ended."""


def main(arguments: Sequence[str] | None = None, build: Build = OURS) -> None:
    """Run the daemon until it leaves; exits with 0 when another one runs already."""
    options = _Options.parse(sys.argv[1:] if arguments is None else arguments)
    paths = Paths(os.environ)
    try:
        umask = _harden(foreground=options.listen is None and options.handover is None)
        ensure_private(paths.runtime)
        inheritance = _inherit(options, paths)
    except (BridgeError, UnsafePathError) as error:
        sys.exit(f"sould: {error}")
    if inheritance is None:
        owner = read_owner(paths.lock)
        who = f"pid {owner[0].pid}, version {owner[1]}" if owner else "pid unknown"
        sys.stderr.write(f"sould: already running, {who}\n")
        sys.exit(0)
    _serve(paths, inheritance, umask, build, foreground=options.listen is None and options.handover is None)


class _Options(Struct, frozen=True):
    """Descriptors handed to us, by our own starter or predecessor; nobody types these. argparse would cost 7 ms."""

    listen: int | None = None
    lock: int | None = None
    handover: int | None = None

    @classmethod
    def parse(cls, arguments: Sequence[str]) -> "_Options":
        """Raises SystemExit with a sentence for anything else."""
        given = [argument for argument in arguments if argument not in ("sould-daemon", "daemon")]
        names = given[::2]
        if len(given) % 2 or not all(name in ("--listen", "--lock", "--handover") for name in names):
            sys.exit("sould: `sould daemon` takes no options; it is configured by files: sould config path")
        return cls(**{name[2:]: int(value) for name, value in zip(names, given[1::2], strict=True)})


def _inherit(options: _Options, paths: Paths) -> HandoverState | None:
    """The socket and the lock, ours or handed to us; None when another daemon has the lock."""
    if options.handover is not None:
        return receive(options.handover)
    if options.listen is not None and options.lock is not None:
        for descriptor in (options.listen, options.lock):
            os.set_inheritable(descriptor, False)
        return HandoverState(socket.socket(fileno=options.listen), options.lock)
    if options.listen is not None:
        os.set_inheritable(options.listen, False)
        lock = _wait_for_lock(paths)
        if lock is None:
            return None
        return HandoverState(socket.socket(fileno=options.listen), lock, activated=True)
    lock = take_lock(paths)
    if lock is None:
        return None
    return HandoverState(socket.socket(fileno=publish(paths)), lock)


def _wait_for_lock(paths: Paths) -> int | None:
    """The lock, as soon as an earlier daemon has let go of it; None when it does not."""
    end = time.monotonic() + DEADLINE
    while (lock := take_lock(paths)) is None and time.monotonic() < end:
        time.sleep(0.02)
    return lock


def _harden(*, foreground: bool) -> int:
    """Private files, no core dumps, no descriptors but ours, more of them if we may.

    Returns the umask we were started with, which is the user's.
    """
    umask = os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4096 if hard == resource.RLIM_INFINITY else min(hard, 4096)
    if "SOULD_KEEP_ULIMIT" not in os.environ and soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    if not foreground:
        null = os.open(os.devnull, os.O_RDONLY)
        if null != 0:
            os.dup2(null, 0)
            os.close(null)
    return umask


def _serve(paths: Paths, inheritance: HandoverState, umask: int, build: Build, *, foreground: bool) -> None:
    write_owner(inheritance.lock, Identity.mine(), VERSION)
    start_logging(paths.log, foreground=foreground)
    LOG_LEVELS.begin(os.environ)
    begun = "started" if inheritance.giver is None else "took over"
    _log.info("sould %s %s, pid %d, runtime %s", VERSION, begun, os.getpid(), paths.runtime)
    _use(paths.state, paths.config)
    gc.freeze()  # what is imported stays: collections need not look at it again
    gc.set_threshold(*COLLECT)
    gc.enable()  # `launch.RUN` disabled it for the imports
    exit_reason = asyncio.run(_run(paths, inheritance, umask, build))
    if exit_reason is not Exit.RESTART:
        with contextlib.suppress(OSError):
            os.unlink(paths.starts)  # a clean end: no death to be counted
    _log.info("ended: %s", exit_reason.value)
    logging.shutdown()
    os._exit(0)  # threads that carry a terminal may be waiting for a key


def _use(*directories: str) -> None:
    """Until we end, it can be told from these directories that a daemon runs, also by what cannot see our socket."""
    for directory in directories:
        try:
            share(directory)
        except FileNotFoundError:
            continue
        except OSError as error:
            _log.warning("commands in containers cannot tell that a daemon uses %s: %s", directory, error.strerror)


async def _run(paths: Paths, inheritance: HandoverState, umask: int, build: Build) -> Exit:
    daemon = Daemon(paths, Limits.from_environment(os.environ), inheritance, umask, build)
    try:
        return await daemon.run()
    finally:
        end_programs()  # the loop waits for threads, which wait for them


class _Rotating(logging.FileHandler):
    """With `standard`, descriptors 1 and 2 go along, so that a crash's last words are in the newest file.

    The standard library has one behind `logging.handlers`, which loads pickle and queues: 3 ms and 0.5 MB of each start.
    """

    def __init__(self, path: str, *, standard: bool) -> None:
        super().__init__(path, encoding="utf-8", errors="backslashreplace")
        self._standard = standard
        self._take_standard_descriptors()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self.stream is not None and os.fstat(self.stream.fileno()).st_size >= SIZE:
                self._rotate()
        except OSError:
            self.handleError(record)
        super().emit(record)

    def _rotate(self) -> None:
        if self.stream is not None:
            self.stream.close()
        try:
            for number in range(KEEP - 1, 0, -1):
                with suppress(FileNotFoundError):
                    os.replace(f"{self.baseFilename}.{number}", f"{self.baseFilename}.{number + 1}")
            os.replace(self.baseFilename, f"{self.baseFilename}.1")
        finally:
            self.stream = self._open()
        self._take_standard_descriptors()

    def _take_standard_descriptors(self) -> None:
        if self._standard and self.stream is not None:
            for descriptor in (1, 2):
                os.dup2(self.stream.fileno(), descriptor)


class _Where(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.where = WHERE.get()
        return LOG_LEVELS.passes(record)


def start_logging(path: str, *, foreground: bool) -> None:
    """Log what passes `LOG_LEVELS` to `path`; in the foreground to standard error as well. The umask makes new files private."""
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    handler = _Rotating(path, standard=not foreground)
    handlers: list[logging.Handler] = [handler]
    if foreground:
        handlers.append(logging.StreamHandler())
    form = logging.Formatter(
        "%(asctime)s.%(msecs)03d %(levelname)s %(name)s [%(where)s] %(message)s", "%Y-%m-%dT%H:%M:%S"
    )
    for each in handlers:
        each.setFormatter(form)
        each.addFilter(_Where())
    logging.basicConfig(level=logging.INFO, handlers=handlers)
    # libraries that log requests at INFO would put addresses and headers there
    for name in ("httpx2", "httpcore2", "openai", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)
