"""What git takes for a work tree, where it keeps what it knows of one, and its branch: read from its small files.

No program is run and nothing is written. What a project has in these files is hostile: only regular files are read, never more
than git writes, and never waited for.
"""

import os
import re
import stat
from pathlib import Path
from typing import Final

SMALL: Final = 4096
"""Bytes of HEAD, and of what names a directory."""
_REPOSITORY: Final = ("HEAD", "objects", "refs")
"""What a git directory has. An empty folder called `.git` is none."""
_HEAD: Final = re.compile(r"ref:\s*refs/.*|[0-9a-f]{40}.*", re.DOTALL)
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SHORT: Final = 8
"""Digits of a commit that people are shown."""


def git_directories(root: Path) -> tuple[Path, Path] | None:
    """Git's directory of the work tree at `root`, and the one that all work trees share; None: there is no git."""
    own = root / ".git"
    try:
        is_directory = stat.S_ISDIR(os.stat(own).st_mode)
    except OSError:
        return None
    if is_directory:
        return own, own
    said = read_text(own, SMALL) or ""
    if not said.startswith("gitdir: "):
        return None
    own = root / said.removeprefix("gitdir: ").rstrip("\n")
    common = read_text(own / "commondir", SMALL)
    return own, own / common.rstrip("\n") if common is not None else own


def is_work_tree(directory: Path) -> bool:
    """Whether git takes this for the top of a work tree: its `.git` is a repository, or names one.

    One look at the disk where there is no `.git`. It says nothing about whose it is.
    """
    try:
        found = git_directories(directory)
        return found is not None and _is_repository(*found)
    except ValueError:  # a name that no file can have
        return False


def work_tree_of(directory: Path) -> Path | None:
    """The innermost work tree that a directory is in, or is the top of; None: it is in none."""
    return next(filter(is_work_tree, (directory, *directory.parents)), None)


def repository_marks(directory: Path) -> tuple[Path, ...]:
    """The files that decide what `work_tree_of` says, there or not, where `.git` is a folder."""
    return tuple(each / ".git" / name for each in (directory, *directory.parents) for name in _REPOSITORY)


def _is_repository(own: Path, common: Path) -> bool:
    """By the rules of gitrepository-layout(5), as git looks for them."""
    head = own / "HEAD"
    said = f"ref: {os.readlink(head)}" if os.path.islink(head) else read_text(head, SMALL) or ""
    found = _HEAD.match(said) is not None
    return found and all(os.access(common / name, os.X_OK) for name in _REPOSITORY[1:])


def branch_of(directory: Path) -> str:
    """What is checked out where `directory` is: a branch, or the beginning of a commit; "" where that is not known.

    A few looks at the disk, which block.
    """
    for folder in (directory, *directory.parents):
        try:
            places = git_directories(folder)
            head = (read_text(places[0] / "HEAD", SMALL) or "").strip() if places is not None else None
        except ValueError:  # a name that no file can have
            return ""
        if head is not None:
            return _checked_out(head)
    return ""


def _checked_out(head: str) -> str:
    """People are shown it: nothing that a terminal would obey."""
    if _COMMIT.fullmatch(head):
        return head[:_SHORT]
    name = head.removeprefix("ref: refs/heads/")
    return name if name != head and name.isprintable() else ""


def read_text(path: Path, most: int) -> str | None:
    """A regular file, never waited for; None: there is none, or it is larger."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            return None
        return os.fsdecode(file.read(most))
