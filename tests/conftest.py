"""Fixtures for everything that runs the real program."""

import os
from collections.abc import Iterator

import pytest

from soultest.daemon import Sould, fresh_sould


@pytest.fixture
def sould() -> Iterator[Sould]:
    """An isolated daemon's world; nothing runs yet."""
    with fresh_sould() as fresh:
        yield fresh


@pytest.fixture(scope="module")
def resident() -> Iterator[Sould]:
    """A running daemon for the tests of a module that leave it as it was."""
    with fresh_sould() as fresh:
        fresh.start()
        yield fresh


@pytest.fixture
def sould_after(resident: Sould) -> Iterator[Sould]:
    """The resident daemon, for which the five afters are asserted when the test is over."""
    pid, canary = resident.pid, resident.canary()
    yield resident
    resident.hang_up()
    resident.assert_healthy(pid, canary)


@pytest.fixture(autouse=True)
def _needs_root(request: pytest.FixtureRequest) -> None:
    """Tests that act as another user: skipped by hand, failed in CI when they cannot run (D6)."""
    if request.node.get_closest_marker("needs_root") is None or os.geteuid() == 0:
        return
    if "CI" in os.environ:
        pytest.fail("needs root")
    pytest.skip("needs root")
