"""Which checkouts belong together: a linked worktree with the main one of its repository, a submodule with its superproject.

What a checkout says of another is hostile, since whoever wrote it may want the other's files read: it counts only where git's
own files there say the same, and where both belong to one owner. Blocks, for a few looks at the disk.
"""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from sould.agents.base.gitplaces import SMALL, git_directories, read_text, work_tree_of

MOST_MODULES: Final = 256 * 1024
"""Bytes of a `.gitmodules`."""
_SECTION: Final = re.compile(r"\[([^\]]*)\]")
_PATH: Final = re.compile(r'path\s*=\s*("?)(.*?)\1\s*', re.IGNORECASE)


class LinkedWorktree(Struct, frozen=True):
    """The worktree at `root`, which git made beside the checkout `main` of its repository. Both are resolved."""

    root: Path
    main: Path

    def counterpart(self, path: Path) -> Path | None:
        """Of a file of the main checkout, the one here; None: it is no such file. That of another worktree below it is none."""
        if not path.is_relative_to(self.main) or path.is_relative_to(self.main / ".git"):
            return None
        return self.root / path.relative_to(self.main) if linked_worktree(path.parent) is None else None


def top_of(directory: Path) -> Path:
    """The checkout that a directory is in; the directory itself where there is none."""
    return work_tree_of(directory) or directory


def linked_worktree(directory: Path) -> LinkedWorktree | None:
    """The linked worktree that a directory is in; None: it is in none.

    Its repository has to name it, so that a `.git` file alone leads nowhere.
    """
    root = Path(os.path.realpath(top_of(directory)))
    try:
        found = git_directories(root)
        if found is None:
            return None
        own, common = (Path(os.path.realpath(each)) for each in found)
        said = read_text(own / "gitdir", SMALL) or ""
        back = os.path.realpath(own / said.removesuffix("\n")) if said else ""
    except ValueError:  # a name that no file can have
        return None
    if own.parent != common / "worktrees" or common.name != ".git" or back != str(root / ".git"):
        return None
    return LinkedWorktree(root, common.parent) if _are_of_one_owner(root, common.parent, common) else None


def superproject_of(root: Path) -> Path | None:
    """The checkout, resolved, that has the one at `root` as a submodule; None: there is none."""
    root = Path(os.path.realpath(root))
    outer = work_tree_of(root.parent)
    if outer is None:
        return None
    modules = outer / ".gitmodules"
    said = read_text(modules, MOST_MODULES) or ""
    if os.path.relpath(root, outer) not in _submodules(said):
        return None
    return outer if _are_of_one_owner(root, outer, outer / ".git", modules) else None


def _submodules(said: str) -> Iterator[str]:
    """The paths that a `.gitmodules` names."""
    of_module = False
    for line in map(str.strip, said.splitlines()):
        if section := _SECTION.match(line):
            of_module = section[1].strip().lower().startswith("submodule")
        elif of_module and (found := _PATH.fullmatch(line)):
            yield found[2].removesuffix("/")


def _are_of_one_owner(first: Path, *others: Path) -> bool:
    """Whether nobody else can have put any of these there."""
    try:
        owner, *found = (os.stat(each) for each in (first, *others))
    except OSError:
        return False
    return all(each.st_uid == owner.st_uid and not each.st_mode & stat.S_IWOTH for each in found)
