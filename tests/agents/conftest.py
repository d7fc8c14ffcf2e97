"""What tests of several packages of the agents stand on."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.agents.files.reviewing.reviewdesk import ReviewDesk

from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.journal.journal import JournalWriter
from soultest.bench.tools import no_commands


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[ReviewDesk]:
    """A project under review."""
    made = ReviewDesk(tmp_path)
    yield made
    await made.aclose()


@pytest.fixture
async def writer() -> AsyncIterator[JournalWriter]:
    """Of journals."""
    made = JournalWriter()
    yield made
    await asyncio.to_thread(made.close)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The directory of `workspace`."""
    folder = tmp_path / "app"
    folder.mkdir()
    return folder


@pytest.fixture
def workspace(root: Path) -> LocalWorkspace:
    """Of files alone."""
    return LocalWorkspace(root, (), no_commands)
