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
from msgspec.structs import replace

from sould.agents.base.config import Config
from sould.agents.base.process.guard import ProcessGuard
from sould.agents.files.directories.folderevents import InotifyEvents
from sould.agents.files.directories.rareevents import STEP, WatchfilesEvents
from sould.agents.files.projects.projects import Projects
from sould.agents.journal.journal import JournalWriter
from sould.agents.llm.given import with_given
from sould.agents.llm.kimi_variables import with_kimi_variables
from sould.agents.llm.pool import ProviderPool, remarks, troubles
from sould.agents.mcp.pool import McpPool
from sould.agents.mcp.signins import StoredSignIns
from sould.agents.permissions.remembered import FILE as REMEMBERED
from sould.agents.permissions.remembered import Remembered
from sould.agents.permissions.rules import UserRules
from sould.agents.permissions.trust import TrustStore
from sould.agents.sessions.host import SessionHost
from sould.agents.sessions.hostport import HostPort
from sould.agents.sessions.own_soul import OwnSouls
from sould.agents.sessions.services import (
    HostServices,
    ModelAccess,
    Policy,
    SessionConfigured,
    SharedFiles,
    Storage,
    UserConfiguration,
)
from sould.agents.sessions.settings.agents import load_default
from sould.agents.sessions.settings.notices import News
from sould.agents.sessions.settings.projectmemory import ProjectMemory
from sould.agents.sessions.soulfactory import SoulChoice, SoulFactory
from sould.agents.sessions.store.store import SessionStore
from sould.agents.sessions.worktrees.worktrees import WorktreeRecords, Worktrees
from sould.agents.soul.session_request import SessionRequest
from sould.agents.tools.editor.routing import EditorBackends
from sould.agents.tools.languageservers.backend import LanguageServersBackend
from sould.daemon.configuration.configfile import config_path, config_places, other_configuration
from sould.daemon.configuration.configuration import ConfigFileError, Loaded, load
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

    def __init__(self, paths: Paths, opening: SessionRequest | None = None) -> None:
        """`opening`: of the one session that is configured by this, in its own way."""
        self._paths = paths
        self._opening = opening
        self._own = opening.configuration if opening is not None else None
        self._places: tuple[str, ...] = ()
        self._stamp: tuple[object, ...] | None = None
        """What the disk said of the file when it was read."""
        self._loaded: Loaded | None = None
        """What was read last without a mistake."""
        self._anew = False
        self.news = News(self.differing)

    @property
    def now(self) -> Config:
        """See `LiveConfig`. Raises ConfigError while the file that was never read well holds a mistake."""
        return self._loaded.config if self._loaded is not None else self.look()

    def look(self) -> Config:
        """See `LiveConfig`."""
        loaded = self._loaded
        if loaded is None:
            self._places = tuple(map(str, self.places))
        stamp = self._stamp_now()
        if loaded is None:
            loaded = self._take(self._read())
        elif stamp != self._stamp or self._anew:
            loaded = self._read_again(loaded)
        self._stamp, self._anew = stamp, False
        return loaded.config

    def reload(self) -> None:
        """Read the file anew at the next look, changed or not."""
        self._anew = True

    @property
    def idle_exit(self) -> float | None:
        """The user's choice, once the file was read."""
        return self._loaded.config.daemon.idle_exit_s if self._loaded else None

    def differing(self, environment: Mapping[str, str]) -> str:
        """What is to be said to a client whose SOULD_CONFIG names another file than the daemon reads; else ""."""
        if self._own is not None and (self._own.file or self._own.text):
            return ""
        return other_configuration(environment, str(config_path(self._paths, self._paths.environment)))

    @property
    def server_given(self) -> bool:
        """The models are of a server that a client has given."""
        return self._own is not None and self._own.server is not None

    @property
    def places(self) -> tuple[Path, ...]:
        """Where the file may be; empty: it is a text."""
        if self._own is not None and self._own.text is not None:
            return ()
        return config_places(self._paths, self._paths.environment, self._named)

    @property
    def _named(self) -> str | None:
        return str(self._own.file) if self._own is not None and self._own.file is not None else None

    def _read(self) -> Loaded:
        if self._opening is None or self._own is None:
            return load(self._paths, self._paths.environment)
        loaded = load(
            self._paths,
            self._paths.environment,
            file=self._named,
            text=self._own.text.get_secret_value() if self._own.text is not None else None,
            directory=self._opening.cwd,
            overrides={f"loop_control.{name}": value for name, value in self._own.limits.items()},
        )
        config = with_kimi_variables(loaded.config, self._opening.environment)
        return replace(loaded, config=with_given(config, self._own.server) if self._own.server else config)

    def _stamp_now(self) -> tuple[object, ...] | None:
        """Asked around every tool call, so of plain names: two microseconds."""
        for place in self._places:
            try:
                status = os.stat(place)
            except OSError:
                continue
            return place, status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode, status.st_uid
        return None

    def _read_again(self, last: Loaded) -> Loaded:
        """A file with a mistake changes nothing: the last good one holds."""
        try:
            loaded = self._read()
        except ConfigFileError as error:
            _log.warning("%s", error.message)
            body = f"{error.message}\nThe last valid one stays in use until this is fixed."
            self.news.stand("configuration", "The configuration has an error and was not reloaded", body)
            return last
        source = next(iter(loaded.sources), "its defaults")
        said = " ".join((f"The configuration was reloaded from {source}.", *loaded.notices))
        _log.info("%s", said)
        self.news.settle("configuration")
        self.news.tell("The configuration has changed", said)
        return self._take(loaded)

    def _take(self, loaded: Loaded) -> Loaded:
        """From now on this one holds. What the user may not expect of it is said once (D22)."""
        self._loaded = loaded
        for notice in loaded.notices:
            _log.warning("%s", notice)
        for sentence in troubles(loaded.config):
            self.news.tell("A model cannot be used", sentence, "warning", keep=True)
        for sentence in (*remarks(loaded.config), *loaded.notices):
            self.news.tell("About the configuration", sentence, keep=True)
        return loaded


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


def own_souls(_opening: SessionRequest) -> SoulFactory:
    """A `SoulChoice`: each session has our own agent."""
    return OwnSouls()


def compose(paths: Paths, souls: SoulChoice = own_souls, *, step: float = STEP) -> Composition:
    """Make the shared services, and the host of sessions whose agents `souls` chooses. `step`: see `WatchfilesEvents`.

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

    def stored_keys() -> frozenset[str]:
        return frozenset(credentials.stored())

    def configure(opening: SessionRequest) -> SessionConfigured:
        own = Configuration(paths, opening)
        user = UserConfiguration(own, Path(paths.config), own.places)
        if own.server_given:  # what the user has stored has no way to an address that a client names
            return SessionConfigured(user, ModelAccess(ProviderPool(own, hint=own.differing), frozenset[str]), own.news)
        pool = ProviderPool(own, keys=credentials.key, tokens=credentials, hint=own.differing)
        return SessionConfigured(user, ModelAccess(pool, stored_keys), own.news)

    mcp = McpPool(guard, config, StoredSignIns(state / "mcp-sign-ins"), VERSION)
    rare = WatchfilesEvents(step)
    events = InotifyEvents() if sys.platform == "linux" else rare
    projects = Projects(state, variables={"PATH": os.defpath, **paths.environment}, events=events, config=config)
    trust = TrustStore(state / "trust.json")
    worktrees = Worktrees(Path(paths.worktrees), WorktreeRecords(state / "worktrees"), trust)
    languages = LanguageServersBackend(guard, config, projects.buffers, projects.watches, VERSION)
    rules = UserRules(Path(paths.config, "rules.toml"))
    services = HostServices(
        storage=Storage(store, writer, state),
        configuration=UserConfiguration(config, Path(paths.config), config.places),
        policy=Policy(
            trust=trust,
            rules=lambda: rules.now(datetime.now().astimezone().date()),
            remembered=Remembered(Path(paths.config, REMEMBERED)),
            own=(Path(paths.runtime), state, Path(paths.config)),
        ),
        models=ModelAccess(providers, stored_keys),
        files=SharedFiles(projects, worktrees, rare),
        memory=ProjectMemory(state / "projects.json"),
        guard=guard,
        mcp=mcp,
        configure=configure,
        news=config.news,
        editors=EditorBackends(projects.buffers.holders, (languages, Launchers())),
        languages=languages,
    )
    host = SessionHost(services, souls)
    return Composition(host, HostPort(host, services), store, guard, providers, writer, config, mcp)


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
