"""Putting a session together: every service it needs, made once, wired by constructor.

The one place where the parts of a session meet. Nothing here runs a turn or talks to a client.
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.config import Config, Hook
from sould.agents.base.liveconfig import LiveConfig
from sould.agents.journal.log import SessionLog
from sould.agents.mcp.asking import Sampler
from sould.agents.mcp.session import Files, SessionServers
from sould.agents.mcp.specs import TrustedServers
from sould.agents.permissions.policy import Mode
from sould.agents.permissions.trust import TrustStore
from sould.agents.sessions.loops.controls import LoopOption
from sould.agents.sessions.operationset import Operations, make_operations
from sould.agents.sessions.permission import make_permission
from sould.agents.sessions.services import HostServices, SessionServices, UserConfiguration
from sould.agents.sessions.settings.models import open_model_use
from sould.agents.sessions.settings.modes import Modes, UserPresence, usual_mode
from sould.agents.sessions.settings.modeswitch import AwayMode, ModeSwitch
from sould.agents.sessions.settings.options import SessionOptions
from sould.agents.sessions.settings.state import SessionState, load_state
from sould.agents.sessions.settings.trusting import TrustQuestion
from sould.agents.sessions.settings.workspace_info import Workplace, open_workplace
from sould.agents.sessions.soulfactory import SoulBasis, SoulFactory, Work
from sould.agents.sessions.store.entry import SessionEntry
from sould.agents.sessions.store.kimilayout import share_directory
from sould.agents.sessions.store.store import StoredSession
from sould.agents.sessions.turns.hooking import LOOKED_BEFORE, SessionHooks
from sould.agents.sessions.workfiles import make_files, site_of
from sould.agents.soul.attachedclients import AttachedClients
from sould.agents.soul.hooks.command import HookRunner
from sould.agents.soul.hooks.engine import Hooks
from sould.agents.soul.hooks.project import ProjectHooks
from sould.agents.soul.session_request import SessionRequest
from sould.agents.soul.soul import Soul
from sould.agents.toolapi.background import BackgroundTasks, Rested
from sould.agents.tools.editor.source import EditorTools
from sould.agents.tools.external.registry import ExternalTools
from sould.agents.tools.todo import TodoList


class SessionChoices(Struct, frozen=True):
    """What the user of a session has chosen, and can choose."""

    state: SessionState
    options: SessionOptions
    mode_switch: ModeSwitch
    repeats: LoopOption
    trusting: TrustQuestion


class Parts(Struct, frozen=True):
    """What a session is made of: what its agents share, its soul, and what takes part in its turns."""

    services: SessionServices
    log: SessionLog
    entry: SessionEntry
    operations: Operations
    attached: AttachedClients
    choices: SessionChoices
    soul: Soul
    work: Work
    mcp: SessionServers
    client_tools: ExternalTools
    """Those that clients run."""
    hooks: SessionHooks


async def compose(
    host: HostServices,
    souls: SoulFactory,
    stored: StoredSession,
    log: SessionLog,
    opening: SessionRequest,
    rested: Rested,
    opened: AsyncExitStack,
) -> Parts:
    """Build the session's services, and over them its soul, which `souls` makes.

    `rested` is told of its background tasks; `opened` closes what was opened when it fails.

    Raises:
        ConfigError, InvalidToolError
    """
    host = with_own_configuration(host, opening, opened)
    state = load_state(stored.directory)
    trust = host.policy.trust.of_session(stored.directory, opening.environment)
    if opening.restricted is not None:
        trust.restrict(opening.restricted)
    host = replace(host, policy=replace(host.policy, trust=trust))
    storage, configuration, policy = host.storage, host.configuration, host.policy
    config = configuration.live.look()
    workplace = await open_workplace(opening, log, configuration.live, trust, policy.changes)
    model = await open_model_use(host.models.providers, configuration.live, log, state, opening, storage.directory)
    attached, options = AttachedClients(log.channel), SessionOptions(log, state, stored.directory)
    # what its user chose last in the project is not meant for a session that is configured in its own way
    own = opening.configuration
    remembered = host.memory.mode(opening.cwd) if own is None or own.server is not None else None
    modes = make_modes(config, remembered, state, opening, new=not stored.info.turns)
    away, cwd = AwayMode(log.channel, modes), stored.info.cwd
    switch = ModeSwitch(modes, state, log, away, options, attached, host.memory, cwd)
    permission = make_permission(host, stored, log, workplace, switch, UserPresence(attached, modes))
    mailbox = host.dmail.open(stored.info.id, stored.info.directory)
    files = make_files(host, stored, log, workplace, permission, mailbox)
    opened.push_async_callback(files.recorded.aclose)
    project_hooks = ProjectHooks(storage.directory / "hooks.json", policy.trust, opening.cwd)
    runner = HookRunner(host.guard, workplace.environment, opening.cwd)
    hooks = make_hooks(configuration.live, runner, project_hooks, log, stored)
    services = SessionServices(host, stored, workplace, files, permission, model, hooks, mailbox)
    work = Work(BackgroundTasks(log, stored.directory, configuration.live, rested), TodoList(state.todos))
    session_hooks, external = SessionHooks(hooks, project_hooks), ExternalTools(log, permission.approval, attached)
    options.offer(switch)
    soul = await souls.make(SoulBasis(services, log, state, options, work, (external, session_hooks)))
    external.join(soul.toolset)
    repeats = LoopOption(configuration.live, state, options)
    if soul.steps is not None:
        options.offer(repeats)
    sessions = stored.directory.parent
    trusting = TrustQuestion(trust, opening.cwd, sessions, log, permission.questions, policy.changes)
    entry = SessionEntry(stored.info, host.storage.store, log)
    mcp = make_servers(services, log, soul, external)
    return Parts(
        services,
        log,
        entry,
        make_operations(services, log, entry, soul, mcp),
        attached,
        SessionChoices(state, options, switch, repeats, trusting),
        soul,
        work,
        mcp,
        external,
        session_hooks,
    )


def with_own_configuration(host: HostServices, opening: SessionRequest, opened: AsyncExitStack) -> HostServices:
    """The host as it is to this session, which may name a configuration of its own."""
    if opening.configuration is None:
        return host
    own = host.configure(opening)
    opened.push_async_callback(own.models.providers.aclose)
    return replace(host, configuration=own.configuration, models=own.models, news=own.news)


def make_modes(
    config: Config, remembered: Mode | None, state: SessionState, opening: SessionRequest, *, new: bool
) -> Modes:
    """The mode a session begins or goes on with. `remembered` is what was chosen last in its project."""
    usual = usual_mode(config, remembered, opening.default_mode)
    first: Mode = "plan" if config.default_plan_mode and new else usual
    return Modes(opening.mode or state.mode or first, usual)


def make_hooks(
    config: LiveConfig, runner: HookRunner, project: ProjectHooks, log: SessionLog, stored: StoredSession
) -> Hooks:
    """The user's hooks and the project's, read anew for every event."""

    def configured(event: str) -> Sequence[Hook]:
        now = config.now if event in LOOKED_BEFORE else config.look()
        return (*now.hooks, *project.hooks())

    return Hooks(log, runner, stored.info.id, configured)


def make_servers(services: SessionServices, log: SessionLog, soul: Soul, external: ExternalTools) -> SessionServers:
    """The session's MCP servers; its agent and those it starts have their tools, as far as each one's file allows.

    Behind them come the tools that clients run.
    """
    workplace, approval = services.workplace, services.permission.approval
    opening = replace(workplace.opening, additional=tuple(workplace.directories))
    sampler = Sampler(soul.model, services.model.budgets.allow)
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
    site = partial(site_of, workplace, approval, files.clients, session)
    sharing = partial(services.host.memory.editor_context, workplace.opening.cwd)
    return EditorTools(services.host.editors, site, files.judged, files.recorded.projects, approval, sharing)


def mcp_files(configuration: UserConfiguration, trust: TrustStore, workplace: Workplace) -> Files:
    """Where the session's MCP servers are configured: a kimi-cli user's file, our own, and the project's."""
    kimi = share_directory(workplace.environment.variables, workplace.opening.cwd) / "mcp.json"
    return Files((kimi, configuration.directory / "mcp.json"), TrustedServers(trust, workplace.opening.cwd))
