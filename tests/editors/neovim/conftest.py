"""A user with a project under git, and each Neovim that the plugin is for."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from soultest.editors.plugin import OLD, installed
from soultest.world import SOULD, World


@pytest.fixture
def world() -> Generator[World]:
    root = Path(tempfile.mkdtemp(prefix="sould-nvim-"))
    made = World(root)
    made.environment["PATH"] = os.pathsep.join([str(SOULD.parent), made.environment["PATH"]])
    subprocess.run(["git", "init", "-q", str(made.project)], check=True)
    (made.project / "area.py").write_text(OLD)
    yield made
    made.close()
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(params=["nvim-0.10", "nvim-0.12"])
def program(request: pytest.FixtureRequest) -> Path:
    return installed(str(request.param))
