"""A bench with a host, and clients that connect to it in memory."""

from functools import partial
from pathlib import Path

import pytest

from soultest.acpbench import Connect, connected
from soultest.bench import Bench, make_bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path)


@pytest.fixture
def connect(bench: Bench) -> Connect:
    return partial(connected, bench)
