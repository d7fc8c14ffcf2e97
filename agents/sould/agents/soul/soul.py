"""What a session needs of its agent, whichever it is.

A few methods every agent has. What only some can do are parts, None where an agent has no such thing: what needs such a
part then says so in a sentence.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Protocol, TypeAlias, TypeVar

from msgspec import Struct

from sould.agents.base.errors import OptionError
from sould.agents.journal.recovery import Recovery
from sould.agents.soul.compaction.compactor import Compactor
from sould.agents.soul.loop import AgentLoop, Ending
from sould.agents.soul.model_call import ModelCaller
from sould.agents.soul.turn import Turn
from sould.agents.soul.unfinished import Unfinished
from sould.agents.toolapi.toolset import Toolset
from sould.agents.wire.content import UserInput
from sould.agents.wire.messages import GivenPrompt

NO_MODEL = "The agent of this session answers nothing beside its conversation."
NO_COMPACTOR = (
    "The agent of this session keeps its conversation itself: it cannot be looked into, compacted or taken back here."
)
NO_TOOLSET = "the agent of this session takes no tools of clients"
NO_STEPS = "The agent of this session cannot be asked step by step, so it runs no flows and no loops."

Expire: TypeAlias = Callable[[Collection[str]], None]
"""Requests that will not be asked again, by their ids."""
PartT = TypeVar("PartT")


class OpenWork(Struct, frozen=True):
    """What the last writer of a session left open."""

    found: Recovery
    left: Unfinished
    """What of it waits for a person."""
    lost: str
    """What is known of what interrupted programs did, as sentences."""
    expire: Expire


class Resumed(Struct, frozen=True):
    """What of it goes on. The rest is closed honestly."""

    tasks: Collection[str] = ()
    """Background tasks, by the calls that began them: what they ask is asked again."""
    turn: bool = False
    """The open turn: the soul is asked for it again, and what its calls ask is, too."""
    cut_off: bool = False
    """Some calls of that turn may have run."""


class Soul(Protocol):
    """The agent of one session. It publishes what it does to the session's log, where the prompts are."""

    @property
    def model(self) -> ModelCaller | None:
        """Asks its model something beside the conversation."""
        ...

    @property
    def compactor(self) -> Compactor | None:
        """Shortens the conversation; there where the agent's memory is the log's context."""
        ...

    @property
    def toolset(self) -> Toolset | None:
        """Its tools, among which those of clients are."""
        ...

    @property
    def steps(self) -> AgentLoop | None:
        """Runs a turn with others taking part in its steps."""
        ...

    async def prepare(self, *, resumes: bool, unchanged: bool) -> None:
        """Take up what has changed since the last turn. `resumes`: the coming one was begun before the daemon stopped.

        `unchanged`: the configuration, the models, the skills and what the user trusts are as they were then.
        """
        ...

    async def turn(self, turn: Turn) -> Ending:
        """Work on what the user asked last, until the turn ends. Cancelling it ends the turn; one runs at a time."""
        ...

    def not_taken(self, user_input: UserInput) -> str:
        """Which media of a prompt it does not take, as a clause; "" where it takes all of it."""
        ...

    def steer(self, user_input: UserInput) -> None:
        """What the user adds while a turn runs."""
        ...

    def undelivered(self) -> Sequence[UserInput]:
        """What was added too late for the turn; told once."""
        ...

    def instruct(self, given: GivenPrompt | None) -> None:
        """A client's instructions hold from the next model call on; None: it gives none, and what holds stays."""
        ...

    def tell_anew(self) -> None:
        """What it was told of where it works is not true any more."""
        ...

    def resume(self, work: OpenWork) -> Resumed:
        """Go on with what was open; before any turn, where anything was."""
        ...

    def leave(self, waiting: Unfinished) -> None:
        """The daemon is about to end: what waits for a person is left as it is, for the next one's `resume`."""
        ...

    async def close(self) -> None:
        """The session has ended."""
        ...


def needed(part: PartT | None, missing: str) -> PartT:
    """A part of a soul. Raises OptionError, with the sentence `missing`: it has none."""
    if part is None:
        raise OptionError(missing)
    return part
