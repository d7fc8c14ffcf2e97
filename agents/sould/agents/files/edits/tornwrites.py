"""Writes in place that a killed daemon did not finish: taken back when the project is opened, before anybody looks at its files.

What was to be written is in the log, and so is what a decision that was cut off is about: that is carried out again then.
All functions block; call them in a thread.
"""

import contextlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from sould.agents.base.diskfile import digest_of, is_written_in_place, left_in, read_file, replace_file, sweep
from sould.agents.base.environment import USUAL_UMASK
from sould.agents.base.inplace import is_torn
from sould.agents.base.workspace import WorkspaceError
from sould.agents.files.directories.nodes import MOST
from sould.agents.files.directories.refs import DIRECTORY, UNKEPT, target_in
from sould.agents.files.edits.blobs import BlobMissingError, BlobStore
from sould.agents.files.edits.state import LoggedEdit
from sould.agents.files.review.file import TrackedFile

LONGEST_WRITE: Final = 60.0
"""Seconds from the announcement of a write to its end. A file that was changed later was changed by somebody else."""


def take_back_edit(path: Path, edit: LoggedEdit, store: BlobStore) -> None:
    """Take back what there is of an edit of which nobody knows if it happened, and remove what else its write left."""
    contents = dict(_contents(path.parent, edit, store))
    before, after = (contents.get(digest or "") for digest in (edit.before, edit.after))
    is_of_edit = edit.in_place and abs(_changed_at(path) - edit.timestamp) < LONGEST_WRITE
    if is_of_edit and before is not None and after is not None:
        _take_back(path, before, after)
    sweep(path.parent, contents.values())


def take_back_decisions(file: TrackedFile, steps: Collection[TrackedFile], store: BlobStore, *, in_place: bool) -> None:
    """Likewise of decisions that make of the file these, one after the other. `in_place`: an edit of it was written so."""
    path = Path(file.path)
    before, *after = (_held(each, store) for each in (file, *steps))
    if before is not None and (in_place or is_written_in_place(path, _names(path))):
        for data in after:
            if data is not None:
                _take_back(path, before, data)
    sweep(path.parent, [data for data in (before, *after) if data is not None])


def _take_back(path: Path, before: bytes, after: bytes) -> None:
    """What somebody wrote since stays."""
    with contextlib.suppress(WorkspaceError):  # it stays as it is; what it held is in the log
        found, _ = read_file(path, max(len(before), len(after)) + 1)
        if is_torn(found, before, after):
            replace_file(path, before, expected=digest_of(found), umask=USUAL_UMASK, names=_names(path))


def _contents(folder: Path, edit: LoggedEdit, store: BlobStore) -> Iterator[tuple[str, bytes]]:
    """What the edit replaced and what it wrote, as far as it is known; of a secret nothing else than the write itself kept it."""
    wanted = {digest for digest in (edit.before, edit.after) if digest not in (None, DIRECTORY, UNKEPT)}
    for digest in tuple(wanted):
        with contextlib.suppress(BlobMissingError):
            yield digest, store.get(digest)
            wanted.discard(digest)
    for data in left_in(folder, MOST) if wanted else ():
        if digest_of(data) in wanted:
            yield digest_of(data), data


def _held(file: TrackedFile, store: BlobStore) -> bytes | None:
    if not file.exists or target_in(file.content) is not None:
        return None
    if not file.content:
        return "".join(file.text.current).encode()
    try:
        return store.get(file.content)
    except BlobMissingError:
        return None


def _changed_at(path: Path) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


def _names(path: Path) -> int:
    """All of them: none may stay as it is."""
    try:
        return os.lstat(path).st_nlink
    except OSError:
        return 1
