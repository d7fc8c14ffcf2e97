"""Several clients on one session (D12), clients that vanish, and connections that outlive their daemon (D11)."""

import asyncio
import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from sould.acp.projection.toolcalls import CLEAR
from sould.agents.clients.connections import ConnectionRecord
from soultest.acpclient import FULL, AcpClient, AgentError, choose, ignore
from soultest.bench import Bench, call
from soultest.bench.acp import Connect
from soultest.bench.memory import MemoryStream

Json = dict[str, Any]


async def joined(client: AcpClient, bench: Bench, session: str, method: str = "session/load") -> None:
    """A client that looks at a session another one began."""
    await client.initialize()
    await client.request(method, sessionId=session, cwd=str(bench.project), mcpServers=[])


async def test_both_clients_see_one_conversation_and_each_its_own_prompt_answered(
    bench: Bench, connect: Connect
) -> None:
    bench.script("text: one", "text: two")
    async with bench.running(), connect() as one, connect() as two:
        await one.initialize()
        session = await one.new_session(bench.project)
        await joined(two, bench, session)
        assert (await one.prompt(session, "from one"))["stopReason"] == "end_turn"
        assert (await two.prompt(session, "from two"))["stopReason"] == "end_turn"
        await two.wait_update("user_message_chunk", lambda update: update["content"]["text"] == "from one")
        await one.wait_update("user_message_chunk", lambda update: update["content"]["text"] == "from two")
        assert [update["content"]["text"] for update in two.updates("user_message_chunk")] == ["from one"]
        assert one.text() == two.text() == "onetwo"


async def test_a_prompt_during_a_turn_is_queued_told_so_and_answered_with_its_own_turn(
    bench: Bench, connect: Connect
) -> None:
    bench.script(call("WriteFile", path="b.txt", content="x"), "text: first", "text: second")
    async with bench.running(), connect(permissions=ignore) as client:
        await client.initialize(FULL)
        session = await client.new_session(bench.project)
        first = client.prompt(session, "a")
        request = await client.wait_request("session/request_permission")
        second = client.prompt(session, "b")
        notice = await client.wait_update("notice")
        assert notice["title"] == "Queued (1st): starts after the current turn."
        client.answer(request, {"outcome": {"outcome": "selected", "optionId": "allow_once"}})
        assert (await first)["stopReason"] == (await second)["stopReason"] == "end_turn"
        assert client.text() == "firstsecond"


async def test_cancel_ends_the_running_turn_and_the_own_queued_prompts_only(bench: Bench, connect: Connect) -> None:
    bench.script(call("WriteFile", path="b.txt", content="x"), "text: second")
    async with bench.running(), connect(permissions=ignore) as one, connect(permissions=ignore) as two:
        await one.initialize()
        session = await one.new_session(bench.project)
        await joined(two, bench, session)
        running = one.prompt(session, "a")
        await one.wait_request("session/request_permission")
        queued, foreign = one.prompt(session, "b"), two.prompt(session, "c")
        await two.wait_update("agent_thought_chunk", lambda update: "Queued (2nd)" in update["content"]["text"])
        one.notify("session/cancel", sessionId=session)
        assert await running == {"stopReason": "cancelled"}
        assert await queued == {"stopReason": "cancelled"}
        assert await foreign == {"stopReason": "end_turn"}


async def test_the_first_answer_wins_and_closes_the_other_client_s_dialog(bench: Bench, connect: Connect) -> None:
    bench.script(call("WriteFile", path="b.txt", content="x"), "text: ok")
    async with bench.running(), connect(permissions=ignore) as one, connect(permissions=ignore) as two:
        await one.initialize()
        session = await one.new_session(bench.project)
        await joined(two, bench, session)
        turn = one.prompt(session, "edit")
        mine = await one.wait_request("session/request_permission")
        theirs = await two.wait_request("session/request_permission")
        two.answer(theirs, {"outcome": {"outcome": "selected", "optionId": "allow_once"}})
        withdrawn = await one.wait_for(lambda message: message.get("method") == "$/cancel_request")
        assert withdrawn["params"]["requestId"] == mine["id"]
        one.answer(mine, {"outcome": {"outcome": "selected", "optionId": "reject_once"}})
        assert (await turn)["stopReason"] == "end_turn"
        assert (bench.project / "b.txt").read_text() == "x"


async def test_an_onlooker_that_cancels_its_dialog_cancels_nobody_s_turn(bench: Bench, connect: Connect) -> None:
    bench.script(call("WriteFile", path="b.txt", content="x"), "text: ok")
    cancels = {"outcome": "cancelled"}
    async with bench.running(), connect(permissions=ignore) as one, connect(permissions=lambda _: cancels) as two:
        await one.initialize()
        session = await one.new_session(bench.project)
        await joined(two, bench, session)
        turn = one.prompt(session, "edit")
        mine = await one.wait_request("session/request_permission")
        await two.wait_request("session/request_permission")
        one.answer(mine, {"outcome": {"outcome": "selected", "optionId": "allow_once"}})
        assert (await turn)["stopReason"] == "end_turn"


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_a_client_that_vanishes_leaves_its_turn_and_dialog_to_the_next_one(
    bench: Bench, connect: Connect, method: str
) -> None:
    """Pending, never allowed, offered to the newcomer after its call was announced."""
    bench.script("text: begun\n" + call("WriteFile", path="b.txt", content="x"), "text: done")
    async with bench.running():
        async with connect(permissions=ignore) as one:
            await one.initialize()
            session = await one.new_session(bench.project)
            one.prompt(session, "edit")
            await one.wait_request("session/request_permission")
        assert not (bench.project / "b.txt").exists()
        async with connect(permissions=choose("allow_once")) as two:
            await joined(two, bench, session, method)
            await two.wait_update("agent_message_chunk", lambda update: "done" in update["content"]["text"])
            assert (bench.project / "b.txt").read_text() == "x"


async def test_a_client_that_comes_in_the_middle_of_a_command_sees_all_its_output_in_the_end(
    bench: Bench, connect: Connect
) -> None:
    wait = f"echo one; until test -e {bench.root}/go; do sleep 0.01; done; echo two; until test -e {bench.root}/on; do sleep 0.01; done"
    bench.script(call("Shell", command=wait), "text: done")
    async with bench.running(), connect() as one, connect() as two:
        await one.initialize(FULL)
        session = await one.new_session(bench.project)
        turn = one.prompt(session, "run")
        await one.wait_update("tool_call_update", lambda update: "one" in str(update.get("_meta")))
        await two.initialize(FULL)
        await two.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[])
        (bench.root / "go").touch()
        await two.wait_update("tool_call_update", lambda update: "two" in str(update.get("_meta")))
        (bench.root / "on").touch()
        await turn
        await two.wait_update("agent_message_chunk")
        printed = "".join(
            update["_meta"]["terminal_output"]["data"]
            for update in two.updates("tool_call_update")
            if "terminal_output" in update.get("_meta", {})
        )
        assert printed.rpartition(CLEAR)[2] == "one\ntwo\n"


async def test_closing_leaves_the_turn_to_the_other_client(bench: Bench, connect: Connect) -> None:
    bench.script(call("WriteFile", path="b.txt", content="x"), "text: done")
    async with bench.running(), connect(permissions=ignore) as one, connect(permissions=ignore) as two:
        await one.initialize()
        session = await one.new_session(bench.project)
        await joined(two, bench, session)
        turn = one.prompt(session, "edit")
        request = await two.wait_request("session/request_permission")
        await one.request("session/close", sessionId=session)
        assert await turn == {"stopReason": "cancelled"}
        two.answer(request, {"outcome": {"outcome": "selected", "optionId": "allow_once"}})
        await two.wait_update("agent_message_chunk", lambda update: "done" in update["content"]["text"])


# --- a daemon that died (D11) -----------------------------------------------------------------------------------------


class Memory:
    """What the daemon remembers of a connection: the newest record, through its bytes."""

    def __init__(self) -> None:
        self.records: list[bytes] = []

    def __call__(self, resume: ConnectionRecord) -> None:
        self.records.append(resume.dump())

    @property
    def last(self) -> ConnectionRecord:
        return ConnectionRecord.load(self.records[-1])

    @property
    def all(self) -> list[ConnectionRecord]:
        return [ConnectionRecord.load(record) for record in self.records]


def texts(messages: Iterable[Json]) -> str:
    """What was said aloud in some messages."""
    updates = [message["params"]["update"] for message in messages if message.get("method") == "session/update"]
    return "".join(each["content"]["text"] for each in updates if each["sessionUpdate"] == "agent_message_chunk")


async def test_a_connection_goes_on_in_the_next_daemon(bench: Bench, connect: Connect) -> None:
    """Every request that died is answered, the session goes on from the cursor, nothing is repeated."""
    bench.script("text: one", call("Shell", command="echo ru'nn'ing; sleep 100"), "text: two")
    memory = Memory()
    async with bench.running(), connect(remember=memory) as client:
        await client.initialize(FULL)
        session = await client.new_session(bench.project)
        await client.prompt(session, "a")
        client.prompt(session, "b")
        await client.wait_update("tool_call_update", lambda update: "running" in str(update))
        resume = memory.last
    assert [request.method for request in resume.unanswered] == ["session/prompt"]
    assert set(resume.sessions) == {session}
    async with bench.running(), connect(resume=resume, check=False) as again:
        ended = await again.wait_for(lambda message: message.get("id") == resume.unanswered[0].id)
        assert ended["result"]["stopReason"] == "cancelled"
        assert ended["result"]["_meta"]["sould"]["kind"] == "interrupted"
        assert "in the middle of this turn" in str(again.updates("notice"))
        assert "one" not in texts(again.messages)
        bench.script("text: two")
        assert (await again.prompt(session, "c"))["stopReason"] == "end_turn"
        assert "two" in texts(again.messages)


@pytest.mark.parametrize("stopped", ["planned", "killed"])
async def test_a_prompt_that_never_began_is_not_called_interrupted(
    bench: Bench, connect: Connect, stopped: str
) -> None:
    """Each prompt ends with a sentence of its own, which is true, and none with an error."""
    bench.script(call("Shell", command="echo ru'nn'ing; sleep 100"), "text: never")
    memory, answers, shown = Memory(), list[Json](), ""
    async with connect_and_queue(bench, connect, memory) as (client, prompts):
        resume = memory.last
        if stopped == "planned":
            await bench.host.aclose("the daemon stops")
            answers, shown = [await prompt for prompt in prompts], client.text()
    if stopped == "killed":
        async with bench.running(), connect(resume=resume, check=False) as again:
            answers = [(await answer_to(again, request.id))["result"] for request in resume.unanswered]
            shown = again.text()
    assert [answer["stopReason"] for answer in answers] == ["cancelled", "cancelled"]
    told = [answer["_meta"]["sould"]["details"] for answer in answers]
    assert ["in the middle" in told[0], "before this prompt was started" in told[1]] == [True, True]
    assert all(sentence in shown for sentence in told)


async def answer_to(client: AcpClient, request_id: object) -> Json:
    """The answer to what was asked of an earlier daemon."""
    return await client.wait_for(lambda message: message.get("id") == request_id and "method" not in message)


@asynccontextmanager
async def connect_and_queue(
    bench: Bench, connect: Connect, memory: "Memory"
) -> AsyncGenerator[tuple[AcpClient, list["asyncio.Future[Json]"]]]:
    """A client with a command that runs and a prompt behind it."""
    async with bench.running(), connect(remember=memory, permissions=choose("allow_once")) as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        prompts = [client.prompt(session, "a"), client.prompt(session, "b")]
        await client.wait_update("tool_call_update", lambda update: "running" in str(update))
        yield client, prompts


async def test_a_turn_that_ended_before_its_answer_left_is_answered_with_its_end(
    bench: Bench, connect: Connect
) -> None:
    bench.script("text: one")
    memory = Memory()
    async with bench.running(), connect(remember=memory) as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        await client.prompt(session, "a")
    resume = next(record for record in memory.all if any(each.turn_id for each in record.unanswered))
    async with bench.running(), connect(resume=resume, check=False) as again:
        ended = await again.wait_for(lambda message: message.get("id") == resume.unanswered[0].id)
    assert ended["result"] == {"stopReason": "end_turn"}


async def test_a_prompt_that_waited_for_an_approval_is_answered_in_the_next_daemon(
    bench: Bench, connect: Connect
) -> None:
    """The approval is offered again, and the old request gets the answer of its turn (D11, D16)."""
    bench.script(call("WriteFile", path="b.txt", content="x"), "text: unused")
    memory = Memory()
    async with bench.running(), connect(remember=memory, permissions=ignore) as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        client.prompt(session, "go")
        await client.wait_for(lambda message: message.get("method") == "session/request_permission")
        resume = memory.last
    bench.script("text: done")
    async with bench.running(), connect(resume=resume, check=False) as again:
        answer = await again.wait_for(lambda message: message.get("id") == resume.unanswered[0].id)
    assert answer["result"] == {"stopReason": "end_turn"}
    assert (bench.project / "b.txt").read_text() == "x"


async def test_requests_that_need_no_session_are_refused_at_once_and_ours_are_withdrawn(
    bench: Bench, connect: Connect
) -> None:
    resume = ConnectionRecord.load(
        b'{"client_id":"c","initialize":{"protocolVersion":1},"sessions":{"gone":{"cwd":"/","additional":[],"seq":1,'
        b'"offset":0}},"unanswered":[{"id":"x","method":"session/list","session_id":""}],"asked":[7],"cut":true}'
    )
    async with bench.running(), connect(resume=resume, check=False) as client:
        withdrawn = await client.wait_for(lambda message: message.get("method") == "$/cancel_request")
        assert withdrawn["params"]["requestId"] == 7
        refusal = await client.wait_for(lambda message: "error" in message)
        assert refusal["id"] == "x"
        with pytest.raises(AgentError):
            await client.initialize()
        assert (await client.request("session/list"))["sessions"] == []


def test_a_record_that_is_none_is_refused() -> None:
    for data in (b"{}", b"[]", b"{", b"null", b'{"client_id":1}'):
        with pytest.raises(ValueError, match=r".*"):
            ConnectionRecord.load(data)


async def test_an_editor_killed_in_mid_stream_ends_nothing_else(bench: Bench, connect: Connect) -> None:
    bench.script("\n".join(["text: word"] * 2000), "text: after")
    async with bench.running() as host:
        async with connect(pipe=1024) as client:
            await client.initialize()
            session = await client.new_session(bench.project)
            client.prompt(session, "talk")
            await client.wait_update("agent_message_chunk")
            assert isinstance(client.stream, MemoryStream)
            client.stream.vanish()
        live = host.sessions.get(session)
        assert live is not None
        assert not live.parts.attached.any
        async with connect() as other:
            await joined(other, bench, session)
            assert (await other.prompt(session, "again"))["stopReason"] == "end_turn"
            assert other.text() == "word" * 2000 + "after"


async def test_an_editor_that_passes_on_almost_no_environment_is_told_in_one_line_once(
    bench: Bench, connect: Connect
) -> None:
    """avante and the first agentic pass on nothing but PATH."""
    bench.script("text: one", "text: two")
    bare = {"PATH": os.environ["PATH"]}
    async with bench.running(), connect(environment=bare) as told, connect() as usual:
        for client in (told, usual):
            await client.initialize()
            session = await client.new_session(bench.project)
            await client.prompt(session, "a")
            await client.prompt(session, "b")
        line = [line for line in told.text().splitlines() if "almost nothing of your environment" in line]
        assert len(line) == 1
        assert "`env`" in line[0]
        assert "environment" not in usual.text()
