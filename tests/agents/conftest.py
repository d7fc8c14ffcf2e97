"""A bench for the tests of the agents: sessions in this process, over real files and a scripted model."""

from pathlib import Path

import pytest

from soultest.bench import Bench, make_bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path)
