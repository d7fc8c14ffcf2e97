"""The daemon's composition over a scripted model, in this process: real journal, files and commands, no client program.

Tests act as the client: they prompt, answer requests, and read what was published.
"""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from sould.agents.base.workspace import TextFiles
from sould.agents.files.directories.rareevents import STEP
from sould.agents.files.projects.projects import Projects
from sould.agents.journal.channel import Record
from sould.agents.permissions.trust import TrustStore
from sould.agents.sessions.host import SessionHost
from sould.agents.sessions.hostport import HostPort
from sould.agents.sessions.session import Session
from sould.agents.soul.session_request import SessionRequest
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import (
    ApprovalKind,
    ApprovalRequest,
    ApprovalResponse,
    QuestionRequest,
    QuestionResponse,
    TurnEnd,
    WireMessage,
)
from sould.daemon.paths import Paths
from sould.daemon.process.compose import compose
from soultest.bench.looks import messages_of

MessageT = TypeVar("MessageT")


def call(name: str, /, **arguments: object) -> str:
    """A script line that calls a tool."""
    return "tool_call: " + json.dumps({"id": "1", "name": name, "arguments": json.dumps(arguments)})


class Watcher:
    """A client's view of a session: everything published since it looked, and answers to approvals."""

    def __init__(self, session: Session, *, answer: ApprovalKind | None = "approve", feedback: str = "") -> None:
        self.session = session
        self.records: list[Record] = []
        self._answer: ApprovalKind | None = answer
        self._feedback = feedback
        self.answers: dict[str, str] | None = None
        """Given to every question the session asks; None leaves questions open."""
        self._changed = asyncio.Event()
        self._subscription = session.log.channel.subscribe(self._take, on_cut=lambda _: None)
        session.attach(self)

    id = name = "watcher"
    speaks_for_user = True
    chooses_for_project = True

    def workspace(self, inner: TextFiles, session_id: str) -> None:
        """See `Client`."""

    @property
    def messages(self) -> list[WireMessage]:
        """What was published."""
        return [record.message for record in self.records]

    def of(self, kind: type[MessageT]) -> list[MessageT]:
        """The published messages of one type."""
        return [message for message in self.messages if isinstance(message, kind)]

    async def wait_for(self, kind: type[MessageT], where: Callable[[MessageT], bool] = lambda _: True) -> MessageT:
        """The first such message, waiting until there is one."""
        while True:
            found = next((message for message in self.of(kind) if where(message)), None)
            if found is not None:
                return found
            self._changed.clear()
            await self._changed.wait()

    def _take(self, record: Record) -> bool:
        self.records.append(record)
        self._changed.set()
        if isinstance(record.message, ApprovalRequest) and self._answer is not None:
            response = ApprovalResponse(request_id=record.message.id, response=self._answer, feedback=self._feedback)
            asyncio.get_running_loop().call_soon(self.session.parts.attached.answer, response, "watcher")
        if isinstance(record.message, QuestionRequest) and self.answers is not None:
            answer = QuestionResponse(request_id=record.message.id, answers=self.answers)
            asyncio.get_running_loop().call_soon(self.session.parts.attached.answer, answer, "watcher")
        return True


@dataclass(slots=True)
class Bench:
    """A daemon's composition and its directories. `running` again is what a new daemon would find."""

    root: Path
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the configuration says besides the scripted model; read when `running` begins."""
    step: float = STEP
    """Seconds until clients are told of what changed on disk while nobody prompts."""
    host: SessionHost = field(init=False)
    port: HostPort = field(init=False)

    @property
    def project(self) -> Path:
        """The project the sessions work on."""
        return self.root / "project"

    @property
    def paths(self) -> Paths:
        """Where the daemon keeps its things."""
        places = {f"XDG_{name.upper()}_HOME": str(self.root / name) for name in ("state", "config", "cache", "data")}
        return Paths({"HOME": str(self.root), "SOULD_CONFIG": str(self.root / "config.json"), **places})

    @property
    def state(self) -> Path:
        """The state directory."""
        return Path(self.paths.state)

    @property
    def config(self) -> Path:
        """The directory of the user's own agents, rules and servers."""
        return Path(self.paths.config)

    @property
    def trust(self) -> TrustStore:
        """Which projects the user trusts, as another process of theirs finds it."""
        return TrustStore(self.state / "trust.json")

    @property
    def projects(self) -> Projects:
        """The projects as a daemon that has just begun knows them."""
        return Projects(self.state)

    def opening(self, *, environment: Mapping[str, str] | None = None, **more: Any) -> SessionRequest:
        """How somebody opens a session in the project; with this machine's environment, where no other is given."""
        given = os.environ if environment is None else environment
        return SessionRequest(self.project, environment=dict(given), **more)

    def prepare(self) -> None:
        """Make the project."""
        self.project.mkdir()
        (self.project / "a.txt").write_text("hello\n")

    def script(self, *scripts: str) -> None:
        """What the model says, one script a call."""
        (self.root / "scripts.json").write_text(json.dumps(scripts))

    async def new(self, mode: Any = None) -> Session:
        """A session in the project."""
        return await self.host.new(self.opening(mode=mode))

    def alone(self, mode: Any = None) -> SessionRequest:
        """How somebody opens a session whose HOME is the bench's and who has nothing else of this machine."""
        environment = {"HOME": str(self.root), "PATH": "/usr/bin:/bin"}
        return SessionRequest(self.project, environment=environment, mode=mode)

    async def begin(self, mode: Any = None) -> Session:
        """A session opened so."""
        return await self.host.new(self.alone(mode))

    async def open(self, session_id: str) -> Session:
        """The session, live or from disk."""
        return await self.host.open(session_id, self.opening())

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[SessionHost, None]:
        """Run a host over the bench's directories until the block is left."""
        self._configure()
        composition = compose(self.paths, step=self.step)
        self.host, self.port = composition.host, composition.port
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.host.serve())
                await self.host.started.wait()
                try:
                    yield self.host
                finally:
                    await self.host.aclose("the test is over")
        finally:
            await composition.aclose()

    def _configure(self) -> None:
        model = {"provider": "script", "model": "scripted", "max_context_size": 100_000}
        provider = {"type": "_scripted_echo", "env": {"KIMI_SCRIPTED_ECHO_SCRIPTS": str(self.root / "scripts.json")}}
        document: dict[str, Any] = {
            "default_model": "scripted",
            "models": {"scripted": model | self.settings.get("model", {})},
            "providers": {"script": provider},
            "loop_control": {"retry_first_wait_s": 0.01, "retry_jitter_s": 0} | self.settings.get("loop_control", {}),
            # so that nothing depends on who is faster
            "capture": {"wait_s": 60.0} | self.settings.get("capture", {}),
            "review": {"certain_within": 60.0} | self.settings.get("review", {}),
            "mcp": {"client": {"turn_wait_ms": 60_000, "start_timeout_ms": 60_000}},
        }
        merged = ("model", "loop_control", "capture", "review")
        document |= {key: value for key, value in self.settings.items() if key not in merged}
        (self.root / "config.json").write_text(json.dumps(document))


def make_bench(root: Path, settings: dict[str, Any] | None = None, scripts: Sequence[str] = ()) -> Bench:
    """A bench below `root` with a project of one file."""
    bench = Bench(root, settings or {})
    bench.prepare()
    bench.script(*scripts)
    return bench


def asked(session: Session) -> list[str]:
    """What the model remembers to have been asked."""
    messages = [message for message in messages_of(session) if message.role == "user"]
    return [part.text for message in messages for part in message.content if isinstance(part, TextPart)]


async def refused(session: Session, text: str) -> str:
    """Prompt with a command that cannot do what it says; what it says in the conversation instead."""
    watcher = Watcher(session)
    end = await finish(session, text)
    assert (end.stop_reason, end.error, end.failed) == ("finished", None, True)
    return "".join(part.text for part in watcher.of(TextPart))


async def finish(session: Session, text: str, client: str = "watcher") -> TurnEnd:
    """Prompt and wait for the end of the turn."""
    return await session.turns.prompt(text, client).outcome()
