"""Putting a session together: every service it needs, made once, wired by constructor.

The one place where the parts of the soul meet. Nothing here runs a turn or talks to a client.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from sould.agents.compaction.compactor import Compactor
from sould.agents.config import Config, LoopControl, can_search
from sould.agents.environment import PROVIDER_KEYS, Environment
from sould.agents.hooks.command import HookRunner
from sould.agents.hooks.engine import Hooks
from sould.agents.hooks.project import ProjectHooks
from sould.agents.llm.pool import ProviderPool, key_variables
from sould.agents.llm.provider import ThoughtLevel
from sould.agents.localworkspace import LocalWorkspace
from sould.agents.mcp.pool import McpPool
from sould.agents.mcp.session import Files, SessionServers
from sould.agents.mcp.trusted import TrustedServers
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.rules import Rules
from sould.agents.permissions.trust import TrustStore
from sould.agents.process.commands import CommandRunner
from sould.agents.process.guard import ProcessGuard
from sould.agents.review.blobs import BlobStore
from sould.agents.review.ledger import Ledger
from sould.agents.sessions.agents import DEFAULT, SessionAgent, first_spec, offered_paths, use_model
from sould.agents.sessions.asking import Asker
from sould.agents.sessions.attached import AttachedWorkspace
from sould.agents.sessions.children import labor_market
from sould.agents.sessions.models import SessionModels
from sould.agents.sessions.opening import Opening
from sould.agents.sessions.projects import ProjectMemory
from sould.agents.sessions.state import SessionState, load_state
from sould.agents.sessions.store import SessionStore, StoredSession
from sould.agents.skills.catalog import SkillCatalog
from sould.agents.skills.open import open_catalog
from sould.agents.soul.answer import ModelCaller
from sould.agents.soul.calls import ToolRunner
from sould.agents.soul.catalog import AgentCatalog
from sould.agents.soul.conditions import Situation
from sould.agents.soul.instructions import prompt_arguments, render_prompt
from sould.agents.soul.loop import Soul
from sould.agents.soul.planreminder import PlanReminder
from sould.agents.soul.spec import AgentSpec
from sould.agents.soul.subagents.crew import Crew
from sould.agents.soul.subagents.market import LaborMarket
from sould.agents.soul.usage import Meter
from sould.agents.timetravel.dmail import DenwaRenji, Exchange, Post
from sould.agents.timetravel.machine import TOOL, TimeMachine
from sould.agents.timetravel.rewind import Rewinder
from sould.agents.tools.background import BackgroundTasks
from sould.agents.tools.planmode import PlanMode
from sould.agents.tools.questions import Questions
from sould.agents.tools.session import PromptArguments
from sould.agents.tools.session import Session as ToolSession
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
    mcp: McpPool
    config_dir: Path | None = None
    """Where the user's own agents are, in `agents/`."""
    exchange: Exchange = field(default_factory=Exchange)
    """Through which sessions reach each other."""


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
    skills: SkillCatalog
    questions: Questions
    plan_mode: PlanMode
    hooks: Hooks
    post: Post
    rewinder: Rewinder

    def limits(self) -> LoopControl:
        """Read anew each time, so that a reloaded configuration holds."""
        return self.services.config().loop_control

    def situation(self) -> Situation:
        """What conditional tools are judged by, as things are now."""
        opening = self.opening
        model = frozenset[str](self.models.info.capabilities)
        services = frozenset({"web_search"} if can_search(self.services.config().services) else ())
        return Situation(opening.cwd, self.environment, opening.environment, model, opening.capabilities, services)


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
    agent: SessionAgent
    mcp: SessionServers
    project_hooks: ProjectHooks


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
    skills = await open_catalog(services.trust, services.state_dir, opening, services.config)
    approval = Approval(
        ask=asker,
        rules=services.rules,
        trust=services.trust.state(opening.cwd),
        mode=opening.mode or state.mode or projects.mode(opening.cwd) or config.default_mode or opening.default_mode,
        workspace=opening.cwd,
        additional=opening.additional,
        environment=environment,
        own=services.own,
        readable=(stored.directory / _OUTPUTS, *skills.places),
    )
    project_hooks = ProjectHooks(services.state_dir / "hooks.json", services.trust, opening.cwd)
    usual = projects.mode(opening.cwd) or config.default_mode or opening.default_mode
    shared = Shared(
        services,
        opening,
        stored.info.id,
        stored.directory,
        environment,
        ledger,
        approval,
        models,
        skills,
        Questions(log.channel),
        PlanMode(lambda: approval.mode, log, stored.directory, before="ask" if usual == "plan" else usual),
        make_hooks(services, project_hooks, environment, opening, log, stored),
        services.exchange.open(stored.info.id, opening.cwd),
        Rewinder(log, ledger),
    )
    todos = TodoList(state.todos)
    user_agents = services.config_dir / "agents" if services.config_dir is not None else None
    agents = AgentCatalog(user_agents, opening.cwd, services.trust, services.state_dir / "agents.json")
    name, spec, problem = first_spec(agents, state.agent or DEFAULT)
    if not (opening.model or state.model):
        await use_model(models, spec)
    crew = Crew(labor_market(shared, log, agents, build_soul), log, spec)
    soul = build_soul(shared, spec, log, todos, crew)
    soul.before_step = (*soul.before_step, crew.market.tasks.tell)
    crew.market.meter = soul.model.meter
    agent = SessionAgent(agents, soul, spec, name, shared.situation, partial(system_prompt, shared), crew, problem)
    mcp = SessionServers(services.mcp, mcp_files(shared), log, approval, environment.variables, opening)
    soul.tools.toolset.external = lambda: mcp.tools
    return Parts(log, soul, shared, asker, ledger, clients, state, projects, todos, agent, mcp, project_hooks)


def make_hooks(
    services: HostServices,
    project: ProjectHooks,
    environment: Environment,
    opening: Opening,
    log: SessionLog,
    stored: StoredSession,
) -> Hooks:
    """The user's hooks and the project's, read anew for every event."""
    runner = HookRunner(services.guard, environment, opening.cwd)
    return Hooks(log, runner, stored.info.id, lambda: (*services.config().hooks, *project.hooks()))


def mcp_files(shared: Shared) -> Files:
    """Where the session's MCP servers are configured: a kimi-cli user's file, our own, and the project's."""
    services, environment = shared.services, shared.environment
    share = environment.variables.get("KIMI_SHARE_DIR")
    kimi = (Path(share) if share else environment.home / ".kimi") / "mcp.json"
    own = (services.config_dir / "mcp.json",) if services.config_dir is not None else ()
    accepted = services.state_dir / "mcp-trust.json"
    return Files((kimi, *own), TrustedServers(accepted, services.trust, shared.opening.cwd))


def build_soul(shared: Shared, spec: AgentSpec, log: SessionLog, todos: TodoList, crew: Crew) -> Soul:
    """One agent with its own log, over what its session shares. A new log gets its system prompt.

    Raises:
        ConfigError, InvalidToolError
    """
    phone = crew.phone = shared.post.connect(crew.agent_id, log)
    injectable: dict[Any, object] = {
        DenwaRenji: phone,
        Rewinder: shared.rewinder,
        Workspace: shared.workspace,
        Config: shared.services.config(),
        Approval: shared.approval,
        Environment: shared.environment,
        TodoList: todos,
        Crew: crew,
        LaborMarket: crew.market,
        BackgroundTasks: crew.market.tasks,
        OutputDirectory: OutputDirectory(shared.directory / _OUTPUTS),
        Questions: shared.questions,
        PlanMode: shared.plan_mode,
        ToolSession: ToolSession(shared.session_id, shared.opening.cwd, shared.directory, shared.opening.additional),
        PromptArguments: PromptArguments(lambda: arguments_of(shared, spec)),
    }
    paths, places = offered_paths(spec, shared.situation())
    toolset = Toolset.load(paths, injectable, places)
    if not log.context.system_prompt:
        log.publish(SystemPrompt(text=system_prompt(shared, spec)))
    models = shared.models
    meter = Meter(log)
    compactor = Compactor(
        log,
        lambda: models.provider,
        shared.limits,
        shared.session_id,
        settings=lambda: shared.services.config().compaction,
        tools=lambda: toolset.specs,
        charge=meter.charge,
        hook=shared.hooks.compaction,
    )
    meter.estimate = lambda: compactor.used
    soul = Soul(
        log=log,
        model=ModelCaller(log, models.model, lambda: toolset.specs, shared.limits, meter, shared.session_id),
        tools=ToolRunner(log, toolset, shared.approval, shared.limits, str(shared.opening.cwd), hooks=shared.hooks),
        compactor=compactor,
        limits=shared.limits,
        before_step=(PlanReminder(log, lambda: shared.approval.mode),),
    )
    machine = TimeMachine(phone, shared.rewinder, lambda: toolset.find(TOOL) is not None, lambda: soul.tools.turn_id)
    soul.before_step = (*soul.before_step, machine.before_step)
    soul.after_step = (machine.after_step,)
    return soul


def system_prompt(shared: Shared, spec: AgentSpec) -> str:
    """The spec's prompt with its arguments; frozen in the session's first record."""
    path = spec.fields.system_prompt_path
    return render_prompt(path.read_text(encoding="utf-8"), arguments_of(shared, spec), path)


def arguments_of(shared: Shared, spec: AgentSpec) -> dict[str, str]:
    """What the prompt can use: the builtin arguments and the spec's own."""
    opening, now = shared.opening, datetime.now().astimezone()
    builtin = prompt_arguments(opening.cwd, opening.additional, shared.environment.shell, now, shared.skills.describe())
    return builtin | {"ROLE_ADDITIONAL": ""} | spec.fields.system_prompt_args
