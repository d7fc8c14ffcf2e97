"""Which tests are quick: those that reach nothing that starts a process, through whatever they call."""

import asyncio
import subprocess
from collections.abc import Callable
from types import FunctionType

import pytest

from soultest.bench.mcp import SERVER
from soultest.bench.tools import nobody
from soultest.cliuser import User
from soultest.tiers import starts


def runs() -> None:
    subprocess.run(["true"])


def through_another() -> None:
    def inner() -> None:
        runs()

    inner()


def of_a_class() -> type:
    return User


async def by_the_loop() -> None:
    await asyncio.create_subprocess_exec("true")


def of_a_server() -> str:
    return SERVER


def of_none() -> object:
    return nobody, pytest.raises


@pytest.mark.parametrize("function", [runs, through_another, of_a_class, by_the_loop, of_a_server])
def test_what_starts_a_process_is_found_through_helpers_and_classes(function: FunctionType) -> None:
    assert starts([function])


@pytest.mark.parametrize("function", [of_none, len])
def test_what_starts_none_is_quick(function: Callable[[], object]) -> None:
    assert not starts([function])
