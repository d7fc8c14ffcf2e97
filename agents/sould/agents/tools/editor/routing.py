"""Who is asked: the client that has the file, one that has the project, the daemon's own, the disk (D44).

All clients of a daemon stand here, whatever sessions they show: an agent in a terminal can ask whichever editor is open. A client
that does not have the project is never asked. Nothing here knows a protocol.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

from sould.agents.tools.editor.errors import EditorToolError, ErrorCode
from sould.agents.tools.editor.site import ON_DISK, Site

if TYPE_CHECKING:
    from sould.agents.tools.editor.backends import Arguments, EditorBackend, EditorClient, EditorResult, Where

_NEXT: Final[frozenset[ErrorCode]] = frozenset({"no_editor", "not_supported", "timeout", "busy", "failed"})
"""What another backend may do better."""
_UNSENT: Final[frozenset[ErrorCode]] = frozenset({"not_supported", "busy"})
"""With these nothing was begun."""

Holders: TypeAlias = Callable[[Path], Sequence[str]]
"""The clients that have a file open: with unsaved text first, then the one focused last."""


Prepare: TypeAlias = "Callable[[EditorBackend], Awaitable[tuple[Arguments, Where]]]"
"""The arguments and the place that one backend is asked about: an anchor may need the symbols it knows. Raises EditorToolError."""


Changed: TypeAlias = Callable[[], None]
"""Called when a client came or left, or says anew what it can do. Must not block."""


class BackendAnswer(Struct, frozen=True):
    """What a call came to, by which backend, in how many milliseconds."""

    result: "EditorResult"
    backend: "EditorBackend"
    took_ms: int


class EditorBackends:
    """Of one daemon. `holders`: as the clients report their buffers."""

    def __init__(self, holders: Holders, own: "Sequence[EditorBackend]" = ()) -> None:
        """`own`: those of the daemon, in the order in which they are asked when no client can; the disk is behind them."""
        self._holders = holders
        self._clients: dict[str, EditorClient] = {}
        """The one focused last is the last one."""
        self._own = tuple(own)
        self._watching: dict[str, Changed] = {}

    def watch(self, client_id: str, changed: Changed) -> None:
        """Tell a client of changes until it leaves; of one that watches already, in this way from now on."""
        self._watching[client_id] = changed

    def _tell(self) -> None:
        for changed in tuple(self._watching.values()):
            changed()

    def add(self, client: "EditorClient") -> None:
        """A client came, or says anew what it can do."""
        self._clients[client.id] = client
        self._tell()

    def remove(self, client_id: str) -> None:
        """A client left."""
        self._watching.pop(client_id, None)
        if self._clients.pop(client_id, None) is not None:
            self._tell()

    def focused(self, client_id: str) -> None:
        """The user looks at this client."""
        client = self._clients.pop(client_id, None)
        if client is not None:
            self._clients[client_id] = client

    @property
    def any(self) -> bool:
        """Somebody is there who may serve something."""
        return bool(self._clients or self._own)

    def served(self, site: Site) -> frozenset[str]:
        """The tools that a client or a language server can serve there."""
        return frozenset[str]().union(*(each.tools(site) for each in (*self._clients.values(), *self._own)))

    def clients(self, site: Site) -> "Sequence[EditorClient]":
        """Those that can do something there, the one focused last first."""
        return [client for client in reversed(self._clients.values()) if client.tools(site)]

    def able(self, tool: str, where: "Where") -> "Sequence[EditorBackend]":
        """Who can serve the tool there, in the order in which they are asked."""
        clients = [client for client in reversed(self._clients.values()) if tool in client.tools(where.site)]
        if where.file is not None:
            ranks = {client.id: self._rank(client, where.file) for client in clients}
            clients.sort(key=lambda client: (client.only_points, ranks[client.id]))
        own = [backend for backend in self._own if tool in backend.tools(where.site)]
        return [*clients, *own, *self._disk(tool)]

    @staticmethod
    def _disk(tool: str) -> "Sequence[EditorBackend]":
        if tool not in ON_DISK:
            return ()
        from sould.agents.tools.editor.disk import Disk  # noqa: PLC0415 -- for other agents only; most sessions never see it

        return (Disk(),)

    def _rank(self, client: "EditorClient", path: Path) -> int:
        holders = self._holders(path)
        if client.id in holders:
            return holders.index(client.id)
        return len(holders) + (not client.has_open(path))

    async def call(
        self, tool: str, prepare: Prepare, where: "Where", *, repeatable: bool, only: str | None = None
    ) -> BackendAnswer:
        """Ask one after another until somebody does it. `repeatable`: twice does no harm. `only`: the backend with this id.

        Raises:
            EditorToolError: of the first who was asked, else `no_editor`.
        """
        failed: EditorToolError | None = None
        for backend in self.able(tool, where):
            if only is not None and backend.id != only:
                continue
            began = time.monotonic()
            try:
                given, there = await prepare(backend)
                result = await backend.call(tool, given, there)
            except EditorToolError as error:
                if error.code not in (_NEXT if repeatable else _UNSENT):
                    raise
                failed = failed or error
            else:
                return BackendAnswer(result, backend, round((time.monotonic() - began) * 1000))
        raise failed or EditorToolError("no_editor", f"No editor and no language server can serve {tool} here.")
