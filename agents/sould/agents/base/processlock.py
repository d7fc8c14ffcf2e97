"""A lock that all daemons and commands of the user share: a file that is locked while somebody does what only one may.

The lock is the kernel's and ends with its holder, however that ends; the file stays, empty.
"""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from sould.agents.base.errors import ConfigError
from sould.agents.base.filelock import lock_now, open_lock_file

LONGEST = 60.0
"""Seconds to wait for another holder, which is longer than one holds it: a renewal waits for one server with limits of its own;"""
_BETWEEN = 0.02
"""between two looks."""


@contextmanager
def exclusive_lock(path: Path) -> Generator[int]:
    """Keep other processes and threads out; blocks until they are. Raises ConfigError.

    The lock is that of the descriptor: a program that is given it holds the lock, too, until it ends.
    """
    descriptor = _opened(path)
    try:
        deadline = time.monotonic() + LONGEST
        while not _locked(descriptor):
            _give_up_after(deadline, path)
            time.sleep(_BETWEEN)
        yield descriptor
    finally:
        os.close(descriptor)


@asynccontextmanager
async def alone_without_blocking(path: Path) -> AsyncGenerator[None]:
    """As `exclusive_lock`, for a coroutine. Raises ConfigError."""
    descriptor = _opened(path)
    try:
        deadline = time.monotonic() + LONGEST
        while not _locked(descriptor):
            _give_up_after(deadline, path)
            await asyncio.sleep(_BETWEEN)
        yield
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return open_lock_file(path)
    except OSError as error:
        raise ConfigError(f"{path} cannot be locked: {error.strerror}") from None


def _locked(descriptor: int) -> bool:
    try:
        lock_now(descriptor)
    except BlockingIOError:
        return False
    return True


def _give_up_after(deadline: float, path: Path) -> None:
    if time.monotonic() > deadline:
        raise ConfigError(f"Another process holds {path} for longer than {LONGEST:g} s; is it stopped?")
