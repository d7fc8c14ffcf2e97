"""Subagents and background tasks as an editor sees them."""

from typing import Any

from soultest.acpclient import FULL
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
