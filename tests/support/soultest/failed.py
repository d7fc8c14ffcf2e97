"""Whether a test has failed, for fixtures that keep what it looked like. A conftest takes it in by importing the hook."""

from collections.abc import Generator

import pytest

FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fixtures learn whether their test has failed."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


def has_failed(request: pytest.FixtureRequest) -> bool:
    """Of the test of a fixture, when asked at its end."""
    return bool(request.node.stash.get(FAILED, False))
