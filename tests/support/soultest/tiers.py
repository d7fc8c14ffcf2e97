"""Which tests stay in this process, and which are about an inner part: set when they are collected.

A test that reaches something that starts a process, through helpers and fixtures, is no quick one. The product's code is not
followed: what a tool or a command of the scripted model starts does not count.
"""

import subprocess
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, cast

import pytest

OURS: Final = ("tests.", "soultest", "conftest")
"""How the names of the modules begin that are followed."""

STARTERS: Final = frozenset({"create_subprocess_exec", "create_subprocess_shell", "fork", "posix_spawn"})
"""Names that start a process, whoever has them; and `subprocess`, whatever is taken of it."""

PROGRAMS: Final = ("/mcpserver.py", "/langserver.py")
"""How the paths end of what the product is given to start."""


class Tiers:
    """The tests of one run."""

    def __init__(self, plugins: Iterable[object]) -> None:
        modules = [each for each in plugins if isinstance(each, ModuleType) and each.__name__.endswith("conftest")]
        self._conftests = sorted((Path(str(each.__file__)).parent, each) for each in modules)
        self._known: dict[tuple[object, tuple[str, ...]], bool] = {}
        """By function and fixtures: the items of a table are alike."""

    @cached_property
    def fixture(self) -> type:
        """The type of what `pytest.fixture` makes."""
        return type(pytest.fixture(lambda: None))

    def quick(self, item: pytest.Item) -> bool:
        """Whether it starts no process."""
        if not isinstance(item, pytest.Function):
            return False
        function, module = cast("FunctionType", item.obj), cast("ModuleType", item.module)
        key = (getattr(function, "__func__", function), tuple(item.fixturenames))
        if key not in self._known:
            spaces = [module for folder, module in self._conftests if item.path.is_relative_to(folder)]
            fixtures = {name: value for space in (*spaces, module) for name, value in self._fixtures(space)}
            used = [fixtures[name] for name in item.fixturenames if name in fixtures]
            self._known[key] = not starts([key[0], *used])
        return self._known[key]

    def _fixtures(self, module: ModuleType) -> Iterator[tuple[str, FunctionType]]:
        for value in vars(module).values():
            if isinstance(value, self.fixture):
                parts = cast("dict[str, Any]", vars(value))
                yield parts["name"], parts["__wrapped__"]


@cache
def _uses_product(module: ModuleType) -> bool:
    return any(str(getattr(each, "__module__", "")).startswith("sould.") for each in vars(module).values())


def is_about_inner_part(item: pytest.Item) -> bool:
    """Whether its module takes classes or functions of the product, and so stands or falls with their names."""
    return isinstance(item, pytest.Function) and _uses_product(cast("ModuleType", item.module))


def starts(begun: Iterable[object]) -> bool:
    """Whether these reach something that starts a process."""
    todo, seen = list(begun), set[int]()
    while todo:
        if id(reached := todo.pop()) not in seen:
            seen.add(id(reached))
            found = nexts(reached) if isinstance(reached, FunctionType | type) else ()
            if subprocess in found:
                return True
            todo += found
    return False


@cache
def nexts(reached: FunctionType | type) -> tuple[object, ...]:
    """What a function or class of ours names; `subprocess` where it starts a process."""
    if not reached.__module__.startswith(OURS):
        return ()
    if isinstance(reached, type):
        parts = [
            getattr(part, "fget", None) or getattr(part, "__func__", part) for part in list(vars(reached).values())
        ]
        return (*reached.__bases__, *(getattr(part, "__wrapped__", part) for part in parts))
    names, known = {*named(reached.__code__)}, reached.__globals__
    found = [getattr(known[name], "__wrapped__", known[name]) for name in names if name in known]
    if names & STARTERS or any(isinstance(each, str) and each.endswith(PROGRAMS) for each in found):
        return (subprocess,)
    modules = [each for each in found if isinstance(each, ModuleType) and each.__name__.startswith(OURS)]
    inside = [getattr(module, name, None) for module in modules for name in names]
    return (*(each for each in found if isinstance(each, FunctionType | type) or each is subprocess), *inside)


def named(code: CodeType) -> Iterator[str]:
    """The names in a function and in those within it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from named(constant)
