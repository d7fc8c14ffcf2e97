"""Makes what is measured: a virtual environment with the built wheel, as a user would have it.

An editable install costs start-up time, so there is none. Nothing outside `build/bench` is written. The dependencies are
installed once for each lock file, the wheel anew each time.
"""

import fcntl
import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "build" / "bench"
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
"""The pip that set up this checkout, which `--python` has work on another environment."""


@contextmanager
def exclusive() -> Generator[None]:
    """While this run goes on, no other: it would install its wheel under this one, and slow it down."""
    BENCH.mkdir(parents=True, exist_ok=True)
    with (BENCH / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit("bench: another run of this tree is going on") from None
        yield


def this_tree() -> Path:
    """The interpreter of an environment with this working tree in it."""
    return install(ROOT, dependencies(), "dist")


def revision(name: str) -> Path:
    """The interpreter of a second environment, with this revision of the project in it and what it was locked to."""
    done = subprocess.run(["git", "rev-parse", name], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    python = BENCH / "venv-base" / "bin" / "python"
    stamp = BENCH / "base-revision"
    wanted = done.stdout.strip()
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    stamp.unlink(missing_ok=True)
    source = BENCH / "base"
    shutil.rmtree(source, ignore_errors=True)
    archive = subprocess.run(["git", "archive", name], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(source, filter="data")
    _install_lock(source / "requirements.lock", python.parent.parent)
    install(source, python, "dist-base")
    stamp.write_text(wanted)
    return python


def dependencies() -> Path:
    """The interpreter of an environment that holds the locked dependencies."""
    venv = BENCH / "venv"
    python = venv / "bin" / "python"
    lock = ROOT / "requirements.lock"
    stamp = BENCH / "dependencies"
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()
    if not python.exists() or not stamp.exists() or stamp.read_text() != digest:
        _install_lock(lock, venv)
        stamp.write_text(digest)
    return python


def _install_lock(lock: Path, venv: Path) -> None:
    print("bench: making a clean environment (once)", file=sys.stderr)
    shutil.rmtree(venv, ignore_errors=True)
    run([sys.executable, "-m", "venv", str(venv)])
    run([*PIP, "--python", str(venv / "bin" / "python"), "install", "--quiet", "--require-hashes", "-r", str(lock)])


def install(source: Path, python: Path, name: str) -> Path:
    """Build the wheel of a source tree and install it; the same interpreter again."""
    dist = BENCH / name
    shutil.rmtree(dist, ignore_errors=True)
    hatchling = str(dependencies().parent / "hatchling")
    run([hatchling, "build", "-t", "wheel", "-d", str(dist)], source)
    wheel = next(dist.glob("*.whl"))
    run([*PIP, "--python", str(python), "install", "--quiet", "--no-deps", "--force-reinstall", str(wheel)])
    return python


def run(command: Sequence[str], cwd: Path = ROOT) -> None:
    """Run a set-up command; its words are shown only when it fails."""
    done = subprocess.run(command, check=False, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"bench: {' '.join(command)} failed:\n{done.stdout}{done.stderr}")
