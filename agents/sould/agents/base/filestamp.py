"""Whether a file is still the one that was looked at, by what the disk says of it. Reads no file."""

import os
from typing import TypeAlias

FileStamp: TypeAlias = tuple[int, ...]
"""Is another one as soon as the file may hold something else; () where nothing is."""


def file_stamp(path: str | os.PathLike[str]) -> FileStamp:
    """Of what a path leads to."""
    try:
        return stamp_of(os.stat(path))
    except OSError:
        return ()


def stamp_of(status: os.stat_result) -> FileStamp:
    """Of a file that was looked at."""
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
