"""Whether a file says what its user wrote: nobody else may change it, replace it, or replace a directory on its way.

For the user's own configuration, which decides what runs and what is allowed without a question. A project's files are
not judged so: see `projectowners`. Reads nothing and changes nothing.
"""

import functools
import grp
import os
import pwd
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

_MOST_STEPS = 256
"""Directories and links on the way to a file; more are a circle."""


def why_not_own(path: Path) -> str:
    """Why others may decide what is read from `path`, with the command that fixes it; "" when nobody may, or it is missing."""
    for step, status in _way(path):
        problem = _problem(status)
        if not problem:
            continue
        able, command = problem
        what = f"{step} {able}"
        if stat.S_ISREG(status.st_mode):
            return f"{what}, so it is not used; run `{command} {shlex.quote(step)}`."
        return f"{what}, which leads to {path}, so that is not used; run `{command} {shlex.quote(step)}`."
    return ""


def _way(path: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Every directory and link from the root to the file, and the file."""
    here, ahead = "/", list(Path(os.path.abspath(path)).parts[:0:-1])
    for _ in range(_MOST_STEPS):
        if not ahead:
            return
        name = ahead.pop()
        if name == "..":
            here = os.path.dirname(here)
            continue
        step = os.path.join(here, name)
        try:
            status = os.lstat(step)
            target = os.readlink(step) if stat.S_ISLNK(status.st_mode) else ""
        except OSError:  # who reads it will say so
            return
        yield step, status
        if not target:
            here = step
            continue
        parts = Path(target).parts
        here, parts = ("/", parts[1:]) if os.path.isabs(target) else (here, parts)
        ahead += parts[::-1]


def _problem(status: os.stat_result) -> tuple[str, str] | None:
    """What others can do with this one, and how that ends."""
    directory = stat.S_ISDIR(status.st_mode)
    if status.st_uid not in (0, os.geteuid()) and not (directory and status.st_uid == _unmapped()):
        return f"belongs to uid {status.st_uid}", f"sudo chown {os.geteuid()}"
    if stat.S_ISLNK(status.st_mode) or (directory and status.st_mode & stat.S_ISVTX):
        return None  # a link has no mode, and in a directory like /tmp nobody replaces what is another's
    everybody, group = status.st_mode & stat.S_IWOTH, status.st_mode & stat.S_IWGRP
    if everybody or (group and not is_private_group(status.st_gid, os.geteuid())):
        return f"may be written by other users (mode {stat.S_IMODE(status.st_mode):04o})", "chmod go-w"
    return None


def is_private_group(group: int, uid: int) -> bool:
    """The group that many systems give each user for themselves: of their name, and nobody else is in it."""
    try:
        user, found = pwd.getpwuid(uid), grp.getgrgid(group)
    except (KeyError, OverflowError):
        return False
    return group == user.pw_gid and found.gr_name == user.pw_name and set(found.gr_mem) <= {user.pw_name}


@functools.cache
def _unmapped() -> int:
    """Who owns, as seen from here, what belongs to users outside of this container, the system's root too; else -1."""
    try:
        with open("/proc/self/uid_map", encoding="ascii") as users:
            if users.readline().split() == ["0", "0", "4294967295"]:
                return -1
        with open("/proc/sys/kernel/overflowuid", encoding="ascii") as nobody:
            return int(nobody.read())
    except (OSError, ValueError):
        return -1
