"""Agents, subagents and background tasks through the real daemon, from the command line."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from soultest.world import SOULD, World, call


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def run(world: World, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SOULD, *arguments], cwd=world.project, env=world.environment, capture_output=True, text=True, timeout=60
    )


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
    done = run(world, "run", "--yes", "-o", "json", "write")
    answer = json.loads(done.stdout)
    assert answer["text"] == "The scribe has written it."
    assert (world.project / "b.txt").read_text() == "by the scribe\n"
    session = answer["session_id"]
    assert "scribe" in run(world, "agents", "list", "--session", session).stdout
    assert run(world, "stop").returncode == 0
    world.script([call("Agent", "1", prompt="again", subagent_type="scribe"), "text: Again.", "text: Done."])
    assert json.loads(run(world, "run", "--session", session, "-o", "json", "again").stdout)["text"] == "Done."
    (kept,) = (world.root / "state").glob(f"**/sessions/{session}/subagents")
    assert len(list(kept.glob("agent_*/wire.jsonl"))) == 2
    assert len(run(world, "sessions", "list").stdout.splitlines()) == 1


def test_a_background_command_ends_with_the_daemon_and_the_model_is_told(world: World) -> None:
    world.script([call("Shell", "1", command="sleep 600", run_in_background=True), "text: begun"])
    first = json.loads(run(world, "run", "--yes", "-o", "json", "go").stdout)
    assert first["text"] == "begun"
    assert run(world, "stop").returncode == 0
    world.script(["text: I see"])
    run(world, "run", "--session", first["session_id"], "how is it?")
    (journal,) = (world.root / "state").glob(f"**/sessions/{first['session_id']}/wire.jsonl")
    assert "shell_1 (sleep 600): stopped. The session was closed." in journal.read_text()
