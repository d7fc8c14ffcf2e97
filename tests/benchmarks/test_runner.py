"""The runner takes turns, and a side that fails spoils nothing but its own figures."""

from collections.abc import Generator
from pathlib import Path

from acpclient import AgentFailedError
from row import OURS, AtLeastOfFloor, AtMost, Budget, Figures, OfFloor, Row, Sides, measures
from runner import find
from world import World

WORLD = World(Path(), Path(), 0)
"""Of no agents: what these measurements measure is a list."""


def row(budget: Budget | None = None) -> Row:
    return Row("figure", "a figure", "nothing", budget=budget, floor="floor")


def test_sides_take_turns_back_and_forth() -> None:
    turns: list[str] = []

    def once(name: str) -> Figures:
        turns.append(name)
        return {"figure": len(turns)}

    @measures(row(), rounds=2)
    def measurement(_: World) -> Generator[Sides]:
        yield {name: lambda name=name: once(name) for name in ("a", "b", "c")}
        turns.append("cleared away")

    (finding,) = find(WORLD, measurement, measurement.rounds)
    assert turns == ["a", "b", "c", "c", "b", "a", "cleared away"]
    assert finding.samples == {"a": [1, 6], "b": [2, 5], "c": [3, 4]}


def test_a_side_that_fails_is_not_asked_again_and_shows_no_figure() -> None:
    asked: list[str] = []

    def failing() -> Figures:
        asked.append(OURS)
        if len(asked) == 2:
            raise AgentFailedError("it closed its end")
        return {"figure": 1.0}

    @measures(row(AtMost(10)), rounds=3)
    def measurement(_: World) -> Generator[Sides]:
        yield {OURS: failing, "floor": lambda: {"figure": 1.0}}

    (finding,) = find(WORLD, measurement, measurement.rounds)
    assert len(asked) == 2
    assert finding.failed == {OURS: "it closed its end"}
    assert list(finding.sides) == ["floor"]
    assert finding.met is False


def test_a_budget_is_judged_by_medians_and_needs_its_floor() -> None:
    def met(budget: Budget, ours: list[float], floor: list[float]) -> bool | None:
        left = {OURS: list(ours), "floor": list(floor)}

        @measures(row(budget), rounds=len(ours))
        def measurement(_: World) -> Generator[Sides]:
            yield {name: lambda values=values: {"figure": values.pop()} for name, values in left.items() if values}

        return find(WORLD, measurement, measurement.rounds)[0].met

    assert met(AtMost(5), [1, 5, 90], [])
    assert not met(AtMost(5), [1, 6, 6], [])
    assert met(OfFloor(2, plus=1), [5, 5, 5], [2, 2, 2])
    assert not met(OfFloor(2), [5, 5, 5], [2, 2, 2])
    assert met(AtLeastOfFloor(0.9), [90.0], [100.0])
    assert not met(OfFloor(2), [1.0], [])
    assert not met(AtLeastOfFloor(0.9), [1.0], [])
