"""Programs written for kimi-cli, with `sould-kimi` as their executable: the Node SDK from npm, and how others begin."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from soultest.clients import FOLDER, NODE, PATIENCE
from soultest.kimisessions import keep, text, turn, wire_lines
from soultest.world import SOULD, World, call

Json = dict[str, Any]
KIMI = SOULD.with_name("sould-kimi")
SECOND = """
[models.second]
provider = "other"
model = "other"
max_context_size = 100000

[providers.other]
type = "_scripted_echo"
env = { KIMI_SCRIPTED_ECHO_SCRIPTS = "other.json" }
"""


@pytest.fixture
def world() -> Iterator[World]:
    root = Path(tempfile.mkdtemp(prefix="sould-kimi-"))
    made = World(root)
    yield made
    made.close()
    shutil.rmtree(root, ignore_errors=True)


@pytest.mark.node
def test_the_node_sdk_plays_a_whole_conversation(world: World) -> None:
    scripts = [
        call("Shell", "c1", command="touch made"),
        "text: Made it.",
        call("weather", "c2", place="Rome"),
        "text: It rains.",
    ]
    world.script(scripts, SECOND)
    other = ["text: As another.", call("Shell", "c3", command="touch never"), "text: not said"]
    (world.root / "config" / "sould" / "other.json").write_text(json.dumps(other))
    line = [str(NODE), str(FOLDER / "kimi_sdk.mjs"), str(KIMI), str(world.project)]
    done = subprocess.run(line, env=world.environment, capture_output=True, text=True, timeout=PATIENCE)
    events = [json.loads(said) for said in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr + done.stdout
    results = [(each["said"], each["status"]) for each in events if each["event"] == "result"]
    assert results == [
        ("Made it.", "finished"),
        ("It rains.", "finished"),
        ("As another.", "finished"),
        ("", "cancelled"),
    ]
    assert "It rains in Rome." in str([each for each in events if each["event"] == "ToolResult"])
    assert not [each for each in events if each["event"] == "error"], "the SDK knows all that it is told"
    assert (world.project / "made").exists()
    assert not (world.project / "never").exists()
    assert events[-1]["after"] < 3000, "else the SDK kills it"


@pytest.mark.node
def test_the_node_sdk_finds_its_sessions_forks_them_and_goes_on_with_those_of_kimi_cli(world: World) -> None:
    world.script([f"text: answer {number}" for number in range(4)])
    old = "5d2c4a0e-2a55-4a10-8a3c-b7a2f57e0c22"
    keep(world.root / ".kimi", world.project, old, wire_lines(*turn("of kimi-cli", text("yes")), version=None))
    line = [str(NODE), str(FOLDER / "kimi_storage.mjs"), str(KIMI), str(world.project), old]
    environment = world.environment | {"KIMI_SHARE_DIR": str(world.root / ".kimi")}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr + done.stdout
    assert json.loads(done.stdout) == {
        "titles": ["of kimi-cli", "one", "one"],
        "turns": [["of kimi-cli", "after kimi-cli"], ["one", "two"], ["one", "another two"]],
    }


class Program:
    """What a program has of `sould-kimi`: two pipes."""

    def __init__(self, world: World, *arguments: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [str(KIMI), "--wire", *arguments],
            env=world.environment | environment,
            cwd=world.project,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.told: list[Json] = []

    def ask(self, identifier: str, method: str, **params: Any) -> Json:
        """The answer; what comes before it is kept."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        message = {"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}
        print(json.dumps(message), file=self.process.stdin, flush=True)
        for line in self.process.stdout:
            said = json.loads(line)
            if said.get("id") == identifier:
                return said
            self.told.append(said["params"])
        raise AssertionError("it has ended")

    def close(self) -> int:
        """End the conversation; the exit code."""
        self.process.communicate(timeout=PATIENCE)
        return self.process.returncode


def test_a_program_on_the_go_sdk_begins(world: World) -> None:
    world.script(["text: hi", "error: 429 slow down", "text: again"])
    config = (world.root / "config" / "sould" / "config.toml").read_text()
    program = Program(world, "--config", config, "--auto-approve", "--no-thinking", "--work-dir", str(world.project))
    done = subprocess.run([str(KIMI), "info", "--json"], env=world.environment, capture_output=True, text=True)
    assert done.stderr == "", "it reads both as one"
    info = json.loads(done.stdout)
    assert info.keys() == {"kimi_cli_version", "agent_spec_versions", "wire_protocol_version", "python_version"}
    tool: Json = {"name": "add", "description": "adds", "parameters": {"type": "object", "properties": {}}}
    version = info["wire_protocol_version"]
    said = program.ask("0", "initialize", protocol_version=version, external_tools=[tool])["result"]
    assert said["external_tools"] == {"accepted": ["add"], "rejected": []}
    assert program.ask("1", "prompt", user_input="go")["result"] == {"status": "finished"}
    assert program.ask("2", "prompt", user_input="once more")["result"] == {"status": "finished"}
    known = {"TurnBegin", "TurnEnd", "StepBegin", "StatusUpdate", "ContentPart"}
    assert {told["type"] for told in program.told} <= known, "a type that it does not know ends it"
    assert program.close() == 0


@pytest.mark.parametrize("introduced", [True, False])
def test_an_automated_client_begins(world: World, introduced: bool) -> None:
    world.script(["text: the user's"])
    work = world.root / "work"
    work.mkdir()
    (world.root / "scripts.json").write_text(json.dumps(["text: hi"]))
    provider = {"type": "_scripted_echo", "base_url": "", "api_key": ""}
    config = {
        "default_model": "scripted",
        "models": {
            "scripted": {"provider": "p", "model": "x", "max_context_size": 100000, "capabilities": ["image_in"]}
        },
        "providers": {"p": provider | {"env": {"KIMI_SCRIPTED_ECHO_SCRIPTS": "scripts.json"}}},
    }
    file = world.root / "config.json"
    file.write_text(json.dumps(config))
    home = {"USERPROFILE": str(world.root), "KIMI_SHARE_DIR": str(world.root / ".kimi")}
    program = Program(
        world, "--yolo", "--config-file", str(file), "--max-steps-per-turn", "5", "--work-dir", str(work), **home
    )
    if introduced:
        assert program.ask("1", "initialize", protocol_version="1.1")["result"]["slash_commands"]
    assert program.ask("2", "prompt", user_input="hi")["result"] == {"status": "finished"}
    assert {"type": "ContentPart", "payload": {"type": "text", "text": "hi"}} in program.told
    assert program.close() == 0


def test_what_a_configuration_says_is_in_no_list_of_processes(world: World) -> None:
    world.script(["text: hi"])
    secret = '[providers.p]\ntype = "kimi"\napi_key = "sk-hush"\n'
    program = Program(world, "--config", secret)
    program.ask("1", "initialize", protocol_version="1.1")
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            assert b"sk-hush" not in process.read_bytes(), process
    assert program.close() == 0
    kept = (path for path in world.root.rglob("*") if path.is_file())
    assert not [path for path in kept if b"sk-hush" in path.read_bytes()]


def test_a_killed_daemon_leaves_a_program_its_configuration(world: World) -> None:
    world.script(["text: the user's"])
    (world.project / "s.txt").write_text("text: its own")
    config = (world.root / "config" / "sould" / "config.toml").read_text()
    program = Program(world, "--config", config.replace(str(world.root / "scripts.json"), "s.txt"))
    program.ask("1", "initialize", protocol_version="1.1")
    os.kill(world.daemon(), signal.SIGKILL)
    program.ask("2", "prompt", user_input="go")
    assert {"type": "ContentPart", "payload": {"type": "text", "text": "its own"}} in program.told
    assert program.close() == 0


def test_options_that_no_next_daemon_could_be_told_are_refused_at_once(world: World) -> None:
    line = [str(KIMI), "--wire", "--config", "#" * 70_000]
    done = subprocess.run(line, env=world.environment, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (1, "")
    assert "--config-file" in done.stderr
    assert "Traceback" not in done.stderr
