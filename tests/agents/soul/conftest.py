"""Tests with the mark `model_servers` run with model servers of several families in place of the scripted model."""

import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from soultest.bench import Bench, make_bench
from soultest.families.bench import ServedBench
from soultest.families.kinds import FAMILIES, three_for
from soultest.families.server import FamilyServer

MARK = "model_servers"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Three families each in `make test`, all of them in `make faults`."""
    if metafunc.definition.get_closest_marker(MARK) is not None:
        whole = os.environ.get("SOULD_FAULTS") == "full"
        families = FAMILIES if whole else three_for(metafunc.function.__name__)
        metafunc.parametrize("bench", families, ids=[family.name for family in families], indirect=True)


@pytest.fixture
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Bench]:
    """Sessions over the scripted model, or over a server of the given family, which must find nothing to refuse."""
    if request.node.get_closest_marker(MARK) is None:
        yield make_bench(tmp_path)
        return
    async with FamilyServer(request.param()) as server:
        made = ServedBench(tmp_path, server=server)
        made.prepare()
        yield made
        assert [complaint for complaint in server.refused if complaint.kind == "fault"] == []
