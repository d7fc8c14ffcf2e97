"""What the review needs of a client, whatever protocol it speaks. Types only."""

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from sould.agents.clients.connections import ConnectionServices
    from sould.agents.clients.review.projects import OpenProjects
    from sould.agents.clients.review.reports import Reports
    from sould.agents.sessions.hostport import HostPort


class ClientConnection(Protocol):
    """The connection to a client; `rpc.Connection` is one."""

    @property
    def gone(self) -> bool:
        """There is no client any more."""
        ...

    @property
    def congested(self) -> bool:
        """The client takes less than it is given."""
        ...

    async def drained(self) -> None:
        """Return when everything written has left."""
        ...

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Tell the client something."""
        ...

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """Ask the client. Raises RpcError, ConnectionGoneError."""
        ...

    def spawn(self, work: Coroutine[None, None, None], name: str) -> "asyncio.Task[None]":
        """Run `work` for at most the life of the connection."""
        ...


class ReviewClient(Protocol):
    """Who asks something of a review."""

    @property
    def id(self) -> str:
        """The client's."""
        ...

    @property
    def services(self) -> "ConnectionServices":
        """What the daemon gives it, with the environment of its process."""
        ...

    @property
    def signature(self) -> str:
        """Who decides, as others are told."""
        ...

    async def host(self) -> "HostPort":
        """All sessions."""
        ...

    async def projects(self) -> "OpenProjects":
        """The projects it reviews."""
        ...

    async def reports(self) -> "Reports":
        """What it says of the files it has open."""
        ...

    async def reports_taken(self) -> None:
        """What it said by now of the files it has open is known when this returns."""
        ...
