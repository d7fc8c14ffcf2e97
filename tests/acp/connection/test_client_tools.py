"""Tools that an ACP client runs for the agent: `_sould/tools`, as docs/clients.md describes it."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest

from soultest.acpclient import FULL, AcpClient, AgentError, Json
from soultest.bench import Bench, call
from soultest.bench.acp import Connect

OPEN: Json = {
    "name": "open_file",
    "description": "Open a file in the editor.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
}
ABLE = FULL | {"_meta": {"sould": {"tools": True}}}
CALL = "_sould/tools/call"
FINE = {"is_error": False, "output": "Opened", "message": "Opened a.txt"}


async def session_of(client: AcpClient, bench: Bench, *tools: Json, mode: str = "ask") -> str:
    await client.initialize(ABLE)
    session = await client.new_session(bench.project)
    await client.request("session/set_mode", sessionId=session, modeId=mode)
    await client.request("_sould/tools/register", sessionId=session, tools=list(tools))
    return session


def ended(client: AcpClient) -> list[Json]:
    return [update for update in client.updates("tool_call_update") if update.get("status") in ("completed", "failed")]


async def test_a_client_registers_a_tool_and_runs_it(bench: Bench, connect: Connect) -> None:
    bench.script(call("open_file", path="a.txt"), "text: done")
    async with bench.running(), connect() as client:
        client.hang.add(CALL)
        answer = await client.initialize(ABLE)
        assert answer["agentCapabilities"]["_meta"]["sould"]["tools"] == {"supported": True}
        session = await client.new_session(bench.project)
        told = await client.request("_sould/tools/register", sessionId=session, tools=[OPEN, {"name": "Shell"}])
        assert told == {
            "accepted": ["open_file"],
            "rejected": [{"name": "Shell", "reason": "conflicts with builtin tool"}],
        }
        turn = client.prompt(session, "go")
        request = await client.wait_request(CALL)
        assert len(client.asked("session/request_permission")) == 1
        assert request["params"]["sessionId"] == session
        assert (request["params"]["name"], request["params"]["arguments"]) == ("open_file", {"path": "a.txt"})
        client.answer(request, FINE)
        assert await turn == {"stopReason": "end_turn"}
        [end] = ended(client)
        assert (end["status"], end["toolCallId"]) == ("completed", request["params"]["id"])


async def test_a_client_that_does_not_say_so_registers_none(bench: Bench, connect: Connect) -> None:
    async with bench.running(), connect() as client:
        await client.initialize(FULL)
        session = await client.new_session(bench.project)
        with pytest.raises(AgentError, match=r"_meta\.sould"):
            await client.request("_sould/tools/register", sessionId=session, tools=[OPEN])


@asynccontextmanager
async def asked(bench: Bench, connect: Connect) -> AsyncGenerator[tuple[AcpClient, str, asyncio.Future[Json], Json]]:
    """A client in whose turn its tool is called: the client, the session, the turn and the call, which it has not answered."""
    bench.script(call("open_file"), "text: done")
    async with bench.running(), connect() as client:
        client.hang.add(CALL)
        session = await session_of(client, bench, OPEN, mode="full")
        turn = client.prompt(session, "go")
        yield client, session, turn, await client.wait_request(CALL)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"result": {"output": "no word of failure"}}, "is_error is required"),
        ({"result": None}, "it must be an object"),
        ({"error": {"code": -32603, "message": "no such window"}}, "The client reports: no such window"),
    ],
)
async def test_a_wrong_answer_is_the_calls_error(bench: Bench, connect: Connect, answer: Json, told: str) -> None:
    async with asked(bench, connect) as (client, _, turn, request):
        client.send({"jsonrpc": "2.0", "id": request["id"], **answer})
        await turn
        [end] = ended(client)
        assert end["status"] == "failed"
        assert told in str(end)


async def test_a_cancelled_call_is_withdrawn(bench: Bench, connect: Connect) -> None:
    async with asked(bench, connect) as (client, session, turn, request):
        client.notify("session/cancel", sessionId=session)
        assert (await turn)["stopReason"] == "cancelled"
        await client.wait_for(withdrawn(request))


async def test_opening_the_session_again_in_a_call_does_not_ask_twice(bench: Bench, connect: Connect) -> None:
    async with asked(bench, connect) as (client, session, turn, request):
        await client.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[])
        client.answer(request, FINE)
        await turn
        assert len(client.asked(CALL)) == 1
        assert ended(client)[-1]["status"] == "completed"


async def test_a_second_client_sees_the_call_and_goes_on_when_the_first_has_gone(
    bench: Bench, connect: Connect
) -> None:
    bench.script(call("open_file"), "text: went on")
    async with bench.running(), connect() as second:
        await second.initialize(ABLE)
        async with connect(check=False) as first:
            first.hang.add(CALL)
            session = await session_of(first, bench, OPEN, mode="full")
            await second.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[])
            _ = first.prompt(session, "go")
            await first.wait_request(CALL)
        await second.wait_update("agent_message_chunk")
        assert second.asked(CALL) == []
        [end] = ended(second)
        assert "disconnected while it ran open_file" in str(end)


def withdrawn(request: Json) -> Callable[[Json], bool]:
    def is_it(message: Json) -> bool:
        return message.get("method") == "$/cancel_request" and message["params"]["requestId"] == request["id"]

    return is_it
