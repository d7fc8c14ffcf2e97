"""A project with the scripted language server."""

from pathlib import Path

import pytest

from soultest.languageservers import Served


@pytest.fixture
def served(tmp_path: Path) -> Served:
    (tmp_path / "project").mkdir()
    (tmp_path / "notes").mkdir()
    return Served(tmp_path / "project", tmp_path / "notes")
