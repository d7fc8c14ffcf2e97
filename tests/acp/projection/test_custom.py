"""Messages that tools and hooks make up themselves (D35): to clients that know them, live and when a session is read again."""

from typing import Any

import pytest

from sould.agents.toolapi.custom import MOST, as_custom
from sould.agents.tools import Custom, CustomMessage
from soultest.acpclient import AcpClient
from soultest.bench import Bench, call
from soultest.bench.acp import Connect
from soultest.bench.looks import choose

TOOLS = """\
from sould.agents.tools import Custom, CustomMessage, ToolCallContext, tool

class Coverage(CustomMessage, name="acme/coverage"):
    percent: int

@tool
async def measure(call: ToolCallContext) -> str:
    "Measure."
    call.send(Coverage(percent=80))
    return "measured"

@tool
def measure_slowly(call: ToolCallContext) -> str:
    "Measure in a thread."
    call.send(Custom(name="acme/raw", data=[1, None]))
    return "measured"
"""
HOOK = """echo '{"custom": [{"name": "lint/clean", "data": {"files": 2}}, {"name": "no vendor"}, 5]}'"""
SENT = [
    {"name": "acme/coverage", "data": {"percent": 80}},
    {"name": "lint/clean", "data": {"files": 2}},
    {"name": "acme/raw", "data": [1, None]},
    {"name": "lint/clean", "data": {"files": 2}},
]
KNOWS = {"_meta": {"sould": {"custom": True}}}


def heard(client: AcpClient) -> list[dict[str, Any]]:
    params = [message["params"] for message in client.messages if message.get("method") == "_sould/custom"]
    return [{key: value for key, value in each.items() if key != "sessionId"} for each in params]


async def test_messages_of_tools_and_hooks_reach_clients_that_know_them_also_in_history(
    bench: Bench, connect: Connect
) -> None:
    agents = bench.config / "agents"
    agents.mkdir(parents=True)
    (agents / "measuring.py").write_text(TOOLS)
    tools = "[./measuring.py:measure, ./measuring.py:measure_slowly]"
    (agents / "meter.yaml").write_text(f"version: 1\nagent: {{extend: default, tools: {tools}}}\n")
    bench.settings["hooks"] = [{"event": "PostToolUse", "command": HOOK}]
    bench.script(call("Measure"), call("MeasureSlowly"), "text: done")
    async with bench.running() as host:
        async with connect() as client, connect() as stranger:
            said = await client.initialize(KNOWS)
            assert said["agentCapabilities"]["_meta"]["sould"]["custom"] == {"supported": True}
            await stranger.initialize()
            session = await client.new_session(bench.project)
            await stranger.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[])
            live = host.sessions.get(session)
            assert live is not None
            await choose(live, "agent", "meter")
            await client.prompt(session, "measure")
            assert heard(client) == SENT
            assert heard(stranger) == []
        async with connect() as later:
            await later.initialize(KNOWS)
            await later.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[])
            assert heard(later) == SENT


def test_a_message_has_the_name_of_its_maker_and_is_no_flood() -> None:
    with pytest.raises(TypeError, match="'progress' is not a valid message name"):
        type("Progress", (CustomMessage,), {}, name="progress")
    with pytest.raises(ValueError, match="more than 65536 bytes"):
        as_custom(Custom(name="acme/flood", data="x" * MOST))
