"""Locks and installers as people have them: `make test-install`. Downloads from the package registries."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test of this folder downloads."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.install)
            item.add_marker(pytest.mark.timeout(900))
