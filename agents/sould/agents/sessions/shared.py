"""What sessions stand on: `HostServices` for all sessions of a daemon, `Shared` for all agents of one session."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sould.agents.config import LoopControl, can_search
from sould.agents.dmail.router import DMailRouter, Mailbox
from sould.agents.environment import Environment
from sould.agents.hooks.engine import Hooks
from sould.agents.liveconfig import LiveConfig
from sould.agents.llm.pool import ProviderPool
from sould.agents.mcp.pool import McpPool
from sould.agents.opening.opening import Opening
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.permissions.rules import Rules
from sould.agents.permissions.trust import TrustStore
from sould.agents.process.guard import ProcessGuard
from sould.agents.projects.capture import Writers
from sould.agents.projects.projects import Projects
from sould.agents.sessionlog.journal import JournalWriter
from sould.agents.settings.budgets import Budgets
from sould.agents.settings.directories import Directories
from sould.agents.settings.models import SessionModels
from sould.agents.settings.modes import Modes
from sould.agents.settings.news import News
from sould.agents.skills.catalog import SkillCatalog
from sould.agents.soul.conditions import Situation
from sould.agents.store.store import SessionStore
from sould.agents.timetravel.rewind import Rewinder
from sould.agents.toolapi.questions import Questions
from sould.agents.toolapi.sources import ToolSources
from sould.agents.tools.planmode import PlanMode


@dataclass(frozen=True, slots=True)
class HostServices:
    """What all sessions of a daemon share."""

    store: SessionStore
    writer: JournalWriter
    guard: ProcessGuard
    config: LiveConfig
    providers: ProviderPool
    trust: TrustStore
    rules: Callable[[], Rules]
    state_dir: Path
    own: tuple[Path, ...]
    """The daemon's own directories, which no session may touch."""
    mcp: McpPool
    projects: Projects
    """Their files: locks, edit logs, and what clients say of their buffers."""
    config_dir: Path | None = None
    """Where the user's own agents are, in `agents/`."""
    dmail: DMailRouter = field(default_factory=DMailRouter)
    """Through which sessions reach each other."""
    writers: Writers = field(default_factory=Writers)
    """When which session's programs may have written where."""
    news: News = field(default_factory=News)
    """What the sessions tell their users of the daemon."""
    stored_keys: Callable[[], frozenset[str]] = frozenset
    """The providers whose key needs no client's environment, because the user has stored it."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What all agents of one session share, the root agent and its subagents."""

    services: HostServices
    opening: Opening
    directories: Directories
    session_id: str
    directory: Path
    environment: Environment
    files: CallFiles
    approval: Approval
    models: SessionModels
    skills: SkillCatalog
    questions: Questions
    plan_mode: PlanMode
    hooks: Hooks
    mailbox: Mailbox
    rewinder: Rewinder
    modes: Modes
    budgets: Budgets
    sources: ToolSources = field(default_factory=ToolSources)
    """Where its agents' further tools come from."""

    def limits(self) -> LoopControl:
        """Read anew each time, so that a reloaded configuration holds."""
        return self.services.config.now.loop_control

    def situation(self) -> Situation:
        """What conditional tools are judged by, as things are now."""
        opening = self.opening
        model = frozenset[str](self.models.info.capabilities)
        services = frozenset({"web_search"} if can_search(self.services.config.now.services) else ())
        return Situation(opening.cwd, self.environment, opening.environment, model, opening.capabilities, services)
