"""What a call did to files besides its tool's own writes, as its result tells it. Changes nothing else of the result."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pydantic import JsonValue

from sould.agents.files.directories.refs import is_kept
from sould.agents.files.edits.blobs import BlobMissingError, BlobStore
from sould.agents.files.projects.changes import MOST_NAMED, CallChange, Findings
from sould.agents.wire.display import CHANGED, DiffBlock
from sould.agents.wire.messages import ToolReturn

MOST_SHOWN: Final = 20
"""Files of one call; the others are named."""
MOST_TEXT: Final = 200_000
"""Bytes of all of them, which a journal keeps."""


def with_findings(result: ToolReturn, findings: Findings, diffs: Sequence[DiffBlock]) -> ToolReturn:
    """The result with the paths for programs, diffs for people, and what could not be saved for everybody."""
    update: dict[str, object] = {}
    if findings.paths:
        paths: list[JsonValue] = [str(path) for path in findings.paths[:MOST_NAMED]]
        update["extras"] = {**(result.extras or {}), CHANGED: paths}
    if diffs:
        update["display"] = (*result.display, *diffs)
    if findings.note:
        update["message"] = f"{result.message} {findings.note}".strip()
        if isinstance(result.output, str):
            update["output"] = f"{result.output.rstrip()}\n[{findings.note}]".lstrip()
    return result.model_copy(update=update) if update else result


def found_diffs(changes: Sequence[CallChange], store: BlobStore) -> tuple[DiffBlock, ...]:
    """The changes as diffs for people, on the card of the call: texts only, no secrets, as many as may be shown. Blocks."""
    return _merged(_within(changes, store))


def _within(changes: Sequence[CallChange], store: BlobStore) -> Iterator[DiffBlock]:
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


def _texts(change: CallChange, store: BlobStore) -> tuple[str, str] | None:
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
