"""Importing beside the loop, one thread at a time: two that import each other's packages may see half a module.

What is imported so is named as text, because naming it in an import statement is what must wait.
"""

import asyncio
import gc
import sys
from importlib import import_module
from threading import Lock

_ONE = Lock()


async def load(*names: str) -> None:
    """Modules that are slow to import: loaded when this returns. Raises what they raise."""
    if _ONE.locked() or not all(name in sys.modules for name in names):
        await asyncio.to_thread(load_here, *names)


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
