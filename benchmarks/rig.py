"""What every measurement stands on: a clean virtual environment with the built wheel, a private HOME, a model server.

The wheel is installed as a user would have it, because an editable install costs start-up time. Nothing outside the
project's `build/` folder and a temporary directory is written, and every process is ended by its id.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from acpclient import AcpClient
from sould.daemon.cli.client import ControlClient, NotRunningError

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "build" / "bench"
HERE = Path(__file__).resolve().parent
TICK = os.sysconf("SC_CLK_TCK")

CONFIG = """\
default_model = "bench"

[models.bench]
provider = "local"
model = "bench"
max_context_size = 1000000

[providers.local]
type = "openai_legacy"
base_url = "http://127.0.0.1:{port}/v1"
api_key = "bench"
"""


@dataclass(slots=True)
class Rig:
    """One private world. `close` ends everything in it."""

    python: Path
    home: Path
    environment: dict[str, str]
    port: int
    models: subprocess.Popen[str]

    @property
    def project(self) -> Path:
        """The folder sessions work in."""
        return self.home / "project"

    def agent(self) -> AcpClient:
        """Our agent, as an editor starts it."""
        return AcpClient([str(self.python.parent / "sould"), "acp"], self.environment, self.project)

    def floor(self) -> AcpClient:
        """The least an agent can be, in the same interpreter."""
        return AcpClient(
            [str(self.python), str(HERE / "flooragent.py"), str(self.port)], self.environment, self.project
        )

    def daemon(self) -> int:
        """The daemon's process id, by its own word."""
        with ControlClient.connect(environment=self.environment) as daemon:
            return daemon.ping().pid

    def stop_daemon(self) -> None:
        """End the daemon and wait until it is gone."""
        try:
            pid = self.daemon()
        except NotRunningError:
            return
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        wait_gone(pid)

    def close(self) -> None:
        """End the daemon and the model server, remove the world."""
        self.stop_daemon()
        assert self.models.stdin
        self.models.stdin.close()
        self.models.wait(10)
        shutil.rmtree(self.home, ignore_errors=True)


@contextmanager
def rig() -> Generator[Rig]:
    """A fresh world, taken down at the end whatever happens."""
    python = clean_venv()
    home = Path(tempfile.mkdtemp(prefix="sould-bench-"))
    (home / "project").mkdir()
    (home / "run").mkdir(mode=0o700)
    (home / "config" / "sould").mkdir(parents=True)
    models = subprocess.Popen(
        [sys.executable, str(HERE / "modelserver.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert models.stdout
    port = int(models.stdout.readline())
    (home / "config" / "sould" / "config.toml").write_text(CONFIG.format(port=port))
    environment = {
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "XDG_RUNTIME_DIR": str(home / "run"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_DATA_HOME": str(home / "data"),
        "LANG": "C.UTF-8",
    }
    world = Rig(python, home, environment, port, models)
    try:
        yield world
    finally:
        world.close()


def clean_venv() -> Path:
    """The interpreter of a virtual environment that holds the locked dependencies and the built wheel, nothing editable."""
    venv = BENCH / "venv"
    python = venv / "bin" / "python"
    lock = ROOT / "requirements.lock"
    stamp = BENCH / "dependencies"
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()
    if not python.exists() or not stamp.exists() or stamp.read_text() != digest:
        print("bench: making a clean environment (once)", file=sys.stderr)
        shutil.rmtree(venv, ignore_errors=True)
        run([sys.executable, "-m", "venv", str(venv)])
        run([str(python), "-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(lock)])
        stamp.write_text(digest)
    shutil.rmtree(BENCH / "dist", ignore_errors=True)
    run([str(python.parent / "hatchling"), "build", "-t", "wheel", "-d", str(BENCH / "dist")])
    wheel = next((BENCH / "dist").glob("*.whl"))
    run([str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", str(wheel)])
    return python


def run(command: Sequence[str]) -> None:
    """Run a set-up command; its words are shown only when it fails."""
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"bench: {' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def wait_gone(pid: int) -> None:
    """Until the process is gone; killed after ten seconds."""
    for _ in range(1000):
        if not alive(pid):
            return
        time.sleep(0.01)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def pss(pid: int) -> float:
    """Proportional memory in MB: what this process costs, shared pages divided among their users."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError("this kernel does not tell Pss")


def cpu(pid: int) -> float:
    """Seconds of processor time so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def children(pid: int) -> list[int]:
    """Direct children."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(each) for each in (task / "children").read_text().split()]
    return found
