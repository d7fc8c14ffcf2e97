"""A panel for each test."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from soultest.failed import has_failed, pytest_runtest_makereport
from soultest.panelpage import BUILT, PanelPage, keep, served, shown
from soultest.world import World

Open = Callable[..., PanelPage]

__all__ = ["pytest_runtest_makereport"]


@pytest.fixture
def world() -> Generator[World]:
    root = Path(tempfile.mkdtemp(prefix="sould-panel-"))
    made = World(root)
    subprocess.run(["git", "init", "-q", str(made.project)], check=True)
    yield made
    made.close()
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def open_panel(request: pytest.FixtureRequest, world: World, browser: Browser) -> Generator[Open]:
    """Opens panels of the project, all served by one program. The model must have been scripted before."""
    if not BUILT.exists():
        pytest.skip(f"{BUILT.name} is not there: make test-panel")
    with ExitStack() as stack:
        addresses: list[str] = []
        panels: list[PanelPage] = []

        def opened(width: int = 1280) -> PanelPage:
            if not addresses:
                world.start()
                addresses.append(stack.enter_context(served(world)))
            panels.append(stack.enter_context(shown(browser, addresses[0], width=width)))
            return panels[-1]

        yield opened
        if has_failed(request):
            keep(panels, request.node.name)
        else:
            assert [panel.problems for panel in panels if panel.problems] == []
