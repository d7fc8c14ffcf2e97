"""Who decides what a project says and configures: its user alone, or others too (D57). Theirs waits for the user's trust.

As git does, it goes by the owner, by `SUDO_UID` of a root who came by sudo, and by `safe.directory`. Looks at the disk and
at nothing else, but for the name of whom it found.
"""

import grp
import os
import pwd
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from sould.agents.base.file_ownership import is_private_group
from sould.agents.base.regularfile import read_regular

# What the user told git about directories of others: `safe.directory`, from the files and variables that git reads it
# from.
# Only what is not in a repository counts, as for git: the system's configuration, the user's, and `GIT_CONFIG_COUNT`.
# Conditional includes are not followed. Runs nothing.


MOST: Final = 1024 * 1024
"""Bytes of one file."""
DEEPEST: Final = 10
"""Files that include one another, as git has it."""
_SYSTEM: Final = ("/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig")
"""Git's own one depends on how it was built."""
_HEADER: Final = re.compile(r'\[\s*([\w.-]+)\s*("(?:[^"\\]|\\.)*")?\s*\]\s*')
_KEY: Final = re.compile(r"([A-Za-z][\w-]*)\s*(=\s*)?")
_WRITTEN: Final = {"n": "\n", "t": "\t", "b": "\b"}


def is_safe(directory: Path, environment: Mapping[str, str]) -> bool:
    """Whether the user of this environment has git work in a directory whoever owns it. Blocks, for a few small files."""
    home, real, safe = environment.get("HOME", ""), os.path.realpath(directory), False
    for value in _values(environment, home):
        if not value:
            safe = False
        elif value == "*":
            safe = True
        else:
            named = os.path.realpath(_expanded(value.removesuffix("/*"), home))
            below = value.endswith("/*") and real.startswith(f"{named.rstrip('/')}/")
            safe = safe or below or (named == real and not value.endswith("/*"))
    return safe


def _values(environment: Mapping[str, str], home: str) -> Iterator[str]:
    """In git's order; an empty one takes back those before it."""
    for path in _files(environment, home):
        yield from (value for key, value in _read(path, home, 0) if key == "safe.directory")
    count = environment.get("GIT_CONFIG_COUNT", "")
    for number in range(int(count) if count.isascii() and count.isdecimal() and len(count) < DEEPEST else 0):
        if environment.get(f"GIT_CONFIG_KEY_{number}", "").lower() == "safe.directory":
            yield environment.get(f"GIT_CONFIG_VALUE_{number}", "")


def _files(environment: Mapping[str, str], home: str) -> Iterator[str]:
    if environment.get("GIT_CONFIG_NOSYSTEM", "").lower() in ("", "0", "false", "no", "off"):
        system = environment.get("GIT_CONFIG_SYSTEM")
        yield from _SYSTEM if system is None else (system,)
    everywhere = environment.get("GIT_CONFIG_GLOBAL")
    if everywhere is not None:
        yield everywhere
    elif home:
        yield os.path.join(environment.get("XDG_CONFIG_HOME") or f"{home}/.config", "git", "config")
        yield os.path.join(home, ".gitconfig")


def _read(path: str, home: str, depth: int) -> Iterator[tuple[str, str]]:
    """Every variable of a file and of those it includes, as `section.key`."""
    try:
        text = read_regular(Path(path), MOST).decode(errors="surrogateescape")
    except (OSError, ValueError):
        return
    section = ""
    for line in re.sub(r"\\\r?\n", "", text.removeprefix("\ufeff")).splitlines():
        rest = line.strip()
        if header := _HEADER.match(rest):
            section, rest = header[1].lower() if header[2] is None else "", rest[header.end() :]
        if not (found := _KEY.match(rest)) or not section:
            continue
        key, value = f"{section}.{found[1].lower()}", _value(rest[found.end() :]) if found[2] else ""
        if key == "include.path" and value and depth < DEEPEST:
            yield from _read(os.path.join(os.path.dirname(path), _expanded(value, home)), home, depth + 1)
        yield key, value


def _value(written: str) -> str:
    """Without quotes, escapes, and a comment behind it."""
    said, kept, quoted, at = "", 0, False, iter(written)
    for each in at:
        if each == '"':
            quoted = not quoted
        elif each == "\\":
            escaped = next(at, "")
            said += _WRITTEN.get(escaped, escaped)
        elif each in "#;" and not quoted:
            break
        else:
            said += each
        if quoted or not each.isspace():
            kept = len(said)
    return said[:kept]


def _expanded(path: str, home: str) -> str:
    return home + path[1:] if home and (path == "~" or path.startswith("~/")) else path


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
