"""What a frontend notes of a connection for the next daemon beside its record: lines that are only ever added, or replaced as a whole.

A private file in the runtime directory, written at once: `kill -9` loses no line, and cuts off the last one at most. It is made
with the first line, and goes with the record.
"""

import contextlib
import logging
import os

_log = logging.getLogger(__name__)


class NotesFile:
    """One connection's. Where the disk refuses, nothing is noted any more."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._refused = False

    def read(self) -> bytes:
        """What an earlier daemon noted: whole lines."""
        try:
            with open(self._path, "rb") as file:
                data = file.read()
        except OSError:
            return b""
        return data[: data.rfind(b"\n") + 1]

    def append(self, line: bytes) -> None:
        """Add a line, with its end."""
        if self._refused:
            return
        try:
            if self._descriptor is None:
                self._descriptor = _opened(self._path, os.O_APPEND)
            os.write(self._descriptor, line)
        except OSError as error:
            self._refuse(error)

    def replace(self, lines: bytes) -> None:
        """Have these lines in the place of all others."""
        self.close()
        try:
            descriptor = _opened(self._path + ".new", os.O_TRUNC)
            try:
                os.write(descriptor, lines)
            finally:
                os.close(descriptor)
            os.rename(self._path + ".new", self._path)
            self._refused = False
        except OSError as error:
            self._refuse(error)

    def close(self) -> None:
        """Let go of the file, which stays."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def forget(self) -> None:
        """The conversation is over: remove the file."""
        self.close()
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def _refuse(self, error: OSError) -> None:
        """What lacks a line is no use: there is nothing rather than that."""
        _log.warning("what an editor has open is not noted: %s: %s", self._path, error.strerror)
        self.forget()
        self._refused = True


def notes_path(runtime: str, token: str) -> str:
    """Where the notes of a connection are. The token's form was checked when the hello was read."""
    return f"{runtime}/n.{token}"


def _opened(path: str, flags: int) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | flags, 0o600)
