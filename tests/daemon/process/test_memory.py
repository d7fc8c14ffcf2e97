"""What a daemon keeps in memory of sessions that have come and gone."""

import asyncio
import gc
import json
import weakref
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from sould.agents.sessions.host import SessionHost
from sould.agents.sessions.session import Session
from sould.agents.soul.session_request import SessionRequest
from sould.daemon.paths import Paths
from sould.daemon.process.sessions import GARBAGE, Sessions, composed
from soultest.bench import finish
from soultest.streams import until
from soultest.world import World

SLOW = """
[models.slow]
provider = "slow"
model = "slow"
max_context_size = 100000

[providers.slow]
type = "_scripted_echo"
env = {{ KIMI_SCRIPTED_ECHO_SCRIPTS = {scripts} }}
"""


@pytest.fixture
def nobody_collects() -> Iterator[None]:
    """No garbage is looked for but by the daemon itself."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[SessionHost]:
    """The daemon's sessions, without its socket: a model that answers, and `slow`, which does not."""
    slow = tmp_path / "slow.json"
    slow.write_text(json.dumps(["wait: 1000\ntext: late"]))
    world = World(tmp_path / "w")
    world.script(["text: hello"], SLOW.format(scripts=json.dumps(str(slow))))
    sessions, closed = Sessions(Paths(world.environment), 0o022, composed), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(sessions.run(closed))
        await asyncio.sleep(0)
        yield (await sessions.composition()).host
        closed.set()


async def visit(host: SessionHost, cwd: Path) -> "weakref.ref[Session]":
    """A client opens a session, prompts and closes it."""
    session = await host.new(SessionRequest(cwd))
    assert (await finish(session, "hi", "c")).stop_reason == "finished"
    await host.close(session.id, "c")
    return weakref.ref(session)


async def test_sessions_that_have_ended_leave_the_memory_while_a_turn_of_another_goes_on(
    host: SessionHost, tmp_path: Path, nobody_collects: None
) -> None:
    busy = await host.new(SessionRequest(tmp_path, model="slow"))
    turn = busy.turns.prompt("go", "c")
    visited = [await visit(host, tmp_path) for _ in range(GARBAGE + 20)]
    await until(lambda: sum(each() is not None for each in visited) <= GARBAGE)
    assert busy.turns.running
    busy.turns.cancel(None)
    await turn.outcome()
    await host.close(busy.id, "c")
    await until(lambda: all(each() is None for each in visited))


async def test_nothing_is_kept_of_a_session_that_has_ended(host: SessionHost, tmp_path: Path) -> None:
    async def living() -> Counter[str]:
        """Objects of ours and locks, by type."""
        await until(lambda: not host.sessions)
        gc.collect()
        names = (f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects())
        return Counter(name for name in names if name.startswith(("sould.", "asyncio.locks.")))

    for _ in range(2):
        await visit(host, tmp_path)
    before = await living()
    for _ in range(12):
        await visit(host, tmp_path)
    grown = (await living()) - before
    assert {name: more for name, more in grown.items() if more >= 12} == {}
