"""Sessions that hold nothing: begun by an editor that asked nothing, or for a command that only shows something."""

import pytest

from sould.agents.sessions.session import Session
from soultest.bench import Bench, Watcher, finish


async def _left(bench: Bench, watcher: Watcher) -> None:
    """The only client leaves, and the session with it."""
    session = watcher.session
    await bench.host.detach(session.id, watcher.id)
    await session.closed.wait()


async def _listed(bench: Bench) -> list[str]:
    return [info.title for info in (await bench.host.stored.list(bench.project, None)).items]


def _on_disk(bench: Bench, session: Session) -> bool:
    return (bench.state / "sessions" / session.id).exists()


@pytest.mark.parametrize(
    "command", ["/help", "/status", "/mcp", "/tasks", "/skills", "/undo", "/clear", "/mode", "/nope"]
)
async def test_a_command_that_leaves_nothing_is_no_reason_to_keep_a_session(bench: Bench, command: str) -> None:
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, command)
        assert await _listed(bench) == []
        await bench.host.close(watcher.session.id, watcher.id)
        assert not _on_disk(bench, watcher.session)


@pytest.mark.parametrize(
    "command", ["/init", "/plan Tidy up", "/plan", "/loop 0 Tidy up", "/mode review", "/import a.txt"]
)
async def test_a_command_that_leaves_something_is(bench: Bench, command: str) -> None:
    bench.script("text: one", "text: two")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, command)
        assert await _listed(bench) == [command]
        await _left(bench, watcher)
        assert _on_disk(bench, watcher.session)


async def test_a_prompt_names_the_session_that_began_with_a_look_around(bench: Bench) -> None:
    bench.script("text: one")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "/status")
        await finish(watcher.session, "mend the gate")
        await finish(watcher.session, "/status")
        assert await _listed(bench) == ["mend the gate"]


async def test_a_session_waits_for_a_client_that_only_left(bench: Bench) -> None:
    """A program that opens it in one process and asks in the next."""
    bench.script("text: one")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await _left(bench, watcher)
        await finish(await bench.open(watcher.session.id), "mend the gate")
        assert await _listed(bench) == ["mend the gate"]


async def test_a_session_goes_with_the_client_that_closes_it_unless_it_has_a_name(bench: Bench) -> None:
    async with bench.running():
        unused, named = Watcher(await bench.new()), Watcher(await bench.new())
        bench.host.stored.rename(named.session.id, "For later")
        for watcher in (unused, named):
            await bench.host.close(watcher.session.id, watcher.id)
        assert [_on_disk(bench, watcher.session) for watcher in (unused, named)] == [False, True]
        assert await _listed(bench) == ["For later"]


async def test_a_fork_is_listed_before_its_first_prompt(bench: Bench) -> None:
    bench.script("text: one")
    async with bench.running():
        source = await bench.new()
        await finish(source, "remember me")
        await bench.host.fork(source.id, bench.opening())
        assert len(await _listed(bench)) == 2
