"""What the daemon asks of the kernel for its own process, before anything of an agent's runs in it or below it (Linux)."""

import ctypes
import logging
import os
import sys
from typing import Final

_log = logging.getLogger(__name__)

_DUMPABLE: Final = 4
_CHILD_SUBREAPER: Final = 36
_SETTINGS: Final = (
    (_DUMPABLE, 0, "memory stays readable for debuggers"),
    (_CHILD_SUBREAPER, 1, "what loses its parent is not recognised as an agent's"),
)


def protect() -> None:
    """Keep what we hold and what agents start to ourselves.

    No debugger of the same user, and no core dump, sees keys and conversations. Whatever loses its parent below this
    process becomes our child, also when the guard that started it was killed, so `ancestry` still knows whose it is.
    """
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    for setting, value, otherwise in _SETTINGS:
        if libc.prctl(setting, value, 0, 0, 0) != 0:
            _log.warning("%s: %s", otherwise, os.strerror(ctypes.get_errno()))
