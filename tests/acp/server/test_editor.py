"""`_sould/editor/*`: clients of both protocols serve editor tools, and do what clients should not (docs/editor-clients.md)."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sould.agents.clients.connections import ConnectionRecord
from sould.agents.wire.messages import ApprovalRequest, ToolResult
from soultest.acpclient import FULL, AcpClient, AgentError
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.acp import Connect
from soultest.bench.looks import tools_of
from soultest.bench.lsp import editor_connected
from soultest.lspclient import FULL as FULL_LSP
from soultest.lspclient import LspClient
from soultest.reviewschema import judge

Json = dict[str, Any]
Client = AcpClient | LspClient

STATE, CALL = "_sould/editor/state", "_sould/editor/call"
HOVER = call("hover", file="a.txt", anchor={"symbol": "hello"})
HOVERED: Json = {"data": {"markdown": "a word"}}


@asynccontextmanager
async def client_of(protocol: str, bench: Bench, connect: Connect, name: str = "desk") -> AsyncGenerator[Client]:
    """A client that has said hello."""
    if protocol == "acp":
        async with connect() as client:
            await client.initialize(FULL, clientInfo={"name": name, "version": "1"})
            yield client
        judge(client.log)
    else:
        async with editor_connected(bench) as editor:
            await editor.initialize(FULL_LSP, bench.project, clientInfo={"name": name, "version": "1"})
            yield editor


async def serve(
    client: Client, bench: Bench, *tools: str, answer: Callable[[Json], Json] | None = None, **more: Any
) -> None:
    client.tools = answer or (lambda _: HOVERED)
    await client.request(STATE, tools=list(tools), workspaceFolders=[str(bench.project)], **more)


async def result_of(bench: Bench, *scripts: str, watcher: Watcher | None = None) -> ToolResult:
    bench.script(*scripts)
    watcher = watcher or Watcher(await bench.new("review"))
    await finish(watcher.session, "go")
    return watcher.of(ToolResult)[-1]


def answer(result: ToolResult) -> Json:
    assert isinstance(result.return_value.output, str)
    assert not result.return_value.is_error, result.return_value.message
    return json.loads(result.return_value.output)


def asked(client: Client) -> list[Json]:
    return [message["params"] for message in client.messages if message.get("method") == CALL]


@pytest.fixture(params=["acp", "lsp"])
def protocol(request: pytest.FixtureRequest) -> str:
    return request.param


async def test_a_client_serves_a_session_it_does_not_show(bench: Bench, connect: Connect, protocol: str) -> None:
    async with bench.running(), client_of(protocol, bench, connect) as client:
        await serve(client, bench, "hover", app="Test Editor")
        result = answer(await result_of(bench, HOVER, "text: done"))
        [params] = asked(client)
    assert result["data"] == HOVERED["data"]
    assert result["meta"]["backend"] == "Test Editor"
    assert params["tool"] == "hover"
    assert params["arguments"]["file"] == str(bench.project / "a.txt")
    assert params["at"] == {"line": 1, "column": 1}
    assert params["root"] == str(bench.project)


async def test_a_client_with_another_project_is_never_asked(bench: Bench, connect: Connect, protocol: str) -> None:
    async with bench.running(), client_of(protocol, bench, connect) as client:
        client.tools = lambda _: HOVERED
        await client.request(STATE, tools=["hover"], workspaceFolders=[str(bench.root / "elsewhere")])
        result = await result_of(bench, HOVER, "text: done")
        assert result.return_value.is_error
        assert not asked(client)


async def test_edits_of_a_client_are_written_by_us_and_reviewed(bench: Bench, connect: Connect, protocol: str) -> None:
    span = {"start": {"line": 1, "column": 1}, "end": {"line": 1, "column": 6}}
    edits = [{"file": str(bench.project / "a.txt"), "edits": [{"range": span, "newText": "bye"}]}]
    rename = call("rename", file="a.txt", anchor={"line": 1}, newName="bye")
    async with bench.running(), client_of(protocol, bench, connect) as client:
        await serve(client, bench, "rename", answer=lambda _: {"data": {}, "edits": edits})
        result = answer(await result_of(bench, rename, "text: done"))
        listed = await client.request("_sould/review/list", cwd=str(bench.project))
    assert result["data"] == {"applied": [{"file": "a.txt"}]}
    assert (bench.project / "a.txt").read_text() == "bye\n"
    assert [len(file["hunks"]) for file in listed["files"]] == [1]


async def test_a_client_that_disconnects_while_it_is_asked_fails_the_call_at_once(
    bench: Bench, connect: Connect, protocol: str
) -> None:
    async with bench.running():
        async with client_of(protocol, bench, connect) as client:
            await serve(client, bench, "hover")
            client.hang.add(CALL)
            bench.script(HOVER, "text: done")
            watcher = Watcher(await bench.new("review"))
            turn = asyncio.create_task(finish(watcher.session, "go"))
            await client.wait_for(lambda message: message.get("method") == CALL)
        await turn
        [result] = watcher.of(ToolResult)
    assert result.return_value.message.startswith("no_editor: ")


async def test_when_one_client_disconnects_the_next_one_answers(bench: Bench, connect: Connect, protocol: str) -> None:
    async with bench.running(), client_of("acp", bench, connect, "second") as second:
        await serve(second, bench, "hover")
        async with client_of(protocol, bench, connect, "first") as first:
            await serve(first, bench, "hover", focused=True)
            first.hang.add(CALL)
            bench.script(HOVER, "text: done")
            watcher = Watcher(await bench.new("review"))
            turn = asyncio.create_task(finish(watcher.session, "go"))
            await first.wait_for(lambda message: message.get("method") == CALL)
        await turn
        [result] = watcher.of(ToolResult)
    assert answer(result)["meta"]["backend"] == "second"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"data": {"markdown": 7}}, "failed"),
        ({"data": {}}, "failed"),
        ({"data": []}, "failed"),
        ([1, 2], "failed"),
        ({"data": {"markdown": "x" * 5_000_000}}, "failed"),
        ({"error": {"code": "no such code", "message": "?"}}, "failed"),
        ({"error": {"code": "stale", "message": "it changed"}}, "stale"),
        ({"error": {"message": "no code"}}, "failed"),
    ],
)
async def test_nonsense_is_an_error_that_says_who_said_it(bench: Bench, connect: Connect, said: Any, code: str) -> None:
    async with bench.running(), connect() as client:
        await client.initialize(FULL, clientInfo={"name": "desk", "version": "1"})
        await serve(client, bench, "hover", answer=lambda _: said)
        result = await result_of(bench, HOVER, "text: done")
    assert result.return_value.message.startswith(f"{code}: ")
    assert len(result.return_value.message) < 3_000


async def test_an_error_of_the_protocol_is_one_of_the_call(bench: Bench, connect: Connect, protocol: str) -> None:
    async with bench.running(), client_of(protocol, bench, connect) as client:
        await serve(client, bench, "hover")
        client.tools = None
        result = await result_of(bench, HOVER, "text: done")
    assert result.return_value.is_error
    assert "desk" in result.return_value.message


async def test_edits_of_a_client_leave_no_way_out_of_the_project(
    bench: Bench, connect: Connect, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("mine\n")
    (bench.project / "link.txt").symlink_to(outside)
    edits = [{"file": str(bench.project / "link.txt"), "newText": "yours\n"}]
    rename = call("rename", file="a.txt", anchor={"line": 1}, newName="bye")
    async with bench.running(), client_of("acp", bench, connect) as client:
        await serve(client, bench, "rename", answer=lambda _: {"data": {}, "edits": edits})
        bench.script(rename, "text: done")
        watcher = Watcher(await bench.new("review"), answer="reject")
        await finish(watcher.session, "go")
        assert watcher.of(ApprovalRequest)
    assert outside.read_text() == "mine\n"


async def test_edits_for_a_text_that_was_another_one_are_stale(bench: Bench, connect: Connect) -> None:
    edits = [{"file": str(bench.project / "a.txt"), "newText": "x\n", "digest": "0" * 64}]
    rename = call("rename", file="a.txt", anchor={"line": 1}, newName="bye")
    async with bench.running(), client_of("acp", bench, connect) as client:
        await serve(client, bench, "rename", answer=lambda _: {"data": {}, "edits": edits})
        result = await result_of(bench, rename, "text: done")
    assert result.return_value.message.startswith("stale: a.txt")
    assert (bench.project / "a.txt").read_text() == "hello\n"


async def test_a_state_of_nonsense_serves_nothing_and_harms_nobody(bench: Bench, connect: Connect) -> None:
    async with bench.running(), connect() as client:
        await client.initialize(FULL)
        before = tools_of(await bench.new())
        flood = [f"tool_{number}" for number in range(10_000)]
        for tools in (flood, ["Shell", "ReadFile", 7, None], "hover", None):
            await client.request(STATE, tools=tools, workspaceFolders=["relative", "\0", 7, str(bench.project)])
        after = tools_of(await bench.new())
        assert after == before
        with pytest.raises(AgentError):
            await client.request(CALL, tool="hover")


async def test_a_client_is_asked_again_after_a_restart(bench: Bench, connect: Connect) -> None:
    records: list[ConnectionRecord] = []
    async with bench.running(), connect(remember=records.append) as client:
        await client.initialize(FULL, clientInfo={"name": "desk", "version": "1"})
        await serve(client, bench, "hover")
    served = next(record for record in reversed(records) if record.serves_tools)
    async with bench.running(), connect(resume=ConnectionRecord.load(served.dump())) as client:
        await client.wait_for(lambda message: message.get("method") == "_sould/editor/forgotten")


async def test_an_editor_that_knows_nothing_of_us_opens_files(bench: Bench) -> None:
    opens = call("editor_open", file="a.txt", anchor={"line": 1}, reason="look")
    async with bench.running(), editor_connected(bench) as editor:
        await editor.initialize(FULL_LSP, bench.project)
        editor.open(bench.project / "a.txt")
        await editor.request("textDocument/codeLens", textDocument={"uri": (bench.project / "a.txt").as_uri()})
        result = answer(await result_of(bench, opens, "text: done"))
        shown = await editor.wait_told("window/showDocument")
    assert result["data"]["opened"] is True
    assert shown["uri"] == (bench.project / "a.txt").as_uri()
    assert shown["takeFocus"] is False


async def test_what_an_editor_that_knows_nothing_of_us_has_open_is_known(bench: Bench) -> None:
    state = call("editor_state", include=["open", "active"])
    async with bench.running(), editor_connected(bench) as editor:
        await editor.initialize({}, bench.project, clientInfo={"name": "Kate", "version": "1"})
        uri = editor.open(bench.project / "a.txt")
        await editor.request("textDocument/codeLens", textDocument={"uri": uri})
        watcher = Watcher(await bench.new("review"))
        tools = tools_of(watcher.session)
        editor.type(uri, "hello", "goodbye")
        bench.script(state, "text: done")
        await finish(watcher.session, "/editor-context on")
        await finish(watcher.session, "go")
        result = answer(watcher.of(ToolResult)[-1])
    assert "editor_state" in tools
    assert "editor_open" not in tools, "it does not say that it shows documents"
    assert result["data"]["open"] == [{"file": "a.txt", "dirty": True}]
    assert result["meta"]["backend"] == "Kate"


async def test_what_an_agent_is_told_of_the_editor_is_asked_about_and_shown(bench: Bench, connect: Connect) -> None:
    state = call("editor_state", include=["open"])
    bench.script(*[state, "text: done"] * 3)
    async with bench.running(), client_of("acp", bench, connect) as client:
        assert isinstance(client, AcpClient)
        await serve(client, bench, open=[{"file": str(bench.project / "a.txt")}])
        session = await client.new_session(bench.project)
        for prompt in ("look", "/editor-context on", "look", "/editor-context off", "look"):
            await client.prompt(session, prompt)
        asked, *more = client.asked("session/request_permission")
        assert "Share what you have open in the editor" in json.dumps(asked)
        assert not more
        ended = [update for update in client.updates("tool_call_update") if update.get("status") == "completed"]
        shown = [update["content"][0]["content"]["text"] for update in ended]
        assert shown[:2] == ["Shared with the agent: 1 open file"] * 2
        assert '"shared":false' in shown[2]
