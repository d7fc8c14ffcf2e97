"""Which of git's commands only show something, in which repositories they do, and what git takes for a repository.

`git status` runs whatever the repository's own configuration, hooks and submodules name, so a command is harmless only
where `plain_repository` finds that they name nothing. The user's own configuration is the user's. Git itself is
run only to name what history holds, where it runs nothing else. What cannot be read for certain is not plain.
"""

import os
import re
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from sould.agents.base.process.bounded import Bounds
from sould.agents.base.regularfile import read_regular

MOST_INDEX: Final = 16 * 1024 * 1024
MOST_CONFIG: Final = 256 * 1024
MOST_NAMES: Final = 100_000
HISTORY_S: Final = 5.0
"""A history that takes longer to list is not known."""


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"(?:[^"\\]|\\.)*")?\s*\]\s*')
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=.*)?")
_PLAIN_SECTIONS: Final = _set("advice branch color gc init maintenance pull push rebase user")
_PLAIN_KEYS: Final = {
    "core": _set(
        """abbrev autocrlf bare bigfilethreshold compression eol filemode ignorecase logallrefupdates longpaths
        precomposeunicode preloadindex protecthfs protectntfs quotepath repositoryformatversion safecrlf symlinks
        untrackedcache whitespace"""
    ),
    "extensions": _set("worktreeconfig"),
    "remote": _set("url fetch pushurl tagopt prune gh-resolved"),
}
_ENTRY: Final = struct.Struct(">24xI12x20xH")
_CHECKSUM: Final = 20
_EXTENDED: Final = 0x4000
_SUBMODULE: Final = 0o160000
_FOLDED: Final = 0o040000
"""A directory of a sparse index, whose files are not named."""
_HEAD = re.compile(r"ref: refs/[^\s\0]+\n?|(?:[0-9a-f]{40}|[0-9a-f]{64})\n?")
_HOOKS: Final = ("post-index-change",)
"""What a command that only shows may run: git writes the index anew when it finds it out of date."""


def plain_repository(cwd: Path, hidden: Callable[[Path], bool]) -> bool:
    """Whether git's showing commands run no program in the repository that `cwd` is in.

    `hidden` says of the work tree, and of a tracked file, that it is not to be shown unasked: then it is not plain either.
    """
    try:
        found = _repository(cwd)
        if found is None:
            return False
        top, own, common = found
        configs = (common / "config", own / "config.worktree")
        return (
            not hidden(top)
            and all(_is_plain_config(path) for path in configs)
            and not any(os.path.lexists(common / "hooks" / hook) for hook in _HOOKS)
            and not os.path.lexists(common / "objects" / "info" / "alternates")
            and not any(hidden(top / name) for name in _tracked(own / "index"))
        )
    except (OSError, ValueError, struct.error):
        return False


def plain_history(cwd: Path, git: Path | None, variables: Mapping[str, str], hidden: Callable[[Path], bool]) -> bool:
    """Whether no commit that a name or the reflog leads to has a file that is `hidden`. Only of a plain repository."""
    try:
        found = _repository(cwd)
        if found is None or git is None:
            return False
        bounded = Bounds(cwd=cwd, env=variables, deadline=time.monotonic() + HISTORY_S)
        listed = bounded.run((str(git), "rev-list", "--objects", "--all", "--reflog"))
    except (OSError, ValueError):
        return False
    if listed.code != 0:
        return False
    names = {os.fsdecode(name) for line in listed.output.split(b"\n") if (name := line.partition(b" ")[2])}
    return len(names) <= MOST_NAMES and not any(hidden(found[0] / name) for name in names)


def bare_repository(path: Path) -> Path | None:
    """The directory with no work tree that git takes for a repository, whatever its name, once something is at `path` in it.

    What lies below a `.git` of its own belongs to that one, as a work tree beside a bare repository does.
    """
    inside = ""
    for folder in (path, *path.parents):
        if os.path.isfile(folder / ".git") or os.path.lexists(folder / ".git" / "HEAD"):
            return None
        if _would_be_one(folder, inside):
            return folder
        inside = folder.name.casefold()
    return None


def _would_be_one(folder: Path, added: str) -> bool:
    """Whether a directory has, with the entry that is `added`, what git looks for (gitrepository-layout(5))."""

    def has(name: str) -> bool:
        return added == name.casefold() or os.path.lexists(folder / name)

    return has("HEAD") and (has("commondir") or (has("objects") and has("refs")))


def _repository(cwd: Path) -> tuple[Path, Path, Path] | None:
    """The top of the work tree, its git directory, and the one it shares with other work trees."""
    for folder in (cwd, *cwd.parents):
        entry = folder / ".git"
        if os.path.lexists(entry):
            own = entry if entry.is_dir() else _led_to(entry, "gitdir: ", folder)
            shared = own / "commondir"
            common = _led_to(shared, "", own) if os.path.lexists(shared) else own
            return (folder, own, common) if _is_taken_for_one(own, common) else None
        if os.path.lexists(folder / "HEAD"):
            return None  # it may be a repository without a work tree, which git takes for the one it is in
    return None


def _is_taken_for_one(own: Path, common: Path) -> bool:
    """Whether git surely uses this directory, and does not look for another one further up."""
    head = own / "HEAD"
    found = not head.is_symlink() and _HEAD.fullmatch(_text(head)) is not None
    return found and all(os.access(common / name, os.R_OK | os.X_OK) for name in ("objects", "refs"))


def _led_to(file: Path, prefix: str, base: Path) -> Path:
    line = _text(file).rstrip("\n")
    if not line.startswith(prefix) or not line.isprintable():
        raise ValueError(line)
    return Path(os.path.realpath(base / line.removeprefix(prefix)))


def _text(file: Path) -> str:
    """As git reads it: a carriage return ends no line."""
    return _bytes(file, MOST_CONFIG).decode()


def _bytes(file: Path, limit: int) -> bytes:
    try:
        return read_regular(file, limit)
    except OSError as error:
        raise ValueError(file) from error


def _is_plain_config(file: Path) -> bool:
    """Whether every key is one that is known to name no program; a missing file is."""
    if not os.path.lexists(file):
        return True
    section = ""
    for line in _text(file).split("\n"):
        rest = line.strip()
        if head := _SECTION.match(rest):
            section, rest = head[1].casefold(), rest[head.end() :]
        if not rest or rest[0] in "#;":
            continue
        key = _KEY.fullmatch(rest)
        if key is None or rest.endswith("\\") or not _is_plain(section, key[1].casefold()):
            return False
    return True


def _is_plain(section: str, key: str) -> bool:
    return section in _PLAIN_SECTIONS or key in _PLAIN_KEYS.get(section, ())


def _tracked(index: Path) -> tuple[str, ...]:
    if not index.exists():
        return ()
    status = index.stat()
    return _names(index, status.st_mtime_ns, status.st_size, status.st_ino)


@lru_cache(maxsize=8)
def _names(index: Path, changed: int, size: int, inode: int) -> tuple[str, ...]:
    """The paths of an index (gitformat-index(5), versions 2 and 3).

    Raises:
        ValueError: it is of another form, too large, or has a submodule, whose own configuration git would follow.
    """
    del changed, inode
    if size > MOST_INDEX:
        raise ValueError(index)
    return tuple(_entries(_bytes(index, MOST_INDEX)))


def _entries(data: bytes) -> Iterator[str]:
    version, count = struct.unpack_from(">4xII", data)
    if data[:4] != b"DIRC" or version not in (2, 3):
        raise ValueError(version)
    at = 12
    for _ in range(count):
        mode, flags = _ENTRY.unpack_from(data, at)
        if mode in (_SUBMODULE, _FOLDED):
            raise ValueError(mode)
        begin = at + _ENTRY.size + (2 if flags & _EXTENDED else 0)
        end = data.index(b"\0", begin)
        yield os.fsdecode(data[begin:end])
        at += (end - at) // 8 * 8 + 8
    while at + 8 <= len(data) - _CHECKSUM:
        name, length = struct.unpack_from(">4sI", data, at)
        if name == b"link":  # most entries are in another file
            raise ValueError(name)
        at += 8 + length
