"""What is made of measured values: the median, its spread, quantiles. Pure; it must never choose the best of anything.

A single lucky round says what a machine can do, not what a user gets: so there is no minimum to report here but as the
lower end of a spread.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """Several rounds of one figure: the median, and between which values the middle half of the rounds lies."""

    median: float
    low: float
    high: float
    rounds: int


def spread(values: Sequence[float]) -> Spread:
    """The spread of at least one value."""
    return Spread(statistics.median(values), quantile(values, 0.25), quantile(values, 0.75), len(values))


def quantile(values: Sequence[float], share: float) -> float:
    """The value that `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def apart(some: Sequence[float], others: Sequence[float]) -> bool:
    """Whether one kind is nearly always above the other: in 95 of 100 pairs. Less than that a machine does by itself.

    With five rounds each, equal distributions are taken for different ones once in sixty times.
    """
    above = statistics.mean((one > other) + (one == other) / 2 for one in some for other in others)
    return above >= 0.95 or above <= 0.05
