"""Whether a person is there who could be asked."""

from msgspec import Struct

from sould.agents.sessions.settings.modes import Modes
from sould.agents.soul.attachedclients import AttachedClients


class UserPresence(Struct, frozen=True):
    """Of one session. An `Audience` of compactions."""

    clients: AttachedClients
    modes: Modes

    @property
    def present(self) -> bool:
        """A person looks at the session and is not away; programs are no company."""
        return self.clients.person and not self.modes.away
