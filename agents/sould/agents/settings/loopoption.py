"""How often prompts of a session are repeated, as an option that clients show."""

from sould.agents.settings.options import Choice, SessionOption
from sould.agents.wording import plural

_OFFERED = (0, 1, 3, 5, 10, 25, -1)


def loop_option(limit: int) -> SessionOption:
    """How often prompts of the session are repeated, as clients show it."""
    offered = list(_OFFERED) if limit in _OFFERED else sorted({*_OFFERED, limit}, key=lambda n: (n < 0, n))
    choices = tuple(Choice(loop_value(n), _named(n)) for n in offered)
    description = "Repeat each prompt until the agent finds it complete."
    return SessionOption("loop", "Loop", "_loop", description, loop_value(limit), choices)


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
