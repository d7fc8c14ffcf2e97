"""A bench whose sessions have MCP servers."""

from pathlib import Path

import pytest

from soultest.bench import Bench, make_bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path, {"mcp": {"client": {"restart_first_wait_s": 0.01, "turn_wait_ms": 30_000}}})
