"""What is remembered of a project: the mode its user chose last, and whether its agents may know what they look at.

One small file in the state directory. Never in the project itself, and never `full`: that is chosen anew for every session.
"""

import logging
import os
from pathlib import Path

from pydantic import Field, ValidationError

from sould.agents.base.parsed import Parsed
from sould.agents.base.privatefile import write_private
from sould.agents.permissions.policy import Mode
from sould.agents.tools.editor.site import Sharing

logger = logging.getLogger(__name__)


class _Project(Parsed):
    mode: Mode | None = None
    editor_context: Sharing = "ask"


class _Projects(Parsed):
    projects: dict[str, _Project] = Field(default_factory=dict)


class ProjectMemory:
    """The file `projects.json`; losing it loses conveniences only."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def mode(self, cwd: Path) -> Mode | None:
        """The mode chosen last in this project, None when nobody chose."""
        project = self._read().projects.get(_key(cwd))
        return project.mode if project else None

    def remember_mode(self, cwd: Path, mode: Mode) -> None:
        """Remember a choice; `full` is not remembered."""
        if mode == "full":
            return
        self._change(cwd, mode=mode)

    def editor_context(self, cwd: Path) -> Sharing:
        """Whether agents may know what the user looks at in this project."""
        return (self._read().projects.get(_key(cwd)) or _Project()).editor_context

    def remember_editor_context(self, cwd: Path, sharing: Sharing) -> None:
        """Remember a choice."""
        self._change(cwd, editor_context=sharing)

    def _change(self, cwd: Path, **update: str) -> None:
        content = self._read()
        known = content.projects.get(_key(cwd)) or _Project()
        content.projects[_key(cwd)] = known.model_copy(update=update)
        try:
            write_private(self._path, content.model_dump_json(indent=1).encode())
        except OSError as error:  # what was chosen holds all the same, for a mode
            logger.warning("the choice cannot be saved in %s: %s", self._path, error.strerror)

    def _read(self) -> _Projects:
        try:
            return _Projects.model_validate_json(self._path.read_bytes())
        except (OSError, ValidationError):
            return _Projects()


def _key(cwd: Path) -> str:
    """The same for every path that leads to a directory."""
    return os.path.realpath(cwd)
