"""Putting a session together: every service it needs, made once, wired by constructor.

The one place where the parts of the soul meet. Nothing here runs a turn or talks to a client.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sould.agents.config import Config, LoopControl
from sould.agents.environment import PROVIDER_KEYS, Environment
from sould.agents.llm.pool import ProviderPool, key_variables
from sould.agents.llm.provider import ThoughtLevel
from sould.agents.localworkspace import LocalWorkspace
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.rules import Rules
from sould.agents.permissions.trust import TrustStore
from sould.agents.process.commands import CommandRunner
from sould.agents.process.guard import ProcessGuard
from sould.agents.review.blobs import BlobStore
from sould.agents.review.ledger import Ledger
from sould.agents.sessions.asking import Asker
from sould.agents.sessions.attached import AttachedWorkspace
from sould.agents.sessions.models import SessionModels
from sould.agents.sessions.opening import Opening
from sould.agents.sessions.projects import ProjectMemory
from sould.agents.sessions.state import SessionState, load_state
from sould.agents.sessions.store import SessionStore, StoredSession
from sould.agents.soul.answer import ModelCaller
from sould.agents.soul.calls import ToolRunner
from sould.agents.soul.compaction import Compactor
from sould.agents.soul.instructions import prompt_arguments, render_prompt
from sould.agents.soul.loop import Soul
from sould.agents.soul.spec import AgentSpec, builtin_spec
from sould.agents.soul.usage import Meter
from sould.agents.tools.shell import OutputDirectory
from sould.agents.tools.todo import TodoList
from sould.agents.tools.toolset import Toolset
from sould.agents.wire.journal import JournalWriter
from sould.agents.wire.log import SessionLog
from sould.agents.wire.messages import SystemPrompt
from sould.agents.workspace import Workspace

_OUTPUTS = "outputs"
"""Below the session's directory: what tools put aside because it was too long for the model."""


@dataclass(frozen=True, slots=True)
class HostServices:
    """What all sessions of a daemon share."""

    store: SessionStore
    writer: JournalWriter
    guard: ProcessGuard
    config: Callable[[], Config]
    providers: ProviderPool
    trust: TrustStore
    rules: Callable[[], Rules]
    state_dir: Path
    own: tuple[Path, ...]
    """The daemon's own directories, which no session may touch."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What all agents of one session share, the root agent and its subagents."""

    services: HostServices
    opening: Opening
    session_id: str
    directory: Path
    environment: Environment
    workspace: Workspace
    approval: Approval
    models: SessionModels

    def limits(self) -> LoopControl:
        """Read anew each time, so that a reloaded configuration holds."""
        return self.services.config().loop_control


@dataclass(slots=True)
class Parts:
    """What a session is made of."""

    log: SessionLog
    soul: Soul
    shared: Shared
    asker: Asker
    ledger: Ledger
    clients: AttachedWorkspace
    state: SessionState
    projects: ProjectMemory
    todos: TodoList


async def compose(services: HostServices, stored: StoredSession, log: SessionLog, opening: Opening) -> Parts:
    """Build the session's services; a new session gets its system prompt here.

    Raises:
        NoModelError, ConfigError, InvalidToolError
    """
    config = services.config()
    state = load_state(stored.directory)
    projects = ProjectMemory(services.state_dir / "projects.json")
    environment = Environment(
        opening.environment,
        provider_keys=PROVIDER_KEYS | key_variables(config),
        pass_keys=config.environment.pass_keys,
    )
    thinking: ThoughtLevel = state.thought_level or ("medium" if config.default_thinking else "off")
    models = await SessionModels.open(services.providers, opening.environment, opening.model or state.model, thinking)
    runner = CommandRunner(services.guard, environment)
    clients = AttachedWorkspace(LocalWorkspace(opening.cwd, opening.additional, runner.run))
    blobs = BlobStore(services.state_dir / "blobs")
    ledger = await Ledger.open(stored.directory / "ledger.jsonl", clients, blobs, stored.info.id)
    asker = Asker(log)
    approval = Approval(
        ask=asker,
        rules=services.rules,
        trust=services.trust.state(opening.cwd),
        mode=opening.mode or state.mode or projects.mode(opening.cwd) or config.default_mode or opening.default_mode,
        workspace=opening.cwd,
        additional=opening.additional,
        environment=environment,
        own=services.own,
        readable=(stored.directory / _OUTPUTS,),
    )
    shared = Shared(services, opening, stored.info.id, stored.directory, environment, ledger, approval, models)
    todos = TodoList(state.todos)
    soul = build_soul(shared, builtin_spec("default"), log, todos)
    return Parts(log, soul, shared, asker, ledger, clients, state, projects, todos)


def build_soul(shared: Shared, spec: AgentSpec, log: SessionLog, todos: TodoList) -> Soul:
    """One agent with its own log, over what its session shares. A new log gets its system prompt.

    Raises:
        ConfigError, InvalidToolError
    """
    injectable: dict[Any, object] = {
        Workspace: shared.workspace,
        Config: shared.services.config(),
        Approval: shared.approval,
        Environment: shared.environment,
        TodoList: todos,
        OutputDirectory: OutputDirectory(shared.directory / _OUTPUTS),
    }
    toolset = Toolset.load(spec.tools, injectable)
    if not log.context.system_prompt:
        log.publish(SystemPrompt(text=system_prompt(spec, shared.opening, shared.environment)))
    models = shared.models
    return Soul(
        log=log,
        model=ModelCaller(log, models.model, lambda: toolset.specs, shared.limits, Meter(log), shared.session_id),
        tools=ToolRunner(log, toolset, shared.approval, shared.limits, str(shared.opening.cwd)),
        compactor=Compactor(log, lambda: models.provider, shared.limits, shared.session_id),
        limits=shared.limits,
    )


def system_prompt(spec: AgentSpec, opening: Opening, environment: Environment) -> str:
    """The spec's prompt with its arguments; frozen in the session's first record."""
    now = datetime.now().astimezone()
    arguments = prompt_arguments(opening.cwd, opening.additional, environment.shell, now) | spec.system_prompt_args
    template = spec.system_prompt_path.read_text(encoding="utf-8")
    return render_prompt(template, arguments, spec.system_prompt_path)
