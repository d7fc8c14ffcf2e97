"""Pages of docs/ followed by a reader: `make test-docs`."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test of this folder is one of a page."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.docs)
