"""`editor_open` in an ACP client whose user can follow the agent: the place stands at the tool call, and nothing more is claimed."""

import json
from pathlib import Path

import pytest

from soultest.acpclient import FULL, AcpClient, Json
from soultest.bench import Bench, call
from soultest.bench.acp import Connect

ZED: Json = {"name": "zed", "version": "1"}


async def opened(client: AcpClient, bench: Bench, **given: object) -> Json:
    """What the agent is told when it opens a.txt in the session of this client."""
    bench.script(call("editor_open", file="a.txt", anchor={"symbol": "again"}, **given), "text: done")
    session = await client.new_session(bench.project)
    await client.prompt(session, "show me")
    end = await client.wait_update("tool_call_update", lambda update: update.get("status") in ("completed", "failed"))
    said = end["rawOutput"]["output"]
    return json.loads(said) if said else end


def places(client: AcpClient) -> list[Json]:
    """The places that its user was taken to, if they follow."""
    return [place for update in client.updates() for place in update.get("locations", [])]


@pytest.fixture
def file(bench: Bench) -> Path:
    path = bench.project / "a.txt"
    path.write_text("hello\nand again\n")
    return path


async def test_a_client_that_follows_is_told_the_line(bench: Bench, connect: Connect, file: Path) -> None:
    async with bench.running(), connect() as client:
        await client.initialize(FULL, clientInfo=ZED)
        answer = await opened(client, bench)
    assert answer["data"] == {"opened": False, "by": "Zed", "pointed": True}
    assert places(client)[-1] == {"path": str(file), "line": 2}


async def test_nobody_is_told_who_does_not_follow(bench: Bench, connect: Connect, file: Path) -> None:
    async with bench.running(), connect() as client:
        await client.initialize(FULL, clientInfo={"name": "somebody", "version": "1"})
        end = await opened(client, bench)
    assert end["status"] == "failed"
    assert "editor_open" in json.dumps(end)


async def test_who_really_opens_files_is_asked_first(bench: Bench, connect: Connect, file: Path) -> None:
    async with bench.running(), connect() as desk, connect() as client:
        await client.initialize(FULL, clientInfo=ZED)
        await desk.initialize(FULL, clientInfo={"name": "desk", "version": "1"})
        desk.tools = lambda _: {"data": {"opened": True}}
        await desk.request("_sould/editor/state", tools=["editor_open"], workspaceFolders=[str(bench.project)])
        answer = await opened(client, bench)
    assert answer["meta"]["backend"] == "desk"
    assert all("line" not in place for place in places(client))


async def test_a_focus_that_the_user_asked_for_is_not_claimed(bench: Bench, connect: Connect, file: Path) -> None:
    async with bench.running(), connect() as client:
        await client.initialize(FULL, clientInfo=ZED)
        end = await opened(client, bench, focus=True)
    assert end["status"] == "failed"
    assert "only if its user follows the agent" in json.dumps(end)


async def test_a_session_that_it_does_not_show_is_none_of_its(bench: Bench, connect: Connect, file: Path) -> None:
    async with bench.running(), connect() as other, connect() as client:
        await other.initialize(FULL, clientInfo=ZED)
        await other.new_session(bench.project)
        await client.initialize(FULL, clientInfo={"name": "somebody", "version": "1"})
        end = await opened(client, bench)
    assert end["status"] == "failed"
    assert not places(other)
