"""Which project a file belongs to: that of the innermost git worktree, else of the innermost directory of a session (D39).

A worktree is what git takes for one: linked ones and submodules, too. Its files are read without waiting, and name no other
project. `/`, the user's home and the directories for
temporary files are no projects, and nothing above them takes what lies in them: such files stand alone.
"""

import os
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final, TypeAlias

from sould.agents.base.gitplaces import is_work_tree

ALONE: Final = Path("/")
"""In place of a project's root: the files that stand alone, which have one log together. Nothing there is watched."""
_TEMPORARY: Final = ("/tmp", "/var/tmp")  # noqa: S108 -- named because they are no projects


IsProject: TypeAlias = Callable[[Path], bool]
"""Whether a directory is the root of one of the projects there are by now, from whatever session."""


def never_projects(home: Path, temporary: str = "") -> frozenset[Path]:
    """The directories that are never projects, resolved. `temporary`: the session's own TMPDIR, "" when it has none."""
    named = ("/", home, temporary or "/", tempfile.gettempdir(), *_TEMPORARY)
    return frozenset(Path(os.path.realpath(each)) for each in named)


def root_of(path: Path, directories: Collection[Path], is_project: IsProject, never: Collection[Path]) -> Path:
    """The root of the project that a file belongs to, by its resolved path, else ALONE; `directories`: where its session works.

    Asks the disk once for each directory above the file, so that a repository made or removed a moment ago counts. Blocks.
    """
    innermost = ALONE
    for parent in path.parents:
        if parent in never:
            break
        if is_work_tree(parent):
            return parent
        if innermost == ALONE and (parent in directories or is_project(parent)):
            innermost = parent
    return innermost
