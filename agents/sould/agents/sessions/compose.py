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
from sould.agents.opening.attachedclients import AttachedClients
from sould.agents.opening.opening import Opening
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.permissions.policy import Mode
from sould.agents.permissions.policycontext import SecretNames
from sould.agents.process.commands import CommandRunner
from sould.agents.projects.capture import Capture
from sould.agents.projects.clientfiles import ClientFiles
from sould.agents.projects.sessionfiles import Author, SessionFiles
from sould.agents.sessionlog.log import SessionLog
from sould.agents.sessions.children import labor_market
from sould.agents.sessions.shared import HostServices, Shared
from sould.agents.sessions.souls import OUTPUTS, build_soul, system_prompt
from sould.agents.settings.agents import DEFAULT, AgentOption, SessionAgent, first_spec, missing_model, use_model
from sould.agents.settings.awaymode import AwayMode
from sould.agents.settings.budgets import Budgets, DailySpend
from sould.agents.settings.directories import Directories
from sould.agents.settings.loopoption import LoopOption
from sould.agents.settings.modeloptions import model_options
from sould.agents.settings.models import SessionModels
from sould.agents.settings.modes import Modes, usual_mode
from sould.agents.settings.modeswitch import ModeSwitch
from sould.agents.settings.options import SessionOptions
from sould.agents.settings.projectmemory import ProjectMemory
from sould.agents.settings.state import SessionState, load_state
from sould.agents.settings.trusting import TrustQuestion
from sould.agents.skills.open import open_catalog
from sould.agents.soul.catalog import AgentCatalog
from sould.agents.soul.loop import Soul, StepExtension
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
    files: SessionFiles
    clients: ClientFiles
    attached: AttachedClients
    options: SessionOptions
    mode_switch: ModeSwitch
    repeats: LoopOption
    state: SessionState
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
    state = load_state(stored.directory)
    projects = ProjectMemory(services.state_dir / "projects.json")
    directories = Directories(opening.cwd, (*opening.additional, *map(Path, log.context.directories)))
    environment = make_environment(services.config.now, opening, directories)
    models = await open_models(services, state, opening)
    clients = ClientFiles(local_workspace(services, opening, directories, environment), services.projects.buffers)
    asker = ApprovalRequester(log)
    skills = await open_catalog(services.trust, opening, services.config)
    modes = make_modes(services.config.now, projects.mode(opening.cwd), state, opening, new=not stored.info.turns)
    attached, options = AttachedClients(), SessionOptions(log, state, stored.directory)
    switch = ModeSwitch(modes, state, log, AwayMode(log.channel, modes), options, attached, projects, stored.info.cwd)
    readable = (stored.directory / OUTPUTS, *skills.places)
    approval = make_approval(services, asker, modes, opening.cwd, directories, environment, readable)
    files = await open_files(services, stored, clients, environment, approval)
    project_hooks = ProjectHooks(services.state_dir / "hooks.json", services.trust, opening.cwd)
    mailbox = services.dmail.open(stored.info.id, opening.cwd)
    shared = Shared(
        services,
        opening,
        directories,
        stored.info.id,
        stored.directory,
        environment,
        CallFiles(files, approval, services.projects.locks),
        approval,
        models,
        skills,
        Questions(log.channel),
        PlanMode(switch, log, stored.directory),
        make_hooks(services, project_hooks, environment, opening, log, stored),
        mailbox,
        Rewinder(log, files, mailbox),
        modes,
        make_budgets(services, log, state),
    )
    todos = TodoList(state.todos)
    hooks, external = SessionHooks(shared.hooks, project_hooks), ExternalTools(log, approval)
    agent = await make_agent(shared, log, state, todos, (external, hooks))
    repeats = LoopOption(services.config, state, options)
    options.offer(switch, *model_options(models, state), AgentOption(agent, models, state), repeats)
    return Parts(
        log=log,
        soul=agent.soul,
        shared=shared,
        asker=asker,
        files=files,
        clients=clients,
        attached=attached,
        options=options,
        mode_switch=switch,
        repeats=repeats,
        state=state,
        todos=todos,
        agent=agent,
        mcp=make_servers(shared, log, agent, replace(opening, additional=tuple(directories)), external),
        external=external,
        hooks=hooks,
        trusting=TrustQuestion(services.trust, opening.cwd, stored.directory.parent, log, shared.questions),
    )


async def open_models(services: HostServices, state: SessionState, opening: Opening) -> SessionModels:
    """The models of the client's environment, and the one the user chose. Raises NoModelError."""
    thinking: ThoughtLevel = state.thought_level or ("medium" if services.config.now.default_thinking else "off")
    return await SessionModels.open(services.providers, opening.environment, opening.model or state.model, thinking)


def local_workspace(
    services: HostServices, opening: Opening, directories: Directories, environment: Environment
) -> LocalWorkspace:
    """The disk, and commands under the daemon's guard."""
    runner = CommandRunner(services.guard, environment)
    return LocalWorkspace(opening.cwd, directories, runner.run, environment.home, umask=opening.umask)


async def make_agent(
    shared: Shared, log: SessionLog, state: SessionState, todos: TodoList, extensions: tuple[StepExtension, ...]
) -> SessionAgent:
    """The session's agent, with its model where the user chose none."""
    models, opening = shared.models, shared.opening
    agents = _catalog(shared.services, opening, state)
    name, spec, problem = first_spec(agents, state.agent or DEFAULT)
    if not (opening.model or state.model):
        await use_model(models, spec)
    crew = Crew(labor_market(shared, log, agents), log, spec)
    soul = build_soul(shared, spec, log, todos, crew, (TaskReminder(crew.market.tasks), *extensions))
    crew.market.meter = meter = soul.model.meter
    shared.budgets.cost = lambda: meter.cost
    agent = SessionAgent(agents, soul, spec, name, shared.situation, partial(system_prompt, shared), crew, problem)
    agent.missing = partial(missing_model, models)
    return agent


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


async def open_files(
    services: HostServices,
    stored: StoredSession,
    clients: ClientFiles,
    environment: Environment,
    approval: Approval,
) -> SessionFiles:
    """What the session's agents change, also by the programs they run."""
    author = Author(stored.info.id, stored.directory, environment.home, approval, environment.umask)
    files = await SessionFiles.open(clients, services.projects, author)
    files.capture = Capture(
        files,
        services.projects.store,
        stored.info.id,
        stored.directory,
        environment.variables,
        services.own,
        services.writers,
        services.config.now.capture,
        approval,
    )
    return files


def make_modes(config: Config, remembered: Mode | None, state: SessionState, opening: Opening, *, new: bool) -> Modes:
    """The mode a session begins or goes on with. `remembered` is what was chosen last in its project."""
    usual = usual_mode(config, remembered, opening.default_mode)
    first: Mode = "plan" if config.default_plan_mode and new else usual
    return Modes(opening.mode or state.mode or first, usual)


def make_budgets(services: HostServices, log: SessionLog, state: SessionState) -> Budgets:
    """The budgets of the session and of the day."""
    book = DailySpend(services.state_dir / "spending.json")
    return Budgets(log.channel, state.account, book, lambda: services.config.now.budget)


def make_approval(
    services: HostServices,
    asker: ApprovalRequester,
    modes: Modes,
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
        modes=modes,
        workspace=workspace,
        additional=directories,
        environment=environment,
        own=services.own,
        readable=readable,
        secret_names=lambda: _secret_names(services.config.now),
    )


def _secret_names(config: Config) -> SecretNames:
    return SecretNames(config.secrets.certain, config.secrets.likely)


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


def make_servers(
    shared: Shared, log: SessionLog, agent: SessionAgent, opening: Opening, external: ExternalTools
) -> SessionServers:
    """The session's MCP servers; its agent and those it starts have their tools, as far as each one's file allows.

    Behind them come the tools that clients run.
    """
    soul, variables = agent.soul, shared.environment.variables
    files = mcp_files(shared)
    mcp = SessionServers(
        shared.services.mcp, files, log, shared.approval, variables, opening, Sampler(soul.model, shared.budgets.allow)
    )
    shared.sources.add(mcp)
    shared.sources.add(external)
    return mcp


def mcp_files(shared: Shared) -> Files:
    """Where the session's MCP servers are configured: a kimi-cli user's file, our own, and the project's."""
    services, environment = shared.services, shared.environment
    share = environment.variables.get("KIMI_SHARE_DIR")
    kimi = (Path(share) if share else environment.home / ".kimi") / "mcp.json"
    own = (services.config_dir / "mcp.json",) if services.config_dir is not None else ()
    return Files((kimi, *own), TrustedServers(services.trust, shared.opening.cwd))
