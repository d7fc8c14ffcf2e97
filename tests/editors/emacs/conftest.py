"""Editors that `make test-editors` has installed."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from soultest.editors.emacs import Emacs, emacs
from soultest.souldemacs import HOUSE, VERSIONS, OpenEmacs, connected, settings
from soultest.world import SOULD, World

INSTALLED = HOUSE / ".editors"


@pytest.fixture(params=VERSIONS)
def emacs_program(request: pytest.FixtureRequest) -> Path:
    """Each Emacs."""
    missing = INSTALLED / "missing" / f"emacs-{request.param}"
    if missing.exists():
        pytest.skip(missing.read_text().strip())
    return INSTALLED / "bin" / f"emacs-{request.param}"


@pytest.fixture
def world() -> Generator[World]:
    """A user with a project under git."""
    root = Path(tempfile.mkdtemp(prefix="sould-editor-"))
    made = World(root)
    made.environment["PATH"] = os.pathsep.join([str(SOULD.parent), str(INSTALLED / "bin"), made.environment["PATH"]])
    subprocess.run(["git", "init", "-q", str(made.project)], check=True, env=made.environment)
    yield made
    made.close()
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def open_emacs(world: World, emacs_program: Path) -> Generator[OpenEmacs]:
    """Emacs with sould's package, as its page sets it up."""
    with ExitStack() as stack:

        def opened(file: str, more: str = "", name: str = "emacs") -> Emacs:
            world.start()
            begun = stack.enter_context(emacs(world, emacs_program, settings() + more, world.project / file, name))
            connected(begun)
            return begun

        yield opened
