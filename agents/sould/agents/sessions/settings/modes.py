"""The modes of a session, as one state machine: a table says where each event leads from each position.

Everything that asks what happens without asking, whether a plan is being made or whether the user is away asks `Modes`.
It publishes, saves and dismisses nothing: that is `ModeSwitch`.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.config import Config
from sould.agents.base.errors import OptionError
from sould.agents.permissions.policy import Mode
from sould.agents.soul.attachedclients import AttachedClients

Position: TypeAlias = Literal["plan", "ask", "review", "full", "away"]
"""A mode; `away` is full access with nobody there to answer."""
Event: TypeAlias = Literal["plan", "ask", "review", "full", "away", "plan ends", "full access ends"]
"""A position that somebody chose, or the end of one."""
Target: TypeAlias = Literal["plan", "ask", "review", "full", "away", "before the plan", "usual"]
POSITIONS: Final[tuple[Position, ...]] = get_args(Position)
TRANSITIONS: Final[Mapping[Event, tuple[Target, Target, Target, Target, Target]]] = {
    # in:   plan, ask, review, full, away
    "plan": ("plan", "plan", "plan", "plan", "plan"),
    "ask": ("ask", "ask", "ask", "ask", "ask"),
    "review": ("review", "review", "review", "review", "review"),
    "full": ("full", "full", "full", "full", "full"),
    "away": ("away", "away", "away", "away", "away"),
    "plan ends": ("before the plan", "ask", "review", "full", "away"),
    "full access ends": ("plan", "ask", "review", "usual", "usual"),
}
"""Where an event leads, by the position it finds, in the order of `POSITIONS`."""


class ModeState(Struct, frozen=True):
    """A position, and those to go back to."""

    position: Position
    before_plan: Literal["ask", "review", "full"] = "ask"
    """Where a plan ends that is being made."""
    usual: Literal["ask", "review"] = "ask"
    """Where full access ends: the mode that asked last."""

    def after(self, event: Event) -> "ModeState":
        """The state that the event leads to."""
        target = TRANSITIONS[event][POSITIONS.index(self.position)]
        match target:
            case "before the plan":
                return self._to(self.before_plan)
            case "usual":
                return self._to(self.usual)
            case _:
                return self._to(target)

    def _to(self, position: Position) -> "ModeState":
        match position:
            case "ask" | "review":
                return replace(self, position=position, usual=position)
            case "plan" if self.position != "plan":
                before = "full" if self.position == "away" else self.position
                return replace(self, position=position, before_plan=before)
            case _:
                return replace(self, position=position)


class Modes:
    """Of one session, shared by all its agents. A change holds at once, also for questions that are being asked."""

    def __init__(self, first: Mode, usual: Mode = "ask") -> None:
        """`usual` is the mode of a session whose user has not said otherwise: a plan that is made first ends there.

        Raises:
            OptionError: `auto`, which needs a sandbox.
        """
        if first == "auto":
            raise OptionError("Mode 'auto' needs a sandbox, and there is none; choose review or full.")
        before = "ask" if usual in ("plan", "auto") else usual
        asking = first if first in ("ask", "review") else before if first == "plan" and before != "full" else "ask"
        self._state = ModeState(first, before, asking)

    @property
    def mode(self) -> Mode:
        """What happens without asking."""
        return "full" if self._state.position == "away" else self._state.position

    @property
    def away(self) -> bool:
        """Nobody answers, by the user's own word; only with full access."""
        return self._state.position == "away"

    def status_lines(self) -> Iterable[str]:
        """See `StatusSource`."""
        return ("- away: questions are dismissed; `/afk off` ends this",) if self.away else ()

    @property
    def planning(self) -> bool:
        """A plan is being made: nothing is changed."""
        return self._state.position == "plan"

    @property
    def before_plan(self) -> Mode:
        """The mode in which a plan ends."""
        return self._state.before_plan

    @property
    def remembered(self) -> Mode | None:
        """What a session that is opened anew begins with; full access ends with the session."""
        return None if self.mode == "full" else self.mode

    def take(self, event: Event) -> None:
        """Let something happen to the mode."""
        self._state = self._state.after(event)


def usual_mode(config: Config, remembered: Mode | None, suits_client: Mode) -> Mode:
    """The mode of a session whose user has not said otherwise.

    What they chose last in this project (`remembered`), else what they configured, else what suits the client.
    """
    configured = config.default_mode or ("full" if config.default_yolo else None)
    return remembered or configured or suits_client


class UserPresence(Struct, frozen=True):
    """Of one session. A `Presence`, and the `Audience` of its compactions."""

    clients: AttachedClients
    modes: Modes

    def __call__(self) -> bool:
        """A person looks at the session and is not away; programs are no company."""
        return self.clients.person and not self.modes.away
