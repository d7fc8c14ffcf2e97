"""The composition root: what all sessions of this daemon share, made once, when the first session is near.

Importing this module brings the soul with it; only `sessions` does so, in the background (D9).
"""

import ctypes
import logging
import os
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from sould.agents.base.config import Config
from sould.agents.base.process.guard import ProcessGuard
from sould.agents.files.projects.projects import Projects
from sould.agents.journal.journal import JournalWriter
from sould.agents.llm.pool import ProviderPool, remarks, troubles
from sould.agents.mcp.pool import McpPool
from sould.agents.mcp.signins import StoredSignIns
from sould.agents.permissions.remembered import FILE as REMEMBERED
from sould.agents.permissions.remembered import Remembered
from sould.agents.permissions.rules import UserRules
from sould.agents.permissions.trust import TrustStore
from sould.agents.sessions.host import SessionHost
from sould.agents.sessions.hostport import HostPort
from sould.agents.sessions.own_soul import make_own_soul
from sould.agents.sessions.services import HostServices, ModelAccess, Policy, SharedFiles, Storage, UserConfiguration
from sould.agents.sessions.settings.agents import load_default
from sould.agents.sessions.settings.notices import News
from sould.agents.sessions.soulfactory import SoulFactory
from sould.agents.sessions.store.store import SessionStore
from sould.agents.sessions.worktrees.worktrees import WorktreeRecords, Worktrees
from sould.agents.tools.editor.routing import EditorBackends
from sould.agents.tools.languageservers.backend import LanguageServers
from sould.daemon.configuration.configfile import config_path, other_configuration
from sould.daemon.configuration.configuration import ConfigReader, Refreshed
from sould.daemon.configuration.credentials import Credentials
from sould.daemon.hello import VERSION
from sould.daemon.paths import Paths
from sould.editors.launchers import Launchers

_DUMPABLE: Final = 4
_CHILD_SUBREAPER: Final = 36
_SETTINGS: Final = (
    (_DUMPABLE, 0, "memory stays readable for debuggers"),
    (_CHILD_SUBREAPER, 1, "what loses its parent is not recognised as an agent's"),
)
_log = logging.getLogger(__name__)


class Configuration:
    """The user's configuration as it is now: a changed file is read again at the next look (D23). A `LiveConfig`.

    Nothing is read before the first use, so that a mistake in the file fails the session that needs it, not the list
    of sessions. What comes of it is told to the sessions, through `news`.
    """

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._live: ConfigReader | None = None
        self._anew = False
        self.news = News(self.differing)

    @property
    def now(self) -> Config:
        """See `LiveConfig`. Raises ConfigError while the file that was never read well holds a mistake."""
        return self._live.now if self._live is not None else self.look()

    def look(self) -> Config:
        """See `LiveConfig`."""
        if self._live is None:
            self._live = ConfigReader(self._paths, self._paths.environment)
            self._remark()
        read = self._live.refresh(anew=self._anew)
        self._anew = False
        if read is not None:
            self._tell(read)
        return self._live.now

    def reload(self) -> None:
        """Read the file anew at the next look, changed or not."""
        self._anew = True

    @property
    def idle_exit(self) -> float | None:
        """The user's choice, once the file was read."""
        return self._live.now.daemon.idle_exit_s if self._live else None

    def differing(self, environment: Mapping[str, str]) -> str:
        """What is to be said to a client whose SOULD_CONFIG names another file than the daemon reads; else ""."""
        return other_configuration(environment, str(config_path(self._paths, self._paths.environment)))

    def _tell(self, read: Refreshed) -> None:
        _log.log(logging.WARNING if read.mistake else logging.INFO, "%s", read.sentence)
        if read.mistake:
            body = f"{read.sentence}\nThe last valid one stays in use until this is fixed."
            self.news.stand("configuration", "The configuration has an error and was not reloaded", body)
            return
        self.news.settle("configuration")
        self.news.tell("The configuration has changed", read.sentence)
        self._remark()

    def _remark(self) -> None:
        """What the user may not expect of the configuration as it is, said once (D22)."""
        assert self._live is not None
        config, notices = self._live.now, self._live.loaded.notices
        for notice in notices:
            _log.warning("%s", notice)
        for sentence in troubles(config):
            self.news.tell("A model cannot be used", sentence, "warning", keep=True)
        for sentence in (*remarks(config), *notices):
            self.news.tell("About the configuration", sentence, keep=True)


class Composition(Struct, frozen=True):
    """The host and what it stands on; closed in reverse order."""

    host: SessionHost
    """What `Sessions` runs and ends. Whoever else wants something of a session asks the `port`."""
    port: HostPort
    store: SessionStore
    guard: ProcessGuard
    providers: ProviderPool
    writer: JournalWriter
    config: Configuration
    mcp: McpPool

    @property
    def guard_pid(self) -> int | None:
        """The process that runs commands; None until the first."""
        return self.guard.pid

    async def aclose(self) -> None:
        """Let go of everything; the host's sessions have ended."""
        await self.guard.aclose()
        await self.providers.aclose()
        self.writer.close()
        self.store.close()


def compose(paths: Paths, souls: SoulFactory = make_own_soul) -> Composition:
    """Make the shared services, and the host of sessions whose agents `souls` makes.

    Opens the session index; starts no process and touches no network.
    """
    load_default()
    state = Path(paths.state)
    config = Configuration(paths)
    writer = JournalWriter()
    store = SessionStore(state, writer.post)
    guard = ProcessGuard(grace=lambda: config.look().background.kill_grace_period_ms / 1000)
    credentials = Credentials(paths)
    providers = ProviderPool(config, keys=credentials.key, tokens=credentials, hint=config.differing)
    mcp = McpPool(guard, config, StoredSignIns(state / "mcp-sign-ins"), VERSION)
    projects = Projects(state, variables={"PATH": os.defpath, **paths.environment}, config=config)
    trust = TrustStore(state / "trust.json")
    worktrees = Worktrees(Path(paths.worktrees), WorktreeRecords(state / "worktrees"), trust)
    languages = LanguageServers(guard, config, projects.buffers, projects.watches, VERSION)
    rules = UserRules(Path(paths.config, "rules.toml"))
    services = HostServices(
        storage=Storage(store, writer, state),
        configuration=UserConfiguration(config, Path(paths.config)),
        policy=Policy(
            trust=trust,
            rules=lambda: rules.now(datetime.now().astimezone().date()),
            remembered=Remembered(Path(paths.config, REMEMBERED)),
            own=(Path(paths.runtime), state, Path(paths.config)),
        ),
        models=ModelAccess(providers, lambda: frozenset(credentials.stored())),
        files=SharedFiles(projects, worktrees),
        guard=guard,
        mcp=mcp,
        news=config.news,
        editors=EditorBackends(projects.buffers.holders, (languages, Launchers())),
        languages=languages,
    )
    host = SessionHost(services, souls)
    return Composition(host, HostPort(host, store), store, guard, providers, writer, config, mcp)


def protect() -> None:
    """Keep what we hold and what agents start to ourselves.

    No debugger of the same user, and no core dump, sees keys and conversations. Whatever loses its parent below this
    process becomes our child, also when the guard that started it was killed, so `ancestry` still knows whose it is.
    """
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    for setting, value, otherwise in _SETTINGS:
        if libc.prctl(setting, value, 0, 0, 0) != 0:
            _log.warning("%s: %s", otherwise, os.strerror(ctypes.get_errno()))
