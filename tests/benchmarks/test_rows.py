"""Every kind of row can be measured: once, small, with the product as it is installed here."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from row import OURS, Measurement
from run import MEASUREMENTS, chosen, ours
from runner import find
from world import World, make_world

SMALL = 0.001
ALIKE = (
    "shell-0-*",
    "shell-20000-*",
    "shell-100000-*",
    "shell-2000-no-git-*",
    "grep-100000*",
    "editors-50-*",
)
"""Rows that differ from others in nothing but a size."""


def name(measurement: Measurement) -> str:
    return measurement.rows[0].name


def kinds() -> list[Measurement]:
    alike = {name(each) for each in chosen(ALIKE, MEASUREMENTS)}
    return [each for each in MEASUREMENTS if name(each) not in alike]


def test_no_two_rows_have_one_name() -> None:
    names = [row.name for measurement in MEASUREMENTS for row in measurement.rows]
    assert len(names) == len(set(names))


def test_a_row_is_chosen_by_its_name() -> None:
    assert [name(each) for each in chosen(["cold-session"], MEASUREMENTS)] == ["cold-initialize"]
    assert [name(each) for each in chosen(["idle-*"], MEASUREMENTS)] == ["memory-idle"]


@pytest.fixture
def world() -> Iterator[World]:
    with make_world(Path(sys.executable), ours(Path(sys.executable)), SMALL) as made:
        yield made


@pytest.mark.bench
@pytest.mark.parametrize("measurement", kinds(), ids=name)
def test_a_round_finds_a_figure_for_every_row(world: World, measurement: Measurement) -> None:
    for finding in find(world, measurement, 1):
        assert finding.failed == {}
        assert len(finding.samples[OURS]) == 1
        assert not finding.row.floor or len(finding.samples[finding.row.floor]) == 1
