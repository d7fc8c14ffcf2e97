"""How much is logged, and for whom: `SOULD_LOG` of the daemon holds for everything, that of a client for it and its sessions.

Only our own loggers ever go below INFO: what a library logs there may be anything that is sent or received.
"""

import logging
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from sould.agents.base.tasks import WHERE

VARIABLE: Final = "SOULD_LOG"
LEVELS: Final[Mapping[str, int]] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
OURS: Final = logging.getLogger("sould")
"""Above all loggers of ours."""
_log = logging.getLogger(__name__)
_OWN: ContextVar[int | None] = ContextVar("own level", default=None)
"""Of what goes on here; None: the usual one holds."""


class LogLevels:
    """Of one process. While nobody wants more than usual, a line that is not wanted costs one comparison."""

    def __init__(self) -> None:
        self._usual = logging.INFO
        self._own: list[int] = []
        self._named: set[str] = set()
        """Values that no level has."""

    def begin(self, environment: Mapping[str, str]) -> None:
        """Take the usual level from the daemon's environment."""
        self._usual = self._read(environment) or logging.INFO
        self._let_through()

    @contextmanager
    def marked(self, where: str, environment: Mapping[str, str]) -> Generator[None]:
        """Lines from here on, and of tasks begun within, say `where`, and have the level that this environment asks for."""
        WHERE.set(where)
        level = self._read(environment)
        if level is None:
            yield
            return
        _OWN.set(level)
        self._own.append(level)
        self._let_through()
        try:
            yield
        finally:
            self._own.remove(level)
            self._let_through()

    @property
    def is_debug(self) -> bool:
        """Debug lines from here are written."""
        return self._here() <= logging.DEBUG

    def passes(self, record: logging.LogRecord) -> bool:
        """Whether this line is written, judged where it is logged."""
        return record.levelno >= self._here()

    def _here(self) -> int:
        own = _OWN.get()
        return self._usual if own is None else own

    def _read(self, environment: Mapping[str, str]) -> int | None:
        given = environment.get(VARIABLE, "").strip().casefold()
        level = LEVELS.get(given)
        if given and level is None and given not in self._named:
            self._named.add(given)
            _log.warning("%s=%.40r is no level and changes nothing; there are: %s", VARIABLE, given, ", ".join(LEVELS))
        return level

    def _let_through(self) -> None:
        OURS.setLevel(min(self._usual, *self._own) if self._own else self._usual)


LOG_LEVELS: Final = LogLevels()
