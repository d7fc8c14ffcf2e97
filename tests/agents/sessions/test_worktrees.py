"""`/worktree`, what a second session is told, and what `/status` says of a worktree."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from sould.agents.sessions.session import Session
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import ApprovalRequest, Notification
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.looks import messages_of


@pytest.fixture
def repository(bench: Bench) -> Path:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *command], cwd=bench.project, check=True)
    return bench.project


def said(watcher: Watcher) -> str:
    return "".join(part.text for part in watcher.of(TextPart))


def offers(watcher: Watcher) -> Sequence[str]:
    return [each.title for each in watcher.of(Notification) if each.type == "worktree"]


async def test_the_conversation_goes_on_in_a_worktree_and_nothing_happens_here(bench: Bench, repository: Path) -> None:
    bench.script(call("WriteFile", path="a.txt", content="here\n"), "text: done", "text: there")
    async with bench.running() as host:
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "write it")
        ended = await finish(watcher.session, "/worktree apart")
        assert ended.stop_reason == "finished"
        (info,) = [each for each in (await host.stored.list(None, None)).items if each.id != watcher.session.id]
        assert info.title == "write it (apart)"
        assert f"goes on in session `{info.id}`, in `{info.cwd}` on the branch `sould/apart`" in said(watcher)
        assert (info.cwd / "a.txt").read_text() == "hello\n"
        assert (repository / "a.txt").read_text() == "here\n"
        fork = await bench.port.open(info.id, replace(bench.alone(), cwd=info.cwd))
        live = host.sessions.get(fork.id)
        assert live is not None
        there = Watcher(live)
        assert "write it" in str(messages_of(live))
        assert "/worktree apart" not in str(messages_of(live))
        await finish(live, "/status")
        assert f"- worktree: `apart` of `{repository}`, branch `sould/apart`" in said(there)


async def test_what_cannot_be_made_is_the_commands_answer(bench: Bench) -> None:
    async with bench.running() as host:
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "/worktree")
        assert "is in no git repository" in said(watcher)
        assert list(host.sessions) == [watcher.session.id]


async def test_a_restricted_session_goes_on_restricted(bench: Bench, repository: Path) -> None:
    async with bench.running() as host:
        session = await bench.new()
        session.restrict(True)
        await finish(session, "/worktree", "c")
        (info,) = [each for each in (await host.stored.list(None, None)).items if each.id != session.id]
        stored = bench.port.stored.find(info.id)
        assert bench.trust.of_session(stored.directory, {}).state(info.cwd) == "restricted"


async def at_work(bench: Bench, session: Session) -> Watcher:
    """A turn of the session runs: it waits for a yes."""
    watcher = Watcher(session, answer=None)
    session.turns.prompt("first of all", "watcher")
    await watcher.wait_for(ApprovalRequest)
    return watcher


SHELL = call("Shell", command="touch x")


async def test_a_second_session_is_told_once_that_it_may_work_apart(bench: Bench, repository: Path) -> None:
    bench.script(SHELL, "text: two", "text: again")
    async with bench.running():
        first = await at_work(bench, await bench.new())
        second = Watcher(await bench.new())
        await finish(second.session, "hello")
        assert offers(second) == ["“first of all” is at work in this project, too"]
        assert any("/worktree" in each.body for each in second.of(Notification))
        await finish(second.session, "again")
        third = Watcher(await bench.new())
        await finish(third.session, "hello")
        assert len(offers(second)) == 1
        assert offers(third) == offers(first) == []


async def test_nobody_is_told_who_is_alone_elsewhere_or_not_there(bench: Bench, repository: Path) -> None:
    bench.script(SHELL, "text: done")
    async with bench.running() as host:
        alone = Watcher(await bench.new())
        await finish(alone.session, "hello")
        assert offers(alone) == []
        await at_work(bench, await bench.new())
        apart = Watcher(await host.new(replace(bench.alone(), worktree="")))
        await finish(apart.session, "hello")
        assert offers(apart) == []
        program = await bench.new("full")
        await finish(program, "hello", "c")
        notices = [each.message for each in program.log.replay() if isinstance(each.message, Notification)]
        assert [each for each in notices if each.type == "worktree"] == []


async def test_nobody_is_told_where_git_knows_nothing(bench: Bench) -> None:
    bench.script(SHELL, "text: two")
    async with bench.running():
        await at_work(bench, await bench.new())
        second = Watcher(await bench.new())
        await finish(second.session, "hello")
        assert offers(second) == []
