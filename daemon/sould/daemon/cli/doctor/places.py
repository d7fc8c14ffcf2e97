"""Checks of directories, files and disks: owners, modes, space, a state directory that can be written."""

import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from sould.daemon.cli.doctor.finding import Finding, SetUp, fail, ok, warn
from sould.daemon.cli.output import size
from sould.daemon.paths import MAX_DIRECTORY, UnsafePathError, check_private, quote

FULL = 50_000_000
LOW = 500_000_000
MAKE_ROOM = "Free some space; old sessions can go: sould sessions prune --older-than 30d"
OLDEST_NOW = 1_760_000_000
"""A clock before this (October 2025) is wrong: this program is younger."""


def runtime_directory(setup: SetUp) -> Iterator[Finding]:
    """The directory of the socket must be ours alone."""
    directory = setup.paths.runtime
    try:
        check_private(directory)
    except FileNotFoundError:
        yield ok("runtime directory", f"{directory} will be created on the first start.")
    except UnsafePathError as error:
        text, _, fix = str(error).partition("; ")
        yield fail("runtime directory", f"{text}.", f"{fix[:1].upper()}{fix[1:]}" if fix else "Fix it, then try again.")
    except OSError as error:
        yield fail(
            "runtime directory", f"{directory}: {error.strerror}.", "Set XDG_RUNTIME_DIR to a directory of your own."
        )
    else:
        yield ok("runtime directory", f"{directory} is accessible only to you.")
    yield from _fallback(setup)


def _fallback(setup: SetUp) -> Iterator[Finding]:
    """XDG_RUNTIME_DIR is set but cannot be used."""
    wanted = setup.environment.get("XDG_RUNTIME_DIR", "")
    if not wanted or setup.paths.runtime.startswith(wanted.rstrip("/") + "/"):
        return
    if not wanted.startswith("/"):
        why = "is not an absolute path"
    elif len(os.fsencode(f"{wanted.rstrip('/')}/sould")) > MAX_DIRECTORY:
        why = "is too long for a socket's path"
    elif not Path(wanted).is_dir():
        why = "does not exist"
    else:
        why = "cannot be written"
    yield warn(
        "runtime directory",
        f"XDG_RUNTIME_DIR={wanted} {why}, so {setup.paths.runtime} is used.",
        "Unset XDG_RUNTIME_DIR or set it to a short directory of your own, the same for editors and terminals.",
    )


def state_directory(setup: SetUp) -> Iterator[Finding]:
    """Sessions and logs are kept here: it must be writable, with room, and closed to others."""
    directory = Path(setup.paths.state)
    existing = _nearest(directory)
    problem = _cannot_write(existing)
    if problem:
        yield fail(
            "state directory",
            f"{existing} cannot be written ({problem}), so no session can be saved.",
            f"Run: chmod u+rwx {quote(str(existing))} (or set XDG_STATE_HOME to a directory of your own)",
        )
    elif directory.is_dir() and directory.stat().st_mode & 0o077:
        yield warn(
            "state directory",
            f"{directory} has mode {stat.S_IMODE(directory.stat().st_mode):04o}: other users can read your sessions.",
            f"Run: chmod 700 {quote(str(directory))}",
        )
    else:
        yield ok("state directory", f"Sessions are stored in {directory}.")
    yield _space(existing)


def private_files(setup: SetUp) -> Iterator[Finding]:
    """Files that may hold keys must not be readable by others."""
    configuration = Path(setup.paths.config)
    named = setup.environment.get("SOULD_CONFIG")
    candidates = [
        *sorted(configuration.glob("*")),
        *Path(setup.paths.state).glob("credentials*"),
        *([Path(named)] if named else []),
    ]
    for path in candidates:
        try:
            found = path.stat()
            secret = path.is_file() and (path.name.startswith("credentials") or b"api_key" in path.read_bytes())
        except OSError:
            continue
        if not secret:
            continue
        if found.st_uid not in (os.geteuid(), 0):
            yield fail(
                "file modes",
                f"{path} belongs to uid {found.st_uid}, who can change where your prompts are sent.",
                f"Run: sudo chown {os.geteuid()} {quote(str(path))}",
            )
        if found.st_mode & 0o077:
            yield warn(
                "file modes",
                f"{path} holds keys and has mode {stat.S_IMODE(found.st_mode):04o}: other users may read it.",
                f"Run: chmod 600 {quote(str(path))}",
            )
        else:
            yield ok("file modes", f"{path} is readable by you only.")


def clock(_: SetUp) -> Iterator[Finding]:
    """Sessions are ordered by the clock, and certificates checked by it."""
    if time.time() < OLDEST_NOW:
        yield fail(
            "clock",
            f"The system clock says {time.strftime('%Y-%m-%d')}, which is in the past: certificates will be refused.",
            "Set the clock: sudo timedatectl set-ntp true",
        )
    else:
        yield ok("clock", f"The system clock says {time.strftime('%Y-%m-%d %H:%M %Z')}.")


def _space(directory: Path) -> Finding:
    disk = os.statvfs(directory)
    free = disk.f_bavail * disk.f_frsize
    inodes_gone = disk.f_files > 0 and disk.f_favail == 0
    if free < FULL or inodes_gone:
        what = "no inodes" if inodes_gone else f"only {size(free)}"
        return fail(
            "disk",
            f"The disk of {directory} has {what} left: sessions become read-only when it is full.",
            MAKE_ROOM,
        )
    if free < LOW:
        return warn(
            "disk",
            f"The disk of {directory} has {size(free)} left.",
            MAKE_ROOM,
        )
    return ok("disk", f"{size(free)} are free for sessions.")


def _nearest(directory: Path) -> Path:
    """The directory, or the nearest one above it that exists."""
    while not directory.exists() and directory != directory.parent:
        directory = directory.parent
    return directory


def _cannot_write(directory: Path) -> str:
    """Why a file cannot be made there; "" when it can. Tried, not guessed: root, ACLs and read-only mounts differ."""
    try:
        with tempfile.TemporaryFile(dir=directory) as probe:
            probe.write(b"x")
    except OSError as error:
        return "" if error.errno == 28 else (error.strerror or "unknown reason")
    return ""
