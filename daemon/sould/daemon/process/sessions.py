"""The session host of this daemon, made when the first client needs it and not before (D9).

Everything that is slow to import hangs on this module's `host`: it is imported in a thread, once, while the loop goes
on answering; what sessions stand on, as soon as a client has its first answer. Nothing else in the daemon may import the
soul.
"""

import asyncio
import gc
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

from sould.agents.base.errors import ConfigError, DaemonLeavingError, NoModelError, SouldError
from sould.agents.base.importing import load, load_here
from sould.daemon.launch import command, inherited
from sould.daemon.paths import Paths

if TYPE_CHECKING:
    from sould.agents.sessions.hostport import HostPort
    from sould.daemon.process.compose import Composition

_log = logging.getLogger(__name__)
SETTLE = 0.5
"""Seconds between the end of a session and letting go of its memory."""
GARBAGE = 50
"""So many ended sessions, or fewer long ones, wait for a moment without turns; then the turns wait, for some hundredths
of a second."""
FOUNDATIONS = (
    "sould.agents.sessions.services",
    "sould.daemon.configuration.credentials",
    "sould.daemon.configuration.configuration",
)
"""Loaded before anybody asks for a session: four fifths of what a first one waits for. The rest, 50 ms of processor time and
6 MB, is loaded when somebody does: where an editor never asks, the daemon stays small."""
Compose: TypeAlias = "Callable[[Paths], Composition]"
"""Makes the host and what it stands on, in a thread."""


class Sessions:
    """What the frontends, the lifecycle and the command line know of sessions. `run` owns the host's tasks."""

    def __init__(self, paths: Paths, umask: int, compose: Compose) -> None:
        """`umask`: of sessions whose client does not say its own, and of those without one."""
        self._paths = paths
        self._compose = compose
        self.umask = umask
        self._lock = asyncio.Lock()
        self._composition: Composition | None = None
        self.composed = asyncio.Event()
        """Set with the first session, or the first look at them."""
        self._group: asyncio.TaskGroup | None = None
        self._serving: asyncio.Task[None] | None = None

    async def run(self, closed: asyncio.Event) -> None:
        """Own the host's task until `closed`; `stop_turns` ends it."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            await closed.wait()
            self._group = None
            await self.stop_turns("daemon stopping")

    @property
    def built(self) -> "Composition | None":
        """What has been made so far; None before the first session."""
        return self._composition

    async def composition(self) -> "Composition":
        """The host with its services; the first call imports and builds them."""
        async with self._lock:
            if self._composition is None:
                self._owner()
                composition = await asyncio.to_thread(self._compose, self._paths)
                gc.freeze()  # what was imported stays: collections need not look at it again
                try:
                    self._serving = self._owner().create_task(self._serve(composition), name="sessions")
                except DaemonLeavingError:
                    await composition.aclose()
                    raise
                await composition.host.started.wait()
                self._composition = composition
                self.composed.set()
            return self._composition

    async def _serve(self, composition: "Composition") -> None:
        async with asyncio.TaskGroup() as group:
            tidying = group.create_task(self._tidy(composition), name="tidy")
            await composition.host.serve()
            tidying.cancel()

    async def _tidy(self, composition: "Composition") -> None:
        """Free what ended sessions leave behind, all of it circles of references, if possible while no turn has to wait."""
        host, freed = composition.host, 0
        while True:
            await host.rested.wait()
            host.rested.clear()
            await asyncio.sleep(SETTLE)
            left = host.ended - freed
            if left >= GARBAGE or (left and not self.running_turns):
                freed = host.ended
                gc.collect()

    def save(self) -> None:
        """What happened in any session is in its journal when this returns, so that a client may be shown it."""
        if self._composition is not None:
            self._composition.writer.save()

    def _owner(self) -> asyncio.TaskGroup:
        if self._group is None:
            raise DaemonLeavingError
        return self._group

    async def host(self) -> "HostPort":
        """All sessions, as a frontend sees them."""
        return (await self.composition()).port

    def load(self, *modules: str) -> None:
        """Begin to load what sessions stand on in the background, and `modules` behind it; the first session need not wait for it."""
        if self._group is not None:
            self._group.create_task(self._load(modules), name="load")

    async def resume_loops(self) -> None:
        """Loops that the last daemon's end cut off go on, where a stored key lets them do so without a client (D14)."""
        try:
            if await asyncio.to_thread(_loops_may_go_on, self._paths):
                environment = inherited(self._paths.environment)
                await (await self.composition()).host.resume_loops(environment, self.umask)
        except (SouldError, OSError) as error:
            _log.warning("loops wait for a client: %s", error)

    async def _load(self, modules: Sequence[str]) -> None:
        try:
            await load(*FOUNDATIONS, *modules)
        except Exception:  # noqa: BLE001 -- what is wrong is said to the client whose session fails by it
            _log.exception("what sessions stand on cannot be loaded")

    @property
    def running_turns(self) -> int:
        """Turns and operations that run or wait."""
        if self._composition is None:
            return 0
        sessions = self._composition.port.sessions.values()
        return sum(session.turns.busy for session in sessions)

    @property
    def turns_to_finish(self) -> int:
        """Those of them that an end of the daemon would interrupt: what only waits for approvals, the next one goes on with."""
        sessions = self._composition.port.sessions.values() if self._composition is not None else ()
        return sum(session.turns.to_finish for session in sessions)

    @property
    def background_tasks(self) -> int:
        """Tasks that go on by themselves."""
        sessions = self._composition.port.sessions.values() if self._composition is not None else ()
        return sum(session.tasks.running for session in sessions)

    async def stop_turns(self, reason: str, *, handing_over: bool = False) -> None:
        """End every turn as interrupted and close every session's files; a later session makes a new host.

        `handing_over`: the next daemon goes on with what only waits, and answers its prompts.
        """
        async with self._lock:  # a host that is being made is waited for: it would be forgotten
            composition, self._composition = self._composition, None
            if composition is not None and self._serving is not None:
                await composition.host.aclose(reason, handing_over=handing_over)
                await asyncio.wait([self._serving])
                await composition.aclose()

    def reload(self) -> None:
        """Read the user's configuration again at the next turn, and that of MCP servers now."""
        _log.info("reloading the configuration")
        if self._composition is not None:
            self._composition.config.reload()
            self._composition.host.follow_servers()

    @property
    def idle_exit(self) -> float | None:
        """What the user's configuration says, once it was read."""
        return self._composition.config.idle_exit if self._composition else None


def _loops_may_go_on(paths: Paths) -> bool:
    """Some loop waits, and some key is stored: else nothing need be built."""
    if not os.path.isdir(directory := os.path.join(paths.state, "loops")):
        return False
    load_here("sould.agents.sessions.loops.state", "sould.daemon.configuration.credentials")
    from pathlib import Path  # noqa: PLC0415 -- `initialize` must not wait for it

    from sould.agents.sessions.loops.state import LoopStore  # noqa: PLC0415 -- as above
    from sould.daemon.configuration.credentials import Credentials  # noqa: PLC0415 -- as above

    loops = LoopStore(Path(directory)).list()
    return any(loop.status == "running" for loop in loops) and bool(Credentials(paths).stored())


def composed(paths: Paths) -> "Composition":
    """The host with its services, whose sessions have our own agent. Blocks: it imports them."""
    # `shown` is what `sould status` wants of sessions, as long as our files are there
    load_here("sould.daemon.process.compose", "sould.agents.clients.inbox.shown")
    from sould.daemon.process.compose import compose, protect  # noqa: PLC0415 -- slow: `initialize` must not wait for it

    protect()
    return compose(paths)


class StoredAccounts:
    """Signing in and out as the ACP frontend offers it: which providers can be used, and forgetting the stored keys.

    Never touches keys of the environment or of the configuration file: those are the user's own.
    """

    def __init__(self, paths: Paths, sessions: Sessions) -> None:
        self._paths = paths
        self._sessions = sessions

    async def usable(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """Providers with a model that can be asked with this environment, each once, the default one first."""
        composition = await self._sessions.composition()
        composition.config.look()  # a sign-in may have written it
        providers = composition.providers
        found: dict[str, None] = {}
        for model in await providers.models(environment):
            if model.provider in found:
                continue
            try:
                await providers.get(model.key, environment)
            except (NoModelError, ConfigError):
                continue
            found[model.provider] = None
        return tuple(found)

    async def forget(self) -> None:
        """Remove every key that `sould login` stored."""
        await asyncio.to_thread(_forget_all, self._paths)


def _forget_all(paths: Paths) -> None:
    from sould.daemon.configuration.credentials import Credentials  # noqa: PLC0415 -- the keyring is slow to load

    credentials = Credentials(paths)
    for provider in tuple(credentials.stored()):
        credentials.forget(provider)


class Build(Struct, frozen=True):
    """What a daemon is made of, and how one like it is started."""

    compose: Compose
    command: Sequence[str]
    """The command line, without what is handed over."""


OURS: Final = Build(composed, command())
