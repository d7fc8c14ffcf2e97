"""The configuration files of editors: read with limits, replaced in one step, with a copy of what was there before.

Links of dotfiles are followed and stay links; mode and owner stay. A file that another program changes meanwhile is left
as that program wants it.
"""

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from sould.agents.base.diskfile import digest_of, replace_file
from sould.agents.base.privatefile import write_private
from sould.agents.base.workspace import FileChangedError, WorkspaceError
from sould.daemon.cli.setup.format import UnfitError
from sould.daemon.paths import Paths, ensure_private

# What setup wrote into an editor's configuration: the text before and after, so that exactly this can be taken back.
# Kept with the daemon's state, for the user alone: configurations hold keys.


class SetupRecord(Struct, frozen=True):
    """Of one editor. `before` None: there was no such file, and `made` are the directories that came with it."""

    file: str
    before: str | None
    after: str
    made: tuple[str, ...] = ()


class Records:
    """Those of one user."""

    def __init__(self, paths: Paths) -> None:
        self._folder = Path(paths.state, "setup")

    @contextmanager
    def locked(self) -> Generator[None]:
        """While this goes on no other `sould setup` changes anything."""
        ensure_private(str(self._folder.parent))
        ensure_private(str(self._folder))
        lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def of(self, editor: str) -> SetupRecord | None:
        """What was written for it; None where nothing was, or what there is cannot be read."""
        try:
            return msgspec.json.decode(self._path(editor).read_bytes(), type=SetupRecord)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def keep(self, editor: str, record: SetupRecord) -> None:
        """In place of what was kept before."""
        write_private(self._path(editor), msgspec.json.encode(record), durable=True)

    def forget(self, editor: str) -> None:
        """It was taken back."""
        self._path(editor).unlink(missing_ok=True)

    def _path(self, editor: str) -> Path:
        return self._folder / f"{editor}.json"


MOST_BYTES = 4 * 1024 * 1024
BACKUP = ".sould-backup"


class File(Struct, frozen=True):
    """A file as it was read. `text` None: there is none."""

    path: Path
    text: str | None = None

    @property
    def backup(self) -> Path:
        """The copy beside it."""
        return self.path.with_name(self.path.name + BACKUP)


def read(path: Path) -> File:
    """Read it. Raises UnfitError: it is no text file that setup may touch."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise UnfitError(f"{path} is {'a directory' if stat.S_ISDIR(found.st_mode) else 'no regular file'}")
        if found.st_size > MOST_BYTES:
            raise UnfitError(f"{path} has {found.st_size:,} bytes, more than a configuration should")
        return File(path, path.read_bytes().decode())
    except FileNotFoundError:
        return File(path)
    except NotADirectoryError:
        raise UnfitError(f"something above {path} is no directory") from None
    except UnicodeDecodeError:
        raise UnfitError(f"{path} is not written in UTF-8") from None
    except OSError as error:
        why = "is a circle of links" if error.errno == errno.ELOOP else f"cannot be read ({error.strerror})"
        raise UnfitError(f"{path} {why}") from None


def write(file: File, text: str) -> tuple[str, ...]:
    """Replace it, with a copy of what was there beside it; the directories that had to be made, outermost first.

    Raises:
        UnfitError: it cannot be written, or is not as it was read; it is as it was.
    """
    real = Path(os.path.realpath(file.path))
    made = _missing(real.parent)
    try:
        _refuse_read_only(real)
        names = 1
        if file.text is not None:
            write_private(file.backup, file.text.encode())  # it may hold keys
            # Whoever keeps their settings in a repository and links them here wants both to change.
            names = real.stat().st_nlink
        replace_file(real, text.encode(), expected=_digest(file), umask=_umask(), names=names)
    except FileChangedError:
        raise UnfitError(f"another program changed {file.path} at the same moment; try again") from None
    except WorkspaceError as error:
        raise UnfitError(str(error)) from None
    except OSError as error:
        raise UnfitError(f"{file.path} cannot be written ({error.strerror})") from None
    return made


def remove(file: File, made: tuple[str, ...]) -> None:
    """Remove a file that setup made, with the directories that were made for it if nothing else is in them.

    Raises:
        UnfitError: it cannot be removed.
    """
    try:
        file.path.unlink(missing_ok=True)
    except OSError as error:
        raise UnfitError(f"{file.path} cannot be removed ({error.strerror})") from None
    file.backup.unlink(missing_ok=True)
    for directory in reversed(made):
        with contextlib.suppress(OSError):
            os.rmdir(directory)


def _refuse_read_only(real: Path) -> None:
    """By its mode, too: who put such a file there (Nix, an administrator) puts it there again."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_IMODE(real.stat().st_mode) & 0o222 or not os.access(real, os.W_OK):
            raise UnfitError(f"{real} is read-only")


def _missing(directory: Path) -> tuple[str, ...]:
    missing = list[str]()
    while not directory.exists():
        missing.insert(0, str(directory))
        directory = directory.parent
    return tuple(missing)


def _digest(file: File) -> str | None:
    return None if file.text is None else digest_of(file.text.encode())


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
