"""Who is measured: how each agent is started, pointed at the model server, and ended without a trace.

Every agent has a HOME of its own and says yes to everything, so that no time of a person is in the figures. Nothing here
may measure, and nothing may reach the user's own configuration.
"""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from acpclient import AcpClient
from lspclient import LspClient
from processes import family, wait_gone

Json = dict[str, Any]
HERE = Path(__file__).resolve().parent

Tool: TypeAlias = tuple[str, Callable[[str], Json]]
"""The name a model calls it by, and its arguments for a command or a path."""


def _command(text: str) -> Json:
    return {"command": text}


def _path(text: str) -> Json:
    return {"path": text}


def _pattern(text: str) -> Json:
    return {"pattern": text}


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent whose process lives as long as its editor."""

    name: str
    command: tuple[str, ...]
    home: Path
    """Its own; what it says on standard error is in `errors` there."""
    extra: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of its environment."""
    shell: Tool = ("Shell", _command)
    read: Tool | None = ("ReadFile", _path)
    cannot: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why it has no figure in a row, by the row's name."""
    grep: Tool | None = None
    glob: Tool | None = None
    once: tuple[str, ...] = ()
    """Its command line for one prompt, where it has one."""
    keeps: bool = True
    """Whether it keeps what was said, and can do more than the floor."""
    shared_by_editors: bool = False
    """Whether one process of it serves all editors."""

    @property
    def environment(self) -> dict[str, str]:
        """All of its environment."""
        places = {
            "HOME": "",
            "XDG_RUNTIME_DIR": "run",
            "XDG_CONFIG_HOME": ".config",
            "XDG_STATE_HOME": "state",
            "XDG_CACHE_HOME": "cache",
            "XDG_DATA_HOME": "data",
        }
        return {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            **{name: str(self.home / place) for name, place in places.items()},
            **self.extra,
        }

    @property
    def project(self) -> Path:
        """An empty folder to work in."""
        return self.home / "project"

    @contextmanager
    def spawned(self, cwd: Path | None = None, path: str = "") -> Generator[AcpClient]:
        """A process of the agent, as an editor starts it; when the editor has gone, so has all it started."""
        environment = self.environment | ({"PATH": path} if path else {})
        client = AcpClient(self.command, environment, cwd or self.project, self.home / "errors")
        try:
            yield client
        finally:
            started = family([client.process.pid])
            client.close()
            for pid in family(started):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    @contextmanager
    def opened(self, cwd: Path | None = None, path: str = "") -> Generator[AcpClient]:
        """The same, with the handshake done."""
        with self.spawned(cwd, path) as client:
            client.initialize()
            yield client

    def processes(self, client: AcpClient) -> tuple[int, ...]:
        """The processes that do the work for this editor; what descends from them counts, too."""
        return (client.process.pid,)

    def shared(self) -> tuple[int, ...]:
        """Those of them that serve other editors, too."""
        return ()

    def rest(self) -> None:
        """End what outlives its editors, so that the next start is a cold one."""


class Sould(Agent):
    """Our agent: a daemon that outlives its editors."""

    @contextmanager
    def window(self) -> Generator[LspClient]:
        """An editor that speaks LSP, nothing said yet."""
        command = (self.command[0], "lsp")
        client = LspClient(command, self.environment, self.project, self.home / "errors")
        try:
            yield client
        finally:
            client.close()

    def processes(self, client: AcpClient) -> tuple[int, ...]:
        """The bridge and the daemon."""
        return (*Agent.processes(self, client), *self.shared())

    def shared(self) -> tuple[int, ...]:
        """The daemon, by its own word; nothing when none runs."""
        done = subprocess.run(
            [self.command[0], "status", "--json"], env=self.environment, check=False, capture_output=True
        )
        status = json.loads(done.stdout)
        return (int(status["pid"]),) if status.get("running", True) else ()

    def rest(self) -> None:
        """End the daemon."""
        for pid in self.shared():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            wait_gone(pid)


def sould(python: Path, name: str, home: Path, port: int) -> Agent:
    """Our agent, from the environment of this interpreter."""
    config = home / ".config" / "sould" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(SOULD_CONFIG.format(port=port))
    config.chmod(0o600)
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    return Sould(
        name,
        (str(python.parent / "sould"), "acp"),
        home,
        {"PATH": path},
        grep=("Grep", _pattern),
        glob=("Glob", _pattern),
        once=(str(python.parent / "sould"), "run", "bench 1 0"),
        shared_by_editors=True,
    )


def raw_agent(python: Path, name: str, home: Path, port: int) -> Agent:
    """The floor, in the same interpreter."""
    return Agent(name, (str(python), str(HERE / "flooragent.py"), str(port)), home, keeps=False)


SOULD_CONFIG = """\
default_model = "bench"
default_mode = "full"

[loop_control]
max_steps_per_turn = 100000

[sessions]
titles_by_model = false

[models.bench]
provider = "local"
model = "bench"
max_context_size = 100000000

[providers.local]
type = "openai_legacy"
base_url = "http://127.0.0.1:{port}/v1"
api_key = "bench"
"""
