"""What stands around the loop, through the real daemon as an editor sees it: commands, plans, questions, queue."""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from soultest.acpclient import AcpClient, ignore
from soultest.bench.mcp import SERVER
from soultest.editor import calls, client_of, editor, said, titled
from soultest.scenarios import journal, run, scenarios
from soultest.world import World, call

Json = dict[str, Any]
PLAN = "1. Write b.txt"
EDIT = call("WriteFile", "w", path="b.txt", content="by the plan\n")
ASK = call(
    "AskUserQuestion",
    "q",
    questions=[
        {"question": "Which tools?", "options": [{"label": "saw"}, {"label": "axe"}], "multi_select": True},
        {"question": "Which colour?", "options": [{"label": "red"}, {"label": "blue"}]},
    ],
)
HOLD = call("Shell", "h", command="touch held")
SCRIPTS: Mapping[str, list[str]] = {
    "commands": [
        "text: hi",
        "text: AGENTS.md is written.",
        "text: on the side",
        "text: planned",
    ],
    "restart": ["text: hello"],
    "plan": [
        call("Shell", "1", command="touch b.txt"),
        call("tools__echo", "2", text="x"),
        call("Agent", "3", prompt="write b.txt", description="Write it"),
        call("WriteFile", "4", path="b.txt", content="by the child\n"),
        "text: I may not.",
        call("ExitPlanMode", "5", plan=PLAN),
        call("ExitPlanMode", "6", plan=PLAN),
        EDIT,
        "text: carried out",
    ],
    "buttons": [call("ExitPlanMode", "1", plan=PLAN), call("ExitPlanMode", "2", plan=PLAN), "text: unused"],
    "asks": [ASK, "text: thanks", ASK, "text: never mind"],
    "asks-buttons": [ASK, "text: thanks"],
    "queue": [HOLD, "text: first", "text: second"],
    "steer": [HOLD, "text: steered"],
    "btw": [HOLD, "text: because of one", "text: because of two", "text: done"],
    "todo": [
        call("Think", "1", thought="First things first."),
        call(
            "SetTodoList", "2", todos=[{"title": "Look", "status": "done"}, {"title": "Write", "status": "in_progress"}]
        ),
        "text: noted",
    ],
    "notices": [call("Shell", "1", command="echo over", run_in_background=True), "text: begun", "text: I see"],
    "away": [ASK, "text: decided"],
}


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with scenarios(SCRIPTS) as made:
        agents = made.root / "config" / "sould" / "agents"
        agents.mkdir(parents=True)
        thinker = "version: 1\nagent:\n  extend: default\n  tools: [inherit, 'sould.agents.tools.think:Think']\n"
        (agents / "thinker.yaml").write_text(thinker)
        yield made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A directory of the test's own."""
    (tmp_path / "a.txt").write_text("hello\n")
    return tmp_path


COMMANDS: Mapping[str, str] = {
    "/help": "/status",
    "/init tests": "AGENTS.md is written.",
    "/btw what was that?": "on the side",
    "/compact": "The context",
    "/status": "queued prompts: 0",
    "/mode ask": "Mode: **ask**",
    "/model": "`commands`",
    "/agent": "`thinker`",
    "/skills": "skill:",
    "/tasks": "no background tasks",
    "/mcp": "MCP servers",
    "/trust": "",
    "/loop": "no loop",
    "/yolo": "Full access",
    "/yolo off": "The mode is ask",
    "/afk": "You are away",
    "/afk off": "The mode is ask",
    "/plan": "Plan mode is on",
    "/plan view": "no plan yet",
    "/plan clear": "cleared",
    "/plan off": "Plan mode is off",
    "/rewind": "`/rewind NUMBER`",
    "/undo": "undone",
    "/redo": "Returned",
    "/export talk.md": "talk.md",
    "/import talk.md": "Imported",
    "/add-dir": "- `",
    "/clear": "cleared",
    "/reset": "cleared",
}
ADVERTISED = (
    "init compact clear yolo afk plan add-dir export import rewind undo redo btw queue model agent mcp skills tasks loop "
    "status help mode trust"
)


async def test_every_command_is_advertised_with_its_hint_and_answers(world: World, project: Path) -> None:
    (project / "more").mkdir()
    async with editor(world, project, model="commands") as (client, session):
        update = await client.wait_update("available_commands_update")
        hints: dict[str, str] = {
            each["name"]: each["input"]["hint"] if "input" in each else "" for each in update["availableCommands"]
        }
        assert set(ADVERTISED.split()) <= set(hints)
        with_argument = "init compact plan add-dir export import rewind btw model agent mode loop yolo afk queue"
        assert all(hints[name] for name in with_argument.split())
        assert await said(client, session, "hello") == "hi"
        for command, answer in COMMANDS.items():
            assert answer in await said(client, session, command), command
        assert await said(client, session, "/queue") == "No prompts are queued\n"
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
    assert not [name for name in ADVERTISED.split() if f"`/{name}" not in page]


async def test_a_directory_and_an_import_outlive_the_daemon(world: World, project: Path, tmp_path_factory: Any) -> None:
    library = tmp_path_factory.mktemp("library")
    (library / "notes.md").write_text("The answer is 42.")
    async with editor(world, project, model="restart", mode="review") as (client, session):
        assert str(library) in await said(client, session, f"/add-dir {library}")
        assert "Imported" in await said(client, session, f"/import {library}/notes.md")
    assert (await asyncio.to_thread(run, world, project, "stop")).returncode == 0
    async with client_of(world) as client:
        await client.request("session/load", sessionId=session, cwd=str(project), mcpServers=[])
        assert f"also works in: `{library}`" in await said(client, session, "/status")
        listed = await client.request("session/list", cwd=str(project))
        assert listed["sessions"][0]["additionalDirectories"] == [str(library)]
    (context,) = (world.root / "state").glob(f"**/sessions/{session}/context.jsonl")
    assert "The answer is 42." in context.read_text()
    assert f"{library}:\\nnotes.md" in context.read_text(), "the system prompt lists it"


# --- plan mode and questions ----------------------------------------------------------------------------------------


def form(*contents: Json) -> Callable[[Json], Json]:
    """Fills in one form after the other; {} dismisses."""
    given = iter(contents)

    def fill(_: Json) -> Json:
        content = next(given)
        return {"action": "accept", "content": content} if content else {"action": "decline"}

    return fill


async def test_nothing_changes_in_plan_mode_until_the_plan_is_approved_in_a_form(world: World, project: Path) -> None:
    server = {"name": "tools", "command": sys.executable, "args": [SERVER, "ok", ""], "env": []}
    fill = form({"q1_other": "Test it, too"}, {"q1": "Approve"})
    async with client_of(world, form=fill) as client:
        result = await client.request("session/new", cwd=str(project), mcpServers=[server])
        session = result["sessionId"]
        for option, value in (("model", "plan"), ("mode", "review"), ("mode", "plan")):
            await client.request("session/set_config_option", sessionId=session, configId=option, value=value)
        assert await client.prompt(session, "go") == {"stopReason": "end_turn"}
        shown = calls(client)
        failed = [each["title"] for each in shown if each["status"] == "failed"]
        assert len(failed) == 4, shown  # the shell, the server's tool, the child's edit, the plan that needed changes
        assert "plan mode" in str(shown[0])
        assert (project / "b.txt").read_text() == "by the plan\n"
        asked = client.asked("elicitation/create")[0]["params"]
        assert PLAN in asked["message"]
        assert [each["const"] for each in asked["requestedSchema"]["properties"]["q1"]["oneOf"]] == [
            "Approve",
            "Revise",
            "Reject",
            "Reject and Exit",
        ]
        assert PLAN in client.text()
        modes = [update["currentModeId"] for update in client.updates("current_mode_update")]
        assert modes[-1] == "review"


async def test_a_plan_is_reviewed_by_buttons_where_there_are_no_forms(world: World, project: Path) -> None:
    pressed = iter(["Revise", "Reject and Exit"])

    def press(params: Json) -> Json:
        name = next(pressed)
        (option,) = [each for each in params["options"] if each["name"] == name]
        assert PLAN in str(params["toolCall"]["content"])
        return {"outcome": "selected", "optionId": option["optionId"]}

    async with editor(world, project, model="buttons", mode="plan", capabilities={}, permissions=press) as (
        client,
        session,
    ):
        await client.prompt(session, "go")
        assert client.updates("current_mode_update")[-1]["currentModeId"] == "ask"
        assert [each["status"] for each in calls(client)] == ["failed", "failed"]


async def test_questions_are_asked_in_a_form_and_may_be_dismissed(world: World, project: Path) -> None:
    fill = form({"q1": ["saw", "axe"], "q2": "red", "q2_other": "violet"}, {})
    async with editor(world, project, model="asks", form=fill) as (client, session):
        await client.prompt(session, "go")
        await client.prompt(session, "again")
    results = [
        each["payload"]["return_value"]["output"] for each in journal(world, session) if each["type"] == "ToolResult"
    ]
    assert json.loads(results[0])["answers"] == {"Which tools?": "saw, axe", "Which colour?": "violet"}
    assert json.loads(results[1])["answers"] == {}
    assert "dismissed" in results[1]


async def test_questions_are_asked_by_buttons_where_there_are_no_forms(world: World, project: Path) -> None:
    pressed = iter(["axe", "Done", "Other"])

    def press(params: Json) -> Json:
        name = next(pressed)
        (option,) = [each for each in params["options"] if each["name"] == name]
        return {"outcome": "selected", "optionId": option["optionId"]}

    async with editor(world, project, model="asks-buttons", capabilities={}, permissions=press) as (client, session):
        await client.prompt(session, "go")
    (result,) = [
        each["payload"]["return_value"]["output"] for each in journal(world, session) if each["type"] == "ToolResult"
    ]
    answers = json.loads(result)["answers"]
    assert answers["Which tools?"] == "axe"
    assert "own words" in answers["Which colour?"]


async def test_away_from_the_command_line_nobody_is_asked(world: World, project: Path) -> None:
    async with editor(world, project, model="away", permissions=ignore) as (client, session):
        await client.request("session/set_config_option", sessionId=session, configId="mode", value="afk")
        assert await client.prompt(session, "go") == {"stopReason": "end_turn"}
        assert not client.asked("elicitation/create")
    noted = [each["payload"]["text"] for each in journal(world, session) if each["type"] == "ContextNote"]
    assert any("away" in note for note in noted)


# --- prompts while a turn runs --------------------------------------------------------------------------------------


def queue_of(client: AcpClient) -> list[list[str]]:
    """The lists a client was sent, as texts."""
    told = [message["params"]["prompts"] for message in client.messages if message.get("method") == "_sould/queue"]
    return [[prompt["prompt"][0]["text"] for prompt in prompts] for prompts in told]


async def test_waiting_prompts_are_seen_and_changed_by_every_client(world: World, project: Path) -> None:
    told: Json = {"queue": True}
    async with (
        editor(world, project, model="queue", meta=told, permissions=ignore) as (client, session),
        client_of(world, meta=told, permissions=ignore) as other,
    ):
        running = client.prompt(session, "go")
        asked = await client.wait_request("session/request_permission")
        await other.request("session/resume", sessionId=session, cwd=str(project), mcpServers=[])
        second = client.prompt(session, "second")
        third = client.prompt(session, "third")
        await other.wait_for(lambda message: queue_of(other)[-1:] == [["second", "third"]])
        status = await asyncio.to_thread(run, world, project, "status")
        assert "second" in status.stdout
        assert "third" in status.stdout
        listed = await other.request("_sould/queue", sessionId=session)
        assert [prompt["mine"] for prompt in listed["prompts"]] == [False, False]
        ids = [prompt["id"] for prompt in listed["prompts"]]
        moved = await other.request("_sould/queue/move", sessionId=session, id=ids[1], position=1)
        assert [prompt["id"] for prompt in moved["prompts"]] == ids[::-1]
        edited = {"sessionId": session, "id": ids[0], "prompt": [{"type": "text", "text": "changed"}]}
        assert (await other.request("_sould/queue/edit", edited))["outcome"] == "edited"
        assert (await other.request("_sould/queue/remove", sessionId=session, id=ids[1]))["outcome"] == "removed"
        assert (await other.request("_sould/queue/remove", sessionId=session, id=ids[1]))["outcome"] == "notWaiting"
        assert await third == {"stopReason": "cancelled"}
        client.answer(asked, {"outcome": {"outcome": "selected", "optionId": "allow_once"}})
        assert await running == {"stopReason": "end_turn"}
        assert await second == {"stopReason": "end_turn"}
        await client.wait_update("user_message_chunk", lambda update: update["content"]["text"] == "changed")
        assert queue_of(client)[-1] == []
    prompts = [each["payload"]["user_input"] for each in journal(world, session) if each["type"] == "TurnBegin"]
    assert prompts == ["go", "changed"]


async def test_a_running_turn_is_steered(world: World, project: Path) -> None:
    async with editor(world, project, model="steer", permissions=ignore) as (client, session):
        running = client.prompt(session, "go")
        asked = await client.wait_request("session/request_permission")
        text = [{"type": "text", "text": "the other way"}]
        assert await client.request("_session/steering", sessionId=session, prompt=text) == {"outcome": "injected"}
        client.answer(asked, {"outcome": {"outcome": "selected", "optionId": "allow_once"}})
        assert await running == {"stopReason": "end_turn"}
        assert await client.request("_session/steering", sessionId=session, prompt=text) == {
            "outcome": "promptRequired"
        }
    kinds = [each["type"] for each in journal(world, session)]
    assert kinds.index("ToolResult") < kinds.index("SteerInput") < len(kinds) - kinds[::-1].index("StepBegin")


async def test_side_questions_are_answered_meanwhile_and_never_remembered(world: World, project: Path) -> None:
    async with editor(world, project, model="btw", permissions=ignore) as (client, session):
        turn = client.prompt(session, "go")
        asked = await client.wait_request("session/request_permission")
        aside = [client.prompt(session, f"/btw why {word}?") for word in ("slow", "red")]
        assert [await each for each in aside] == [{"stopReason": "end_turn"}] * 2
        assert "because of one" in client.text()
        assert "because of two" in client.text()
        assert not turn.done()
        client.answer(asked, {"outcome": {"outcome": "selected", "optionId": "allow_once"}})
        assert await turn == {"stopReason": "end_turn"}
    kinds = [each["type"] for each in journal(world, session)]
    assert kinds.count("TurnBegin") == 1
    assert kinds.count("BtwEnd") == 2
    assert kinds.index("BtwEnd") < kinds.index("ToolResult")
    (context,) = (world.root / "state").glob(f"**/sessions/{session}/context.jsonl")
    before = context.read_text()
    assert (await asyncio.to_thread(run, world, project, "stop")).returncode == 0
    context.unlink()
    async with client_of(world) as client:
        await client.request("session/load", sessionId=session, cwd=str(project), mcpServers=[])
        assert "because of one" in client.text(), "people see it in the history"
    assert context.read_text() == before
    assert "because" not in before
    assert "why" not in before.partition('"_checkpoint"')[2]


# --- thoughts, notices, modes ------------------------------------------------------------------------------------------


async def test_thoughts_and_todos_are_shown_as_calls_and_a_plan(world: World, project: Path) -> None:
    async with editor(world, project, model="todo", agent="thinker") as (client, session):
        await client.prompt(session, "go")
        assert titled(client, "Think: First things first.")["status"] == "completed"
        (plan,) = client.updates("plan")
        assert [(each["content"], each["status"]) for each in plan["entries"]] == [
            ("Look", "completed"),
            ("Write", "in_progress"),
        ]


async def test_the_end_of_a_background_command_is_a_notice(world: World, project: Path) -> None:
    async with editor(world, project, model="notices", mode="full") as (client, session):
        await client.prompt(session, "go")
        await client.wait_update("notice", lambda notice: notice["title"] == "Background task completed: echo over")
        await client.prompt(session, "and now?")
    noted = [each["payload"]["text"] for each in journal(world, session) if each["type"] == "ContextNote"]
    assert any("shell_1" in note for note in noted)


def test_flags_choose_the_mode_of_a_run(world: World, project: Path) -> None:
    for flags, code, told in (
        (["--plan"], 0, ""),
        (["--afk", "--yolo"], 0, ""),
        (["--plan", "--afk"], 2, "cannot be combined"),
        (["--yolo", "--mode", "ask"], 2, "cannot be combined"),
    ):
        done = run(world, project, "run", "--model", "restart", *flags, "/mode")
        assert done.returncode == code, done.stderr
        assert told in done.stderr
        if not code:
            assert f"Mode: **{'plan' if '--plan' in flags else 'full'}**" in done.stdout


def test_the_configuration_chooses_the_mode_of_new_sessions(world: World, project: Path) -> None:
    config = world.root / "config" / "sould" / "config.toml"
    before = config.read_text()
    try:
        for line, mode in (("default_yolo = true", "full"), ("default_plan_mode = true", "plan")):
            config.write_text(f"{line}\n{before}")
            assert f"Mode: **{mode}**" in run(world, project, "run", "/mode").stdout
    finally:
        config.write_text(before)
    assert "Mode: **ask**" in run(world, project, "run", "/mode").stdout
