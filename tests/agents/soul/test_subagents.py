"""Subagents: leader and workers, pipeline, parallel, hierarchy; what becomes of one that fails."""

import asyncio
import json
from pathlib import Path

import pytest

from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    StatusUpdate,
    StepBegin,
    SubagentCreated,
    SubagentEvent,
    ToolCall,
    ToolResult,
    ToolReturn,
    TurnEnd,
    WireMessage,
)
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.looks import choose, messages_of


def calls(*lines: str) -> str:
    """One step with several calls, each with an id of its own."""
    return "\n".join(line.replace('"id": "1"', f'"id": "{number}"') for number, line in enumerate(lines, 1))


def results(watcher: Watcher) -> list[ToolReturn]:
    """What the main agent's calls came to."""
    return [result.return_value for result in watcher.of(ToolResult)]


def inner(watcher: Watcher) -> list[WireMessage]:
    """What the subagents said, however deep."""
    found: list[WireMessage] = []
    for event in watcher.of(SubagentEvent):
        message: object = event
        while isinstance(message, SubagentEvent):
            message = message.event
        found.append(message)  # pyright: ignore[reportArgumentType] -- an event is a message
    return found


def write_agent(bench: Bench, name: str, text: str) -> Path:
    path = bench.config / "agents" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"version: 1\nagent:\n  extend: default\n{text}")
    return path


@pytest.mark.model_servers
async def test_a_leader_gets_its_workers_answer_and_sees_its_events(bench: Bench) -> None:
    bench.script(
        call("Agent", description="Look", prompt="What is in a.txt?", subagent_type="explore"),
        call("ReadFile", path="a.txt"),
        "text: It says hello.",
        "text: The file says hello.",
    )
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "look")
        parent = messages_of(watcher.session)
    (answer,) = results(watcher)
    assert (answer.is_error, answer.output) == (False, "It says hello.")
    assert [type(message) for message in inner(watcher) if isinstance(message, ToolCall | ToolResult)] == [
        ToolCall,
        ToolResult,
    ]
    assert "".join(m.text for m in inner(watcher) if isinstance(m, TextPart)) == "It says hello."
    assert {event.subagent_type for event in watcher.of(SubagentEvent)} == {"explore"}
    assert len(parent) == 4
    assert [type(message) for message in watcher.messages].index(SubagentEvent) < len(watcher.messages)


async def test_a_subagent_has_its_own_context_prompt_and_tools(bench: Bench) -> None:
    bench.script(
        call("Agent", prompt="Change a.txt", subagent_type="explore"),
        call("WriteFile", path="a.txt", content="x"),
        "text: no",
        "text: done",
    )
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "the parent's secret")
    refused = next(message for message in inner(watcher) if isinstance(message, ToolResult)).return_value
    assert "Tool `WriteFile` not found" in refused.message
    assert "Agent" not in refused.message
    (journal,) = bench.state.glob("sessions/*/subagents/*/wire.jsonl")
    assert "subagent that explores" in journal.read_text()
    assert "the parent's secret" not in journal.read_text()
    assert (bench.project / "a.txt").read_text() == "hello\n"


async def test_an_agent_that_explores_runs_only_what_changes_nothing_in_every_mode(bench: Bench) -> None:
    bench.script(
        call("Agent", prompt="look", subagent_type="explore"),
        calls(call("Shell", command="touch new"), call("Shell", command="cat a.txt")),
        "text: done",
        "text: done",
    )
    async with bench.running():
        watcher = Watcher(await bench.new(mode="full"))
        await finish(watcher.session, "go")
    refused, shown = (message.return_value for message in inner(watcher) if isinstance(message, ToolResult))
    assert "only commands that are known to change nothing are run" in refused.message
    assert (shown.is_error, shown.output) == (False, "hello\n")
    assert not (bench.project / "new").exists()


async def test_what_an_agent_that_only_looks_starts_only_looks_too(bench: Bench) -> None:
    write_agent(
        bench,
        "lead",
        "  read_only: true\n  tools: ['sould.agents.tools.agent:Agent']\n  subagents:\n    coder: inherit\n",
    )
    bench.script(
        call("Agent", prompt="write", subagent_type="coder"),
        call("Shell", command="touch new"),
        "text: done",
        "text: done",
    )
    async with bench.running():
        watcher = Watcher(await bench.new(mode="full"))
        await choose(watcher.session, "agent", "lead")
        await finish(watcher.session, "go")
    assert not (bench.project / "new").exists()


async def test_subagents_are_no_sessions_of_the_store(bench: Bench) -> None:
    bench.script(call("Agent", prompt="go"), "text: ok", "text: done")
    async with bench.running():
        session = await bench.new()
        await finish(session, "go")
        assert [info.id for info in (await bench.host.stored.list(None, None)).items] == [session.id]


@pytest.mark.model_servers
async def test_an_edit_of_a_subagent_says_who_asks_and_is_the_sessions(bench: Bench) -> None:
    bench.script(
        call("Agent", description="Write it", prompt="write"),
        call("WriteFile", path="b.txt", content="new\n"),
        "text: ok",
        "text: done",
    )
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "go")
    (asked,) = watcher.of(ApprovalRequest)
    assert (asked.subagent_type, asked.source_description) == ("coder", "Write it")
    assert asked.agent_id is not None
    (log,) = bench.state.glob("projects/*/edits.jsonl")
    assert "b.txt" in log.read_text()


async def test_a_rejection_does_not_end_a_subagent(bench: Bench) -> None:
    bench.script(
        call("Agent", prompt="write"),
        call("WriteFile", path="b.txt", content="x"),
        "text: It was refused.",
        "text: done",
    )
    async with bench.running():
        watcher = Watcher(await bench.new(), answer="reject")
        end = await finish(watcher.session, "go")
    assert end.stop_reason == "finished"
    assert results(watcher)[0].output == "It was refused."


async def test_a_pipeline_hands_each_result_on(bench: Bench) -> None:
    stages = [
        {"subagent_type": "explore", "prompt": "find"},
        {"agent": "coder", "prompt": "use <{previous}>"},
        {"agent": "plan", "prompt": "sum up"},
    ]
    bench.script(call("Agent", pipeline=stages), "text: first", "text: second", "text: third", "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "go")
    prompts = [str(getattr(message, "user_input", "")) for message in inner(watcher)]
    assert [prompt for prompt in prompts if prompt] == [
        "find",
        "use <first>",
        "sum up\n\nThe result of the stage before:\nsecond",
    ]
    assert results(watcher)[0].output == "third"


async def test_a_pipeline_breaks_off_where_a_stage_fails(bench: Bench) -> None:
    stages = [
        {"agent": "explore", "prompt": "find"},
        {"agent": "nobody", "prompt": "x"},
        {"agent": "coder", "prompt": "y"},
    ]
    bench.script(call("Agent", pipeline=stages), "text: first", "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "go")
    assert "Stage 2 did not begin" in results(watcher)[0].message
    assert results(watcher)[0].output == "first"
    assert "coder, explore, plan" in results(watcher)[0].message


async def test_several_in_one_step_run_at_the_same_time(bench: Bench) -> None:
    shell = call("Shell", command="touch here.$$; while [ $(ls here.* | wc -l) -lt 2 ]; do sleep 0.01; done")
    bench.script(
        calls(call("Agent", prompt="one"), call("Agent", prompt="two")),
        shell,
        shell,
        "text: ok",
        "text: ok",
        "text: done",
    )
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
    assert [result.output for result in results(watcher)] == ["ok", "ok"]
    assert len({event.agent_id for event in watcher.of(SubagentEvent)}) == 2


async def test_a_hierarchy_goes_as_deep_as_configured_and_its_events_reach_the_top(bench: Bench) -> None:
    inner_spec = write_agent(
        bench, "inner", "  tools: ['sould.agents.tools.agent:Agent']\n  subagents:\n    coder: inherit\n"
    )
    write_agent(
        bench,
        "outer",
        f"  tools: ['sould.agents.tools.agent:Agent']\n  subagents:\n    middle: {{path: '{inner_spec}', description: m}}\n",
    )
    bench.script(
        call("Agent", prompt="down", subagent_type="middle"),
        call("Agent", prompt="deeper", subagent_type="coder"),
        call("Shell", command="touch b.txt"),
        "text: bottom",
        "text: middle heard bottom",
        "text: done",
    )
    async with bench.running():
        watcher = Watcher(await bench.new())
        await choose(watcher.session, "agent", "outer")
        await finish(watcher.session, "go")
    assert results(watcher)[0].output == "middle heard bottom"
    assert [asked.subagent_chain for asked in watcher.of(ApprovalRequest)] == [("middle", "coder")]
    assert any(isinstance(event.event, SubagentEvent) for event in watcher.of(SubagentEvent))


async def test_deeper_than_configured_and_circles_are_errors_for_the_model(bench: Bench) -> None:
    path = write_agent(bench, "self", "  tools: ['sould.agents.tools.agent:Agent']\n")
    path.write_text(path.read_text() + f"  subagents:\n    again: {{path: '{path}'}}\n    other: {{path: '{path}'}}\n")
    step = [call("Agent", prompt="x", subagent_type=kind) for kind in ("again", "again", "other", "again")]
    bench.script(*step, "text: c", "text: b", "text: a", "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await choose(watcher.session, "agent", "self")
        await finish(watcher.session, "go")
    messages = [message.return_value.message for message in inner(watcher) if isinstance(message, ToolResult)]
    assert any("cannot start one of its own kind" in message for message in messages)
    assert any("2 levels deep" in message for message in messages)


async def test_a_dynamic_type_has_no_more_than_its_creator_and_survives_a_restart(bench: Bench) -> None:
    bench.script(
        call("CreateSubagent", name="poet", system_prompt="You write poems.", tools=["ReadFile", "LaunchMissiles"]),
        call("CreateSubagent", name="poet", system_prompt="You write poems.", tools=["ReadFile"]),
        call("CreateSubagent", name="coder", system_prompt="x"),
        call("Agent", prompt="write", subagent_type="poet"),
        "text: roses",
        "text: done",
    )
    async with bench.running():
        watcher = Watcher(await bench.new())
        session = watcher.session
        await finish(session, "go")
    texts = results(watcher)
    assert "cannot have tools that you do not have: LaunchMissiles" in texts[0].message
    assert "already" in texts[2].message
    assert texts[3].output == "roses"
    assert len(watcher.of(SubagentCreated)) == 1
    bench.script(call("Agent", prompt="again", subagent_type="poet"), "text: violets", "text: done")
    async with bench.running():
        again = Watcher(await bench.open(session.id))
        await finish(again.session, "go")
    assert results(again)[-1].output == "violets"


async def test_a_subagent_may_start_only_what_its_file_names_and_what_it_made_itself(bench: Bench) -> None:
    inner_spec = write_agent(
        bench,
        "inner",
        "  tools: ['sould.agents.tools.agent:Agent', 'sould.agents.tools.createsubagent:CreateSubagent']\n"
        "  subagents: {coder: inherit}\n",
    )
    write_agent(bench, "outer", f"  subagents:\n    inner: {{path: '{inner_spec}'}}\n")
    bench.script(
        call("CreateSubagent", name="poet", system_prompt="You write poems.", tools=["WriteFile"]),
        call("Agent", prompt="x", subagent_type="inner"),
        call("Agent", prompt="write", subagent_type="poet"),
        call("CreateSubagent", name="poet", system_prompt="Obey me.", tools=[]),
        "text: It was refused.",
        "text: done",
    )
    async with bench.running():
        watcher = Watcher(await bench.new())
        await choose(watcher.session, "agent", "outer")
        await finish(watcher.session, "go")
    refused = [message.return_value.message for message in inner(watcher) if isinstance(message, ToolResult)]
    assert "There is no subagent type 'poet'; there are: coder, explore, plan" in refused[0]
    assert "made by another agent" in refused[1]


@pytest.mark.model_servers
async def test_a_resumed_subagent_remembers(bench: Bench) -> None:
    bench.script(call("Agent", prompt="remember 42", subagent_type="explore"), "text: noted", "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "go")
        session = watcher.session.id
    extras = results(watcher)[0].extras or {}
    bench.script(call("Agent", prompt="which number?", resume=extras["agent_id"]), "text: 42", "text: done")
    async with bench.running():
        again = Watcher(await bench.open(session))
        await finish(again.session, "go")
    assert results(again)[-1].output == "42"
    (journal,) = bench.state.glob("sessions/*/subagents/*/wire.jsonl")
    assert journal.read_text().count('"TurnBegin"') == 2


@pytest.mark.parametrize("agent_id", ["agent_none", "../../x", "."])
async def test_an_unknown_agent_cannot_be_resumed(bench: Bench, agent_id: str) -> None:
    bench.script(call("Agent", prompt="x", resume=agent_id), "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "go")
    assert "no agent" in results(watcher)[0].message


async def test_one_whose_journal_cannot_be_opened_is_a_result_for_the_parent_too(bench: Bench) -> None:
    bench.script(call("Agent", prompt="x"), "text: ok", "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "go")
    (journal,) = bench.state.glob("sessions/*/subagents/*/wire.jsonl")
    journal.write_bytes(journal.read_bytes().replace(b'"format":1', b'"format":7', 1))
    bench.script(call("Agent", prompt="go on", resume=journal.parent.name), "text: done")
    async with bench.running():
        again = Watcher(await bench.open(watcher.session.id))
        await finish(again.session, "again")
    assert "written by a newer sould" in results(again)[-1].message


async def test_a_failing_model_is_a_result_for_the_parent(bench: Bench) -> None:
    bench.script(call("Agent", prompt="x"), "error: 401 wrong key", "text: I go on.")
    async with bench.running():
        watcher = Watcher(await bench.new())
        end = await finish(watcher.session, "go")
    assert end.stop_reason == "finished"
    assert "did not finish" in results(watcher)[0].message


async def test_one_that_takes_too_long_is_stopped_and_can_be_resumed(bench: Bench) -> None:
    bench.settings["background"] = {"agent_task_timeout_s": 0.2}
    bench.script(call("Agent", prompt="x"), call("Shell", command="sleep 60"), "text: I go on.")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
    assert "did not finish within 0.2 seconds" in results(watcher)[0].message
    assert "`resume`" in results(watcher)[0].message


async def test_the_time_of_a_subagent_does_not_run_while_it_waits_for_the_user(bench: Bench) -> None:
    bench.settings["background"] = {"agent_task_timeout_s": 0.2}
    bench.script(call("Agent", prompt="x"), call("Shell", command="sleep 60"), "text: I go on.")
    async with bench.running():
        watcher = Watcher(await bench.new("ask"), answer=None)
        prompt = watcher.session.turns.prompt("go", "watcher")
        asked = await watcher.wait_for(ApprovalRequest)
        await asyncio.sleep(0.3)
        assert not results(watcher)
        watcher.session.parts.attached.answer(ApprovalResponse(request_id=asked.id, response="approve"), "watcher")
        await prompt.outcome()
    assert "did not finish within 0.2 seconds" in results(watcher)[0].message


async def test_cancelling_the_turn_cancels_the_subagent(bench: Bench) -> None:
    bench.script(call("Agent", prompt="x"), call("Shell", command="touch begun; sleep 60"))
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        prompt = watcher.session.turns.prompt("go", "watcher")
        await watcher.wait_for(SubagentEvent, lambda event: isinstance(event.event, ToolCall))
        watcher.session.turns.cancel("watcher")
        end = await prompt.outcome()
    assert end.stop_reason == "cancelled"
    ends = [message for message in inner(watcher) if isinstance(message, TurnEnd)]
    assert [end.stop_reason for end in ends] == ["cancelled"]
    assert results(watcher)[0].is_error
    agent_id = watcher.of(SubagentEvent)[0].agent_id
    assert "`resume` with that id goes on with it" in results(watcher)[0].message
    assert f"The subagent {agent_id} remembers" in results(watcher)[0].message


async def test_another_model_can_be_chosen_and_an_unknown_one_is_named(bench: Bench) -> None:
    bench.script(call("Agent", prompt="x", model="gpt-unknown"), "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "go")
    assert "no model 'gpt-unknown'; there are scripted" in results(watcher)[0].message


async def test_the_names_of_the_reference_are_understood(bench: Bench) -> None:
    bench.script(
        call("Task", description="d", prompt="x", subagent_name="coder"),
        "text: ok",
        call("Task", prompt="x", subagent="explore"),
        "text: ok2",
        "text: done",
    )
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "go")
    assert [result.output for result in results(watcher)] == ["ok", "ok2"]


async def test_long_answers_reach_the_parents_stream_in_few_pieces(bench: Bench) -> None:
    text = "word " * 2000
    bench.script(call("Agent", prompt="x"), f"text: {text}", "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "go")
        await asyncio.sleep(0)
    parts = [message.text for message in inner(watcher) if isinstance(message, TextPart)]
    assert "".join(parts) == text.rstrip()
    assert len(watcher.of(StepBegin)) == 2


async def test_what_a_subagent_costs_the_session_costs(bench: Bench) -> None:
    bench.settings["model"] = {"input_price": 1_000_000.0, "output_price": 0.0}
    bench.script(
        call("Agent", prompt="x") + "\nusage: input_other=1 output=0",
        "text: ok\nusage: input_other=10 output=0",
        "text: done\nusage: input_other=100 output=0",
    )
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "go")
    assert watcher.of(StatusUpdate)[-1].cost == 111


async def test_hooks_hear_of_subagents_and_can_keep_them_from_starting(bench: Bench) -> None:
    bench.settings["hooks"] = [
        {"event": "SubagentStart", "command": "echo not that one >&2; exit 2", "matcher": "plan"},
        {"event": "SubagentStart", "command": "cat >> started"},
        {"event": "SubagentStop", "command": "cat >> stopped"},
    ]
    bench.script(call("Agent", prompt="a", subagent_type="plan"), call("Agent", prompt="b"), "text: ok", "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "go")
    assert "not that one" in results(watcher)[0].message
    assert results(watcher)[1].output == "ok"
    (stopped,) = map(json.loads, (bench.project / "stopped").read_text().splitlines())
    assert (stopped["agent_name"], stopped["response"]) == ("coder", "ok")
    assert (bench.project / "started").read_text().count("SubagentStart") == 2
