"""Subagents and background tasks through the real daemon, as an editor sees them: one daemon, a model for each scenario."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from soultest.daemon import until
from soultest.editor import calls, editor, titled
from soultest.scenarios import model_of
from soultest.world import World, call, running

Json = dict[str, Any]


def step(*calls: str) -> str:
    """One answer of the model with several calls."""
    return "\n".join(calls)


WAIT_FOR_BOTH = "touch here.$$; while [ $(ls here.* | wc -l) -lt 2 ]; do sleep 0.01; done"
STAGES = [
    {"agent": "explore", "prompt": "find"},
    {"agent": "plan", "prompt": "use <{previous}>"},
    {"agent": "coder", "prompt": "sum up"},
]
SPENDS = "\nusage: input_other=60000 output=10"
SCRIPTS: Mapping[str, list[str]] = {
    "edits": [
        call("Agent", "p", prompt="write b.txt", description="Write it"),
        call("WriteFile", "c", path="b.txt", content="by the child\n"),
        "text: Written.",
        "text: All done.",
    ],
    "pipeline": [
        call("Agent", "p", pipeline=STAGES, description="In stages"),
        "text: first",
        "text: second",
        "text: third",
        "text: done",
    ],
    "parallel": [
        step(call("Agent", "p1", prompt="a", description="One"), call("Agent", "p2", prompt="b", description="Two")),
        *[call("Shell", "s", command=WAIT_FOR_BOTH)] * 2,
        *["text: met"] * 2,
        "text: done",
    ],
    "hierarchy": [
        call("Agent", "1", prompt="x", subagent_type="middle"),
        call("Agent", "2", prompt="y", subagent_type="lowest"),
        call("Agent", "3", prompt="z", subagent_type="coder", description="Too deep"),
        "text: I did it myself.",
        "text: middle heard lowest",
        "text: done",
    ],
    "dynamic": [
        call("CreateSubagent", "1", name="poet", system_prompt="You write poems.", tools=["ReadFile"]),
        "text: made",
        call("Agent", "2", prompt="write", subagent_type="poet", description="A poem"),
        "text: roses",
        "text: done",
    ],
    "override": [
        call("Agent", "1", prompt="say who you are", model="other", description="Ask"),
        "text: done",
        call("Agent", "2", prompt="say who you are", subagent_type="minded", description="Ask again"),
        "text: done",
    ],
    "other": ["text: I am the other model.", "text: The file says that I am the other model."],
    "picky": [
        step(call("Always", "1"), call("WithFile", "2"), call("WithEye", "3"), call("WithTerminal", "4")),
        step(call("Leaves", "6"), call("Given", "7"), call("GivenToo", "8")),
        "text: done",
        call("WithFile", "5"),
        "text: done",
    ],
    "spending": [
        call("Agent", "1", prompt="look", subagent_type="middle", description="Look"),
        call("Agent", "2", prompt="look", subagent_type="lowest"),
        *[call("Glob", "3", pattern="*") + SPENDS] * 2,
        f"text: spent{SPENDS}",
        "text: heard",
        "text: enough",
        call("Agent", "4", prompt="look", description="Look again"),
        call("Glob", "5", pattern="*") + SPENDS,
        "text: never said",
    ],
    "background": [
        call("Agent", "1", prompt="look", run_in_background=True, description="Look around"),
        "text: child or parent",
        "text: child or parent",
        call("TaskOutput", "2", task_id="agent_1"),
        "text: seen",
    ],
}
AGENT = "version: 1\nagent:\n  extend: default\n  tools: [inherit, 'sould.agents.tools.think:Think']\n  subagents:\n"
DELEGATES = AGENT.replace("inherit", "'sould.agents.tools.agent:Agent'")

PICKY = """\
version: 1
agent:
  extend: default
  system_prompt_path: picky.md
  tools:
    - ./picky.py:always
    - ./picky.py:leaves
    - ./picky.py:given
    - ./picky.py:Given
    - {tool: "./picky.py:with_file", when: {file_exists: ready.txt, os: Linux, command_exists: sh, env: HOME}}
    - {tool: "./picky.py:with_eye", when: {model_capability: video_in}}
    - {tool: "./picky.py:with_terminal", when: {client_capability: terminal}}
"""
INJECTED = (
    *("Approval", "Config", "DenwaRenji", "Environment", "LaborMarket", "PromptArguments", "Session"),
    *("ToolCallContext", "Toolset", "Workspace"),
)
"""All that D30 names."""
PARAMETERS = ", ".join(f"{name.lower()}: {name}" for name in INJECTED)
GIVEN = ", ".join(name.lower() for name in INJECTED)
TOOLS = f"""\
from sould.agents.tools import Tool, ToolParams, tool, tool_ok
from sould.agents.tools import {", ".join(INJECTED)}

ALL = ({", ".join(INJECTED)})

def ran() -> str:
    return "ran"

always, with_file, with_eye, with_terminal = (
    tool(name=name)(ran) for name in ("Always", "WithFile", "WithEye", "WithTerminal")
)

@tool
def leaves() -> str:
    raise SystemExit(3)

@tool
def given({PARAMETERS}) -> str:
    return check([{GIVEN}])

class Given(Tool[ToolParams]):
    name = "GivenToo"
    description = "As given, as a class."
    params = ToolParams

    def __init__(self, {PARAMETERS}) -> None:
        self.all = [{GIVEN}]

    async def run(self, params, call):
        return tool_ok(check(self.all))

def is_one(service, kind) -> bool:
    return hasattr(service, "read_text") if kind is Workspace else isinstance(service, kind)

def check(services) -> str:
    right = [kind.__name__ for service, kind in zip(services, ALL) if is_one(service, kind)]
    call = next(service for service in services if isinstance(service, ToolCallContext))
    return f"given {{len(right)}} of {{len(ALL)}} in step {{call.step}}: {{right}}"
"""


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    root = Path(tempfile.mkdtemp(prefix="sould-crews-"))
    made = World(root)
    made.script(
        [],
        "[budget]\nsession = { tokens = 100000 }\n"
        + "\n".join(model_of(root, name, scripts) for name, scripts in SCRIPTS.items()),
    )
    agents = root / "config" / "sould" / "agents"
    agents.mkdir(parents=True)
    (agents / "boss.yaml").write_text(f"{AGENT}    middle: middle.yaml\n    minded: minded.yaml\n")
    (agents / "minded.yaml").write_text("version: 1\nagent: {extend: coder, model: other}\n")
    (agents / "picky.yaml").write_text(PICKY)
    (agents / "picky.py").write_text(TOOLS)
    (agents / "picky.md").write_text("You are picky.")
    (agents / "middle.yaml").write_text(f"{DELEGATES}    lowest: lowest.yaml\n")
    (agents / "lowest.yaml").write_text(f"{DELEGATES}    coder: inherit\n")
    made.start()
    yield made
    made.close()
    shutil.rmtree(root, ignore_errors=True)


def journals(world: World, session: str) -> list[Path]:
    """What the subagents of a session wrote, in the order of their birth."""
    found = (world.root / "state").glob(f"**/sessions/{session}/subagents/agent_*/wire.jsonl")
    return sorted(found, key=lambda path: path.stat().st_ino)


async def test_a_childs_question_says_who_asks_and_its_edit_is_the_sessions_to_undo(world: World) -> None:
    async with editor(world, mode="ask", model="edits") as (client, session):
        await client.prompt(session, "go")
        (asked,) = client.asked("session/request_permission")
        assert "The coder subagent asks: Write it" in str(asked["params"]["toolCall"]["content"])
        parent, child = client.updates("tool_call")
        assert parent["toolCallId"] in str(child["_meta"])
        assert "Written." in str(titled(client, "Write it (coder)")["content"])
        assert (world.project / "b.txt").read_text() == "by the child\n"
        await client.prompt(session, "/undo")
        assert not (world.project / "b.txt").exists()


async def test_each_stage_of_a_pipeline_is_given_the_result_before(world: World) -> None:
    async with editor(world, model="pipeline") as (client, session):
        await client.prompt(session, "go")
        assert "third" in str(titled(client, "In stages (explore → plan → coder)")["content"])
        told = "".join(journal.read_text() for journal in journals(world, session))
        assert '"use <first>"' in told
        assert "sum up\\n\\nThe result of the stage before:\\nsecond" in told


async def test_several_work_at_the_same_time(world: World) -> None:
    async with editor(world, mode="full", model="parallel") as (client, session):
        await client.prompt(session, "go")
        assert "met" in str(titled(client, "One (coder)")["content"])
        assert "met" in str(titled(client, "Two (coder)")["content"])


async def test_a_hierarchy_is_as_deep_as_configured_and_what_happens_below_is_shown(world: World) -> None:
    async with editor(world, model="hierarchy", agent="boss") as (client, session):
        await client.prompt(session, "go")
        refused = titled(client, "Too deep (coder)")
        assert refused["status"] == "failed"
        assert "2 levels deep" in str(refused)
        assert "middle heard lowest" in str(titled(client, "x (middle)")["content"])
        assert len(journals(world, session)) == 2


async def test_what_subagents_spend_however_deep_is_the_sessions_and_stops_with_a_question(world: World) -> None:
    asked: list[str] = []

    def go_on_once(params: Json) -> Json:
        asked.append(params["message"])
        return {"action": "accept", "content": {"q1": "Continue" if len(asked) == 1 else "Stop"}}

    async with editor(world, model="spending", agent="boss", form=go_on_once) as (client, session):
        answer = await client.prompt(session, "go")
        assert (answer["stopReason"], answer["usage"]["totalTokens"]) == ("end_turn", 3 * 60_010)
        assert asked == ["The budget of this session is used up: 120020 of 100000 tokens. Continue?"]
        assert "heard" in str(titled(client, "Look (middle)")["content"])
        assert client.text() == "enough"
        assert (await client.prompt(session, "again"))["stopReason"] == "cancelled"
        assert len(asked) == 2, "parent and child are asked once"
        assert "240040 of 220020 tokens" in asked[1]


async def test_a_type_that_was_made_survives_going_back(world: World) -> None:
    async with editor(world, model="dynamic") as (client, session):
        await client.prompt(session, "make a poet")
        await client.prompt(session, "/undo")
        await client.prompt(session, "a poem")
        assert "roses" in str(titled(client, "A poem (poet)")["content"])


async def test_a_child_may_have_another_model_by_the_call_or_by_its_file(world: World) -> None:
    async with editor(world, model="override", agent="boss") as (client, session):
        await client.prompt(session, "go")
        assert "I am the other model." in str(titled(client, "Ask (coder)")["content"])
        await client.prompt(session, "go on")
        assert "The file says that" in str(titled(client, "Ask again (minded)")["content"])


async def test_conditions_and_files_of_an_agent_are_looked_at_before_each_turn(world: World) -> None:
    async with editor(world, model="picky", agent="picky") as (client, session):
        await client.prompt(session, "go")
        ran = [call["title"].removeprefix("Use ") for call in calls(client) if call["status"] == "completed"]
        assert ran == ["Always", "WithTerminal", "Given", "GivenToo"]
        for name in ("Given", "GivenToo"):
            assert f"given {len(INJECTED)} of {len(INJECTED)} in step 2" in str(titled(client, f"Use {name}"))
        assert titled(client, "Use Leaves")["status"] == "failed"
        (world.project / "ready.txt").touch()
        prompt = world.root / "config" / "sould" / "agents" / "picky.md"
        prompt.write_text("You are very picky.")
        await client.prompt(session, "and now?")
        assert titled(client, "Use WithFile", last=True)["status"] == "completed"
        notice = await client.wait_update("notice", lambda update: "picky" in str(update))
        assert f"because these changed: {prompt}." in str(notice)


async def test_a_child_in_the_background_is_told_to_the_editor_and_at_the_next_turn(world: World) -> None:
    async with editor(world, model="background") as (client, session):
        await client.prompt(session, "go")
        notice = await client.wait_update("notice", lambda update: "Look around" in str(update))
        assert "Background task completed" in str(notice)
        await client.prompt(session, "/tasks output agent_1")
        assert "```\nchild or parent\n```" in client.text()
        await client.prompt(session, "and?")
        assert titled(client, "Show agent_1")["status"] == "completed"
        journal = next((world.root / "state").glob(f"**/sessions/{session}/wire.jsonl")).read_text()
        assert "- agent_1 (Look around): completed." in journal


_ENDS_SLOWLY = "trap 'touch told; sleep 9; exit 1' TERM; echo $$ > task; sleep 600 & wait"


async def test_a_child_that_fails_or_takes_too_long_is_a_result_and_tasks_end_with_the_last_client(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    world.script(
        [
            step(call("Agent", "1", prompt="x", description="Fails"), call("Agent", "2", prompt="y", model="slow")),
            "error: 401 wrong key",
            call("Shell", "3", command=_ENDS_SLOWLY, run_in_background=True, timeout=900),
            "text: I go on.",
        ],
        '[background]\nagent_task_timeout_s = 0.3\n[daemon]\non_last_detach = "cancel"\n'
        + model_of(tmp_path, "slow", [call("Shell", "s", command="sleep 600")]),
    )
    try:
        async with editor(world, mode="full") as (client, session):
            assert (await client.prompt(session, "go"))["stopReason"] == "end_turn"
            assert "Did not finish: " in str(titled(client, "Fails (coder)")["content"])
            assert "did not finish within 0.3 seconds" in str(titled(client, "y (coder)")["content"])
            assert client.text() == "I go on."
            noted = world.project / "task"
            await asyncio.to_thread(until, lambda: noted.exists() and noted.read_text().endswith("\n"))
            task = int(noted.read_text())
        await asyncio.to_thread(until, (world.project / "told").exists, what="the signal to the task")
        async with editor(world) as (client, _):
            await client.request("session/load", sessionId=session, cwd=str(world.project), mcpServers=[])
            await client.prompt(session, "/tasks")
            assert "`shell_1` stopped" in client.text(session)
            assert not running(task)
    finally:
        world.close()
