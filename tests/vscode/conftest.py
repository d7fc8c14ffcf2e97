"""A workbench for each test; the browser and the installed extension are shared by those of a worker."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from soultest.workbench import CODE_SERVER, VSIX, Server, Workbench, chromium, install, keep, window
from soultest.world import SOULD, World

Open = Callable[[], Workbench]

FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fixtures learn whether their test has failed."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture(scope="session")
def browser() -> Generator[Browser]:
    for needed in (CODE_SERVER, VSIX):
        if not needed.exists():
            pytest.skip(f"{needed.name} is not there: make test-vscode")
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def extensions(browser: Browser) -> Generator[Path]:
    del browser
    with tempfile.TemporaryDirectory(prefix="sould-vsix-") as root:
        yield install(Path(root))


@pytest.fixture
def world() -> Generator[World]:
    root = Path(tempfile.mkdtemp(prefix="sould-vscode-"))
    made = World(root)
    # Where uv and pipx put it. VS Code takes its PATH from the login shell, which is that of this system.
    programs = root / ".local" / "bin"
    programs.mkdir(parents=True)
    (programs / "sould").symlink_to(SOULD)
    subprocess.run(["git", "init", "-q", str(made.project)], check=True)
    yield made
    made.close()
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def settings() -> dict[str, object]:
    """Settings of the test's own."""
    return {}


@pytest.fixture
def open_window(
    request: pytest.FixtureRequest, world: World, browser: Browser, extensions: Path, settings: dict[str, object]
) -> Generator[Open]:
    """Opens windows of the project, all of one VS Code."""
    server = Server(world, extensions, settings)
    windows: list[Workbench] = []
    with ExitStack() as stack:
        stack.callback(server.close)

        def opened() -> Workbench:
            windows.append(stack.enter_context(window(server, browser, world.project)))
            return windows[-1]

        yield opened
        if request.node.stash.get(FAILED, False):
            keep(windows, server, request.node.name)
