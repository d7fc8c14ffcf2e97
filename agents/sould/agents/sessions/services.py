"""What sessions stand on: `HostServices` for all sessions of a daemon, `SessionServices` for all agents of one session."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, field

from sould.agents.base.filechanges import FileChanges
from sould.agents.base.liveconfig import LiveConfig
from sould.agents.base.process.guard import ProcessGuard
from sould.agents.files.directories.folderevents import FolderEvents
from sould.agents.files.projects.clientfiles import ClientFiles
from sould.agents.files.projects.othersessions import OtherSessions
from sould.agents.files.projects.projects import Projects
from sould.agents.files.projects.sessionfiles import SessionFiles
from sould.agents.files.projects.writers import Writers
from sould.agents.journal.journal import JournalWriter
from sould.agents.llm.pool import ProviderPool
from sould.agents.mcp.pool import McpPool
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.asking import RulesSource
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.permissions.questions import Questions
from sould.agents.permissions.remembered import Remembered
from sould.agents.permissions.trust import TrustStore
from sould.agents.sessions.settings.models import ModelUse
from sould.agents.sessions.settings.modes import Modes, UserPresence
from sould.agents.sessions.settings.notices import News
from sould.agents.sessions.settings.projectmemory import ProjectMemory
from sould.agents.sessions.settings.workspace_info import Workplace
from sould.agents.sessions.store.store import SessionStore, StoredSession
from sould.agents.sessions.turns.approval_requests import ApprovalRequester
from sould.agents.sessions.worktrees.worktrees import Worktrees
from sould.agents.soul.dmail.dmail import DMailRouter, Mailbox
from sould.agents.soul.hooks.engine import Hooks
from sould.agents.soul.session_request import SessionRequest
from sould.agents.soul.timetravel.rewind import Rewinder
from sould.agents.toolapi.sources import ToolSources
from sould.agents.tools.editor.routing import EditorBackends
from sould.agents.tools.languageservers.backend import LanguageServersBackend
from sould.agents.tools.planmode import PlanMode

OUTPUTS = "outputs"
"""Below a session's directory: what tools put aside because it was too long for the model."""
KeyedProviders: TypeAlias = Callable[[], frozenset[str]]
"""The providers whose key the user has stored, as it is now."""


class Storage(Struct, frozen=True):
    """Where sessions are kept, and what they remember of one another."""

    store: SessionStore
    writer: JournalWriter
    """Commits the journals of all of them."""
    directory: Path
    """The daemon's own state: what outlives a session and is none of its journal."""


class UserConfiguration(Struct, frozen=True):
    """What the user configured, for every project."""

    live: LiveConfig
    directory: Path
    """Where the file is, and beside it the user's own agents and MCP servers."""
    files: tuple[Path, ...]
    """Where that file may be."""


class Policy(Struct, frozen=True):
    """What is asked about, and what is never allowed, in every session."""

    trust: TrustStore
    rules: RulesSource
    remembered: Remembered
    """What was allowed beyond a session."""
    own: tuple[Path, ...]
    """The daemon's own directories, which no session may touch."""
    changes: FileChanges = field(default_factory=FileChanges)
    """Whether what users and projects configure is to be looked at again."""


class ModelAccess(Struct, frozen=True):
    """The models of the user, and who pays for them without a client."""

    providers: ProviderPool
    stored_keys: KeyedProviders
    """The providers whose key needs no client's environment, because the user has stored it."""


class SessionConfigured(Struct, frozen=True):
    """What stands in the place of the host's, for a session that is configured in its own way."""

    configuration: UserConfiguration
    models: ModelAccess
    """The session closes them."""
    news: News


ConfigureSession: TypeAlias = Callable[[SessionRequest], SessionConfigured]
"""Asked for those that name a configuration. It reads nothing yet."""


class SharedFiles(Struct, frozen=True):
    """The files that sessions work on, whichever of them does."""

    projects: Projects
    """Their locks, edit logs, and what clients say of their buffers."""
    worktrees: Worktrees
    """Those that sessions have of their own."""
    rare: FolderEvents
    """What tells where something changed that rarely does."""
    writers: Writers = field(default_factory=Writers)
    """When which session's programs may have written where."""


class HostServices(Struct, frozen=True):
    """What all sessions of a daemon share."""

    storage: Storage
    configuration: UserConfiguration
    policy: Policy
    models: ModelAccess
    files: SharedFiles
    memory: ProjectMemory
    """What users chose last in each project."""
    guard: ProcessGuard
    mcp: McpPool
    configure: ConfigureSession
    """For a session that is configured in its own way."""
    news: News
    """What the sessions tell their users of the daemon."""
    editors: EditorBackends
    """Who can serve editor tools."""
    languages: LanguageServersBackend
    """The last of them before the disk: the daemon's own language servers."""
    dmail: DMailRouter = field(default_factory=DMailRouter)
    """Through which sessions reach each other."""


class WorkFiles(Struct, frozen=True):
    """What the files are to the agents of a session: judged before they are opened, recorded as they change."""

    judged: CallFiles
    recorded: SessionFiles
    clients: ClientFiles
    """Below both: the disk, and the buffers of who looks."""
    rewinder: Rewinder
    """What the session changed, taken back."""
    others: OtherSessions
    """What other sessions have under review."""


class Permission(Struct, frozen=True):
    """What a session may do unasked, and how its user is asked."""

    approval: Approval
    asker: ApprovalRequester
    modes: Modes
    plan_mode: PlanMode
    questions: Questions
    presence: UserPresence


class SessionServices(Struct, frozen=True):
    """What all agents of one session stand on, the root agent and its subagents."""

    host: HostServices
    stored: StoredSession
    workplace: Workplace
    files: WorkFiles
    permission: Permission
    model: ModelUse
    hooks: Hooks
    mailbox: Mailbox
    sources: ToolSources = field(default_factory=ToolSources)
    """Where its agents' further tools come from."""

    @property
    def session_id(self) -> str:
        """The session's id."""
        return self.stored.info.id

    @property
    def directory(self) -> Path:
        """The session's own, on disk."""
        return self.stored.directory
