"""What the user told git about directories of others: `safe.directory`, from the files and variables that git reads it from.

Only what is not in a repository counts, as for git: the system's configuration, the user's, and `GIT_CONFIG_COUNT`. Conditional
includes are not followed. Runs nothing.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from sould.agents.base.regularfile import read_regular

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
