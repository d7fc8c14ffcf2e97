"""The composition root: what all sessions of this daemon share, made once, when the first session is near.

Importing this module brings the soul with it; only `sessions` does so, in the background (D9).
"""

import logging
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sould.agents.config import Config
from sould.agents.llm.pool import ProviderPool
from sould.agents.mcp.pool import McpPool
from sould.agents.mcp.signins import StoredSignIns
from sould.agents.permissions.rules import Rules
from sould.agents.permissions.trust import TrustStore
from sould.agents.process.guard import ProcessGuard
from sould.agents.sessions.compose import HostServices
from sould.agents.sessions.host import SessionHost
from sould.agents.sessions.store import SessionStore
from sould.agents.wire.journal import JournalWriter
from sould.daemon.configuration import LiveConfig
from sould.daemon.credentials import Credentials
from sould.daemon.paths import Paths

_log = logging.getLogger(__name__)


class Configuration:
    """The user's configuration as it is now: a changed file is read again at the next call (D23).

    Nothing is read before the first call, so that a mistake in the file fails the session that needs it, not the list
    of sessions.
    """

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._live: LiveConfig | None = None

    def __call__(self) -> Config:
        """The configuration. Raises ConfigError while the file that was never read well holds a mistake."""
        if self._live is None:
            self._live = LiveConfig(self._paths, self._paths.environment)
            for notice in self._live.loaded.notices:
                _log.warning("%s", notice)
        notice = self._live.refresh()
        if notice:
            _log.info("%s", notice)
        return self._live()

    def reload(self) -> None:
        """Read the file anew at the next call, changed or not."""
        self._live = None

    @property
    def idle_exit(self) -> float | None:
        """The user's choice, once the file was read."""
        return self._live().daemon.idle_exit_s if self._live else None


@dataclass(frozen=True, slots=True)
class Composition:
    """The host and what it stands on; closed in reverse order."""

    host: SessionHost
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


def compose(paths: Paths) -> Composition:
    """Make the shared services. Opens the session index; starts no process and touches no network."""
    state = Path(paths.state)
    config = Configuration(paths)
    store = SessionStore(state)
    writer = JournalWriter()
    guard = ProcessGuard()
    credentials = Credentials(paths)
    providers = ProviderPool(config, keys=credentials.key)
    mcp = McpPool(guard, lambda: config().mcp.client, StoredSignIns(state / "mcp-sign-ins"))
    services = HostServices(
        store=store,
        writer=writer,
        guard=guard,
        config=config,
        providers=providers,
        trust=TrustStore(state / "trust.json"),
        rules=lambda: Rules.load_user(Path(paths.config, "rules.toml"), datetime.now().astimezone().date()),
        state_dir=state,
        own=(Path(paths.runtime), state, Path(paths.config)),
        mcp=mcp,
        config_dir=Path(paths.config),
    )
    return Composition(SessionHost(services), store, guard, providers, writer, config, mcp)
