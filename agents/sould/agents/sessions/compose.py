"""Putting a session together: every service it needs, made once, wired by constructor.

The one place where the parts of a session meet. Nothing here runs a turn or talks to a client.
"""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from sould.agents.config import Config
from sould.agents.environment import PROVIDER_KEYS, Environment
from sould.agents.external.registry import ExternalTools
from sould.agents.hooks.command import HookRunner
from sould.agents.hooks.engine import Hooks
from sould.agents.hooks.project import ProjectHooks
from sould.agents.llm.pool import key_variables
from sould.agents.llm.provider import ThoughtLevel
from sould.agents.localworkspace import LocalWorkspace
from sould.agents.mcp.sampling import Sampler
from sould.agents.mcp.session import Files, SessionServers
from sould.agents.mcp.trusted import TrustedServers
from sould.agents.opening.opening import Opening
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.permissions.policy import Mode
from sould.agents.permissions.policycontext import SecretNames
from sould.agents.process.commands import CommandRunner
from sould.agents.projects.authors import LEDGER
from sould.agents.projects.blobs import BlobStore
from sould.agents.projects.capture import Capture
from sould.agents.projects.ledger import Ledger
from sould.agents.sessionlog.log import SessionLog
from sould.agents.sessions.attached import AttachedWorkspace
from sould.agents.sessions.children import labor_market
from sould.agents.sessions.shared import HostServices, Shared
from sould.agents.sessions.souls import OUTPUTS, build_soul, system_prompt
from sould.agents.settings.agents import DEFAULT, SessionAgent, first_spec, missing_model, use_model
from sould.agents.settings.awaymode import AwayMode
from sould.agents.settings.budgets import Budgets, DailySpend
from sould.agents.settings.directories import Directories
from sould.agents.settings.models import SessionModels
from sould.agents.settings.projectmemory import ProjectMemory
from sould.agents.settings.state import SessionState, load_state
from sould.agents.settings.trusting import TrustQuestion
from sould.agents.skills.open import open_catalog
from sould.agents.soul.catalog import AgentCatalog
from sould.agents.soul.loop import Soul
from sould.agents.soul.reminders import TaskReminder
from sould.agents.soul.subagents.crew import Crew
from sould.agents.store.store import StoredSession
from sould.agents.timetravel.rewind import Rewinder
from sould.agents.toolapi.questions import Questions
from sould.agents.tools.planmode import PlanMode
from sould.agents.tools.todo import TodoList
from sould.agents.turns.asking import ApprovalRequester
from sould.agents.turns.hooking import SessionHooks


@dataclass(slots=True)
class Parts:
    """What a session is made of."""

    log: SessionLog
    soul: Soul
    shared: Shared
    asker: ApprovalRequester
    ledger: Ledger
    clients: AttachedWorkspace
    state: SessionState
    projects: ProjectMemory
    todos: TodoList
    agent: SessionAgent
    mcp: SessionServers
    external: ExternalTools
    hooks: SessionHooks
    trusting: TrustQuestion


async def compose(services: HostServices, stored: StoredSession, log: SessionLog, opening: Opening) -> Parts:
    """Build the session's services; a new session gets its system prompt here.

    Raises:
        NoModelError, ConfigError, InvalidToolError
    """
    config = services.config.now
    state = load_state(stored.directory)
    projects = ProjectMemory(services.state_dir / "projects.json")
    directories = Directories(opening.cwd, (*opening.additional, *map(Path, log.context.directories)))
    environment = make_environment(config, opening, directories)
    thinking: ThoughtLevel = state.thought_level or ("medium" if config.default_thinking else "off")
    models = await SessionModels.open(services.providers, opening.environment, opening.model or state.model, thinking)
    runner = CommandRunner(services.guard, environment)
    local = LocalWorkspace(opening.cwd, directories, runner.run, environment.home, umask=opening.umask)
    clients = AttachedWorkspace(local)
    asker = ApprovalRequester(log)
    skills = await open_catalog(services.trust, opening, services.config)
    usual = usual_mode(config, projects, opening)
    first: Mode = "plan" if config.default_plan_mode and not stored.info.turns else usual
    away_mode = AwayMode(log.channel)
    readable = (stored.directory / OUTPUTS, *skills.places)
    mode = opening.mode or state.mode or first
    approval = make_approval(services, asker, mode, opening.cwd, directories, environment, readable)
    ledger = await open_ledger(services, stored, clients, environment, approval)
    project_hooks = ProjectHooks(services.state_dir / "hooks.json", services.trust, opening.cwd)
    mailbox = services.dmail.open(stored.info.id, opening.cwd)
    shared = Shared(
        services,
        opening,
        directories,
        stored.info.id,
        stored.directory,
        environment,
        CallFiles(ledger, approval, services.file_locks),
        approval,
        models,
        skills,
        Questions(log.channel),
        plan_mode(approval, log, stored.directory, usual, away_mode),
        make_hooks(services, project_hooks, environment, opening, log, stored),
        mailbox,
        Rewinder(log, ledger, mailbox),
        away_mode,
        make_budgets(services, log, state),
    )
    todos = TodoList(state.todos)
    agents = _catalog(services, opening, state)
    name, spec, problem = first_spec(agents, state.agent or DEFAULT)
    if not (opening.model or state.model):
        await use_model(models, spec)
    crew = Crew(labor_market(shared, log, agents), log, spec)
    hooks, external = SessionHooks(shared.hooks, project_hooks), ExternalTools(log, approval)
    soul = build_soul(shared, spec, log, todos, crew, (TaskReminder(crew.market.tasks), external, hooks))
    crew.market.meter = meter = soul.model.meter
    shared.budgets.cost = lambda: meter.cost
    agent = SessionAgent(agents, soul, spec, name, shared.situation, partial(system_prompt, shared), crew, problem)
    agent.missing = partial(missing_model, models)
    mcp = make_servers(shared, log, agent, replace(opening, additional=tuple(directories)))
    shared.sources.add(external)
    trusting = TrustQuestion(services.trust, opening.cwd, stored.directory.parent, log, shared.questions)
    return Parts(
        log, soul, shared, asker, ledger, clients, state, projects, todos, agent, mcp, external, hooks, trusting
    )


def make_environment(config: Config, opening: Opening, directories: Directories) -> Environment:
    """What the session's commands see: the client's own, without the keys of providers."""
    return Environment(
        opening.environment,
        provider_keys=PROVIDER_KEYS | key_variables(config),
        pass_keys=config.environment.pass_keys,
        outside=(opening.cwd, *directories),
        umask=opening.umask,
    )


def _catalog(services: HostServices, opening: Opening, state: SessionState) -> AgentCatalog:
    folder = services.config_dir and services.config_dir / "agents"
    return AgentCatalog(folder, opening.cwd, services.trust, state.agent_files)


async def open_ledger(
    services: HostServices,
    stored: StoredSession,
    clients: AttachedWorkspace,
    environment: Environment,
    approval: Approval,
) -> Ledger:
    """What the session's agents change, also by the programs they run."""
    blobs = BlobStore(services.state_dir / "blobs", services.secret_blobs)
    file = stored.directory / LEDGER
    ledger = await Ledger.open(file, clients, blobs, stored.info.id, approval, environment.umask, services.file_locks)
    ledger.capture = Capture(
        ledger.note,
        lambda: ledger.next_n,
        blobs,
        stored.info.id,
        lambda: (clients.root, *clients.additional),
        stored.directory,
        environment.variables,
        services.own,
        services.writers,
        services.config.now.capture,
        approval,
    )
    return ledger


def usual_mode(config: Config, projects: ProjectMemory, opening: Opening) -> Mode:
    """The mode of a session whose user has not said otherwise: what they chose last here, else what they configured."""
    configured = config.default_mode or ("full" if config.default_yolo else None)
    return projects.mode(opening.cwd) or configured or opening.default_mode


def make_budgets(services: HostServices, log: SessionLog, state: SessionState) -> Budgets:
    """The budgets of the session and of the day."""
    book = DailySpend(services.state_dir / "spending.json")
    return Budgets(log.channel, state.account, book, lambda: services.config.now.budget)


def make_approval(
    services: HostServices,
    asker: ApprovalRequester,
    mode: Mode,
    workspace: Path,
    directories: Directories,
    environment: Environment,
    readable: tuple[Path, ...],
) -> Approval:
    """The session's one door to effects, with the user's rules and trust."""
    return Approval(
        ask=asker,
        rules=services.rules,
        trust=services.trust.state(workspace),
        mode=mode,
        workspace=workspace,
        additional=directories,
        environment=environment,
        own=services.own,
        readable=readable,
        secret_names=lambda: _secret_names(services.config.now),
    )


def _secret_names(config: Config) -> SecretNames:
    return SecretNames(config.secrets.certain, config.secrets.likely)


def plan_mode(approval: Approval, log: SessionLog, directory: Path, usual: Mode, away_mode: AwayMode) -> PlanMode:
    """Planning, which ends in the usual mode."""
    before: Mode = "ask" if usual == "plan" else usual
    return PlanMode(lambda: approval.mode, log, directory, before=before, away=lambda: away_mode.away)


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
    return Hooks(log, runner, stored.info.id, lambda: (*services.config.now.hooks, *project.hooks()))


def make_servers(shared: Shared, log: SessionLog, agent: SessionAgent, opening: Opening) -> SessionServers:
    """The session's MCP servers; its agent and those it starts have their tools, as far as each one's file allows."""
    soul, variables = agent.soul, shared.environment.variables
    files = mcp_files(shared)
    mcp = SessionServers(
        shared.services.mcp, files, log, shared.approval, variables, opening, Sampler(soul.model, shared.budgets.allow)
    )
    shared.sources.add(mcp)
    return mcp


def mcp_files(shared: Shared) -> Files:
    """Where the session's MCP servers are configured: a kimi-cli user's file, our own, and the project's."""
    services, environment = shared.services, shared.environment
    share = environment.variables.get("KIMI_SHARE_DIR")
    kimi = (Path(share) if share else environment.home / ".kimi") / "mcp.json"
    own = (services.config_dir / "mcp.json",) if services.config_dir is not None else ()
    return Files((kimi, *own), TrustedServers(services.trust, shared.opening.cwd))
