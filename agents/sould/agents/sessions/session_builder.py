"""Putting a session together: every service it needs, made once, wired by constructor.

The one place where the parts of a session meet. Nothing here runs a turn or talks to a client.
"""

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.config import Config
from sould.agents.base.environment import Environment
from sould.agents.base.errors import SessionNotFoundError
from sould.agents.base.liveconfig import LiveConfig
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.base.process.commands import CommandRunner
from sould.agents.base.process.guard import ProcessGuard
from sould.agents.files.directories.checkouts import linked_worktree
from sould.agents.files.projects.capture import Capture
from sould.agents.files.projects.clientfiles import ClientFiles
from sould.agents.files.projects.findingwords import FindingWords
from sould.agents.files.projects.lookedat import LookedAt
from sould.agents.files.projects.othersessions import OtherSessions
from sould.agents.files.projects.sessionfiles import Author, SessionFiles
from sould.agents.files.reviewing.settlerule import certain_within
from sould.agents.journal.log import SessionLog
from sould.agents.llm.costs import Costs
from sould.agents.llm.pool import ProviderPool, key_variables
from sould.agents.llm.provider import ThoughtLevel
from sould.agents.mcp.sampling import Sampler
from sould.agents.mcp.session import Files, SessionServers
from sould.agents.mcp.trusted import TrustedServers
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.permissions.lasting import Lasting
from sould.agents.permissions.policy import Mode
from sould.agents.permissions.policycontext import PolicyContext, SecretNames
from sould.agents.permissions.protected import account_places
from sould.agents.permissions.questions import Questions
from sould.agents.permissions.trust import TrustStore
from sould.agents.sessions.children import FOLDER, SessionSubagents
from sould.agents.sessions.operations.applying import Applying
from sould.agents.sessions.operations.committing import Committing
from sould.agents.sessions.operations.context import ModelContext
from sould.agents.sessions.operations.directories import AddedDirectories
from sould.agents.sessions.operations.reviews import SessionReview
from sould.agents.sessions.operations.sharing import Sharing
from sould.agents.sessions.operations.travel import TimeTravel
from sould.agents.sessions.services import (
    HostServices,
    Permission,
    Policy,
    SessionServices,
    UserConfiguration,
    WorkFiles,
)
from sould.agents.sessions.settings.agents import DEFAULT, AgentOption, SessionAgent, first_spec, use_model
from sould.agents.sessions.settings.awaymode import AwayMode
from sould.agents.sessions.settings.budgets import Budgets, DailySpend
from sould.agents.sessions.settings.directories import Directories
from sould.agents.sessions.settings.loopoption import LoopOption
from sould.agents.sessions.settings.modeloptions import model_options
from sould.agents.sessions.settings.models import SessionModels
from sould.agents.sessions.settings.modeluse import ModelUse
from sould.agents.sessions.settings.modes import Modes, usual_mode
from sould.agents.sessions.settings.modeswitch import ModeSwitch
from sould.agents.sessions.settings.options import SessionOptions
from sould.agents.sessions.settings.presence import UserPresence
from sould.agents.sessions.settings.projectkey import project_key
from sould.agents.sessions.settings.projectmemory import ProjectMemory
from sould.agents.sessions.settings.state import SessionState, load_state
from sould.agents.sessions.settings.trusting import TrustQuestion
from sould.agents.sessions.settings.workspace_info import Workplace
from sould.agents.sessions.souls import OUTPUTS, build_soul
from sould.agents.sessions.store.entry import SessionEntry
from sould.agents.sessions.store.store import SessionStore, StoredSession
from sould.agents.sessions.turns.approval_requests import ApprovalRequester
from sould.agents.sessions.turns.hooking import SessionHooks
from sould.agents.soul.attachedclients import AttachedClients
from sould.agents.soul.catalog import AgentCatalog
from sould.agents.soul.change_capture import LateNotices
from sould.agents.soul.dmail.dmail import Mailbox
from sould.agents.soul.hooks.command import HookRunner
from sould.agents.soul.hooks.engine import Hooks
from sould.agents.soul.hooks.project import ProjectHooks
from sould.agents.soul.loop import StepExtension
from sould.agents.soul.reminders import TaskReminder
from sould.agents.soul.session_request import SessionRequest
from sould.agents.soul.skills.open import open_catalog
from sould.agents.soul.subagents.crew import Crew
from sould.agents.soul.subagents.market import LaborMarket
from sould.agents.soul.timetravel.rewind import Rewinder
from sould.agents.toolapi.background import BackgroundTasks, IdleListener
from sould.agents.tools.editor.newproblems import NewProblems
from sould.agents.tools.editor.site import Site
from sould.agents.tools.editor.source import EditorTools
from sould.agents.tools.external.registry import ExternalTools
from sould.agents.tools.planmode import PlanMode
from sould.agents.tools.todo import TodoList


class Choices(Struct, frozen=True):
    """What the user of a session has chosen, and can choose."""

    state: SessionState
    options: SessionOptions
    mode_switch: ModeSwitch
    repeats: LoopOption
    trusting: TrustQuestion


class FurtherTools(Struct, frozen=True):
    """Where tools come from that are none of the agent's own."""

    mcp: SessionServers
    clients: ExternalTools


class Operations(Struct, frozen=True):
    """What can be done with a session that is no turn."""

    travel: TimeTravel
    context: ModelContext
    sharing: Sharing
    directories: AddedDirectories
    review: SessionReview
    applying: Applying
    committing: Committing


class Parts(Struct, frozen=True):
    """What a session is made of: what its agents share, its own agent, and what takes part in its turns."""

    services: SessionServices
    log: SessionLog
    entry: SessionEntry
    operations: Operations
    attached: AttachedClients
    choices: Choices
    agent: SessionAgent
    todos: TodoList
    further: FurtherTools
    hooks: SessionHooks


async def compose(
    host: HostServices,
    stored: StoredSession,
    log: SessionLog,
    opening: SessionRequest,
    listener: IdleListener,
    opened: AsyncExitStack,
) -> Parts:
    """Build the session's services; a new session gets its system prompt here.

    `listener` hears of its background tasks; `opened` closes what was opened when it fails.

    Raises:
        ConfigError, InvalidToolError
    """
    state = load_state(stored.directory)
    trust = host.policy.trust.of_session(stored.directory, opening.environment)
    if opening.restricted is not None:
        trust.restrict(opening.restricted)
    host = replace(host, policy=replace(host.policy, trust=trust))
    storage, configuration, policy = host.storage, host.configuration, host.policy
    workplace = await make_workplace(configuration.live, policy, opening, log)
    costs = Costs()
    models = await open_models(host.models.providers, configuration.live.now, state, opening)
    model = ModelUse(models, costs, make_budgets(storage.directory, configuration.live, log, state, costs))
    attached, options = AttachedClients(), SessionOptions(log, state, stored.directory)
    projects = project_memory(host)
    modes = make_modes(configuration.live.now, projects.mode(opening.cwd), state, opening, new=not stored.info.turns)
    switch = ModeSwitch(modes, state, log, AwayMode(log.channel, modes), options, attached, projects, stored.info.cwd)
    permission = make_permission(host, stored, log, workplace, switch, UserPresence(attached, modes))
    mailbox = host.dmail.open(stored.info.id, stored.info.directory)
    files = await open_files(host, stored, log, workplace, permission, mailbox)
    opened.push_async_callback(files.recorded.aclose)
    project_hooks = ProjectHooks(storage.directory / "hooks.json", policy.trust, opening.cwd)
    runner = HookRunner(host.guard, workplace.environment, opening.cwd)
    hooks = make_hooks(configuration.live, runner, project_hooks, log, stored)
    services = SessionServices(host, stored, workplace, files, permission, model, hooks, mailbox)
    todos = TodoList(state.todos)
    session_hooks, external = SessionHooks(hooks, project_hooks), ExternalTools(log, permission.approval)
    agent = await make_agent(services, log, state, todos, (external, session_hooks), listener)
    repeats = LoopOption(configuration.live, state, options)
    options.offer(switch, *model_options(models, state), AgentOption(agent, models, state), repeats)
    sessions = stored.directory.parent
    trusting = TrustQuestion(trust, opening.cwd, sessions, log, permission.questions, policy.changes)
    entry = SessionEntry(stored.info, host.storage.store, log)
    further = FurtherTools(make_servers(services, log, agent, external), external)
    return Parts(
        services,
        log,
        entry,
        make_operations(services, log, entry, agent, further.mcp),
        attached,
        Choices(state, options, switch, repeats, trusting),
        agent,
        todos,
        further,
        session_hooks,
    )


def make_operations(
    services: SessionServices, log: SessionLog, entry: SessionEntry, agent: SessionAgent, mcp: SessionServers
) -> Operations:
    """What can be done with the session that is no turn."""
    workplace, compactor = services.workplace, agent.soul.compactor
    context = ModelContext(log, compactor, mcp)
    disk = services.files.clients.disk
    return Operations(
        TimeTravel(log, services.files.rewinder, compactor),
        context,
        Sharing(services.stored, services.host.storage.store, context, disk, services.permission.approval),
        AddedDirectories(log, entry, workplace.directories, workplace.environment.home, agent, mcp, context),
        SessionReview(services.stored.info.id, workplace.opening.cwd, services.files.recorded, log),
        Applying(services.files.judged, services.permission.approval, context),
        Committing(
            workplace.opening.cwd,
            services.files.recorded,
            services.permission.approval,
            workplace.environment.variables,
        ),
    )


async def make_workplace(config: LiveConfig, policy: Policy, opening: SessionRequest, log: SessionLog) -> Workplace:
    """Where the session works, with the directories that were added to it."""
    directories = Directories(opening.cwd, (*opening.additional, *map(Path, log.context.directories)))
    environment = make_environment(config.now, opening, directories)
    skills = await open_catalog(policy.trust, opening, config, policy.changes)
    return Workplace(opening, directories, environment, skills, config, policy.trust)


async def open_models(
    providers: ProviderPool, config: Config, state: SessionState, opening: SessionRequest
) -> SessionModels:
    """The models of the client's environment, and the one the user chose."""
    thinking: ThoughtLevel = state.thought_level or ("medium" if config.default_thinking else "off")
    return await SessionModels.open(providers, opening.environment, opening.model or state.model, thinking)


def make_permission(
    host: HostServices,
    stored: StoredSession,
    log: SessionLog,
    workplace: Workplace,
    switch: ModeSwitch,
    presence: UserPresence,
) -> Permission:
    """What the session may do unasked, and how its user is asked."""
    asker = ApprovalRequester(log)
    readable = (stored.directory / OUTPUTS, *workplace.skills.places)
    approval = make_approval(host, asker, presence.modes, workplace, readable)
    plan_mode = PlanMode(switch, log, stored.directory)
    return Permission(approval, asker, presence.modes, plan_mode, Questions(log.channel), presence)


def local_workspace(guard: ProcessGuard, workplace: Workplace) -> LocalWorkspace:
    """The disk, and commands under the daemon's guard."""
    opening, environment = workplace.opening, workplace.environment
    runner = CommandRunner(guard, environment)
    return LocalWorkspace(opening.cwd, workplace.directories, runner.run, environment.home, umask=opening.umask)


async def make_agent(
    services: SessionServices,
    log: SessionLog,
    state: SessionState,
    todos: TodoList,
    extensions: tuple[StepExtension, ...],
    listener: IdleListener,
) -> SessionAgent:
    """The session's agent, with its model where the user chose none."""
    models, opening = services.model.models, services.workplace.opening
    agents = _catalog(services.host, opening, state)
    name, spec, problem = await asyncio.to_thread(first_spec, agents, state.agent or DEFAULT)
    if not (opening.model or state.model):
        await use_model(models, spec)
    market = make_market(
        services, log, agents, BackgroundTasks(log, services.directory, services.host.configuration.live, listener)
    )
    crew = Crew(market, log, spec, services.mailbox.connect("", log))
    extensions = (TaskReminder(market.tasks), *extensions)
    soul = build_soul(services, spec, log, todos, crew, extensions, services.permission.presence)
    return SessionAgent(agents, soul, spec, name, services.workplace, models, crew, problem)


def make_market(
    services: SessionServices, log: SessionLog, catalog: AgentCatalog, tasks: BackgroundTasks
) -> LaborMarket:
    """The subagents of the session."""
    return LaborMarket(
        log=log,
        directory=services.directory / FOLDER,
        config=services.host.configuration.live,
        catalog=catalog,
        builder=SessionSubagents(services),
        tasks=tasks,
        hooks=services.hooks,
        sources=services.sources,
    )


def make_environment(config: Config, opening: SessionRequest, directories: Directories) -> Environment:
    """What the session's commands see: the client's own, without the keys of providers."""
    return Environment(
        opening.environment,
        provider_keys=key_variables(config),
        pass_keys=config.environment.pass_keys,
        outside=(opening.cwd, *directories),
        umask=opening.umask,
    )


def _catalog(host: HostServices, opening: SessionRequest, state: SessionState) -> AgentCatalog:
    folder = host.configuration.directory / "agents"
    return AgentCatalog(folder, opening.cwd, host.policy.trust, state.agent_files)


async def open_files(
    host: HostServices,
    stored: StoredSession,
    log: SessionLog,
    workplace: Workplace,
    permission: Permission,
    mailbox: Mailbox,
) -> WorkFiles:
    """What the session's agents open and change, also by the programs they run."""
    environment, projects = workplace.environment, host.files.projects
    clients = ClientFiles(local_workspace(host.guard, workplace), projects.buffers)
    temporary = environment.variables.get("TMPDIR", "")
    author = Author(
        stored.info.id, stored.directory, environment.home, permission.approval, environment.umask, temporary
    )
    files = await SessionFiles.open(clients, projects, author)
    limits, names = host.configuration.live.now.capture, partial(_session_name, host.storage.store)
    looked_at = LookedAt(
        projects, stored.directory, environment.variables, host.policy.own, limits, permission.approval
    )
    words = FindingWords(files, stored.info.id, limits.max_files, names)
    is_certain_within = partial(certain_within, host.configuration.live)
    capture = Capture(stored.info.id, files, looked_at, words, host.files.writers, is_certain_within)
    capture.tell(LateNotices(log))
    files.watch(capture)
    others = OtherSessions(stored.info.id, files, names, permission.presence, projects.at_work)
    site = partial(_site, workplace, permission.approval, clients, stored.info.id)
    problems = NewProblems(host.editors, site, files)
    judged = CallFiles(files, permission.approval, projects.locks, looks=files.untold, others=others, problems=problems)
    return WorkFiles(judged, files, clients, Rewinder(log, files, mailbox), others)


def _session_name(store: SessionStore, session_id: str) -> str:
    """What people call a session. Blocks."""
    try:
        return store.find(session_id).info.title or session_id
    except SessionNotFoundError:
        return session_id


def make_modes(
    config: Config, remembered: Mode | None, state: SessionState, opening: SessionRequest, *, new: bool
) -> Modes:
    """The mode a session begins or goes on with. `remembered` is what was chosen last in its project."""
    usual = usual_mode(config, remembered, opening.default_mode)
    first: Mode = "plan" if config.default_plan_mode and new else usual
    return Modes(opening.mode or state.mode or first, usual)


def make_budgets(directory: Path, config: LiveConfig, log: SessionLog, state: SessionState, costs: Costs) -> Budgets:
    """The budgets of the session and of the day, which is kept in `directory` for all sessions."""
    return Budgets(log.channel, state.account, DailySpend(directory / "spending.json"), config, costs)


def make_approval(
    host: HostServices,
    asker: ApprovalRequester,
    modes: Modes,
    workplace: Workplace,
    readable: tuple[Path, ...],
) -> Approval:
    """The session's one door to effects, with the user's rules and trust."""
    policy, config = host.policy, host.configuration.live
    workspace, environment = workplace.opening.cwd, workplace.environment
    account = account_places(environment.home)
    where = PolicyContext.of(workspace, workplace.directories, environment, policy.own, readable, account)
    worktree = linked_worktree(workspace)
    if worktree is not None:
        where = replace(where, in_worktree=worktree.counterpart)
    return Approval(
        ask=asker,
        rules=policy.rules,
        trust=policy.trust.state(workspace),
        modes=modes,
        where=replace(where, secret_names=lambda: _secret_names(config.now)),
        lasting=Lasting(
            policy.remembered,
            partial(project_key, host.files.projects, where.root, environment.home),
            partial(host.news.tell, "Your answer was not saved", severity="warning", keep=True),
        ),
    )


def _secret_names(config: Config) -> SecretNames:
    return SecretNames(config.secrets.certain, config.secrets.likely)


def make_hooks(
    config: LiveConfig, runner: HookRunner, project: ProjectHooks, log: SessionLog, stored: StoredSession
) -> Hooks:
    """The user's hooks and the project's, read anew for every event."""
    return Hooks(log, runner, stored.info.id, lambda: (*config.now.hooks, *project.hooks()))


def make_servers(
    services: SessionServices, log: SessionLog, agent: SessionAgent, external: ExternalTools
) -> SessionServers:
    """The session's MCP servers; its agent and those it starts have their tools, as far as each one's file allows.

    Behind them come the tools that clients run.
    """
    workplace, approval = services.workplace, services.permission.approval
    opening = replace(workplace.opening, additional=tuple(workplace.directories))
    sampler = Sampler(agent.soul.model, services.model.budgets.allow)
    host, variables = services.host, workplace.environment.variables
    files = mcp_files(host.configuration, host.policy.trust, workplace)
    mcp = SessionServers(host.mcp, files, log, approval, variables, opening, sampler)
    services.sources.add(mcp)
    services.sources.add(external)
    services.sources.add(make_editor_tools(services))
    return mcp


def make_editor_tools(services: SessionServices) -> EditorTools:
    """What editors and language servers can do for the session's agents."""
    files, approval = services.files, services.permission.approval
    workplace, session = services.workplace, services.session_id
    site = partial(_site, workplace, approval, files.clients, session)
    memory = project_memory(services.host)
    sharing = partial(memory.editor_context, workplace.opening.cwd)
    return EditorTools(services.host.editors, site, files.judged, files.recorded, approval, sharing)


def project_memory(host: HostServices) -> ProjectMemory:
    """What is remembered of projects."""
    return ProjectMemory(host.storage.directory / "projects.json")


def _site(workplace: Workplace, approval: Approval, clients: ClientFiles, session_id: str) -> Site:
    return Site(
        workplace.opening.cwd,
        tuple(workplace.directories),
        workplace.environment.variables,
        approval.trust == "trusted",
        session_id,
        clients.asking,
    )


def mcp_files(configuration: UserConfiguration, trust: TrustStore, workplace: Workplace) -> Files:
    """Where the session's MCP servers are configured: a kimi-cli user's file, our own, and the project's."""
    share = workplace.environment.variables.get("KIMI_SHARE_DIR")
    kimi = (Path(share) if share else workplace.environment.home / ".kimi") / "mcp.json"
    return Files((kimi, configuration.directory / "mcp.json"), TrustedServers(trust, workplace.opening.cwd))
