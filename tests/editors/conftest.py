"""One scene for each editor of the table (`soultest.editors.scene.KINDS`), and windows of VS Code."""

import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from soultest.editors.scene import HOUSE, KINDS, LIBRARIES, Kind, Scene
from soultest.failed import pytest_runtest_makereport
from soultest.workbenches import environment, extensions, failed, open_window, settings
from soultest.world import SOULD, World

__all__ = [
    "environment",
    "extensions",
    "failed",
    "open_window",
    "pytest_runtest_makereport",
    "settings",
]

ROWS = [
    *(pytest.param(kind, id=kind.name, marks=[pytest.mark.node] if kind.needs_npm else []) for kind in LIBRARIES),
    *(pytest.param(kind, id=kind.name, marks=pytest.mark.editors) for kind in KINDS),
]


@pytest.fixture(params=ROWS)
def scene(request: pytest.FixtureRequest) -> Generator[Scene]:
    """One for each editor of the table."""
    kind: Kind = request.param
    missing = HOUSE / ".editors" / "missing" / kind.name
    if missing.exists():
        pytest.skip(missing.read_text().strip())
    root = Path(tempfile.mkdtemp(prefix="sould-editor-"))
    world = World(root)
    world.environment["PATH"] = f"{SOULD.parent}:{world.environment['PATH']}"
    yield Scene(kind, world)
    world.close()
    shutil.rmtree(root, ignore_errors=True)
