"""The same scenarios by three independent clients against the real `sould acp`, everything on the wire judged."""

import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from soultest.clients import CLIENTS, ClientName, Run, Scenario, run
from soultest.world import SOULD, World, call

pytestmark = pytest.mark.node
by_all = pytest.mark.parametrize("client", CLIENTS)


@pytest.fixture(scope="module")
def home() -> Generator[World]:
    # Not tmp_path: the socket's path must stay short.
    root = Path(tempfile.mkdtemp(prefix="sould-e2e-"))
    made = World(root)
    made.start()
    yield made
    made.close()
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def world(home: World) -> World:
    """A project of its own in the home of all."""
    home.project = Path(tempfile.mkdtemp(dir=home.root))
    return home


def play(client: ClientName, world: World, *steps: tuple[Any, ...], reject: bool = False) -> Run:
    """Open a session and do the steps; the wire must be without fault."""
    opening = (("initialize",), ("new",))
    permission = "reject_once" if reject else "allow_once"
    played = Scenario((str(SOULD), "acp"), world.project, (*opening, *steps), world.environment, permission)
    seen = run(client, played, world.root)
    seen.transcript.check()
    return seen


def stops(seen: Run) -> list[str]:
    return [each["stopReason"] for each in seen.results("prompt")]


def last_status(seen: Run) -> dict[str, str]:
    """The last status of each tool call."""
    reports = [*seen.updates("tool_call"), *seen.updates("tool_call_update")]
    return {each["toolCallId"]: each["status"] for each in reports if each.get("status")}


@by_all
def test_an_answer_arrives_in_order_with_its_reasoning(client: ClientName, world: World) -> None:
    world.script(["think: Let me see.\ntext: Hello\ntext:  from\ntext:  here.\nusage: input_other=10 output=5"])
    seen = play(client, world, ("prompt", 0, "Say hello."))
    assert seen.text == "Hello from here."
    assert "".join(each["content"]["text"] for each in seen.updates("agent_thought_chunk")) == "Let me see."
    assert stops(seen) == ["end_turn"]
    assert seen.updates("usage_update")[-1]["size"] == 100_000


@by_all
def test_an_allowed_edit_changes_the_file(client: ClientName, world: World) -> None:
    target = world.project / "a.txt"
    target.write_text("one\ntwo\nthree\n")
    edit = {"path": "a.txt", "edit": {"old": "two", "new": "2"}}
    world.script([call("ReadFile", "r", path="a.txt"), call("StrReplaceFile", "e", **edit), "text: Done."])
    seen = play(client, world, ("prompt", 0, "Write two as a number."))
    assert target.read_text() == "one\n2\nthree\n"
    asked = seen.of("permission")[0]
    diff = next(each for each in asked["toolCall"]["content"] if each["type"] == "diff")
    assert (diff["path"], diff["oldText"], diff["newText"]) == (str(target), "one\ntwo\nthree\n", "one\n2\nthree\n")
    assert asked["toolCall"]["title"]
    assert asked["toolCall"]["kind"] == "edit"
    assert [each["path"] for each in seen.of("write")] == [str(target)]
    assert set(last_status(seen).values()) == {"completed"}
    assert seen.text.endswith("Done.")


@by_all
def test_a_rejected_edit_leaves_the_file_and_ends_the_turn(client: ClientName, world: World) -> None:
    target = world.project / "a.txt"
    target.write_text("one\n")
    world.script([call("WriteFile", "w", path="a.txt", content="changed\n"), "text: This must not be asked for."])
    seen = play(client, world, ("prompt", 0, "Change it."), reject=True)
    assert target.read_text() == "one\n"
    assert last_status(seen) == {seen.of("permission")[0]["toolCall"]["toolCallId"]: "failed"}
    assert seen.text == ""
    assert stops(seen) == ["end_turn"]


@by_all
def test_cancelling_ends_the_turn_as_cancelled_and_the_session_goes_on(client: ClientName, world: World) -> None:
    world.script(["text: Working on it.\nwait: 600", "text: Still here."])
    seen = play(client, world, ("prompt", 0, "Take long.", "agent_message_chunk"), ("prompt", 0, "Are you there?"))
    assert stops(seen) == ["cancelled", "end_turn"]
    assert seen.text == "Working on it.Still here."


@by_all
def test_a_task_list_is_shown_as_a_plan(client: ClientName, world: World) -> None:
    todos = [
        {"title": "Look", "status": "done"},
        {"title": "Change", "status": "in_progress"},
        {"title": "Test", "status": "pending"},
    ]
    world.script([call("SetTodoList", "t", todos=todos), "text: Planned."])
    seen = play(client, world, ("prompt", 0, "Plan."))
    entries = seen.updates("plan")[-1]["entries"]
    assert [(each["content"], each["status"]) for each in entries] == [
        ("Look", "completed"),
        ("Change", "in_progress"),
        ("Test", "pending"),
    ]


@by_all
def test_a_refusing_model_server_is_an_error_that_says_so_and_the_session_goes_on(
    client: ClientName, world: World
) -> None:
    world.script(["error: 400 the engine is cold", "text: Warm now."])
    seen = play(client, world, ("prompt", 0, "Go."), ("prompt", 0, "Again."))
    error = seen.of("error")[0]
    assert error["code"] == -32603
    assert "the engine is cold" in str(error)
    assert error["data"]["status"] == 400
    assert seen.text == "Warm now."


@by_all
def test_a_session_is_listed_resumed_without_replay_and_closed(client: ClientName, world: World) -> None:
    world.script(["text: First.", "text: Second."])
    seen = play(client, world, ("prompt", 0, "One."), ("list",), ("close", 0), ("resume", 0), ("prompt", 0, "Two."))
    listed = seen.results("list")[0]["sessions"]
    assert [each["cwd"] for each in listed] == [str(world.project)]
    assert listed[0]["sessionId"] == seen.results("new")[0]["sessionId"]
    assert seen.text == "First.Second."
    assert stops(seen) == ["end_turn", "end_turn"]


# acpx resumes where it can, and neither it nor the Python SDK can delete.
@pytest.mark.parametrize("client", ["typescript-sdk", "python-sdk"])
def test_loading_replays_the_conversation_and_deleting_ends_it(client: ClientName, world: World) -> None:
    world.script(["text: First."])
    delete = (("delete", 0), ("list",), ("load", 0)) if client == "typescript-sdk" else ()
    seen = play(client, world, ("prompt", 0, "One."), ("close", 0), ("load", 0), *delete)
    assert [each["content"]["text"] for each in seen.updates("user_message_chunk")] == ["One."]
    assert seen.text == "First.First."
    if delete:
        assert seen.results("list")[0]["sessions"] == []
        assert seen.of("error")[0]["code"] == -32002
