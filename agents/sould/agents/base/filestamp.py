"""Whether a file is still the one that was looked at, by what the disk says of it. Reads no file."""

import os
from typing import TypeAlias

FileStamp: TypeAlias = tuple[int, ...]
"""Differs once the file may have changed; () where there is none."""


def file_stamp(path: str | os.PathLike[str]) -> FileStamp:
    """The stamp of a path's file, links followed."""
    try:
        return stamp_of(os.stat(path))
    except OSError:
        return ()


def stamp_of(status: os.stat_result) -> FileStamp:
    """The stamp of a file whose status is known."""
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
