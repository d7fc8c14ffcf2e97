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


@pytest.fixture
def sould_after(sould: Sould) -> Iterator[Sould]:
    """The same with a running daemon, for which the five afters are asserted when the test is over."""
    pid = sould.start()
    canary = sould.canary()
    yield sould
    sould.afters(pid, canary)


@pytest.fixture(autouse=True)
def _needs_root(request: pytest.FixtureRequest) -> None:
    """Tests that act as another user: skipped by hand, failed in CI when they cannot run (D6)."""
    if request.node.get_closest_marker("needs_root") is None or os.geteuid() == 0:
        return
    if "CI" in os.environ:
        pytest.fail("needs root")
    pytest.skip("needs root")
