"""Checks of the running daemon: its socket, its version, whether it answers, and sessions another process holds."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from sould.agents.base.filelock import is_locked
from sould.daemon.cli.doctor.finding import Finding, SetUp, fail, ok, warn
from sould.daemon.cli.output import plural, span
from sould.daemon.cli.running import DaemonError, NotRunningError, RunningDaemon
from sould.daemon.configuration.configfile import config_path, other_configuration
from sould.daemon.dial import BridgeError
from sould.daemon.hello import VERSION
from sould.daemon.launch import DEATHS, WINDOW, read_starts, socket_unit
from sould.daemon.methods import GetStatus, Status
from sould.daemon.paths import UnsafePathError, quote

NEWEST = 200
"""Sessions looked at for locks."""


def daemon(setup: SetUp) -> Iterator[Finding]:
    """Is it running, does it answer, is it this version?"""
    try:
        with RunningDaemon.connect(timeout=setup.timeout) as client:
            status = client.ask(GetStatus())
    except NotRunningError:
        yield from _not_running(setup)
        return
    except UnsafePathError:
        return  # the check of the runtime directory says it
    except (BridgeError, DaemonError, OSError) as error:
        yield fail(
            "daemon", f"The daemon does not answer: {error}", "Run: sould restart --force (this ends running turns)"
        )
        return
    yield from _running(status)
    yield from _configuration(setup, status.config_file)
    yield from _locked(setup, {session.id for session in status.sessions})


def _running(status: Status) -> Iterator[Finding]:
    if status.version != VERSION:
        yield warn(
            "daemon",
            f"The running daemon is sould {status.version} (pid {status.pid}), this command is {VERSION}.",
            "Run: sould restart (it waits for running turns)",
        )
    elif status.package_changed:
        yield warn(
            "daemon",
            f"sould was reinstalled while the daemon (pid {status.pid}) was running.",
            "Run: sould restart (it waits for running turns)",
        )
    else:
        yield ok("daemon", f"The daemon has been running for {span(status.uptime_s)} (pid {status.pid}).")
    if status.draining:
        yield warn("daemon", f"The daemon is about to stop: {status.draining}.", "Wait, or run: sould restart --force")
    if status.descriptors > 0.8 * status.descriptor_limit > 0:
        yield warn(
            "daemon",
            f"The daemon has {status.descriptors} of {status.descriptor_limit} files open.",
            "Close editors you do not use, or raise `ulimit -n` and run: sould restart",
        )


def _configuration(setup: SetUp, read: str) -> Iterator[Finding]:
    """Is it the file that everything else here looks at?"""
    differing = other_configuration(setup.environment, read) if read else ""
    mine = config_path(setup.paths, setup.environment)
    if not differing and read and os.path.realpath(mine) != os.path.realpath(read):
        differing = f"The running daemon reads {read}, because SOULD_CONFIG said so when it started; here it is {mine}."
    if differing:
        yield warn("daemon", differing, "Run: sould stop (the next editor or command starts it with its own variable)")


def _not_running(setup: SetUp) -> Iterator[Finding]:
    socket = Path(setup.paths.socket)
    try:
        mode = socket.lstat().st_mode
    except OSError:
        mode = 0
    if not mode or os.path.exists(
        socket_unit(setup.paths)
    ):  # the name is a service manager's, see `sould service status`
        yield ok("daemon", "The daemon is not running; the next command or editor starts it.")
    else:
        what = "nothing listens on it" if stat.S_ISSOCK(mode) else "it is not a socket"
        yield warn(
            "daemon",
            f"{socket} was left behind by a daemon that died: {what}.",
            f"The next start fixes it by itself. If that fails, run: rm {quote(str(socket))}",
        )
    starts = read_starts(setup.paths)
    if len(starts) >= DEATHS and starts[-1] - starts[-DEATHS] < WINDOW:
        yield fail(
            "daemon",
            f"The daemon ended unexpectedly {len(starts)} times in a row.",
            f"See the last lines of {setup.paths.log} (sould logs), and fix what they name.",
        )
    yield from _locked(setup, set())


def _locked(setup: SetUp, live: set[str]) -> Iterator[Finding]:
    """Sessions whose journal a process other than the daemon holds."""
    sessions = Path(setup.paths.state) / "sessions"
    try:
        found = sorted(sessions.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)[:NEWEST]
    except OSError:
        return
    held = [path for path in found if path.name not in live and is_locked(path / "wire.jsonl")]
    for path in held[:5]:
        pid = _holder(path / "wire.jsonl")
        yield warn(
            "sessions",
            f"Session {path.name} is held by {f'process {pid}' if pid else 'another process'}, not by the daemon.",
            f"Close it there{f', or end that process: kill {pid}' if pid else ''}; then open the session again.",
        )
    if not held:
        yield ok("sessions", f"{plural(len(found), 'session')} checked, none held by another process.")


def _holder(journal: Path) -> int:
    """The process that holds a flock, as Linux lists it; 0 when it is not known."""
    try:
        inode = str(journal.stat().st_ino)
        lines = Path("/proc/locks").read_text("ascii").splitlines()
    except OSError:
        return 0
    for line in lines:
        fields = line.split()
        if len(fields) > 5 and fields[1] == "FLOCK" and fields[5].rpartition(":")[2] == inode:
            return int(fields[4])
    return 0
