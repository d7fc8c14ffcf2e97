"""Which project a directory belongs to, as answers that hold in one are kept for it (D39). Blocks."""

from pathlib import Path

from sould.agents.files.edits.ownership import ALONE, never_projects
from sould.agents.files.projects.projects import Projects
from sould.agents.permissions.remembered import ProjectKey


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
