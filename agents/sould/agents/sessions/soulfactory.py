"""How a session comes by its agent: the daemon says which soul each of its sessions has."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from msgspec import Struct

from sould.agents.journal.log import SessionLog
from sould.agents.sessions.services import HostServices, SessionServices
from sould.agents.sessions.settings.options import SessionOptions
from sould.agents.sessions.settings.state import SessionState
from sould.agents.soul.loop import StepExtension
from sould.agents.soul.session_request import SessionRequest
from sould.agents.soul.soul import Soul
from sould.agents.toolapi.background import BackgroundTasks
from sould.agents.tools.todo import TodoList


class Work(Struct, frozen=True):
    """What the agents of a session have under way."""

    tasks: BackgroundTasks
    todos: TodoList
    """The main agent's."""


class SoulBasis(Struct, frozen=True):
    """What a session has when its soul is made."""

    services: SessionServices
    log: SessionLog
    state: SessionState
    options: SessionOptions
    """The soul offers its own among them."""
    work: Work
    extensions: tuple[StepExtension, ...]
    """What of the session takes part in steps, where the soul has any."""


class SoulFactory(Protocol):
    """One kind of agent that sessions may have."""

    async def require_model(self, services: HostServices, opening: SessionRequest) -> None:
        """Raises NoModelError: its user has to sign in first. Raises ConfigError: nobody can tell."""
        ...

    async def make(self, basis: SoulBasis) -> Soul:
        """The soul of a session. Raises ConfigError, InvalidToolError: it cannot be made."""
        ...


SoulChoice: TypeAlias = Callable[[SessionRequest], SoulFactory]
"""Which kind of agent a session has that is opened like this."""
