"""An empty git repository, for tests of what depends on where one begins."""

import subprocess
from pathlib import Path


def git_init(directory: Path) -> Path:
    """The directory, made where it is missing, as the top of a work tree."""
    directory.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "init", "-q", str(directory)], check=True)
    return directory
