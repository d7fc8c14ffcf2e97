"""`make demo`: the main job, once, for a person to watch.

An ACP client (the official Python SDK, a process of its own) starts `sould acp`; the daemon starts itself; a prompt
runs; the agent reads and edits a real file in a throw-away project; the edit is shown as a diff and allowed. The model
is scripted, everything else is the real program. No key, no network, and nothing outside a temporary directory is
touched. Exits 1 unless the file's hash changed, the client's wire log shows the permission request with its answer, and
the daemon started by itself.
"""

import difflib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sould.daemon.cli.running import DaemonError, RunningDaemon
from sould.daemon.methods import Ping

ROOT = Path(__file__).resolve().parent.parent
CLIENT = ROOT / "tests" / "clients" / "py_client.py"
SOULD = Path(sys.executable).parent / "sould"

PROMPT = "The greeting is misspelt. Please fix it, and show me that it works."

PROJECT = {
    "hello.py": '''\
"""Greets people."""

import sys


def greeting(name: str) -> str:
    return f"Helo, {name}!"


print(greeting(sys.argv[1] if len(sys.argv) > 1 else "world"))
''',
    "README.md": "# hello\n\nRun `python3 hello.py NAME`.\n",
}

SCRIPTS = [
    """\
text: I will look at
text:  the program first.
tool_call: {"id": "read", "name": "ReadFile", "arguments": {"path": "hello.py"}}
usage: input_other=1200 output=40""",
    """\
text: The greeting in line 7
text:  lacks an "l". One character fixes it.
tool_call: {"id": "edit", "name": "StrReplaceFile", "arguments": {"path": "hello.py", "edit": {"old": "Helo", "new": "Hello"}}}
usage: input_other=1400 output=60""",
    """\
text: Now the proof.
tool_call: {"id": "run", "name": "Shell", "arguments": {"command": "python3 hello.py Ada"}}
usage: input_other=1500 output=30""",
    """\
text: Fixed: `hello.py` now says "Hello, Ada!".
text:  Only line 7 changed.
usage: input_other=1600 output=30""",
]

CONFIG = """\
default_model = "scripted"

[models.scripted]
provider = "script"
model = "scripted"
max_context_size = 100000

[providers.script]
type = "_scripted_echo"
env = {{ KIMI_SCRIPTED_ECHO_SCRIPTS = {scripts} }}
"""


def main() -> int:
    """Run the demo; the exit status."""
    world = Path(tempfile.mkdtemp(prefix="sould-demo-"))
    environment, project = prepare(world)
    try:
        target = project / "hello.py"
        before = digest(target)
        running_before = daemon(environment)
        stage = Stage(project)
        stage.title(project)
        status = play(world, environment, project, stage)
        pid = daemon(environment)
        checks = [
            (f"hello.py changed on disk ({before[:8]} -> {digest(target)[:8]})", digest(target) != before),
            (
                "the client's wire log shows the permission request and its answer",
                asked_and_answered(world / "wire.jsonl"),
            ),
            (f"the daemon started by itself (pid {pid}) and outlives the client", running_before == 0 and pid > 0),
            ("the client ended well", status == 0),
        ]
        stage.verdicts(checks)
        return 0 if all(held for _, held in checks) else 1
    finally:
        end(daemon(environment))
        shutil.rmtree(world, ignore_errors=True)


def prepare(world: Path) -> tuple[dict[str, str], Path]:
    """A throw-away HOME and project; nothing of the user's set-up is seen by the agent."""
    project = world / "hello"
    project.mkdir()
    for name, content in PROJECT.items():
        (project / name).write_text(content)
    scripts = world / "scripts.json"
    scripts.write_text(json.dumps(SCRIPTS))
    config = world / "config" / "sould"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(CONFIG.format(scripts=json.dumps(str(scripts))))
    (world / "run").mkdir(mode=0o700)
    environment = {
        "HOME": str(world),
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        "XDG_RUNTIME_DIR": str(world / "run"),
        "XDG_CONFIG_HOME": str(world / "config"),
        "XDG_STATE_HOME": str(world / "state"),
    }
    return environment, project


def play(world: Path, environment: dict[str, str], project: Path, stage: "Stage") -> int:
    """Run the client and show what it reports as it comes; its exit status."""
    scenario = {
        "command": [str(SOULD), "acp"],
        "cwd": str(project),
        "permission": "allow_once",
        "capabilities": {"fs": {"readTextFile": True, "writeTextFile": True}},
        "wire": str(world / "wire.jsonl"),
        "steps": [["initialize"], ["new"], ["prompt", 0, PROMPT]],
    }
    path = world / "scenario.json"
    path.write_text(json.dumps(scenario))
    command = [sys.executable, str(CLIENT), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=project) as client:
        stage.began(client.pid)
        assert client.stdout is not None
        for line in client.stdout:
            stage.show(json.loads(line), environment)
    return client.returncode


def asked_and_answered(wire: Path) -> bool:
    """Whether the agent asked for permission on the wire and the client allowed it there."""
    asked: set[str] = set()
    answered: set[str] = set()
    for line in wire.read_text().splitlines():
        entry = json.loads(line)
        message = json.loads(entry["line"])
        if entry["from"] == "agent" and message.get("method") == "session/request_permission":
            asked.add(json.dumps(message["id"]))
        result: dict[str, Any] = message.get("result") or {}
        if entry["from"] == "client" and result.get("outcome", {}).get("outcome") == "selected":
            answered.add(json.dumps(message["id"]))
    return bool(asked) and asked <= answered


def daemon(environment: dict[str, str]) -> int:
    """The process id of this world's daemon by its own word; 0 when none answers."""
    try:
        with RunningDaemon.connect(environment=environment) as found:
            return found.ask(Ping()).pid
    except DaemonError:
        return 0


def end(pid: int) -> None:
    """Stop the daemon and wait until it is gone; nothing of the demo may stay behind."""
    if not pid:
        return
    for sent in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.kill(pid, sent)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.02)


def digest(path: Path) -> str:
    """The file's hash."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass(slots=True)
class Stage:
    """Turns the client's events into a transcript. Colours only on a terminal that wants them."""

    project: Path
    colours: bool = field(default_factory=lambda: sys.stdout.isatty() and "NO_COLOR" not in os.environ)
    speech: list[str] = field(default_factory=list[str])
    calls: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    start: float = field(default_factory=time.monotonic)
    width: int = field(default_factory=lambda: min(100, shutil.get_terminal_size((88, 24)).columns))

    def paint(self, text: str, code: str) -> str:
        """The text in a colour, or as it is."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colours else text

    def line(self, label: str, text: str, code: str = "") -> None:
        """A labelled line; what is too long goes on below its beginning."""
        wrapped = [part for each in text.splitlines() or [""] for part in textwrap.wrap(each, self.width - 10) or [""]]
        for number, part in enumerate(wrapped):
            head = self.paint(f"{label if number == 0 else '':>7}", "2")
            print(f"{head}   {self.paint(part, code) if code else part}", flush=True)

    def title(self, project: Path) -> None:
        """What is about to happen."""
        print()
        print(self.paint("  sould: an editor talks to a resident agent", "1"))
        print(
            self.paint("  Real client, real daemon, real files; only the model is scripted. No key, no network.", "2")
        )
        print()
        self.line("project", f"{project} (thrown away at the end)", "2")

    def began(self, client: int) -> None:
        """The client runs."""
        self.start = time.monotonic()
        self.line("client", f"the official Python ACP SDK, process {client}, starts `sould acp`", "2")

    def show(self, event: dict[str, Any], environment: dict[str, str]) -> None:
        """One event of the client."""
        match event["event"], event.get("name"):
            case "result", "initialize":
                info: dict[str, Any] = event["result"].get("agentInfo") or {}
                self.line(
                    "daemon",
                    f"{info.get('name')} {info.get('version')} started itself, process {daemon(environment)}",
                    "2",
                )
            case "result", "new":
                print()
                self.line("you", PROMPT, "1")
            case "result", _:
                self.spoken()
            case "update", _:
                self.update(event["update"])
            case "permission", _:
                self.permission(event)
            case "write", _:
                self.line("editor", f"writes {self.short(event['path'])} for the agent", "2")
            case "error", _:
                self.spoken()
                self.line("error", event["message"], "31")
            case _:
                pass

    def update(self, update: dict[str, Any]) -> None:
        """One update of the session."""
        match update["sessionUpdate"]:
            case "agent_message_chunk":
                self.speech.append(update["content"]["text"])
            case "tool_call":
                self.spoken()
                self.remember(update)
            case "tool_call_update":
                self.remember(update)
                if update.get("status") in ("completed", "failed"):
                    self.finished(update)
            case _:
                pass

    def remember(self, update: dict[str, Any]) -> None:
        """What a call is called becomes known bit by bit."""
        for key in ("title", "kind"):
            if update.get(key):
                self.calls.setdefault(update["toolCallId"], {})[key] = update[key]

    def finished(self, update: dict[str, Any]) -> None:
        """A call has ended; of a command also what it printed."""
        call = self.calls.get(update["toolCallId"], {})
        done = update["status"] == "completed"
        self.line("done" if done else "failed", self.short(call.get("title", "")), "32" if done else "31")
        if call.get("kind") == "execute":
            raw: dict[str, Any] = update.get("rawOutput") or {}
            for text in str(raw.get("output", "")).splitlines()[:8]:
                self.line("", f"| {text}", "36")

    def permission(self, event: dict[str, Any]) -> None:
        """What was asked, and what the person at the editor answered."""
        call = event["toolCall"]
        self.line("asks", f"May I? {self.short(call.get('title') or '')}", "33")
        for content in call.get("content") or ():
            if content["type"] == "diff":
                self.diff(content)
        chosen = event["outcome"].get("optionId")
        self.line(
            "you", next((each["name"] for each in event["options"] if each["optionId"] == chosen), "no answer"), "1"
        )

    def diff(self, content: dict[str, Any]) -> None:
        """An edit as the editor would show it."""
        old, new = (content.get("oldText") or "").splitlines(), content["newText"].splitlines()
        for line in list(difflib.unified_diff(old, new, n=1, lineterm=""))[3:]:
            if line.strip():
                self.line("", line, {"+": "32", "-": "31"}.get(line[:1], "2"))

    def spoken(self) -> None:
        """What the agent said up to here, in one piece."""
        if self.speech:
            print()
            self.line("agent", "".join(self.speech))
            self.speech.clear()

    def verdicts(self, checks: Iterable[tuple[str, bool]]) -> None:
        """What was promised, and whether it is so."""
        print()
        for text, held in checks:
            self.line("yes" if held else "NO", text, "32" if held else "31")
        self.line("", f"{time.monotonic() - self.start:.1f} s in all. README.md says how to connect your editor.", "2")
        print()

    def short(self, text: str) -> str:
        """A text with the project's paths as people say them."""
        return text.replace(f"{self.project}/", "")


if __name__ == "__main__":
    sys.exit(main())
