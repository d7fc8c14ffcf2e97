"""The file of an edit log, opened by one process at a time. Reads no event."""

import contextlib
import os
from pathlib import Path
from typing import Final

from sould.agents.base.errors import ProjectOpenElsewhereError
from sould.agents.base.privatefile import write_private
from sould.agents.files.edits.editlog import EditLogFile

LOG: Final = "edits.jsonl"
HOLDER: Final = "edits.pid"
"""Beside it: which process had it open last; the lock itself is the kernel's."""


def opened(directory: Path, root: Path, undo: contextlib.ExitStack) -> EditLogFile:
    """The open log; `undo` closes it, also when nobody waits for it any more."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    holder = _holder(directory)
    try:
        file = EditLogFile(directory / LOG, holder)
        undo.callback(file.close)
    except BlockingIOError:
        raise ProjectOpenElsewhereError(
            f"The edit log of {root} ({directory / LOG}) is open in pid {holder}; "
            "stop that process, or work in the editor that started it."
        ) from None
    with contextlib.suppress(OSError):  # a full disk must not keep a project from being opened
        write_private(directory / HOLDER, b"%d\n" % os.getpid())
    return file


def _holder(directory: Path) -> str:
    try:
        return (directory / HOLDER).read_text(encoding="ascii", errors="replace").strip() or "unknown"
    except OSError:
        return "unknown"
