"""Runs measurements: each side once, in turns, round after round, so that a busy machine is busy for all of them.

A side that fails leaves the rest of its measurement alone, and the report says why; it is never tried again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from acpclient import AgentFailedError
from figures import Spread, spread
from row import OURS, Figures, Measurement, Row
from world import World


@dataclass(slots=True)
class Finding:
    """What was found for one row."""

    row: Row
    samples: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """By side, in the order of the rounds."""
    failed: dict[str, str] = field(default_factory=dict[str, str])
    """Why a side has no samples, or no more of them."""

    @property
    def sides(self) -> dict[str, Spread]:
        """The spread of each side that was measured to the end."""
        return {name: spread(values) for name, values in self.samples.items() if name not in self.failed}

    @property
    def met(self) -> bool | None:
        """Whether ours keeps to the budget; None where there is none."""
        if self.row.budget is None:
            return None
        sides = self.sides
        if OURS not in sides:
            return False
        floor = sides[self.row.floor].median if self.row.floor in sides else float("nan")
        return self.row.budget.met(sides[OURS].median, floor)


def find(world: World, measurement: Measurement, rounds: int) -> list[Finding]:
    """The findings of one measurement, a row each."""
    findings = [Finding(row) for row in measurement.rows]

    def fail(side: str, error: AgentFailedError) -> None:
        for finding in findings:
            finding.failed[side] = str(error)

    try:
        with measurement.prepare(world) as sides:
            going = dict(sides)
            for number in range(rounds):
                # Back and forth, so that nobody has always the same one before it.
                for name in list(going)[:: -1 if number % 2 else 1]:
                    try:
                        take(findings, name, going[name])
                    except AgentFailedError as error:
                        fail(name, error)
                        del going[name]
    except AgentFailedError as error:
        fail(OURS, error)
    return findings


def take(findings: list[Finding], side: str, once: Callable[[], Figures]) -> None:
    """One round of one side."""
    figures = once()
    for finding in findings:
        if finding.row.name in figures:
            finding.samples.setdefault(side, []).append(figures[finding.row.name])
