"""What a row of the report is: a declared value. A measurement is a function that prepares and yields what measures once.

    FIRST = Row("first-token", "prompt -> first token", "how long the editor shows nothing", budget=OfFloor(plus=5), floor=RAW)

    @measures(FIRST, rounds=30)
    def first_token(world: World) -> Generator[Sides]:
        with world.sessions() as sessions:
            yield {name: partial(once, each) for name, each in sessions.items()}

The runner calls each side in turn, round after round. Nothing here may measure, print or know what is measured.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from world import World

OURS = "sould"
RAW = "raw agent"
"""The floor of most rows: the least that an ACP agent with a model can be in Python (`flooragent.py`)."""


class Budget(Protocol):
    """What a row should keep to."""

    def __str__(self) -> str:
        """As the report says it."""
        ...

    def met(self, measured: float, floor: float) -> bool:
        """Whether the median keeps to it; `floor` is NaN where none was measured."""
        ...


@dataclass(frozen=True, slots=True)
class AtMost:
    """An absolute limit."""

    limit: float

    def __str__(self) -> str:
        return f"<= {self.limit:g}"

    def met(self, measured: float, floor: float) -> bool:
        """Not above the limit."""
        return measured <= self.limit


@dataclass(frozen=True, slots=True)
class OfFloor:
    """A limit that moves with the machine: so many times the floor, and so much more."""

    times: float = 1.0
    plus: float = 0.0

    def __str__(self) -> str:
        factor = "floor" if self.times == 1 else f"{self.times:g}x floor"
        return f"<= {factor} + {self.plus:g}" if self.plus else f"<= {factor}"

    def met(self, measured: float, floor: float) -> bool:
        """Not above it; never met where there was no floor."""
        return measured <= floor * self.times + self.plus


@dataclass(frozen=True, slots=True)
class AtLeastOfFloor:
    """For rates: at least so many times the floor's."""

    times: float

    def __str__(self) -> str:
        return f">= {self.times:g}x floor"

    def met(self, measured: float, floor: float) -> bool:
        """Not below it; never met where there was no floor."""
        return measured >= floor * self.times


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: by which name it is run alone, what is measured, what that means to a user."""

    name: str
    what: str
    means: str
    unit: str = "ms"
    budget: Budget | None = None
    """None: the figure is for information."""
    floor: str = ""
    """The side that is the floor."""


Figures: TypeAlias = Mapping[str, float]
"""What one round of one side found, by the names of rows."""
Once: TypeAlias = Callable[[], Figures]
"""Measures once."""
Sides: TypeAlias = Mapping[str, Once]
"""Those who are compared, in the order in which they take turns: ourselves, the floor, other agents."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """Rows that are found together, because one round brings all of them."""

    rows: tuple[Row, ...]
    rounds: int
    quick: int
    """Rounds in `make bench-quick`; 0 leaves it out."""
    peers: bool
    """Whether `make bench-peers` asks other agents, too."""
    prepare: Callable[[World], AbstractContextManager[Sides]]


def measures(
    *rows: Row, rounds: int, quick: int = 0, peers: bool = False
) -> Callable[[Callable[[World], Generator[Sides]]], Measurement]:
    """Make a measurement of a generator that sets up, yields the sides, and clears away."""
    return lambda prepare: Measurement(rows, rounds, quick, peers, contextmanager(prepare))
