"""What the inbox needs of a client, whatever protocol it speaks. Types only."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sould.agents.clients.connections import ConnectionServices
    from sould.agents.clients.inbox.feed import FollowedInbox
    from sould.agents.sessions.hostport import HostPort


class InboxClient(Protocol):
    """Who asks something of the inbox."""

    @property
    def services(self) -> "ConnectionServices":
        """What the daemon gives it, with the environment of its process."""
        ...

    @property
    def signature(self) -> str:
        """Who answers, as others are told."""
        ...

    async def host(self) -> "HostPort":
        """All sessions."""
        ...

    async def inbox(self) -> "FollowedInbox":
        """The inbox as it is shown this client."""
        ...
