"""Agents, subagents and background tasks through the real daemon, from the command line."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from soultest.daemon import until
from soultest.world import SOULD, World, call


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.start()
    yield made
    made.close()


def children(world: World, session: str) -> list[Path]:
    """The directories of a session's subagents."""
    return list((world.root / "state").glob(f"**/sessions/{session}/subagents/agent_*"))


def test_a_leader_makes_a_type_and_its_worker_edits_then_the_next_daemon_goes_on_with_both(world: World) -> None:
    world.script(
        [
            call("CreateSubagent", "1", name="scribe", system_prompt="You write files.", tools=["WriteFile"]),
            call("Agent", "1", prompt="write b.txt", subagent_type="scribe", description="Write"),
            call("WriteFile", "1", path="b.txt", content="by the scribe\n"),
            "text: Written.",
            "text: The scribe has written it.",
        ]
    )
    done = world.sould("run", "--yes", "-o", "json", "write")
    answer = json.loads(done.stdout)
    assert answer["text"] == "The scribe has written it."
    assert (world.project / "b.txt").read_text() == "by the scribe\n"
    session = answer["session_id"]
    assert "scribe" in world.sould("agents", "list", "--session", session).stdout
    listed = [line.split()[:3] for line in world.sould("agents", "list").stdout.splitlines()]
    assert ["scribe", "session", session] in listed
    assert "- subagent types made here: scribe" in world.sould("run", "--session", session, "/status").stdout
    assert world.sould("stop").returncode == 0
    (first,) = children(world, session)
    world.script(
        [
            call("Agent", "1", prompt="again", subagent_type="scribe"),
            "text: Again.",
            call("Agent", "2", prompt="what did you write?", resume=first.name),
            "text: b.txt.",
            "text: Done.",
        ]
    )
    assert json.loads(world.sould("run", "--session", session, "-o", "json", "again").stdout)["text"] == "Done."
    assert len(children(world, session)) == 2
    assert (first / "wire.jsonl").read_text().count('"TurnBegin"') == 2
    assert len(world.sould("sessions", "list").stdout.splitlines()) == 1


def test_a_background_command_ends_with_the_daemon_and_the_model_is_told(world: World) -> None:
    world.script([call("Shell", "1", command="sleep 600", run_in_background=True), "text: begun"])
    first = json.loads(world.sould("run", "--yes", "-o", "json", "go").stdout)
    assert first["text"] == "begun"
    assert world.sould("stop").returncode == 0
    world.script(["text: I see"])
    world.sould("run", "--session", first["session_id"], "how is it?")
    (journal,) = (world.root / "state").glob(f"**/sessions/{first['session_id']}/wire.jsonl")
    assert "shell_1 (sleep 600): stopped. The session was closed." in journal.read_text()


def test_a_child_whose_daemon_was_killed_is_a_result_for_its_parent_and_goes_on_when_resumed(world: World) -> None:
    world.script([call("Agent", "1", prompt="work"), call("Shell", "2", command="touch begun; sleep 600")])
    waiting = subprocess.Popen(
        [SOULD, "run", "--yes", "go"], cwd=world.project, env=world.environment, stderr=subprocess.PIPE, text=True
    )
    until((world.project / "begun").exists)
    os.kill(world.daemon(), signal.SIGKILL)
    _, said = waiting.communicate(timeout=30)
    assert waiting.returncode == 75, said
    (child,) = (world.root / "state").glob("**/sessions/*/subagents/agent_*")
    world.script([call("Agent", "1", prompt="how far?", resume=child.name), "text: I had begun.", "text: Good."])
    session = child.parents[1].name
    assert json.loads(world.sould("run", "--session", session, "-o", "json", "and?").stdout)["text"] == "Good."
    told = (child / "wire.jsonl").read_text()
    assert "it may or may not have run" in told
    assert "I had begun." in told
    told = (child.parents[1] / "wire.jsonl").read_text()
    assert f"The subagent {child.name} remembers what it did" in told
    assert "Cut off midway: `touch begun; sleep 600`." in told
    assert f"Changed since it began, by it or by others: {world.project / 'begun'}." in told
