"""Of what was measured nothing is chosen: medians, their spread, and differences that are more than chance."""

import pytest

from figures import apart, quantile, spread


def test_a_lucky_round_moves_neither_the_median_nor_the_spread() -> None:
    usual = spread([10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0])
    lucky = spread([0.1, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0])
    assert (usual.median, usual.low, usual.high) == (lucky.median, lucky.low, lucky.high) == (13.0, 11.0, 15.0)


def test_one_round_is_its_own_spread() -> None:
    only = spread([7.0])
    assert (only.median, only.low, only.high, only.rounds) == (7.0, 7.0, 7.0, 1)


@pytest.mark.parametrize(("share", "value"), [(0.0, 1), (0.5, 51), (0.99, 100), (1.0, 100)])
def test_a_quantile_is_one_of_the_values(share: float, value: int) -> None:
    assert quantile(list(range(100, 0, -1)), share) == value


def test_a_difference_counts_when_nearly_every_pair_shows_it() -> None:
    assert apart([11, 12, 13, 14, 15], [1, 2, 3, 4, 5])
    assert apart([1, 2, 3, 4, 5], [11, 12, 13, 14, 15])
    assert not apart([1, 2, 3, 4, 5], [3, 4, 5, 6, 7])
    assert not apart([1, 1, 1], [1, 1, 1])
