"""A throw-away HOME with a scripted model, for tests that run the real `sould` from outside.

Everything of the user's set-up is replaced, so nothing of it is seen or touched. `World.close` ends the daemon that the
first client started, by its process id, waits until it is gone, and leaves nothing else of this HOME behind.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sould.daemon.cli.running import DaemonError, RunningDaemon
from sould.daemon.methods import Ping
from soultest import prepared
from soultest.processes import end_all

SOULD = Path(sys.executable).parent / "sould"
"""The installed command, as an editor would start it."""

PATIENCE = 50.0
"""Seconds that a command may take on a busy machine (D46)."""

SURE = """
[review]
certain_within = 60
"""
"""So that nothing depends on how fast a command is."""
CONFIG = """\
default_model = "scripted"

[models.scripted]
provider = "script"
model = "scripted"
max_context_size = 100000
capabilities = ["image_in", "audio_in"]

[providers.script]
type = "_scripted_echo"
env = {{ KIMI_SCRIPTED_ECHO_SCRIPTS = {scripts} }}

[loop_control]
retry_first_wait_s = 0.01
retry_max_wait_s = 0.02
retry_jitter_s = 0.0
{more}
{servers}
[capture]
wait_s = 60.0
"""
SERVERS = """\
[mcp.client]
turn_wait_ms = 60000
start_timeout_ms = 60000
"""
"""Where nothing else is said of MCP: turns begin when the servers run, however busy the machine is."""


@dataclass(slots=True)
class World:
    """One user on one machine. `root` must be short: the daemon's socket lives below it."""

    root: Path
    project: Path = field(init=False)
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.project = self.root / "project"
        self.project.mkdir(parents=True)
        (self.root / "run").mkdir(mode=0o700)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": str(self.root / "run"),
            "XDG_CONFIG_HOME": str(self.root / "config"),
            "XDG_STATE_HOME": str(self.root / "state"),
            "XDG_CACHE_HOME": str(self.root / "cache"),
            "XDG_DATA_HOME": str(self.root / "data"),
        }

    def script(self, scripts: Sequence[str], more: str = "") -> None:
        """What the model says, one script per call; `more` is added to the configuration. Before the daemon starts."""
        path = self.root / "scripts.json"
        path.write_text(json.dumps(list(scripts)))
        folder = self.root / "config" / "sould"
        folder.mkdir(parents=True, exist_ok=True)
        servers = "" if "[mcp" in more else SERVERS
        more += "" if "[review]" in more else SURE
        (folder / "config.toml").write_text(CONFIG.format(scripts=json.dumps(str(path)), more=more, servers=servers))

    def sould(
        self,
        *arguments: str,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        prefix: tuple[str, ...] = (),
    ) -> "subprocess.CompletedProcess[str]":
        """Run one command to its end; see `run_sould`."""
        given = self.environment | dict(env or {})
        return run_sould(given, cwd or self.project, *arguments, stdin=stdin, prefix=prefix)

    def start(self, env: Mapping[str, str] | None = None) -> None:
        """Start the daemon; see `start_daemon`."""
        start_daemon(self.environment | dict(env or {}))

    def daemon(self) -> int:
        """The daemon's process id, by its own word; 0 when none answers."""
        try:
            with RunningDaemon.connect(environment=self.environment) as daemon:
                return daemon.ask(Ping()).pid
        except DaemonError:
            return 0

    def close(self) -> None:
        """End the daemon, and whatever else was started in this HOME: a daemon that was just starting answers nobody yet."""
        self._end_daemon()
        end_all("HOME", str(self.root))

    def _end_daemon(self) -> None:
        pid = self.daemon()
        for sent in (signal.SIGTERM, signal.SIGKILL) if pid else ():
            with suppress(ProcessLookupError):
                os.kill(pid, sent)
            deadline = time.monotonic() + 10
            while time.monotonic() < deadline:
                if not running(pid):
                    return
                time.sleep(0.01)


def run_sould(
    environment: Mapping[str, str], cwd: Path, *arguments: str, stdin: str = "", prefix: tuple[str, ...] = ()
) -> "subprocess.CompletedProcess[str]":
    """Run one command to its end; `stdin` is what it can read. `prefix` runs the installed one through another program."""
    if not prefix:
        return prepared.command(arguments, environment=environment, cwd=cwd, stdin=stdin, seconds=PATIENCE)
    line = [*prefix, str(SOULD), *arguments]
    return subprocess.run(line, env=environment, cwd=cwd, input=stdin, capture_output=True, text=True, timeout=PATIENCE)


def start_daemon(environment: Mapping[str, str]) -> None:
    """Start the daemon, which then answers; the first client would, too, for a second of a processor more."""
    prepared.daemon(environment)
    with RunningDaemon.connect(
        start=True, environment=environment
    ) as daemon:  # another client may be starting one, too
        daemon.ask(Ping())


def running(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def call(name: str, identifier: str, /, **arguments: object) -> str:
    """A script line: the model calls a tool."""
    return "tool_call: " + json.dumps({"id": identifier, "name": name, "arguments": json.dumps(arguments)})
