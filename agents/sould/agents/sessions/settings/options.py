"""The options of a session: what clients show of them, and the one list of them for every frontend (D20).

What an option does is its source's; here a choice is checked, shown to all clients and kept.
"""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from sould.agents.base.errors import JournalFullError, OptionError
from sould.agents.journal.log import SessionLog
from sould.agents.sessions.settings.state import SessionState
from sould.agents.wire.messages import SessionChanged


class OptionChoice(Struct, frozen=True):
    """One value an option can take. `name` says by itself what it is: clients show the values of several options in one row."""

    value: str
    name: str
    description: str = ""


class SessionOption(Struct, frozen=True):
    """One option with its current value. `category` is ACP's: mode, model, thought_level."""

    id: str
    name: str
    category: str
    description: str
    value: str
    choices: tuple[OptionChoice, ...]
    unlisted: frozenset[str] = frozenset()
    """Values that are taken, too."""
    takes_any: bool = False
    """Whether another value can be chosen is seen when it is: a path, for example."""

    def takes(self, value: str | bool) -> str | None:
        """The value, if it can be chosen."""
        if not isinstance(value, str):
            return None
        listed = value in self.unlisted or any(choice.value == value for choice in self.choices)
        return value if listed or self.takes_any else None


class OptionSource(Protocol):
    """One thing that can be chosen for a session."""

    def option(self) -> SessionOption | None:
        """It as clients show it; None while there is nothing to choose."""
        ...

    async def choose(self, value: str, client_id: str) -> None:
        """Let it hold from now on. Raises OptionError when it cannot be used."""
        ...


class SessionOptions:
    """Of one session. Made before what can be chosen, which is offered in the order that clients show."""

    def __init__(self, log: SessionLog, state: SessionState, directory: Path) -> None:
        """`state` is kept in `directory`."""
        self._log = log
        self._state = state
        self._directory = directory
        self._sources: list[OptionSource] = []
        self._choices: dict[str, tuple[OptionChoice, ...]] | None = None
        """What was to be chosen when somebody looked last."""

    def offer(self, *sources: OptionSource) -> None:
        """From now on these can be chosen, too."""
        self._sources += sources

    def all(self) -> tuple[SessionOption, ...]:
        """All options with their current values."""
        return tuple(option for source in self._sources if (option := source.option()) is not None)

    def status_lines(self) -> Iterable[str]:
        """See `StatusSource`."""
        return (f"- {option.name.lower()}: {option.value or 'none'}" for option in self.all())

    async def choose(self, option_id: str, value: str | bool, client_id: str) -> None:
        """Choose a value; it holds from the next step on and for the session's life.

        Raises:
            OptionError: naming the option and the values it takes.
            JournalFullError: it holds, but cannot be kept.
        """
        offered = [(source, option) for source in self._sources if (option := source.option()) is not None]
        source, option = next(((source, option) for source, option in offered if option.id == option_id), (None, None))
        if source is None or option is None:
            known = ", ".join(option.id for _, option in offered)
            raise OptionError(f"There is no option {option_id!r}; this session has {known}.")
        chosen = option.takes(value)
        if chosen is None:
            values = ", ".join(choice.value for choice in option.choices)
            raise OptionError(f"Option {option_id!r} cannot be {value!r}; it takes {values}.")
        await source.choose(chosen, client_id)
        await self.keep()

    async def keep(self) -> None:
        """Something was chosen: show it to everybody and put it on disk. Raises JournalFullError."""
        self.show()
        await self._log.commit()
        if self._state.unsaved:
            self._state.save(self._directory)

    def show(self) -> None:
        """Options hold, whether they can be kept or not: that is said by who waits for it, or after the turn."""
        with suppress(JournalFullError):
            self._state.save(self._directory)
        options = self.all()
        self._choices = _choices(options)
        self._log.publish(SessionChanged(options={option.id: option.value for option in options}))

    def show_others(self) -> None:
        """Show them if there are others to choose from than at the last time; the first time is only looked."""
        now = _choices(self.all())
        if self._choices not in (None, now):
            self.show()
        self._choices = now


def _choices(options: Iterable[SessionOption]) -> dict[str, tuple[OptionChoice, ...]]:
    return {option.id: option.choices for option in options}
