"""MCP servers that an editor brings."""

import sys
from typing import Any

from soultest.acpbench import Connect
from soultest.acpclient import AcpClient
from soultest.bench import Bench, call
from soultest.mcpbench import SERVER

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
        assert answer["agentCapabilities"]["mcpCapabilities"] == {"http": True, "sse": True}
        session = await begin(client, bench, [stdio(), {"type": "acp", "name": "x"}, 5])
        await client.prompt(session, "who?")
        (asked,) = client.asked("session/request_permission")
        assert asked["params"]["toolCall"]["toolCallId"]
        assert any("blue" in str(update) for update in client.updates("tool_call_update"))


async def test_a_second_client_may_bring_further_servers(bench: Bench, connect: Connect) -> None:
    bench.settings["mcp"] = {"client": {"turn_wait_ms": 30_000}}
    async with bench.running() as host, connect() as first, connect() as second:
        await first.initialize()
        session = await first.new_session(bench.project)
        await second.initialize()
        await second.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[stdio()])
        live = host.live(session)
        assert live is not None
        assert list(live.mcp.servers) == ["box"]


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
