"""A workbench for each test; the installed extension is shared by those of a worker.

Fixtures, which a conftest takes in by importing them. They want a fixture `world`.
"""

import tempfile
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from soultest.failed import has_failed
from soultest.workbench import Failed, Server, Workbench, install, windows
from soultest.world import World

Open = Callable[[], Workbench]


@pytest.fixture(scope="session")
def extensions() -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="sould-vsix-") as root:
        yield install(Path(root))


@pytest.fixture
def settings() -> dict[str, object]:
    """Settings of the test's own."""
    return {}


@pytest.fixture
def environment() -> dict[str, str] | None:
    """What VS Code is started with; None: the world's."""
    return None


@pytest.fixture
def failed(request: pytest.FixtureRequest) -> Failed:
    """Says, when asked at the end of a test, under which name it failed."""
    return lambda: request.node.name if has_failed(request) else ""


@pytest.fixture
def open_window(
    failed: Failed,
    world: World,
    browser: Browser,
    extensions: Path,
    settings: dict[str, object],
    environment: dict[str, str] | None,
) -> Generator[Open]:
    """Opens windows of the project, in a VS Code of the test's own."""
    with (
        closing(Server(world, extensions, settings, environment)) as server,
        windows(server, browser, world, failed) as opened,
    ):
        yield opened
