"""What is remembered of a project, and which one a directory belongs to: the mode chosen last, and what its agents may know.

One small file in the state directory. Never in the project itself, and never `full`: that is chosen anew for every session.
"""

import logging
import os
from pathlib import Path

from pydantic import Field, TypeAdapter

from sould.agents.base.answerfile import JsonAnswers
from sould.agents.base.errors import ConfigError
from sould.agents.base.parsed import Parsed
from sould.agents.files.edits.ownership import ALONE, never_projects
from sould.agents.files.projects.projects import Projects
from sould.agents.permissions.policy import Mode
from sould.agents.permissions.remembered import ProjectKey
from sould.agents.tools.editor.site import Sharing

logger = logging.getLogger(__name__)


def project_key(projects: Projects, directory: Path, home: Path) -> ProjectKey | None:
    """Of a resolved directory; None: it is in no project, or is not there."""
    never = never_projects(home)
    if directory in never:
        return None
    try:
        place = projects.place_of(directory / "any", (directory,), never)
    except OSError:
        return None
    if place.root == ALONE:
        return None
    return ProjectKey(place.root, place.identity.device, place.identity.inode, place.identity.born)


class _Project(Parsed):
    mode: Mode | None = None
    editor_context: Sharing = "ask"


class _Projects(Parsed):
    projects: dict[str, _Project] = Field(default_factory=dict)


_FORM: TypeAdapter[_Projects] = TypeAdapter(_Projects)


class ProjectMemory:
    """The file `projects.json`; losing it loses conveniences only."""

    def __init__(self, path: Path) -> None:
        self._file = JsonAnswers(path, _FORM)

    def mode(self, cwd: Path) -> Mode | None:
        """The mode chosen last in this project, None when nobody chose."""
        project = self._read().projects.get(os.path.realpath(cwd))
        return project.mode if project else None

    def remember_mode(self, cwd: Path, mode: Mode) -> None:
        """Remember a choice; `full` is not remembered."""
        if mode == "full":
            return
        self._change(cwd, mode=mode)

    def editor_context(self, cwd: Path) -> Sharing:
        """Whether agents may know what the user looks at in this project."""
        return (self._read().projects.get(os.path.realpath(cwd)) or _Project()).editor_context

    def remember_editor_context(self, cwd: Path, sharing: Sharing) -> None:
        """Remember a choice."""
        self._change(cwd, editor_context=sharing)

    def _change(self, cwd: Path, **update: str) -> None:
        def updated(content: _Projects | None) -> _Projects:
            projects = (content or _Projects()).projects
            known = projects.get(os.path.realpath(cwd)) or _Project()
            return _Projects(projects={**projects, os.path.realpath(cwd): known.model_copy(update=update)})

        try:
            self._file.change(updated)
        except (OSError, ConfigError) as error:  # what was chosen holds all the same, for a mode
            logger.warning("the choice cannot be saved: %s", error)

    def _read(self) -> _Projects:
        return self._file.read() or _Projects()
