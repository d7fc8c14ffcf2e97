"""Start the daemon exactly once, however many processes want it at the same moment.

Whoever holds the flock on `daemon.lock` may publish a socket. The starter takes it, binds and listens under another
name, renames the socket to its place and hands both, the lock and the listening descriptor, to the process it starts:
there is no moment in which a visible socket is not a listening one, and none in which two processes may start. The
lock, never a file's existence or a pid in it, decides.
"""

import fcntl
import os
import sys
import time

from sould.agents.base.filelock import is_locked, lock_now, open_lock_file
from sould.agents.base.privatefile import write_private
from sould.daemon.dial import BridgeError, socket, try_connect
from sould.daemon.paths import Paths, ensure_private, quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

DEADLINE = 10.0
DEATHS, WINDOW, PAUSE = 5, 180.0, 60.0
"""After DEATHS starts without a clean end within WINDOW seconds, none for PAUSE seconds."""

PATIENCE = 1.0
"""Seconds for a daemon that runs to listen again."""

BACKLOG = 512

KEPT = (
    "HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER",
    "DBUS_SESSION_BUS_ADDRESS",
    "ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "all_proxy", "https_proxy", "http_proxy", "no_proxy",
    "SSL_CERT_DIR", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE",
)  # fmt: skip
"""The daemon's own environment: these and LC_*, XDG_*, SOULD_*, but for the skills that a
client names. Keys belong to sessions and come with each hello."""

RUN = "import gc; gc.disable(); from sould.daemon.process.main import main; main()"
"""What is imported stays: `main` looks for garbage from when it serves."""


class NotListeningError(BridgeError):
    """The daemon runs without a socket, and did not make one when it was asked to."""


def connect(paths: Paths, *, patient: bool = False) -> "socket.socket":
    """A connection to the user's daemon, which is started when nobody listens; see `start`.

    Raises:
        BridgeError, UnsafePathError
    """
    return try_connect(paths) or start(paths, patient=patient)


def start(paths: Paths, *, patient: bool = False) -> "socket.socket":
    """A connection to the daemon, started by us or by whoever was faster.

    `patient`: a daemon has just gone, perhaps to make room for a newer one, so another process is given a moment to
    start it.

    Raises:
        BridgeError: it cannot be started, or starting is forbidden; the text says what to do.
    """
    ensure_private(paths.runtime)
    end = time.monotonic() + DEADLINE
    if patient:
        connection = _wait(paths, min(end, time.monotonic() + 0.2))
        if connection is not None:
            return connection
    while time.monotonic() < end:
        lock = take_lock(paths)
        if lock is not None:
            try:
                connection = try_connect(paths)  # somebody may have started it and left the lock to it meanwhile
                if connection is not None:
                    return connection
                _may_start(paths)
                listener = publish(paths)
                spawn(paths, listener, lock)
                os.close(listener)
            finally:
                os.close(lock)
        else:
            ask_to_listen(paths)
        connection = _wait(paths, min(end, time.monotonic() + 0.5))
        if connection is not None:
            return connection
    last, pid = f"the last line of {paths.log}: {_last(paths)}", ask_to_listen(paths)
    if pid is not None:
        raise BridgeError(f"the daemon (pid {pid}) runs, but does not listen; run: sould stop --force; {last}")
    raise BridgeError(f"the daemon did not start within {DEADLINE:.0f} s; {last}")


def reach(paths: Paths) -> "socket.socket | None":
    """A connection to the daemon that runs, which is asked to listen again when its socket is gone; None without one.

    Raises:
        NotListeningError: it runs, and has no socket still.
        BridgeError, UnsafePathError: as `try_connect`.
    """
    if os.path.exists(socket_unit(paths)) and not is_locked(paths.lock):
        return None  # who connects to a service manager's socket has a daemon started
    connection = try_connect(paths)
    if connection is not None or ask_to_listen(paths) is None:
        return connection
    connection = _wait(paths, time.monotonic() + PATIENCE)
    if connection is None and (pid := ask_to_listen(paths)) is not None:
        raise NotListeningError(f"The daemon (pid {pid}) runs, but does not listen at {paths.socket}")
    return connection


def socket_unit(paths: Paths) -> str:
    """Where systemd finds the user's unit for our socket, if `sould service install` wrote one."""
    return f"{os.path.dirname(paths.config)}/systemd/user/sould.socket"


def ask_to_listen(paths: Paths) -> "int | None":
    """Tell the daemon that has the lock that nobody listens at its socket; its pid, None when none lives."""
    from sould.daemon.identity import read_owner, send_signal  # noqa: PLC0415 -- hardly ever needed at a start
    from sould.daemon.namewatch import LOOK  # noqa: PLC0415 -- as above

    owner = read_owner(paths.lock)
    return owner[0].pid if owner is not None and send_signal(owner[0], LOOK) else None


def _wait(paths: Paths, until: float) -> "socket.socket | None":
    while True:
        connection = try_connect(paths)
        if connection is not None or time.monotonic() >= until:
            return connection
        time.sleep(0.01)


def take_lock(paths: Paths) -> "int | None":
    """The descriptor that holds the daemon's lock, or None when another process has it.

    Raises:
        BridgeError: it cannot be made, or the file system cannot lock.
    """
    try:
        descriptor = open_lock_file(paths.lock)
    except OSError as error:
        raise BridgeError(f"{paths.lock} cannot be created: {error.strerror}") from None
    try:
        lock_now(descriptor)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError as error:
        os.close(descriptor)
        raise BridgeError(
            f"{paths.lock} cannot be locked ({error.strerror}); set XDG_RUNTIME_DIR to a directory on a local disk"
        ) from None
    return descriptor


def publish(paths: Paths) -> int:
    """Bind, listen, and only then give the socket its name. The caller holds the lock.

    Raises:
        BridgeError: the name cannot be had.
    """
    temporary = f"{paths.runtime}/s.{os.getpid()}"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if os.path.lexists(temporary):
            os.unlink(temporary)
        mask = os.umask(0o177)
        try:
            listener.bind(temporary)
        finally:
            os.umask(mask)
        listener.listen(BACKLOG)
        os.rename(temporary, paths.socket)
    except OSError as error:
        listener.close()
        away = f"; run: mv {quote(paths.socket)} {quote(paths.socket + '.old')}" if os.path.isdir(paths.socket) else ""
        raise BridgeError(f"{paths.socket} cannot be created: {error.strerror or error}{away}") from None
    return listener.detach()


def _may_start(paths: Paths) -> None:
    if "SOULD_NO_SPAWN" in paths.environment:
        raise BridgeError("the daemon is not running, and SOULD_NO_SPAWN forbids starting it; run: sould daemon")
    now = time.time()
    recent = [t for t in read_starts(paths) if 0 <= now - t < WINDOW]
    limit = int(paths.environment.get("SOULD_START_LIMIT", DEATHS))
    if len(recent) >= limit and now - recent[-1] < PAUSE:
        raise BridgeError(
            f"the daemon ended unexpectedly {len(recent)} times in {WINDOW:.0f} s; waiting {PAUSE:.0f} s before the "
            f"next start. The last line of {paths.log}: {_last(paths)}. Try: sould doctor"
        )
    _note_start(paths, recent, now)


def read_starts(paths: Paths) -> "list[float]":
    """When daemons were started since the last one that ended cleanly, oldest first, in wall seconds."""
    try:
        with open(paths.starts, encoding="ascii", errors="replace") as file:
            lines = file.read().split()
    except FileNotFoundError:
        return []
    return [float(line) for line in lines if line.replace(".", "", 1).isdigit()]


def _note_start(paths: Paths, recent: "list[float]", now: float) -> None:
    try:  # noqa: SIM105 -- contextlib would have to be loaded for it
        write_private(paths.starts, "".join(f"{t:.3f}\n" for t in [*recent, now]).encode())
    except OSError:
        pass  # a full disk: a start that is not counted is better than none


def spawn(paths: Paths, listener: int, lock: int) -> None:
    """Start the daemon in its own session, parented by init, with descriptors 3 (listening) and 4 (lock)."""
    _make_log_directory(paths)
    surroundings = environment(paths.environment)  # while we stand where the client does
    surroundings.pop("SOULD_LOG", None)  # what a client wants to have logged of itself
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.chdir("/")
        log = os.open(paths.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10) for descriptor in (null, log, log, listener, lock)]
        for target, descriptor in enumerate(high):
            os.dup2(descriptor, target, inheritable=True)
        os.closerange(5, os.sysconf("SC_OPEN_MAX") if sys.platform == "darwin" else 4096)
        arguments = ["--listen", "3", "--lock", "4"]
        os.execve(sys.executable, command(*arguments), surroundings)
    finally:
        os._exit(70)


def command(*arguments: str) -> "list[str]":
    """The daemon's command line. `-P`: a workspace's `json.py` is never imported."""
    return [sys.executable, "-P", "-X", "utf8", "-c", RUN, "sould-daemon", *arguments]


def environment(given: "Mapping[str, str]") -> "dict[str, str]":
    """The daemon's own environment, made of an environment."""
    made = inherited(given)
    if made.get("SOULD_CONFIG"):  # meant from where the client stands; the daemon stands elsewhere
        made["SOULD_CONFIG"] = os.path.abspath(os.path.expanduser(made["SOULD_CONFIG"]))
    # pydantic would look through every installed distribution for plugins, which takes longer than all of `initialize`
    return made | {"PYDANTIC_DISABLE_PLUGINS": "__all__"}


def inherited(given: "Mapping[str, str]") -> "dict[str, str]":
    """What the daemon inherits of an environment: no key, and nothing of a project."""
    return {
        name: value
        for name, value in given.items()
        if name in KEPT or (name.startswith(("LC_", "XDG_", "SOULD_")) and name != "SOULD_SKILLS_DIRS")
    }


def _make_log_directory(paths: Paths) -> None:
    mask = os.umask(0o077)
    try:
        os.makedirs(paths.logs, 0o700, exist_ok=True)
    except OSError as error:
        raise BridgeError(f"{paths.logs} cannot be created: {error.strerror}") from None
    finally:
        os.umask(mask)


def _last(paths: Paths) -> str:
    try:
        with open(paths.log, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 2000))
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return "(none)"
    return next((line.strip() for line in reversed(lines) if line.strip()), "(none)")
