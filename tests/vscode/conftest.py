"""A new user for each test, and windows of VS Code."""

from collections.abc import Generator

import pytest

from soultest.failed import pytest_runtest_makereport
from soultest.workbench import new_world
from soultest.workbenches import environment, extensions, failed, open_window, settings
from soultest.world import World

__all__ = [
    "environment",
    "extensions",
    "failed",
    "open_window",
    "pytest_runtest_makereport",
    "settings",
]


@pytest.fixture
def world() -> Generator[World]:
    with new_world() as made:
        yield made
