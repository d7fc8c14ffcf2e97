import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from sould.agents import values


def shapes(dataclass: Callable[..., Any], field: Callable[..., Any]) -> list[Any]:
    """The same classes, made by one `dataclass` or the other."""

    @dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 2

    @dataclass(frozen=True, slots=True)
    class Named(Point):
        """A derived one."""

        name: str = field(default="n", repr=False)
        seen: list[int] = field(default_factory=list, compare=False)
        counted: int = field(default=7, init=False)
        made: list[int] = field(default_factory=list, init=False, compare=False)

    @dataclass(slots=True)
    class Checked:
        x: int
        y: int = field(kw_only=True, default=3)
        z: int = field(init=False)

        def __post_init__(self) -> None:
            self.z = self.x + self.y

    @dataclass(slots=True, weakref_slot=True, eq=False)
    class Plain:
        x: int = 1

    @dataclass(frozen=True)
    class Empty:
        pass

    @dataclass(frozen=True, slots=True)
    class Own:
        x: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 5

    return [Point, Named, Checked, Plain, Empty, Own]


CALLS: list[tuple[int, tuple[Any, ...], dict[str, Any]]] = [
    (0, (1,), {}),
    (0, (1,), {"y": 5}),
    (1, (1, 2, "m"), {}),
    (1, (1,), {"seen": [4]}),
    (2, (1,), {"y": 9}),
    (2, (1,), {}),
    (3, (), {}),
    (4, (), {}),
    (5, (1,), {}),
]
WRONG: list[tuple[int, tuple[Any, ...], dict[str, Any]]] = [
    (0, (), {}),
    (0, (1, 2, 3), {}),
    (0, (1,), {"z": 1}),
    (1, (1,), {"counted": 1}),
    (2, (1, 2), {}),
]


@pytest.mark.parametrize(("shape", "args", "kwargs"), CALLS)
def test_an_object_is_what_the_standard_library_s_would_be(
    shape: int, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    described: list[Any] = []
    for of in (shapes(values.dataclass, values.field), shapes(dataclasses.dataclass, dataclasses.field)):
        first, second = of[shape](*args, **kwargs), of[shape](*args, **kwargs)
        hashes = None if type(first).__hash__ is None else hash(first) == hash(second)
        changed = values.replace(first, x=99) if hasattr(first, "x") else first
        others = [first == each(1) for each in of if each not in (of[3], of[4])]
        named = repr(first).rpartition("<locals>.")[2] if "object at" not in repr(first) else "default"
        fields = [(each.name, each.compare, each.kw_only) for each in dataclasses.fields(first)]
        values_now = [getattr(first, name) for name, _, _ in fields]
        described.append(
            (
                named,
                fields,
                values_now,
                first == second,
                hashes,
                changed == first,
                others,
                first.__match_args__,
            )
        )
    assert described[0] == described[1]


@pytest.mark.parametrize(("shape", "args", "kwargs"), WRONG)
def test_wrong_arguments_are_refused_in_the_same_words(
    shape: int, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    refusals: list[str] = []
    for of in (shapes(values.dataclass, values.field), shapes(dataclasses.dataclass, dataclasses.field)):
        with pytest.raises(TypeError) as refused:
            of[shape](*args, **kwargs)
        refusals.append(str(refused.value).rpartition("__init__()")[2])
    assert refusals[0] == refusals[1]


def test_an_object_that_holds_itself_can_be_shown() -> None:
    holder = shapes(values.dataclass, values.field)[1](1)
    holder.seen.append(holder)
    assert "..." in repr(holder)


def test_slots_are_slots() -> None:
    point = shapes(values.dataclass, values.field)[0](1)
    with pytest.raises(AttributeError):
        point.z = 1
