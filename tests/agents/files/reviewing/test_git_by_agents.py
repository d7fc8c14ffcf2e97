"""Git moved by an agent's own commands, with the real git and the real Shell tool: what they stage or commit stays to be reviewed."""

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest
from tests.agents.files.reviewing.gitdesk import BASE, BOTH, IDENTITY, git_in
from tests.agents.files.reviewing.livedesk import LiveDesk

from sould.agents.files.projects.port import ProjectPort
from sould.agents.files.reviewing.listing import ReviewedHunk, Selection
from sould.agents.files.reviewing.orders import Order
from soultest.bench import Bench, Watcher, call, finish


def shell(command: str) -> str:
    return call("Shell", command=command)


@asynccontextmanager
async def editor(bench: Bench) -> AsyncGenerator[ProjectPort, None]:
    """A client of the project, in the daemon that runs."""
    async with bench.port.project(bench.project, Path.home(), "editor") as port:
        yield port


async def pending(port: ProjectPort) -> list[ReviewedHunk]:
    return [hunk for each in await port.pending_now() for hunk in each.hunks]


COMMIT = f"git {' '.join(IDENTITY)} commit -qam wip"


def committed(bench: Bench) -> None:
    (bench.project / "a.txt").write_text(BASE)
    git_in(bench.project, "init", "-q", "-b", "main")
    git_in(bench.project, "add", "-A")
    git_in(bench.project, "commit", "-qm", "all")


async def test_what_the_agent_commits_stays_pending_and_is_marked(bench: Bench) -> None:
    committed(bench)
    bench.script(call("WriteFile", path="a.txt", content=BOTH), "text: 1", shell(COMMIT), "text: 2")
    async with bench.running(), editor(bench) as port:
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "write")
        before = await pending(port)
        await finish(watcher.session, "commit")
        first, second = await pending(port)
        head = git_in(bench.project, "rev-parse", "HEAD")
        assert [(each.id, each.committed) for each in before] == [(first.id, False), (second.id, False)]
        assert first.committed
        assert second.committed

        await port.review.decide(Order("reject", Selection((second.id,)), "test"))

        assert (bench.project / "a.txt").read_text() == "a\nB\nc\nd\ne\n"
        assert git_in(bench.project, "rev-parse", "HEAD") == head
        assert [each.id for each in await pending(port)] == [first.id]


@pytest.mark.parametrize("by_next_daemon", [True, False])
async def test_what_a_session_commits_before_it_does_anything_else_stays_pending(
    bench: Bench, *, by_next_daemon: bool
) -> None:
    committed(bench)
    bench.script(call("WriteFile", path="a.txt", content=BOTH), "text: 1")
    async with bench.running():
        await finish(await bench.new("full"), "write")
        if not by_next_daemon:
            bench.script(shell(COMMIT), "text: 2")
            await finish(await bench.new("full"), "commit")
    bench.script(shell(COMMIT), "text: 2")
    async with bench.running():
        if by_next_daemon:
            await finish(await bench.new("full"), "commit")
        async with editor(bench) as port:
            assert [(each.id, each.committed) for each in await pending(port)] == [(1, True), (2, True)]


@pytest.mark.parametrize("commands", [[COMMIT], ["git add -A"], ["git add -A", COMMIT], [f"git add -A; {COMMIT}"]])
async def test_what_the_agent_commits_or_stages_is_pending_for_the_next_daemon(
    bench: Bench, commands: list[str]
) -> None:
    committed(bench)
    steps = [step for command in commands for step in (shell(command), "text: done")]
    bench.script(call("WriteFile", path="a.txt", content=BOTH), call("WriteFile", path="new.txt", content=""), *steps)
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        for command in commands:
            await finish(watcher.session, command)
    for _ in range(2):
        async with bench.running(), editor(bench) as port:
            assert [each.kind for each in await pending(port)] == ["text", "text", "add"]
            marks = {each.committed for each in await pending(port) if each.kind == "text"}
            assert marks == {True}
    git_in(bench.project, "commit", "-q", "--allow-empty", "-m", "mine")
    async with bench.running(), editor(bench) as port:
        staged_only = commands == ["git add -A"]
        assert bool(await pending(port)) != staged_only


async def test_what_one_command_writes_and_commits_is_pending_and_marked(bench: Bench) -> None:
    committed(bench)
    bench.script(shell(f"sed -i s/b/B/ a.txt; echo new > new.txt; git add new.txt; {COMMIT}"), "text: 1")
    async with bench.running(), editor(bench) as port:
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        assert [(Path(each.path).name, each.committed) for each in await pending(port)] == [
            ("a.txt", True),
            ("new.txt", True),
        ]


async def test_what_the_agent_commits_is_kept_where_commits_settle(bench: Bench) -> None:
    bench.settings["review"] = {"settle": "commit"}
    committed(bench)
    bench.script(call("WriteFile", path="a.txt", content=BOTH), shell(f"{COMMIT}; echo f >> a.txt"), "text: 1")
    async with bench.running(), editor(bench) as port:
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        assert [each.texts for each in await pending(port)] == [("f\n",)]


async def test_nothing_is_to_be_reviewed_where_nothing_is_wanted_to_be_and_undo_takes_it_back(bench: Bench) -> None:
    bench.settings["review"] = {"settle": "never"}
    (bench.project / "a.txt").write_text(BASE)
    write = call("WriteFile", path="a.txt", content=BOTH)
    bench.script(write, shell("echo f >> a.txt; echo new > new.txt"), "text: 1")
    async with bench.running(), editor(bench) as port:
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        assert (bench.project / "a.txt").read_text() == BOTH + "f\n"
        assert not await pending(port)
        await finish(watcher.session, "/undo")
        assert (bench.project / "a.txt").read_text() == BASE
        assert not (bench.project / "new.txt").exists()


async def test_what_the_agent_staged_is_kept_when_the_user_commits_it(bench: Bench) -> None:
    committed(bench)
    bench.script(call("WriteFile", path="a.txt", content=BOTH), shell("git add a.txt"), "text: 1")
    async with bench.running(), editor(bench) as port:
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        assert [each.committed for each in await pending(port)] == [True, True]

        git_in(bench.project, "commit", "-qm", "mine")

        assert not await pending(port)


async def test_what_the_agent_committed_is_not_kept_by_switching_away_and_back(bench: Bench) -> None:
    committed(bench)
    git_in(bench.project, "branch", "other")
    bench.script(call("WriteFile", path="a.txt", content=BOTH), shell(COMMIT), "text: 1")
    async with bench.running(), editor(bench) as port:
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        hunks = await pending(port)

        git_in(bench.project, "switch", "-q", "other")
        assert not await pending(port)
        git_in(bench.project, "switch", "-q", "main")

        assert await pending(port) == hunks


async def test_what_a_command_takes_back_to_what_was_committed_just_now_is_still_to_be_reviewed_after_a_restart(
    tmp_path: Path,
) -> None:
    async with aclosing(LiveDesk(tmp_path)) as desk:
        desk.user("a.txt", BOTH)
        desk.commit()
        desk.user("a.txt", BOTH.replace("B", "mine"))
        await desk.hunks()

        def work() -> None:
            desk.git("reset", "-q", "--hard")

        await desk.runs(work, "T1", "S1")
        hunks = await desk.hunks()
        assert [each.texts for each in hunks] == [("B\n",)]

        await desk.killed(len)

        assert await desk.hunks() == hunks


async def test_what_the_user_staged_before_a_command_of_the_agent_is_the_users(bench: Bench) -> None:
    committed(bench)
    bench.script(call("WriteFile", path="a.txt", content=BOTH), "text: 1", shell("true"), "text: 2")
    async with bench.running(), editor(bench) as port:
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "write")
        git_in(bench.project, "add", "a.txt")
        await finish(watcher.session, "run")
        assert not await pending(port)
