"""A bench for time travel's tests."""

from pathlib import Path

import pytest

from soultest.bench import Bench, make_bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path)
