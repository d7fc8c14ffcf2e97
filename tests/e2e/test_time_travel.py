"""Time travel through the real daemon, as an editor and the command line see it."""

import asyncio
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from soultest.acpclient import AcpClient, AgentError
from soultest.daemon import until
from soultest.editor import editor, said
from soultest.scenarios import run, scenarios
from soultest.world import World, call

SCRIPTS: dict[str, list[str]] = {
    "files": [
        call("WriteFile", "1", path="a.txt", content="1\nTWO\n3\n4\n5\n")
        + "\n"
        + call("WriteFile", "2", path="c.txt", content="agent\n"),
        call("Shell", "3", command="mkdir made; echo x > made/x; chmod 755 a.txt; printf '\\0' > b.bin; rm gone.txt"),
        "text: first",
        call("Shell", "4", command="echo 6 >> a.txt"),
        "text: second",
        "text: after",
    ],
    "many": [call("Shell", "1", command="echo x >> many/3.txt; echo y >> a.txt; echo told"), "text: done"],
    "slow": [call("Shell", "1", command="echo y >> a.txt"), "text: done"],
    "leader": [
        call("Agent", "1", prompt="help", description="Help", model="helper", run_in_background=True),
        "text: go",
    ],
    "helper": [
        call("WriteFile", "1", path="helped.txt", content="x"),
        call("Shell", "2", command="echo x > half-done.txt; touch began; sleep 600"),
    ],
    "maker": [call("Make", "1"), "text: made"],
}
MAKER = """\
from pathlib import Path
from sould.agents.tools import Session, tool

@tool
def make(session: Session) -> str:
    (session.cwd / "a.txt").write_text("by the tool")
    (session.cwd / "made.txt").write_text("by the tool")
    return "made"
"""


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with scenarios(SCRIPTS) as made:
        yield made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A directory of the test's own."""
    (tmp_path / "a.txt").write_text("hello\n")
    return tmp_path


@contextmanager
def configured(world: World, lines: str) -> Generator[None]:
    """Sessions that begin within have these lines in their configuration."""
    config = world.root / "config" / "sould" / "config.toml"
    before = config.read_text()
    config.write_text(f"{before}\n{lines}\n")
    try:
        yield
    finally:
        config.write_text(before)


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(root)): (path.lstat().st_mode, b"" if path.is_dir() else path.read_bytes())
        for path in sorted(root.rglob("*"))
    }


def shown(client: AcpClient) -> str:
    """The output that an editor shows on the cards of calls."""
    outputs = [update.get("_meta", {}).get("terminal_output", {}) for update in client.updates("tool_call_update")]
    return "".join(output.get("data", "") for output in outputs)


def outcomes(answer: dict[str, Any]) -> dict[str, str]:
    return {Path(file["path"]).name: file["action"] for file in answer["files"]}


async def test_an_editor_goes_back_and_returns_with_all_that_tools_and_commands_changed(
    world: World, tmp_path: Path
) -> None:
    a = tmp_path / "a.txt"
    a.write_text("1\n2\n3\n4\n5\n")
    (tmp_path / "gone.txt").write_text("gone\n")
    (tmp_path / "c.txt").write_text("old\n")
    before = tree(tmp_path)
    async with editor(world, tmp_path, model="files", mode="full") as (client, session):
        assert client.messages[0]["result"]["agentCapabilities"]["_meta"]["sould"]["timeTravel"] == {"supported": True}
        await client.prompt(session, "first")
        between = tree(tmp_path)
        await client.prompt(session, "second")
        after = tree(tmp_path)

        shown = await client.request("_sould/timeline", sessionId=session)
        turns = [moment for moment in shown["moments"] if moment["kind"] == "turn"]
        assert [(turn["text"], turn["reachable"]) for turn in turns] == [("first", True), ("second", True)]
        assert (shown["canUndo"], shown["canRedo"]) == (True, False)
        steps = (await client.request("_sould/timeline", sessionId=session, steps=True))["moments"]
        assert [len(moment["files"]) for moment in steps if moment["kind"] == "step"] == [2, 5, 0, 1, 0]

        assert outcomes(await client.request("_sould/undo", sessionId=session)) == {"a.txt": "restored"}
        assert tree(tmp_path) == between
        await client.request("_sould/rewind", sessionId=session, checkpoint=turns[0]["checkpoint"])
        assert tree(tmp_path) == before
        for _ in range(2):
            assert (await client.request("_sould/redo", sessionId=session))["outcome"] == "done"
        assert tree(tmp_path) == after
        assert await client.request("_sould/redo", sessionId=session) == {"outcome": "nothing", "files": []}
        assert (await client.request("_sould/rewind", sessionId=session, checkpoint=99))["outcome"] == "nothing"
        with pytest.raises(AgentError):
            await client.request("_sould/rewind", sessionId=session, checkpoint=-1)

        # three ways: what the user typed stays, merged or as a reported conflict
        a.write_text("mine\n" + a.read_text())
        (tmp_path / "c.txt").write_text("mine\n")
        went = await client.request("_sould/rewind", sessionId=session, checkpoint=turns[0]["checkpoint"])
        assert outcomes(went)["c.txt"] == "conflict"
        assert a.read_text() == "mine\n1\n2\n3\n4\n5\n"
        assert (tmp_path / "c.txt").read_text() == "mine\n"
        await client.request("_sould/redo", sessionId=session)
        assert a.read_text() == "mine\n1\nTWO\n3\n4\n5\n6\n"
        assert (tmp_path / "c.txt").read_text() == "mine\n"


async def test_what_is_beyond_the_limits_is_said_on_the_card_and_compared_by_size_and_time(
    world: World, project: Path
) -> None:
    (project / "many").mkdir()
    for n in range(20):
        (project / "many" / f"{n}.txt").write_text("much\n")
    with configured(world, "max_files = 10"):
        async with editor(world, project, model="many", mode="full") as (client, session):
            await client.prompt(session, "go")
            told = shown(client)
            assert "told\n\n[Of the files beyond the first 10 only sizes and times are compared." in told
            assert f"It changed something in: {project / 'many'}." in told
            assert "1 file restored" in await said(client, session, "/undo")
    assert (project / "a.txt").read_text() == "hello\n"
    assert (project / "many" / "3.txt").read_text() == "much\nx\n"
    with configured(world, "copy_s = 0.000001"):
        async with editor(world, project, model="slow", mode="full") as (client, session):
            await client.prompt(session, "go")
            told = shown(client)
            assert f"it was not saved: {project / 'a.txt'}." in told
            assert "No file restored, 1 left as it is." in await said(client, session, "/undo")
    assert (project / "a.txt").read_text() == "hello\ny\n"


async def test_going_back_to_before_an_agent_in_the_background_began_ends_it(world: World, project: Path) -> None:
    async with editor(world, project, model="leader", mode="full") as (client, session):
        await client.prompt(session, "go")
        await asyncio.to_thread(until, (project / "began").exists)
        assert "3 files restored" in await said(client, session, "/undo")
        assert sorted(path.name for path in project.iterdir()) == ["a.txt"]
        notice = await client.wait_update("notice", lambda notice: "Background task stopped" in notice["title"])
        assert "goes back to its checkpoint 0, before this one began" in notice["description"]


async def test_what_a_project_s_own_tool_changed_is_taken_back(world: World, project: Path) -> None:
    agents = project / ".sould" / "agents"
    agents.mkdir(parents=True)
    (agents / "maker.yaml").write_text("version: 1\nagent: {extend: default, tools: [inherit, './maker.py:make']}\n")
    (agents / "maker.py").write_text(MAKER)
    assert (await asyncio.to_thread(run, world, project, "trust", "--yes")).returncode == 0
    async with editor(world, project, model="maker", mode="full", agent="maker") as (client, session):
        await client.prompt(session, "go")
        assert (project / "made.txt").read_text() == "by the tool"
        assert "2 files restored" in await said(client, session, "/undo")
    assert not (project / "made.txt").exists()
    assert (project / "a.txt").read_text() == "hello\n"
