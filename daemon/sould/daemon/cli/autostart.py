"""`sould service install|remove|status`: the daemon as a service of the user's session, so that nobody waits for its start.

Only files that carry our mark are written over or removed. A daemon that runs is asked to make room when no turn runs;
its editors go on with the next one (D11).
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from sould.daemon.cli import units
from sould.daemon.cli.output import FAILED, CommandError, CommandGroup, complain, plural
from sould.daemon.cli.running import DaemonError, RunningDaemon
from sould.daemon.identity import Identity, read_owner
from sould.daemon.launch import socket_unit, take_lock
from sould.daemon.methods import ShutdownIfIdle
from sould.daemon.paths import Paths, ensure_private

POLL_S = 0.02
SOCKET, SERVICE = "sould.socket", "sould.service"
NEITHER = "There is neither a systemd user session nor launchd here. Nothing is lost: the first editor or command starts the daemon."
ENVIRONMENT = (
    "Sessions have the environment of their editor. What runs without one (loops after a restart) has the service's: "
    "PATH as it is now; run this again when it changes."
)


@click.group(cls=CommandGroup)
def service() -> None:
    """Start the daemon when you log in, so that no editor ever waits for it.

    Without this the first editor or command starts it. On Linux a systemd user unit with a socket, on macOS an agent of
    launchd. `sould stop`, `sould restart` and upgrades work as they do without it.

    Examples:
      sould service install
      sould service status
      sould service remove
    """


@service.command()
@click.option("--dry-run", is_flag=True, help="Show the files, and write nothing.")
def install(dry_run: bool) -> None:
    """Write the service's files and start it; again, to bring them up to date.

    A running daemon makes room when its turns have ended; connected editors notice nothing.

    Examples:
      sould service install --dry-run
      sould service install
    """
    paths = Paths(os.environ)
    wanted = files(paths, os.environ)
    if dry_run:
        for path, text in wanted.items():
            click.echo(f"{path}:\n\n{text}")
        return
    _need_manager()
    before = {path: _ours(path) for path in wanted}
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if sys.platform == "darwin":
        _launchctl("bootstrap", f"gui/{os.getuid()}", str(next(iter(wanted))), ignored=before == wanted)
    else:
        _start_units(paths)
    click.echo("Installed: the daemon starts when you log in.")
    click.echo(ENVIRONMENT)


@service.command()
@click.option("--dry-run", is_flag=True, help="Show what would be removed.")
def remove(dry_run: bool) -> None:
    """Take back what install wrote. The daemon that runs goes on; `sould stop` ends it.

    Example:
      sould service remove
    """
    found = [path for path in files(Paths(os.environ), os.environ) if _ours(path)]
    if not found:
        click.echo("The service is not installed.")
        return
    if dry_run:
        for path in found:
            click.echo(f"{path} would be removed.")
        return
    if sys.platform != "darwin" and _manager():
        _systemctl("disable", "--quiet", SOCKET, SERVICE)
        _systemctl("stop", SOCKET)  # the daemon has the socket, too, and goes on
    for path in found:
        path.unlink()
    if sys.platform != "darwin" and _manager():
        _systemctl("daemon-reload")
    click.echo("Removed. The first editor or command starts the daemon again.")


@service.command("status")
def show_status() -> None:
    """Say whether the service is installed and runs, and what is wrong with it.

    Exits 0 when all is well, 1 when it is not installed or something is wrong.

    Example:
      sould service status
    """
    paths = Paths(os.environ)
    wanted = files(paths, os.environ)
    if not any(_ours(path) for path in wanted):
        click.echo("The service is not installed; `sould service install` does it.")
        sys.exit(FAILED)
    for path in wanted:
        click.echo(str(path))
    troubles = list(_troubles(paths, wanted))
    for trouble in troubles:
        complain(trouble)
    if troubles:
        sys.exit(FAILED)
    owner = read_owner(paths.lock)
    running = owner is not None and owner[0].alive()
    click.echo(f"Installed; the daemon runs (pid {owner[0].pid})." if owner and running else
               "Installed; the daemon is stopped, and the next editor or command has it started.")  # fmt: skip


def files(paths: Paths, environment: Mapping[str, str]) -> dict[Path, str]:
    """The service's files on this system, and what is to be in them."""
    if sys.platform == "darwin":
        home = Path(environment.get("HOME") or Path.home())
        return {home / "Library" / "LaunchAgents" / f"{units.LABEL}.plist": units.agent(program(), environment)}
    place = Path(socket_unit(paths))
    return {
        place: units.socket_unit(paths.socket),
        place.with_name(SERVICE): units.service_unit(program(), environment),
    }


def program() -> list[str]:
    """How this program is started, also after an upgrade: by the name on PATH where that is us, which installers keep."""
    ours = os.path.abspath(sys.argv[0])
    named = shutil.which("sould")
    if named and os.path.realpath(named) == os.path.realpath(ours):
        return [os.path.abspath(named)]
    return [ours] if os.access(ours, os.X_OK) else [sys.executable, "-P", "-m", "sould"]


def _ours(path: Path) -> str:
    """What is in a file of ours; "" when there is none.

    Raises:
        CommandError: it is somebody else's.
    """
    try:
        text = path.read_text()
    except FileNotFoundError:
        return ""
    if units.WRITTEN not in text:
        raise CommandError(f"{path} was not written by sould. Move it away, and try again.")
    return text


# --- systemd ----------------------------------------------------------------------------------------------------------


def _start_units(paths: Paths) -> None:
    """Have systemd read the files and listen; then have it start the daemon."""
    _systemctl("daemon-reload")
    _systemctl("enable", "--quiet", SOCKET, SERVICE)
    if _state(SOCKET) != "active":
        ensure_private(paths.runtime)
        with _room(paths):
            _systemctl("start", SOCKET)
    _systemctl("start", SERVICE)


@contextmanager
def _room(paths: Paths) -> Generator[None]:
    """While this goes on no daemon runs, and none is started: whoever wants one waits for our lock."""
    asked: Identity | None = None
    while (lock := take_lock(paths)) is None:
        owner = read_owner(paths.lock)
        if owner is not None and owner[0] != asked and _asked_to_leave():
            asked = owner[0]
        time.sleep(POLL_S)
    try:
        yield
    finally:
        os.close(lock)


def _asked_to_leave() -> bool:
    """Ask the daemon to leave when no turn runs; False when it is coming or going just now."""
    try:
        with RunningDaemon.connect() as daemon:
            turns = daemon.ask(ShutdownIfIdle()).running_turns
    except DaemonError:
        return False
    if turns:
        complain(
            f"Waiting for {plural(turns, 'running turn')}; Ctrl-C leaves the daemon as it is until you log in again."
        )
    return True


def _troubles(paths: Paths, wanted: Mapping[Path, str]) -> Generator[str]:
    again = "run: sould service install"
    for path, text in wanted.items():
        there = _ours(path)
        if not there:
            yield f"{path} is missing; {again}"
        elif units.without_path(there) != units.without_path(text):
            yield f"{path} is not what this sould would write: its program or its places have changed; {again}"
    if sys.platform == "darwin":
        return
    if not _manager():
        yield NEITHER
        return
    if _state(SOCKET) != "active":
        yield f"systemd does not listen ({SOCKET} is {_state(SOCKET)}); {again}"
    if _state(SERVICE) == "failed":
        yield "systemd could not start the daemon; see: journalctl --user -u sould, and: sould logs"
    owner = read_owner(paths.lock)
    main = _systemctl("show", "--property=MainPID", "--value", SERVICE).strip()
    if owner is not None and owner[0].alive() and main != str(owner[0].pid):
        yield f"The daemon that runs (pid {owner[0].pid}) is not the service's; run: sould stop, and it will be"


def _need_manager() -> None:
    if sys.platform != "darwin" and not _manager():
        raise CommandError(NEITHER)


def _manager() -> bool:
    """Whether a systemd of this user answers."""
    return shutil.which("systemctl") is not None and not _run("systemctl", "--user", "show-environment").returncode


def _state(unit: str) -> str:
    return _run("systemctl", "--user", "is-active", unit).stdout.strip() or "unknown"


def _systemctl(*words: str) -> str:
    done = _run("systemctl", "--user", *words)
    if done.returncode:
        raise CommandError(f"systemctl --user {' '.join(words)} failed: {done.stderr.strip() or done.returncode}")
    return done.stdout


def _launchctl(*words: str, ignored: bool) -> None:
    """`ignored`: it was loaded before, which launchd calls an error."""
    done = _run("launchctl", *words)
    if done.returncode and not ignored:
        raise CommandError(f"launchctl {' '.join(words)} failed: {done.stderr.strip() or done.returncode}")


def _run(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
