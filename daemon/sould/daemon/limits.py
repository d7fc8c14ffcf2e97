"""The daemon's own times and counts, with their environment overrides (D3).

Read once at start from `SOULD_*` variables, which the bridge passes on; the user's configuration file sets
`idle_exit`, too, but is only read when a session needs it.
"""

from collections.abc import Mapping

from msgspec import Struct

IDLE_EXIT = 1800.0
"""The default (D7), until a session has read the user's configuration."""


class Limits(Struct, frozen=True):
    """Seconds unless said otherwise."""

    connections: int = 256
    hello: float = 10.0
    """From `accept` to the whole hello frame."""
    spare_descriptors: int = 16
    """Descriptors that no client gets: journals, locks, commands and `sould status` need them."""
    accept_pause: float = 0.25
    """Without descriptors, until the next try."""
    idle_exit: float | None = None
    """Without client and turn; 0 or less: never. None: as the user's configuration says."""
    self_check: float = 30.0
    """Between looks at our socket's inode and our own files."""
    stop: float = 4.0
    """What turns get to end at SIGTERM (gone within 5 s)."""
    stop_again: float = 0.5
    """The same after a second SIGTERM."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Limits":
        """Defaults, changed by `SOULD_IDLE_EXIT`, `SOULD_SELF_CHECK`, `SOULD_HELLO`, `SOULD_CONNECTIONS`.

        A value that is no number is ignored: the daemon must start to be able to say so (`sould doctor` does).
        """
        default = cls()
        return cls(
            connections=int(_number(environment, "SOULD_CONNECTIONS", default.connections)),
            hello=_number(environment, "SOULD_HELLO", default.hello),
            idle_exit=_number(environment, "SOULD_IDLE_EXIT", 0) if "SOULD_IDLE_EXIT" in environment else None,
            self_check=_number(environment, "SOULD_SELF_CHECK", default.self_check),
        )


def _number(environment: Mapping[str, str], name: str, default: float) -> float:
    try:
        return float(environment.get(name, ""))
    except ValueError:
        return default
