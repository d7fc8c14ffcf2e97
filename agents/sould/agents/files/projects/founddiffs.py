"""The changes that were found after a command as diffs for its card: texts only, no secrets, within bounds. For people only."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from sould.agents.files.directories.refs import is_kept
from sould.agents.files.edits.blobs import BlobMissingError, BlobStore
from sould.agents.files.projects.changes import Change
from sould.agents.wire.display import DiffBlock

MOST_SHOWN: Final = 20
"""Files of one call; the others are named."""
MOST_TEXT: Final = 200_000
"""Bytes of all of them, which a journal keeps."""


def found_diffs(changes: Sequence[Change], store: BlobStore) -> tuple[DiffBlock, ...]:
    """As many of them as may be shown. Blocks."""
    return _merged(_within(changes, store))


def _within(changes: Sequence[Change], store: BlobStore) -> Iterator[DiffBlock]:
    room, files = MOST_TEXT, MOST_SHOWN
    for change in changes:
        if files == 0:
            return
        texts = _texts(change, store)
        if texts is None:
            continue
        size = sum(map(len, texts))
        if size <= room:
            room, files = room - size, files - 1
            yield DiffBlock(path=str(change.path), old_text=texts[0], new_text=texts[1], is_new=change.before is None)


def _texts(change: Change, store: BlobStore) -> tuple[str, str] | None:
    refs = (change.before, change.after)
    if change.secret or change.before == change.after or not all(ref is None or is_kept(ref) for ref in refs):
        return None
    try:
        contents = [store.get(ref).decode() if ref is not None else "" for ref in refs]
    except (BlobMissingError, OSError, UnicodeDecodeError):
        return None
    return None if any("\0" in text for text in contents) else (contents[0], contents[1])


def _merged(diffs: Iterable[DiffBlock]) -> tuple[DiffBlock, ...]:
    """Several of one file, oldest first, as one."""
    by_path: dict[str, DiffBlock] = {}
    for diff in diffs:
        first = by_path.get(diff.path)
        by_path[diff.path] = first.model_copy(update={"new_text": diff.new_text}) if first is not None else diff
    return tuple(diff for diff in by_path.values() if diff.is_new or diff.old_text != diff.new_text)
