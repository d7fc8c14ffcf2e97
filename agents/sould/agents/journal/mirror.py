"""`context.jsonl`: a copy of the model's context for people and other programs, in the layout Wire programs share.

The journal is the truth: nothing is ever read from this file but to see whether it is right. Written in the writer
thread, never synced; a write that fails leaves it wrong until the session is opened again. When history is replaced
(compaction, clearing, reverting) the old file stays beside it as `context_N.jsonl`.
"""

import json
import logging
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import orjson

from sould.agents.journal.checkpoints import Checkpoint
from sould.agents.journal.context import Context, Entry, Usage
from sould.agents.journal.writer import JournalWriter

logger = logging.getLogger(__name__)


class ContextMirror:
    """Keeps one session's `context.jsonl` like its context."""

    def __init__(self, path: Path, writer: JournalWriter) -> None:
        self._path = path
        self._writer = writer
        self._generation = 0
        self._settled = 0
        self._headed = False

    def check(self, context: Context) -> None:
        """Write the file anew when it is missing, torn or behind. Blocks; for opening a session."""
        self._note(context)
        try:
            if self._is_like(context):
                return
            temporary = self._path.with_suffix(".tmp")
            temporary.unlink(missing_ok=True)
            _append(temporary, b"".join((*_head(context), *_lines(context, 0))))
            temporary.replace(self._path)
        except OSError as error:
            logger.warning("%s cannot be rebuilt: %s", self._path, error.strerror)

    def _is_like(self, context: Context) -> bool:
        """The same number of lines, beginning and ending alike: only we write it, and only whole lines at the end."""
        if not self._path.is_file():
            return False
        found = self._path.read_bytes()
        head = b"".join(_head(context))
        tail = b"".join(_lines(context, max(0, context.settled - 2)))
        count = context.settled_lines + (1 if head else 0)
        return found.startswith(head) and found.endswith(tail) and found.count(b"\n") == count

    def update(self, context: Context) -> None:
        """Follow the context after a message; cheap when nothing settled."""
        if context.generation == self._generation and context.settled == self._settled and self._headed:
            return
        replaced = context.generation != self._generation
        lines: list[bytes] = []
        if replaced or not self._headed:
            lines += _head(context)
        lines += _lines(context, 0 if replaced else self._settled)
        self._note(context)
        if replaced or lines:
            data = b"".join(lines)
            self._writer.post(lambda: self._write(data, rotate=replaced))

    def _note(self, context: Context) -> None:
        self._generation = context.generation
        self._settled = context.settled
        self._headed = bool(context.system_prompt) or self._settled > 0

    def _write(self, data: bytes, *, rotate: bool) -> None:
        try:
            if rotate and self._path.exists():
                self._path.replace(_free_name(self._path))
            _append(self._path, data)
        except OSError as error:
            logger.warning("%s is behind: %s", self._path, error.strerror)


def _append(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _free_name(path: Path) -> Path:
    names = (path.with_name(f"{path.stem}_{number}{path.suffix}") for number in count(1))
    return next(name for name in names if not name.exists())


def _head(context: Context) -> Iterator[bytes]:
    if context.system_prompt:
        yield _line({"role": "_system_prompt", "content": context.system_prompt})


def _lines(context: Context, start: int) -> Iterator[bytes]:
    return map(_line, map(_as_json, context.entries(start, context.settled)))


def _line(fields: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:  # lone surrogates: each becomes "?", as in the journal
        return json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _as_json(entry: Entry) -> dict[str, Any]:
    if isinstance(entry, Checkpoint):
        return {"role": "_checkpoint", "id": entry.id}
    if isinstance(entry, Usage):
        return {"role": "_usage", "token_count": entry.token_count}
    fields: dict[str, Any] = {"role": entry.role, "content": [part.model_dump(mode="json") for part in entry.content]}
    if entry.tool_calls:
        fields["tool_calls"] = [call.model_dump(mode="json", exclude={"preview"}) for call in entry.tool_calls]
    if entry.tool_call_id is not None:
        fields["tool_call_id"] = entry.tool_call_id
    return fields
