"""The daemon's own language servers as a backend of the editor tools, for when no editor can serve one. For trusted projects only.

Nothing is loaded, started or watched before the first call; what a server says is read by `answers`. Never writes a file.
"""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from sould.agents.base.liveconfig import LiveConfig
from sould.agents.base.process.guard import ProcessGuard
from sould.agents.files.directories.watching import Watches
from sould.agents.files.reviewing.buffers import Buffers
from sould.agents.tools.editor.site import Site
from sould.agents.tools.languageservers.programs import any_installed, program_places

if TYPE_CHECKING:
    from sould.agents.tools.editor.backends import Arguments, EditorResult, Where
    from sould.agents.tools.languageservers.pool import LanguageServerPool

TOOLS: Final = frozenset({"diagnostics", "symbols", "definition", "references", "hover", "rename"})
NONE: Final = frozenset[str]()
MOST_PROJECTS: Final = 1000
"""Of which it is remembered whether they have a server."""
LOOK: Final = 1.0
"""Seconds for which the places where programs are found count as they were: each step of each turn asks."""


class _Installed(Struct, frozen=True):
    """Whether there are servers in a project, as long as the places where programs are found stay as they are."""

    about: tuple[str, str]
    places: tuple[tuple[str, int], ...]
    found: bool
    looked: float


class RunningServer(Struct, frozen=True):
    """A process that runs now. `memory`: bytes, with all that it started; `unused_s`: since it was asked last."""

    name: str
    root: Path
    pid: int
    memory: int
    unused_s: float


class LanguageServersBackend:
    """An `EditorBackend`: one for the daemon. `running` owns its processes."""

    id = "language-servers"
    name = "language server"

    def __init__(
        self, guard: ProcessGuard, config: LiveConfig, buffers: Buffers, watches: Watches, version: str
    ) -> None:
        """`version`: sould's, as servers are told it. `watches`: those of the daemon."""
        self._guard = guard
        self._config = config
        self._buffers = buffers
        self._watches = watches
        self._version = version
        self._group: asyncio.TaskGroup | None = None
        self._pool: LanguageServerPool | None = None
        self._installed: dict[Path, _Installed] = {}

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        """Own the servers; when this is left they have ended, with all their processes."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                yield
            finally:
                self._group = None
                if self._pool is not None:
                    self._pool.close()

    def now(self) -> tuple[RunningServer, ...]:
        """Those that run."""
        if self._pool is None:
            return ()
        moment = asyncio.get_running_loop().time()
        return tuple(
            RunningServer(each.launch.name, each.launch.root, each.pid, each.memory, moment - each.used)
            for each in self._pool.servers
            if each.pid is not None
        )

    def tools(self, site: Site) -> Collection[str]:
        """See `EditorBackend`."""
        settings = self._config.now.languageservers
        if not site.trusted or not settings.enabled:
            if self._pool is not None:
                self._pool.end(root_of(site))
            return NONE
        root = root_of(site)
        about = (site.environment.get("PATH", ""), repr(settings.commands))
        known, now = self._installed.get(root), time.monotonic()
        if known is None or known.about != about or now - known.looked > LOOK:
            places = program_places(root, site.environment)
            same = known is not None and (known.about, known.places) == (about, places)
            found = known.found if known is not None and same else any_installed(root, site.environment, settings)
            known = self._installed[root] = _Installed(about, places, found, now)
            if len(self._installed) > MOST_PROJECTS:
                del self._installed[next(iter(self._installed))]
        return TOOLS if known.found else NONE

    async def call(self, tool: str, given: "Arguments", where: "Where") -> "EditorResult":
        """See `EditorBackend`."""
        await asyncio.to_thread(import_module, "sould.agents.tools.languageservers.calls")
        from sould.agents.tools.languageservers.calls import Calls, LanguageServerPool  # noqa: PLC0415 -- not before the first call

        assert self._group is not None, "it does not run"
        if self._pool is None:
            self._pool = LanguageServerPool(self._group, self._guard, self._config, self._watches, self._version)
        return await Calls(self._pool, self._buffers, root_of(where.site)).make(tool, given, where)


def root_of(site: Site) -> Path:
    """The project, resolved."""
    return Path(os.path.realpath(site.root))
