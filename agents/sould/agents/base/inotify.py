"""Directories that are watched by inotify, for everybody who does: what is reported, and where it can be relied on.

Linux only, and loaded with the first directory that is watched: importing the library takes 2 ms, and it looks for the C
library for 2 more. Nothing is read but when asked, so nobody is woken. What an event means is for those who ask.
"""

import contextlib
import ctypes
import os
from typing import TYPE_CHECKING, Final

from inotify_simple import INotify, flags

if TYPE_CHECKING:
    from inotify_simple import Event

_CHANGES: Final = (
    (flags.MODIFY | flags.ATTRIB | flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO)
    | (flags.DELETE_SELF | flags.MOVE_SELF | flags.ONLYDIR | flags.DONT_FOLLOW)
)  # fmt: skip
_LOST: Final = flags.Q_OVERFLOW | flags.UNMOUNT
_IGNORED: Final = int(flags.IGNORED)
_LOCAL: Final = frozenset(
    {
        0xEF53,  # ext2, ext3, ext4
        0x5846_5342,  # XFS
        0x9123_683E,  # Btrfs
        0x0102_1994,  # tmpfs
        0x794C_7630,  # overlay
        0xF2F5_2010,  # F2FS
        0x2FC1_2FC1,  # ZFS
        0xCA45_1A4E,  # bcachefs
        0x8584_58F6,  # ramfs
    }
)
"""As `statfs` names them. Nobody changes their files behind this kernel's back."""
_STATFS_SIZE: Final = 256
"""Bytes; more than any system's `struct statfs` has."""
_libc: Final = ctypes.CDLL(None, use_errno=True)


class DirectoryWatches(INotify):
    """An inotify instance. Not handed to commands; for one thread at a time."""

    def __init__(self, more: int = 0, less: int = 0) -> None:
        """Events that are wanted beside those of whatever changes, and of these that are not.

        Raises OSError: the user has no more instances.
        """
        super().__init__(nonblocking=True)
        self.mask = (_CHANGES | more) & ~less

    def add(self, path: str | os.PathLike[str]) -> int:
        """The number of a watched directory, to which no link at the path's end leads. Raises OSError."""
        return self.add_watch(path, self.mask)

    def remove(self, number: int) -> None:
        """Watch it no longer."""
        with contextlib.suppress(OSError):  # it ended with its directory
            self.rm_watch(number)

    @staticmethod
    def lost(event: "Event") -> bool:
        """Nobody knows any more what happened."""
        return bool(event.mask & _LOST)

    @staticmethod
    def ended(event: "Event") -> bool:
        """The event's directory is watched no longer."""
        return bool(event.mask & _IGNORED)

    @staticmethod
    def is_local(path: str) -> bool:
        """Whether all changes in a directory pass through this kernel. Raises OSError."""
        about = ctypes.create_string_buffer(_STATFS_SIZE)
        if _libc.statfs(os.fsencode(path), about) < 0:  # `os.statvfs` does not tell the type
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return ctypes.c_long.from_buffer(about).value & 0xFFFF_FFFF in _LOCAL
