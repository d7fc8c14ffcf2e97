"""Who decides what a project says and configures: its user alone, or others too (D57). Theirs waits for the user's trust.

As git does, it goes by the owner, by `SUDO_UID` of a root who came by sudo, and by `safe.directory`. Looks at the disk and
at nothing else, but for the name of whom it found.
"""

import grp
import os
import pwd
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from sould.agents.base.file_ownership import is_private_group
from sould.agents.base.safedirectories import is_safe


class Owners(Struct, frozen=True):
    """As a user with this environment sees them."""

    environment: Mapping[str, str]

    def others(self, path: Path, top: Path) -> str:
        """Who else may decide what is in a file of the project at `top`, as a clause; "" when nobody may, or none is there.

        Blocks, for a look at each directory between them.
        """
        user = self._user()
        found = next(filter(None, (_others(step, user) for step in _way(path, top))), "")
        return "" if not found or is_safe(top, self.environment) else found

    def _user(self) -> int:
        """Whom sudo made root has the files that are theirs, as for git. root's own are nobody else's then."""
        user, before = os.geteuid(), self.environment.get("SUDO_UID", "")
        return int(before) if user == 0 and before.isascii() and before.isdecimal() and len(before) <= 10 else user


def _way(path: Path, top: Path) -> Iterator[Path]:
    """The file and the directories on its way from the top, as it is named and where links lead."""
    real_top = Path(os.path.realpath(top))
    named = Path(os.path.realpath(path.parent), path.name)
    for each in dict.fromkeys((named, Path(os.path.realpath(path)))):
        yield each
        for parent in each.parents:
            yield parent
            if parent == real_top or not parent.is_relative_to(real_top):
                break


def _others(step: Path, user: int) -> str:
    try:
        status = os.lstat(step)
    except OSError:  # who reads it will say so
        return ""
    directory = stat.S_ISDIR(status.st_mode)
    what = f"{_shown(step)}, where it lies," if directory else "it"
    if status.st_uid != user and not (status.st_uid == 0 and (directory or os.geteuid() == 0)):
        return f"{what} belongs to {_name(status.st_uid)}"
    if stat.S_ISLNK(status.st_mode) or (directory and status.st_mode & stat.S_ISVTX):
        return ""  # a link has no mode, and in a directory like /tmp nobody replaces what is another's
    if status.st_mode & stat.S_IWOTH:
        return f"{what} can be written by everybody"
    if status.st_mode & stat.S_IWGRP and not any(
        is_private_group(status.st_gid, each) for each in {status.st_uid, user}
    ):
        return f"{what} can be written by the group {_group(status.st_gid)}"
    return ""


def _name(user: int) -> str:
    try:
        return f"{pwd.getpwuid(user).pw_name} (uid {user})"
    except (KeyError, OverflowError):
        return f"uid {user}"


def _group(group: int) -> str:
    try:
        return grp.getgrgid(group).gr_name
    except (KeyError, OverflowError):
        return str(group)


def _shown(path: Path) -> str:
    """In one line of text, whatever bytes its name has."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in str(path))
