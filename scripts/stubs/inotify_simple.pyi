# What the project uses of inotify_simple, which has no types of its own.

from enum import IntEnum
from os import PathLike
from typing import NamedTuple

class Event(NamedTuple):
    wd: int
    mask: int
    cookie: int
    name: str

class INotify:
    def __init__(self, inheritable: bool = False, nonblocking: bool = False, closefd: bool = True) -> None: ...
    def add_watch(self, path: str | PathLike[str], mask: int) -> int: ...
    def rm_watch(self, wd: int) -> None: ...
    def fileno(self) -> int: ...
    def read(self, timeout: int | None = None, read_delay: int | None = None) -> list[Event]: ...
    def close(self) -> None: ...

class flags(IntEnum):  # noqa: N801 -- its name
    MODIFY = 0x2
    ATTRIB = 0x4
    CLOSE_WRITE = 0x8
    MOVED_FROM = 0x40
    MOVED_TO = 0x80
    CREATE = 0x100
    DELETE = 0x200
    DELETE_SELF = 0x400
    MOVE_SELF = 0x800
    UNMOUNT = 0x2000
    Q_OVERFLOW = 0x4000
    IGNORED = 0x8000
    ONLYDIR = 0x1000000
    DONT_FOLLOW = 0x2000000
    EXCL_UNLINK = 0x4000000
    ISDIR = 0x40000000
