"""How often prompts of a session are repeated, as an option that clients show."""

from sould.agents.base.liveconfig import LiveConfig
from sould.agents.base.text import plural
from sould.agents.sessions.settings.options import OptionChoice, SessionOption, SessionOptions
from sould.agents.sessions.settings.state import SessionState

_OFFERED = (0, 1, 3, 5, 10, 25, -1)


class LoopOption:
    """The `loop` option of one session: how often its prompts are repeated."""

    def __init__(self, config: LiveConfig, state: SessionState, options: SessionOptions) -> None:
        self._config = config
        self._state = state
        self._options = options

    @property
    def limit(self) -> int:
        """How often prompts are repeated; -1 without limit."""
        chosen = self._state.loop_limit
        return self._config.now.loop_control.max_ralph_iterations if chosen is None else chosen

    async def set(self, limit: int) -> None:
        """Repeat the prompts from now on so often, which may be a number that clients do not list."""
        self._state.choose_loop_limit(limit)
        await self._options.keep()

    def option(self) -> SessionOption:
        """See `OptionSource`."""
        limit = self.limit
        offered = list(_OFFERED) if limit in _OFFERED else sorted({*_OFFERED, limit}, key=lambda n: (n < 0, n))
        choices = tuple(OptionChoice(loop_value(n), _named(n)) for n in offered)
        description = "Repeat each prompt until the agent finds it complete."
        return SessionOption("loop", "Loop", "_loop", description, loop_value(limit), choices)

    async def choose(self, value: str, client_id: str) -> None:
        """See `OptionSource`."""
        self._state.choose_loop_limit(loop_limit(value))


def loop_value(limit: int) -> str:
    """A limit as the value of the option."""
    return {0: "off", -1: "unlimited"}.get(limit, str(limit))


def loop_limit(value: str) -> int:
    """The limit that a value of the option stands for."""
    return -1 if value == "unlimited" else 0 if value == "off" else int(value)


def _named(limit: int) -> str:
    if limit == 0:
        return "No loop"
    return "Loop until it is complete" if limit < 0 else f"Loop up to {plural(limit, 'more time')}"
