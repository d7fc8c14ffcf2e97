"""Floods through the real daemon: servers that say far too much cost neither its memory nor the next call."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from soultest.bench.mcp import SERVER, configure
from soultest.daemon import count
from soultest.editor import calls, editor
from soultest.mcpremote import remote
from soultest.processes import peak_memory
from soultest.world import World, call

MIB = 1024 * 1024
ALLOWED = 96 * MIB
"""What the daemon may grow by meanwhile: some lines of 8 MiB, in bytes, as text and as messages."""
KB = count(1024 * 1024, 24 * 1024)
"""Kilobytes of a flood: a gigabyte in the catalogue."""
LOGS = count(100_000, 2_000)
HUGE = count(100, 24)
CLIENT = "[mcp.client]\nturn_wait_ms = 30000\nrestart_first_wait_s = 0.01\ntool_call_timeout_ms = 300000\n"

Call = tuple[str, dict[str, Any]]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


@asynccontextmanager
async def flooded(world: World, servers: dict[str, object], *made: Call) -> AsyncGenerator[list[dict[str, Any]]]:
    """One turn with these calls, each in a step of its own; the tool calls as the editor shows them."""
    configure(world.root / "config" / "sould" / "mcp.json", servers)
    warm = call("good__echo", "warm", text="warm")
    steps = [call(name, str(number), **arguments) for number, (name, arguments) in enumerate(made)]
    world.script([warm, "text: warm", *steps, call("good__echo", "z", text="still well"), "text: done"], CLIENT)
    async with editor(world) as (client, session):
        await client.prompt(session, "warm up")
        daemon = await asyncio.to_thread(world.daemon)
        before = peak_memory(daemon)
        answer = await client.prompt(session, "flood")
        grown = peak_memory(daemon) - before
        assert answer["stopReason"] == "end_turn"
        assert "still well" in str(calls(client)[-1])
        yield calls(client)[1:-1]
        assert grown < ALLOWED, f"{grown // MIB} MiB"


def local(mode: str = "rich") -> dict[str, object]:
    return {"command": sys.executable, "args": [SERVER, mode]}


async def test_servers_that_say_too_much_in_every_way_cost_no_memory_and_no_other_call(world: World) -> None:
    floods: list[Call] = [
        ("loud__errors", {"kilobytes": KB}),
        ("loud__logs", {"kilobytes": LOGS}),
        ("loud__progress", {"times": LOGS}),
        ("loud__churn", {"times": LOGS}),
        ("loud__long", {"length": 7 * MIB}),
        ("loud__spill", {"megabytes": HUGE}),
        ("loud__echo", {"text": "and here I am again"}),
        ("far__spill", {"megabytes": HUGE}),
        ("far__pour", {"megabytes": HUGE}),
        ("far__spill", {"megabytes": 1}),
    ]
    async with remote("huge", world.root) as url:
        servers: dict[str, object] = {"good": local("ok"), "loud": local(), "far": {"url": url}}
        async with flooded(world, servers, *floods) as shown:
            errors, logs, progress, churn, long, spill, again, remote_spill, pour, small = map(str, shown)
            assert "complained" in errors
            assert "said it all" in logs
            assert "arrived" in progress
            assert "churned" in churn
            assert "Only 100000 of" in long
            assert "a line of more than 8 MiB" in spill
            assert "and here I am again" in again
            assert "failed" in remote_spill
            assert "failed" in pour
            assert "Only 100000 of 1048576 characters" in small
