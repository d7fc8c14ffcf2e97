"""Subagents and background tasks as an editor sees them."""

from typing import Any

import pytest

from soultest.acpclient import FULL, AcpClient, AgentError, ignore
from soultest.bench import Bench, call
from soultest.bench.acp import Connect

Json = dict[str, Any]


async def test_a_subagents_calls_are_shown_below_their_parent_and_its_questions_say_who_asks(
    bench: Bench, connect: Connect
) -> None:
    bench.script(
        call("Agent", description="Write it", prompt="write", subagent_type="coder"),
        call("WriteFile", path="b.txt", content="new\n"),
        "text: Written.",
        "text: All done.",
    )
    async with bench.running(), connect() as client:
        await client.initialize(FULL)
        session = await client.new_session(bench.project)
        assert (await client.prompt(session, "go"))["stopReason"] == "end_turn"
        parent, child = client.updates("tool_call")
        asked = client.asked("session/request_permission")[0]["params"]["toolCall"]
        assert asked["toolCallId"] == child["toolCallId"] != parent["toolCallId"]
        assert parent["toolCallId"] in str(child["_meta"])
        assert "The coder subagent asks: Write it" in str(asked["content"])
        assert client.text() == "All done."
        last = [
            update for update in client.updates("tool_call_update") if update["toolCallId"] == parent["toolCallId"]
        ][-1]
        assert last["status"] == "completed"
        assert "Written." in str(last["content"])
    assert (bench.project / "b.txt").read_text() == "new\n"


async def test_a_question_of_a_nested_subagent_names_those_it_works_for(bench: Bench, connect: Connect) -> None:
    folder = bench.config / "agents"
    folder.mkdir(parents=True)
    lead = "version: 1\nagent:\n  extend: default\n  tools: ['sould.agents.tools.agent:Agent']\n  subagents: {{{}}}\n"
    (folder / "foreman.yaml").write_text(lead.format("coder: inherit"))
    (folder / "lead.yaml").write_text(lead.format("foreman: ./foreman.yaml"))
    bench.script(
        call("Agent", prompt="the code", subagent_type="foreman"),
        call("Agent", prompt="one file", subagent_type="coder", description="Write it"),
        call("WriteFile", path="b.txt", content="new\n"),
        *["text: Done."] * 3,
    )
    async with bench.running(), connect() as client:
        await client.initialize(FULL)
        session = await client.new_session(bench.project)
        await client.request("session/set_config_option", {"sessionId": session, "configId": "agent", "value": "lead"})
        await client.prompt(session, "go")
        asked = client.asked("session/request_permission")[0]["params"]["toolCall"]
    assert "The coder subagent of foreman asks: Write it" in str(asked["content"])


async def test_a_background_command_is_told_when_it_ends(bench: Bench, connect: Connect) -> None:
    bench.script(call("Shell", command="echo built", run_in_background=True, description="Build"), "text: begun")
    async with bench.running(), connect() as client:
        await client.initialize(FULL)
        session = await client.new_session(bench.project)
        await client.prompt(session, "go")
        told = await client.wait_update("notice", lambda update: "Build" in str(update))
        assert "Build" in str(told)


async def test_the_agent_is_an_option_of_the_session(bench: Bench, connect: Connect) -> None:
    async with bench.running(), connect() as client:
        await client.initialize(FULL)
        opened = await client.request("session/new", {"cwd": str(bench.project), "mcpServers": []})
        option = next(each for each in opened["configOptions"] if each["id"] == "agent")
        assert (option["category"], option["currentValue"]) == ("_agent", "default")
        assert "coder" not in {choice["value"] for choice in option["options"]}


CHILDREN: Json = FULL | {"subagents": {}}


def states(client: AcpClient, child: str) -> list[str]:
    """How its parents told that a child session stands, in order."""
    told = [update for update in client.updates("subagent_update") if update["sessionId"] == child]
    return [update["state"]["state"] for update in told]


async def test_a_subagent_is_a_child_session_for_clients_that_know_these(bench: Bench, connect: Connect) -> None:
    bench.script(
        call("Agent", description="Write it", prompt="write", subagent_type="coder"),
        "text: I shall.\n" + call("WriteFile", path="b.txt", content="new\n"),
        "text: Written.",
        "text: All done.",
    )
    async with bench.running(), connect() as client:
        await client.initialize(CHILDREN)
        session = await client.new_session(bench.project)
        assert (await client.prompt(session, "go"))["stopReason"] == "end_turn"
        begun = client.updates("subagent_update", session)[0]
        child = begun["sessionId"]
        assert (begun["description"], begun["state"]) == ("coder", {"state": "running"})
        assert "Write it" in begun["title"]
        assert states(client, child) == ["running", "requires_action", "running", "idle"]
        assert client.updates("subagent_update", session)[-1]["state"] == {"state": "idle", "stopReason": "end_turn"}
        [sent], [received] = client.updates("session_message", session), client.updates("session_message", child)
        assert sent["content"] == received["content"] == [{"type": "text", "text": "write"}]
        assert (received["senderSessionId"], received["recipientSessionId"]) == (session, child)
        assert (sent["recipientMessageId"], received["senderMessageId"]) == (received["messageId"], sent["messageId"])
        [parents], [childs] = client.updates("tool_call", session), client.updates("tool_call", child)
        assert begun["_meta"] == {"sould": {"toolCallId": parents["toolCallId"]}}
        [asked] = client.asked("session/request_permission")
        assert asked["params"]["sessionId"] == child
        assert asked["params"]["toolCall"]["toolCallId"] == childs["toolCallId"]
        assert client.updates("tool_call_update", child)[-1]["status"] == "completed"
        assert client.text(child) == "I shall.Written."
        assert client.text(session) == "All done."
        assert "Written." in str(client.updates("tool_call_update", session)[-1]["content"])
        with pytest.raises(AgentError):
            await client.prompt(child, "and more")
        client.transcript.check()
    assert (bench.project / "b.txt").read_text() == "new\n"


async def test_a_conversation_that_is_loaded_has_its_child_sessions(bench: Bench, connect: Connect) -> None:
    bench.script(
        call("Agent", description="Write it", prompt="write", subagent_type="coder"),
        "text: I shall.\n" + call("WriteFile", path="b.txt", content="new\n"),
        "text: Written.",
        "text: All done.",
    )
    async with bench.running(), connect() as client, connect() as later, connect() as plain:
        await client.initialize(CHILDREN)
        session = await client.new_session(bench.project)
        await client.prompt(session, "go")
        child = client.updates("subagent_update")[0]["sessionId"]
        for other, capabilities in ((later, CHILDREN), (plain, FULL)):
            await other.initialize(capabilities)
            await other.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[])
            other.transcript.check()
        assert later.text(child) == "I shall.Written."
        assert states(later, child)[-1] == "idle"
        assert {update["status"] for update in later.updates("tool_call", child)} <= {"completed", "pending"}
        assert not plain.updates("subagent_update")
        assert len(plain.updates("tool_call", session)) == 2


async def test_who_comes_in_the_middle_is_told_of_the_child_that_works(bench: Bench, connect: Connect) -> None:
    bench.script(
        call("Agent", description="Write it", prompt="write", subagent_type="coder"),
        call("WriteFile", path="b.txt", content="new\n"),
        "text: Written.",
        "text: All done.",
    )
    async with bench.running(), connect(permissions=ignore) as client, connect() as other:
        await client.initialize(CHILDREN)
        await other.initialize(CHILDREN)
        session = await client.new_session(bench.project)
        turn = client.prompt(session, "go")
        request = await client.wait_request("session/request_permission")
        await other.request("session/resume", sessionId=session, cwd=str(bench.project), mcpServers=[])
        asked = await other.wait_request("session/request_permission")
        child = other.updates("subagent_update")[0]["sessionId"]
        assert asked["params"]["sessionId"] == request["params"]["sessionId"] == child
        assert (await turn)["stopReason"] == "end_turn"
        await other.wait_update("subagent_update", lambda update: update["state"]["state"] == "idle")
        other.transcript.check()


async def test_a_child_session_in_the_background_goes_on_when_its_call_has_ended(
    bench: Bench, connect: Connect
) -> None:
    bench.script(
        call("Agent", description="Look", prompt="look", subagent_type="coder", run_in_background=True),
        "text: Begun.",
        "text: Seen.",
        "text: Noted.",
    )
    async with bench.running(), connect() as client:
        await client.initialize(CHILDREN)
        session = await client.new_session(bench.project)
        await client.prompt(session, "go")
        ended = await client.wait_update("subagent_update", lambda update: update["state"]["state"] == "idle")
        assert ended["state"] == {"state": "idle", "stopReason": "end_turn"}
        assert states(client, ended["sessionId"]) == ["running", "idle"]
        client.transcript.check()
