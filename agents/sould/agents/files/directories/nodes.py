"""A path as it is on disk, whatever it is: a file with its mode, a link, a directory, or nothing.

Used where a text and an editor's buffer are not what matters. Nothing is replaced that is not as it was read. Blocks: use
it in a thread.
"""

import os
import stat
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from sould.agents.base.diskfile import digest_of, make_directories, read_file, remove_file, replace_file
from sould.agents.base.workspace import FileChangedError, OutsideError, WorkspaceError
from sould.agents.files.directories.refs import DIRECTORY, link_ref, target_in
from sould.agents.files.review.file import TrackedFile

MOST = 16 * 1024 * 1024
"""Bytes of a file that is read whole."""


class FileNode(Struct, frozen=True):
    """`mode` as `lstat` says, None when nobody knows (then of a file); `data` is the content or where the link leads."""

    mode: int | None
    data: bytes = b""

    @property
    def kind(self) -> int:
        """The file type."""
        return stat.S_IFMT(self.mode) if self.mode is not None else stat.S_IFREG

    @property
    def permissions(self) -> int | None:
        """The mode without the type; None when nobody knows, and of a link, which has none of its own."""
        return None if self.mode is None or self.kind == stat.S_IFLNK else stat.S_IMODE(self.mode)


class Put(Struct, frozen=True):
    """What stands somewhere, and what is to; `becomes`: what the review then knows of the file, where the edit takes others back."""

    found: FileNode | None
    wanted: FileNode | None
    becomes: TrackedFile | None = None


def digest_of_node(node: FileNode | None) -> str | None:
    """How an edit names it."""
    if node is None:
        return None
    return DIRECTORY if node.kind == stat.S_IFDIR else digest_of(node.data)


def content_of(node: FileNode | None) -> bytes | None:
    """What is kept of it; None of nothing, and of a directory."""
    return node.data if node is not None and node.kind != stat.S_IFDIR else None


class LinkTo(Struct, frozen=True):
    """A symbolic link, by its name among contents (`link_ref`)."""

    ref: str


Held: TypeAlias = bytes | LinkTo | None
"""What stands at a path: a file with this content, a link, or neither."""


def held_in(data: bytes | None, mode: int | None) -> Held:
    """What stands there, by its content, or where it leads, and its mode, None where nobody knows."""
    return LinkTo(link_ref(data)) if data is not None and is_link(mode) else data


def ref_of(held: Held) -> str | None:
    """How the review names it: a digest, or where it leads; None of nothing."""
    return held.ref if isinstance(held, LinkTo) else digest_of(held) if held is not None else None


def is_link(mode: int | None) -> bool:
    """Whether this is the mode of a symbolic link."""
    return mode is not None and stat.S_ISLNK(mode)


def link_node(ref: str) -> FileNode | None:
    """The link of that name; None: it names something else."""
    target = target_in(ref)
    return FileNode(stat.S_IFLNK | 0o777, target) if target is not None else None


def is_file(node: FileNode | None) -> bool:
    """Nothing, or a regular file."""
    return node is None or node.kind == stat.S_IFREG


def is_rewritten(found: FileNode | None, wanted: FileNode | None) -> bool:
    """A file stays one and gets another content."""
    if found is None or wanted is None or found.data == wanted.data:
        return False
    return is_file(found) and is_file(wanted)


def read_node(path: Path) -> FileNode | None:
    """What is there. Raises WorkspaceError for what can be neither kept nor restored."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return FileNode(mode, os.fsencode(os.readlink(path)))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise WorkspaceError(f"cannot look at {path}: {error.strerror or 'the system refused'}") from error
    if stat.S_ISDIR(mode):
        return FileNode(mode)
    if not stat.S_ISREG(mode):
        raise WorkspaceError(f"{path} is neither a file nor a directory")
    data, size = read_file(path, MOST + 1)
    if size > MOST:
        raise WorkspaceError(f"{path} has {size} bytes and is not compared")
    return FileNode(mode, data)


def replace_node(path: Path, found: FileNode | None, wanted: FileNode | None, umask: int, names: int = 1) -> None:
    """Put `wanted` where `found` is; a directory goes only when it is empty. `umask`: where no mode is known.

    `names`: see `replace_file`.

    Raises:
        FileChangedError: something else is there by now; nothing was changed.
        WorkspaceError
    """
    _refuse_links_above(path)
    try:
        if found is not None and wanted is not None and found.kind == wanted.kind:
            _exchange(path, found, wanted, umask, names)
        else:
            if found is not None:
                _remove(path, found)
            if wanted is not None:
                _make(path, wanted, umask)
    except OSError as error:
        raise WorkspaceError(f"{path} was not restored: {error.strerror or 'the system refused'}") from error


def _refuse_links_above(path: Path) -> None:
    if os.path.realpath(path.parent) != str(path.parent):
        raise OutsideError(f"{path.parent} now goes through a link")


def _exchange(path: Path, found: FileNode, wanted: FileNode, umask: int, names: int) -> None:
    if found.kind == stat.S_IFLNK:
        _remove(path, found)
        _make(path, wanted, umask)
        return
    if found.kind == stat.S_IFREG and found.data != wanted.data:
        replace_file(path, wanted.data, expected=digest_of(found.data), umask=umask, names=names)
    set_permissions(path, wanted.permissions)


def _remove(path: Path, found: FileNode) -> None:
    if found.kind == stat.S_IFDIR:
        path.rmdir()
    elif found.kind == stat.S_IFLNK:
        if not path.is_symlink() or os.fsencode(os.readlink(path)) != found.data:
            raise FileChangedError(f"{path} now leads elsewhere; it was not removed")
        path.unlink()
    else:
        remove_file(path, expected=digest_of(found.data))


def _make(path: Path, wanted: FileNode, umask: int) -> None:
    try:
        if wanted.kind == stat.S_IFDIR:
            make_directories(path.parent, umask)
            path.mkdir()
        elif wanted.kind == stat.S_IFLNK:
            make_directories(path.parent, umask)
            os.symlink(os.fsdecode(wanted.data), path)
        else:
            replace_file(path, wanted.data, expected=None, umask=umask)
    except FileExistsError:
        raise FileChangedError(f"{path} was created by another program meanwhile") from None
    set_permissions(path, wanted.permissions)


def set_permissions(path: Path, permissions: int | None) -> None:
    """Give a file or directory its mode, never through a link. Raises OutsideError: a directory above it became one."""
    if permissions is None:
        return
    _refuse_links_above(path)
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if stat.S_IMODE(os.fstat(fd).st_mode) != permissions:
            os.fchmod(fd, permissions)
    finally:
        os.close(fd)


def surroundings(path: Path) -> tuple[int | None, list[Path]]:
    """The mode of what is there, and the directories above it that are missing, the uppermost first."""
    try:
        return os.lstat(path).st_mode, []
    except OSError:
        missing = [parent for parent in path.parents if not os.path.lexists(parent)]
        return None, missing[::-1]


def is_text(node: FileNode | None) -> bool:
    """Whether an editor can show it; so it can nothing."""
    if node is None:
        return True
    try:
        node.data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in node.data
