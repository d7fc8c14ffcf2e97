"""MCP servers that an editor brings."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from sould.agents.wire.messages import StatusUpdate
from sould.daemon.hello import VERSION
from soultest.acpclient import FULL, AcpClient
from soultest.bench import Bench, Watcher, call
from soultest.bench.acp import Connect
from soultest.bench.looks import messages_of, tools_of
from soultest.bench.mcp import SERVER, state_of
from soultest.mcpover import LISTEN, EditorServer

Json = dict[str, Any]


def stdio(mode: str = "ok") -> Json:
    """A server as ACP writes it: stdio has no `type`."""
    variables = [{"name": "COLOUR", "value": "blue"}]
    return {"name": "box", "command": sys.executable, "args": [SERVER, mode], "env": variables}


async def begin(client: AcpClient, bench: Bench, servers: list[Any]) -> str:
    """A session with servers."""
    answer = await client.request("session/new", cwd=str(bench.project), mcpServers=servers)
    return answer["sessionId"]


async def test_an_editors_server_is_asked_about_and_called(bench: Bench, connect: Connect) -> None:
    bench.settings["mcp"] = {"client": {"turn_wait_ms": 30_000}}
    bench.script(call("box__whoami", variable="COLOUR"), "text: done")
    async with bench.running(), connect() as client:
        answer = await client.initialize()
        assert answer["agentCapabilities"]["mcpCapabilities"] == {"http": True, "sse": True, "acp": True}
        session = await begin(client, bench, [stdio(), {"type": "acp", "name": "x"}, 5])
        await client.prompt(session, "who?")
        (asked,) = client.asked("session/request_permission")
        assert asked["params"]["toolCall"]["toolCallId"]
        assert any("blue" in str(update) for update in client.updates("tool_call_update"))


async def test_an_entry_that_cannot_be_used_is_named_and_costs_nothing_else(bench: Bench, connect: Connect) -> None:
    servers = [
        stdio(),
        {"type": "pigeon", "name": "coop"},
        {**stdio(), "command": "other"},
        {"type": "http", "url": "http://x.example"},
        5,
    ]
    bench.script("text: one")
    async with bench.running() as host, connect() as client, connect() as second:
        await client.initialize(FULL)
        session = await begin(client, bench, servers)
        await client.prompt(session, "hi")
        told = [notice["description"] for notice in client.updates("notice")]
        assert "'coop' is of a type that sould does not know, 'pigeon'" in told[0]
        assert "two MCP servers 'box'; the first of them is used" in told[1]
        assert told[2].startswith("Entry 4 of the editor's MCP servers")
        assert told[3].startswith("Entry 5 of the editor's MCP servers")
        assert len(told) == 4
        assert [server.spec.command for server in host.sessions[session].parts.mcp.servers.values()] == [sys.executable]
        await second.initialize(FULL)
        more = [*servers, {"type": "pigeon", "name": "loft"}]
        await second.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=more)
        for each in (client, second):
            assert (
                "'loft'"
                in (await each.wait_update("notice", lambda told: "'loft'" in told["description"]))["description"]
            )
        assert len(second.updates("notice")) == 1


async def test_a_second_client_may_bring_further_servers(bench: Bench, connect: Connect) -> None:
    bench.settings["mcp"] = {"client": {"turn_wait_ms": 30_000}}
    async with bench.running() as host, connect() as first, connect() as second:
        await first.initialize()
        session = await first.new_session(bench.project)
        await second.initialize()
        await second.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[stdio()])
        live = host.sessions.get(session)
        assert live is not None
        assert list(live.parts.mcp.servers) == ["box"]


async def test_a_server_that_hangs_delays_neither_the_session_nor_the_answer_for_long(
    bench: Bench, connect: Connect
) -> None:
    bench.settings["mcp"] = {"client": {"turn_wait_ms": 100}}
    bench.script("text: here")
    async with bench.running(), connect() as client:
        await client.initialize()
        session = await begin(client, bench, [stdio("hang")])
        assert (await client.prompt(session, "hello"))["stopReason"] == "end_turn"
        assert client.text() == "here"


async def test_a_session_is_the_newest_from_its_first_prompt_on(bench: Bench, connect: Connect) -> None:
    """Found by a user: while its servers were waited for, `--continue` in another terminal took an older one."""
    bench.settings["mcp"] = {"client": {"turn_wait_ms": 30_000}}
    bench.script("text: here")
    async with bench.running(), connect() as client:
        await client.initialize()
        session = await begin(client, bench, [stdio("hang")])
        asked = client.prompt(session, "hello")
        await client.wait_update("session_info_update")
        assert [info.title for info in (await bench.host.stored.list(bench.project, None)).items] == ["hello"]
        client.notify("session/cancel", sessionId=session)
        assert (await asked)["stopReason"] == "cancelled"


# --- servers that the editor serves over this connection --------------------------------------------------------------


@pytest.fixture
def patient(bench: Bench) -> Bench:
    bench.settings["mcp"] = {"client": {"turn_wait_ms": 30_000, "restart_first_wait_s": 0.01}}
    return bench


async def serving(client: AcpClient, bench: Bench, **calls: Callable[[Json], str]) -> tuple[EditorServer, str]:
    """A session whose editor serves tools itself."""
    await client.initialize()
    server = EditorServer(client, **calls)
    return server, await begin(client, bench, [server.declaration])


async def test_an_editor_serves_a_tool_over_the_connection_it_has(patient: Bench, connect: Connect) -> None:
    patient.script(call("editor__shout", text="hey"), "text: done")
    async with patient.running(), connect() as client:
        server, session = await serving(client, patient, shout=lambda given: given["text"].upper())
        assert (await client.prompt(session, "shout"))["stopReason"] == "end_turn"
        (asked,) = client.asked("session/request_permission")
        assert asked["params"]["toolCall"]["toolCallId"]
        shown = str(client.updates("tool_call_update"))
        assert "HEY" in shown
        assert "1/2 half" in shown
        assert server.methods()[0] == "server/discover"
        assert len({each["requestId"] for each in server.asked}) == len(server.asked)
        said = server.asked[0]["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]
        assert (said["name"], said["version"]) == ("sould", VERSION)


async def test_an_inner_error_is_a_result_for_the_model(patient: Bench, connect: Connect) -> None:
    def refuses(_: Json) -> str:
        raise ValueError("the buffer is read only")

    patient.script(call("editor__write", text="x"), "text: done")
    async with patient.running(), connect() as client:
        _, session = await serving(client, patient, write=refuses)
        await client.prompt(session, "write")
        assert "refused the call: the buffer is read only" in str(client.updates("tool_call_update"))


async def test_tools_of_an_editor_come_and_go(patient: Bench, connect: Connect) -> None:
    async with patient.running() as host, connect() as client:
        server, session = await serving(client, patient, one=lambda _: "1")
        watcher = Watcher(host.sessions[session])
        await state_of(watcher, "editor", "connected")
        await client.wait_for(lambda message: message.get("params", {}).get("method") == LISTEN)
        server.calls["two"] = lambda _: "2"
        server.tools_changed()
        await watcher.wait_for(StatusUpdate, lambda _: "editor__two" in tools_of(watcher.session))
        server.gone = True
        patient.script(call("editor__one"), "text: done")
        await client.prompt(session, "call it")
        assert "the connection to it ended" in str(client.updates("tool_call_update"))
        await state_of(watcher, "editor", "failed")
        assert not [name for name in tools_of(watcher.session) if name.startswith("editor__")]


async def test_a_cancelled_turn_withdraws_the_editors_call(patient: Bench, connect: Connect) -> None:
    patient.script(call("editor__slow"))
    async with patient.running(), connect() as client:
        server, session = await serving(client, patient, slow=lambda _: "")
        server.hang = True
        turn = client.prompt(session, "call it")
        asked = await client.wait_for(lambda each: each.get("params", {}).get("method") == "tools/call")
        client.notify("session/cancel", sessionId=session)
        assert (await turn)["stopReason"] == "cancelled"
        assert asked["id"] in server.withdrawn()


async def test_a_servers_tools_leave_with_its_editor_and_return_with_it(patient: Bench, connect: Connect) -> None:
    async with patient.running() as host, connect() as stays:
        async with connect() as client:
            _, session = await serving(client, patient, one=lambda _: "1")
            watcher = Watcher(host.sessions[session])
            await state_of(watcher, "editor", "connected")
            await stays.initialize()
            await stays.request("session/load", sessionId=session, cwd=str(patient.project), mcpServers=[])
        await watcher.wait_for(StatusUpdate, lambda _: not watcher.session.parts.mcp.servers)
        assert not [name for name in tools_of(watcher.session) if name.startswith("editor__")]
        async with connect() as client:
            await client.initialize()
            server = EditorServer(client, one=lambda _: "again")
            server.server_id = "s-2"
            where = {"sessionId": session, "cwd": str(patient.project), "mcpServers": [server.declaration]}
            await client.request("session/load", where)
            patient.script(call("editor__one"), "text: done")
            await client.prompt(session, "call it")
            assert "again" in str(client.updates("tool_call_update"))
            await client.request("session/load", where)  # the same once more keeps it
            assert list(watcher.session.parts.mcp.servers) == ["editor"]
            await client.request("session/close", sessionId=session)
            await watcher.wait_for(StatusUpdate, lambda _: not watcher.session.parts.mcp.servers)


async def test_what_answers_nothing_asked_is_dropped(patient: Bench, connect: Connect) -> None:
    async with patient.running() as host, connect() as client:
        server, session = await serving(client, patient, one=lambda _: "1")
        await state_of(Watcher(host.sessions[session]), "editor", "connected")
        for _ in range(2000):
            server.notify({"serverId": "s-1", "requestId": "no"}, "notifications/progress", {"progress": 1})
        client.notify("mcp/message", serverId=5)
        patient.script(call("editor__one"), "text: done")
        assert (await client.prompt(session, "call it"))["stopReason"] == "end_turn"


async def test_a_mention_of_an_editors_resource_is_read_for_the_prompt(patient: Bench, connect: Connect) -> None:
    patient.script("text: 42", "text: 42")
    async with patient.running() as host, connect() as client:
        _, session = await serving(client, patient, one=lambda _: "1")
        link = {"type": "resource_link", "uri": "editor://selection", "name": "selection"}
        await client.prompt(session, "what is", link)
        live = host.sessions.get(session)
        assert live is not None
        assert "let answer = 42" in str(messages_of(live))


async def test_of_two_editors_with_a_server_of_one_name_the_other_takes_over(patient: Bench, connect: Connect) -> None:
    async with patient.running() as host, connect() as second:
        async with connect() as first:
            _, session = await serving(first, patient, who=lambda _: "the first")
            watcher = Watcher(host.sessions[session])
            await second.initialize()
            server = EditorServer(second, who=lambda _: "the second")
            where = {"sessionId": session, "cwd": str(patient.project), "mcpServers": [server.declaration]}
            await second.request("session/load", where)
            patient.script(call("editor__who"), "text: done")
            await second.prompt(session, "who?")
            assert "the first" in str(second.updates("tool_call_update"))
            assert server.asked == []
        await watcher.wait_for(StatusUpdate, lambda _: "server/discover" in server.methods())
        patient.script(call("editor__who"), "text: done")
        await second.prompt(session, "who?")
        assert "the second" in str(second.updates("tool_call_update"))


async def test_an_editors_server_may_ask_the_user_and_the_model(patient: Bench, connect: Connect) -> None:
    def form(params: Json) -> Json:
        fields = params["requestedSchema"]["properties"]
        return {
            "action": "accept",
            "content": dict.fromkeys(fields, "Allow once" if "model" in str(params) else "green"),
        }

    patient.script(call("editor__paint"), call("editor__think"), "text: a thought", "text: done")
    async with patient.running(), connect(form=form) as client:
        await client.initialize({"elicitation": {"form": {}}})
        server = EditorServer(client, paint=lambda given: given["content"]["colour"], think=str)
        schema = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
        wish = {"mode": "form", "message": "Which colour?", "requestedSchema": schema}
        said = {"role": "user", "content": {"type": "text", "text": "Think."}}
        server.asks["paint"] = {"method": "elicitation/create", "params": wish}
        server.asks["think"] = {"method": "sampling/createMessage", "params": {"messages": [said], "maxTokens": 50}}
        session = await begin(client, patient, [server.declaration])
        await client.prompt(session, "paint, then think")
        shown = str(client.updates("tool_call_update"))
        assert "green" in shown
        assert "a thought" in shown
