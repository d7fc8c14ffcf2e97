"""What a check is: a function from the user's set-up to findings. Checks only look; they change nothing."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from sould.daemon.paths import Paths

Level: TypeAlias = Literal["ok", "warn", "fail"]


class Finding(Struct, frozen=True):
    """One sentence on one thing. `fix` says what to do about it, "" when nothing is to be done."""

    check: str
    level: Level
    text: str
    fix: str = ""


class SetUp(Struct, frozen=True):
    """What is examined: this user, this environment, this directory."""

    environment: Mapping[str, str]
    cwd: Path
    timeout: float = 5.0
    """Seconds for each answer from the network or the daemon."""

    @property
    def home(self) -> Path:
        """The user's home."""
        return Path(self.environment.get("HOME") or Path("~").expanduser())

    @property
    def paths(self) -> Paths:
        """Where things are."""
        return Paths(self.environment)


Check: TypeAlias = Callable[[SetUp], Iterator[Finding]]


def ok(check: str, text: str) -> Finding:
    """Nothing to do."""
    return Finding(check, "ok", text)


def warn(check: str, text: str, fix: str) -> Finding:
    """It works, but less well or less safely than it could."""
    return Finding(check, "warn", text, fix)


def fail(check: str, text: str, fix: str) -> Finding:
    """It does not work."""
    return Finding(check, "fail", text, fix)
