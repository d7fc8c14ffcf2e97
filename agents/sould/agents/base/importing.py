"""Importing beside the loop, one thread at a time: two that import each other's packages may see half a module.

What is imported so is named as text, because naming it in an import statement is what must wait.
"""

import asyncio
import gc
import sys
from contextlib import suppress
from importlib import import_module
from threading import Lock, Thread

_ONE = Lock()


def is_loaded(*names: str) -> bool:
    """Whether there is nothing to wait for."""
    return not _ONE.locked() and all(name in sys.modules for name in names)


async def load(*names: str) -> None:
    """Modules that are slow to import: loaded when this returns. Raises what they raise."""
    if not is_loaded(*names):
        await asyncio.to_thread(load_here, *names)


def begin_loading(*names: str) -> None:
    """Load them in the background; what is wrong with them, whoever needs them will be told."""
    if not is_loaded(*names):
        Thread(target=_try_to_load, args=names, daemon=True, name="load").start()


def _try_to_load(*names: str) -> None:
    with suppress(ImportError, OSError):
        load_here(*names)


def load_here(*names: str) -> None:
    """The same in a thread that may wait. What a module makes is there to stay, so garbage is not looked for meanwhile."""
    with _ONE:
        looks = gc.isenabled()
        gc.disable()
        try:
            for name in names:
                import_module(name)
        finally:
            if looks:
                gc.enable()
