"""A file of what the user answered or chose: read whole or not at all, changed by one at a time, written in one step.

What cannot be read, or what others may write, counts as not said: nobody is taken to have allowed anything. Such a file is set
aside before another takes its place. Blocks.
"""

import contextlib
import os
import stat
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Final, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from sould.agents.base.errors import SouldError, why_refused
from sould.agents.base.privatefile import write_private
from sould.agents.base.processlock import exclusive_lock

LARGEST: Final = 4 * 1024 * 1024
_LOCK: Final = ".answers.lock"

ValueT = TypeVar("ValueT")


class UnreadableError(SouldError):
    """What the file holds does not count; the sentence says why."""


class AnswerFile:
    """The file at `path`. Several daemons and commands may have one each for the same file."""

    def __init__(self, path: Path, *, durable: bool = False) -> None:
        """`durable`: what is written cannot be had again."""
        self.path = path
        self._durable = durable

    def read(self) -> bytes:
        """Of a regular file and nothing that a name leads to: what lies elsewhere is protected by another name, or by none.

        Raises:
            FileNotFoundError: there is none.
            UnreadableError
        """
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(descriptor, "rb") as file:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    raise UnreadableError(f"{self.path} is no file, so what it should hold does not count.")
                if status.st_mode & 0o022:
                    raise UnreadableError(f"{self.path} may be written by other users, so it does not count.")
                data = file.read(LARGEST + 1)
        except FileNotFoundError:
            raise
        except OSError as error:
            why = "it is a link; have the file itself there" if self.path.is_symlink() else why_refused(error)
            raise UnreadableError(f"{self.path}: cannot be read ({why}).") from error
        if len(data) > LARGEST:
            raise UnreadableError(f"{self.path} is larger than {LARGEST // 1024**2} MiB, so it is not read.")
        return data

    def write(self, data: bytes) -> None:
        """Put this in its place. Raises OSError; the old content stays."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(self.path, data, durable=self._durable)

    @contextlib.contextmanager
    def alone(self) -> Generator[None]:
        """Nobody else changes it meanwhile. Raises ConfigError."""
        with exclusive_lock(self.path.with_name(_LOCK)):
            yield


class JsonAnswers(Generic[ValueT]):
    """An answer file that holds one value as JSON."""

    def __init__(self, path: Path, form: TypeAdapter[ValueT], *, durable: bool = False) -> None:
        self._file = AnswerFile(path, durable=durable)
        self._form = form

    def read(self) -> ValueT | None:
        """What was said; None: nothing, as far as is known."""
        try:
            return self._form.validate_json(self._file.read())
        except (FileNotFoundError, UnreadableError, ValidationError):
            return None

    def replace(self, value: ValueT) -> None:
        """Say this instead. Raises OSError."""
        self._file.write(self._form.dump_json(value, indent=1))

    def change(self, update: Callable[[ValueT | None], ValueT]) -> None:
        """Say what `update` makes of what was said; one that cannot be read is set aside. Raises OSError, ConfigError."""
        with self._file.alone():
            known = self.read()
            value = update(known)
            if known is None and os.path.lexists(self._file.path):
                os.replace(self._file.path, self._file.path.with_name(f"{self._file.path.name}.damaged"))
            self.replace(value)
