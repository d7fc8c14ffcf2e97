"""The daemon under test: an own HOME, own runtime and state directories, real bridges, raw sockets, real kills.

Everything started here is ended by process id in `close`. `assert_healthy` asserts what must hold after every fault.
"""

import hashlib
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sould.daemon.cli.running import RunningDaemon
from sould.daemon.dial import send
from sould.daemon.hello import PROTOCOL, VERSION, encode
from sould.daemon.identity import Identity, read_owner
from sould.daemon.methods import CheckJournals, Ping
from sould.daemon.paths import Paths
from soultest.processes import MARK, until_gone
from soultest.world import SOULD, World, run_sould, start_daemon

FULL = os.environ.get("SOULD_FAULTS") == "full"
NOBODY = 65534
PATIENCE = 40.0
"""Seconds that anything may take on a busy machine (D46): only what never comes is waited for so long."""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": 1,
        "clientInfo": {"name": "an ACP client", "version": "1"},
        "clientCapabilities": {"auth": {"terminal": True}},
    },
}


def count(full: int, short: int) -> int:
    """How often a fault is tried: the catalogue's number with `SOULD_FAULTS=full`, else a short one (D3)."""
    return full if FULL else short


def until(reached: Callable[[], Any], seconds: float = PATIENCE, what: str = "the condition") -> Any:
    """Wait for a true value and return it; fails when it does not come."""
    deadline = time.monotonic() + seconds
    while not (value := reached()):
        assert time.monotonic() < deadline, f"{what} was not reached within {seconds} s"
        time.sleep(0.005)
    return value


class Bridge:
    """A bridge process, spoken to through its pipes. Lines are read by a thread so that a test can wait with a limit."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self._lines.put(line)
        self._lines.put(None)

    def send(self, message: Any) -> None:
        """One message, or raw bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def line(self, seconds: float = PATIENCE) -> bytes:
        """The next line; b"" at the end of the stream."""
        try:
            return self._lines.get(timeout=seconds) or b""
        except queue.Empty:
            raise AssertionError(f"no line within {seconds} s") from None

    def answer(self, identifier: int | str, seconds: float = PATIENCE) -> dict[str, Any]:
        """The answer to a request; other messages before it are passed over."""
        deadline = time.monotonic() + seconds
        while True:
            line = self.line(max(0.01, deadline - time.monotonic()))
            assert line, f"the stream ended before the answer to {identifier}"
            if line.strip():
                message = json.loads(line)
                if message.get("id") == identifier and "method" not in message:
                    return message

    def request(self, identifier: int | str, method: str, seconds: float = PATIENCE, **params: Any) -> dict[str, Any]:
        """Ask and wait."""
        self.send({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params})
        return self.answer(identifier, seconds)

    def initialize(self, seconds: float = PATIENCE) -> dict[str, Any]:
        """The first request of every client."""
        self.send(INITIALIZE)
        return self.answer(1, seconds)

    def close_input(self) -> None:
        """The editor closes the agent's standard input."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()

    def wait(self, seconds: float = PATIENCE) -> int:
        """The exit code."""
        return self.process.wait(seconds)

    def stderr(self) -> str:
        """Everything it said on standard error; after `wait`."""
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()

    def kill(self) -> None:
        """End it and close our ends."""
        with suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
        self._reader.join(5)
        if self.process.stdout is not None:
            self.process.stdout.close()


@dataclass
class Sould:
    """One user's daemon, not started before somebody needs it."""

    world: World
    paths: Paths = field(init=False)
    mark: str = field(init=False)
    environment: dict[str, str] = field(init=False)
    workspace: Path = field(init=False)
    bridges: list[Bridge] = field(default_factory=list[Bridge])
    _sockets: list[socket.socket] = field(default_factory=list[socket.socket])
    _seen: set[Identity] = field(default_factory=set[Identity])

    def __post_init__(self) -> None:
        self.mark = self.world.root.name
        # deaths are counted by the product; tests kill daemons for a living
        self.environment = self.world.environment | {MARK: self.mark, "SOULD_START_LIMIT": "60"}
        self.paths = Paths(self.environment)
        self.workspace = self.world.project
        subprocess.run(["git", "init", "-q", str(self.workspace)], check=True, env=self.environment)

    # --- clients ------------------------------------------------------------------------------------------------

    def bridge(
        self,
        frontend: str = "acp",
        *arguments: str,
        env: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
        stdin: int = subprocess.PIPE,
        stdout: int = subprocess.PIPE,
        pass_fds: Sequence[int] = (),
        umask: int = -1,
    ) -> Bridge:
        """A client's view of `sould <frontend>`. `prefix` runs it through another program (`setpriv …`)."""
        process = subprocess.Popen(
            [*prefix, str(SOULD), frontend, *arguments],
            env=self.environment | dict(env or {}),
            cwd=self.workspace,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            pass_fds=pass_fds,
            umask=umask,
        )
        bridge = Bridge(process)
        self.bridges.append(bridge)
        return bridge

    def acp(self, env: Mapping[str, str] | None = None, umask: int = -1) -> Bridge:
        """A bridge whose client is initialized. `env` is the daemon's, too, where none runs yet.

        With a `umask` of its own the bridge starts the daemon, which takes it from there.
        """
        if self.owner is None and umask < 0:
            self.start(env)
        bridge = self.bridge(env=env, umask=umask)
        assert "result" in bridge.initialize()
        return bridge

    def raw(self) -> socket.socket:
        """A bare connection, nothing sent."""
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(10)
        self._sockets.append(sock)
        sock.connect(self.paths.socket)
        return sock

    def hello(
        self,
        frontend: str = "control",
        *,
        descriptors: tuple[int, ...] = (),
        protocol: tuple[int, int] = PROTOCOL,
        version: str = VERSION,
        token: str = "",
        more: Sequence[tuple[bytes, bytes]] = (),
    ) -> socket.socket:
        """A connection that has said hello as any version of the bridge would."""
        sock = self.raw()
        fields = [
            (b"protocol", b"%d-%d" % protocol),
            (b"version", version.encode()),
            (b"face", frontend.encode()),
            (b"pid", b"%d" % os.getpid()),
            (b"token", (token or os.urandom(16).hex()).encode()),
            (b"cwd", os.fsencode(self.workspace)),
            *more,
        ]
        send(sock, encode(fields), descriptors)  # pyright: ignore[reportArgumentType] -- socket has what _socket has
        return sock

    @contextmanager
    def control(self, *, start: bool = False) -> Generator[RunningDaemon]:
        """The methods of the daemon."""
        with RunningDaemon.connect(start=start, environment=self.environment) as client:
            yield client

    def cli(self, *arguments: str, env: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
        """A command of the command line, to its end."""
        return run_sould(self.environment | dict(env or {}), self.workspace, *arguments)

    # --- the daemon ---------------------------------------------------------------------------------------------

    def start(self, env: Mapping[str, str] | None = None) -> int:
        """Start the daemon; its pid."""
        start_daemon(self.environment | dict(env or {}))
        return self.pid

    @property
    def owner(self) -> Identity | None:
        """The living daemon; None when there is none."""
        found = read_owner(self.paths.lock)
        if found is None or not found[0].alive():
            return None
        self._seen.add(found[0])
        return found[0]

    @property
    def pid(self) -> int:
        """The living daemon's pid; there must be one."""
        owner = self.owner
        assert owner is not None, "no daemon runs"
        return owner.pid

    def kill9(self) -> int:
        """Kill the daemon and wait until it is gone; the pid it had."""
        owner = self.owner
        assert owner is not None
        os.kill(owner.pid, signal.SIGKILL)
        until(lambda: not owner.alive(), what="the daemon's death")
        return owner.pid

    def starts(self) -> int:
        """How often daemons started here, by their own word."""
        return self.log().count(" started, pid ")

    def log(self) -> str:
        """The daemons' log."""
        try:
            return Path(self.paths.log).read_text()
        except FileNotFoundError:
            return ""

    # --- the five things that hold after every fault --------------------------------------------------------------------

    def canary(self) -> str:
        """A digest of what no test may change: HOME's dot files, the configuration, the repository's own files."""
        digest = hashlib.sha256()
        places = [
            self.world.root / ".ssh",
            self.world.root / ".bashrc",
            self.world.root / "config",
            self.workspace / ".git",
        ]
        for place in places:
            for path in sorted([place, *place.rglob("*")]):
                if path.is_file() and path.name != "index":
                    digest.update(os.fsencode(path) + path.read_bytes())
        return digest.hexdigest()

    def assert_healthy(self, pid: int, canary: str) -> None:
        """The daemon lives and answers, journals are whole, no process of ours is left, nothing else was touched."""
        assert self.pid == pid
        with self.control() as daemon:
            assert daemon.ask(Ping()).pid == pid
            report = daemon.ask(CheckJournals())
        assert [problem for problem in report.problems if problem.severity == "error"] == []
        bridges = {bridge.process.pid for bridge in self.bridges}
        assert until_gone(self.mark, 3.0, but=bridges) == []
        assert self.canary() == canary

    def move_to(self, project: Path) -> None:
        """What comes now happens in another project, which is made."""
        project.mkdir()
        self.workspace = project
        subprocess.run(["git", "init", "-q", str(project)], check=True, env=self.environment)

    def hang_up(self) -> None:
        """Every client leaves; the daemon stays."""
        for sock in self._sockets:
            sock.close()
        self._sockets.clear()
        for bridge in self.bridges:
            bridge.kill()
        self.bridges.clear()

    def close(self) -> None:
        """End everything that was started here, by its pid."""
        self.hang_up()
        owner = self.owner
        if owner is not None:
            with suppress(ProcessLookupError):
                os.kill(owner.pid, signal.SIGTERM)
        deadline = time.monotonic() + 6
        for identity in self._seen:
            while identity.alive() and time.monotonic() < deadline:
                time.sleep(0.005)
            if identity.alive():
                os.kill(identity.pid, signal.SIGKILL)


@contextmanager
def fresh_sould() -> Generator[Sould]:
    """A daemon's world in a short directory (socket paths are), removed afterwards."""
    root = Path(tempfile.mkdtemp(prefix="sd"))
    sould = Sould(World(root))
    try:
        yield sould
    finally:
        sould.close()
        shutil.rmtree(root, ignore_errors=True)


def not_running(sould: Sould) -> bool:
    """Whether the daemon has gone. Looks without connecting, which would keep it from leaving."""
    return sould.owner is None and not os.path.lexists(sould.paths.socket)


def as_nobody(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run Python code as another user; needs root."""
    return subprocess.run(
        [
            "setpriv",
            f"--reuid={NOBODY}",
            f"--regid={NOBODY}",
            "--clear-groups",
            "/usr/bin/env",
            "-i",
            *_python(),
            "-c",
            code,
            *arguments,
        ],
        capture_output=True,
        text=True,
        timeout=20,
    )


def _python() -> list[str]:
    """An interpreter other users can run: this one may live in a private home."""
    system = shutil.which("python3", path="/usr/bin:/usr/local/bin:/bin")
    return [system or sys.executable, "-I", "-S"]
