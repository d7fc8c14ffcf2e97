"""Makes what kimi-cli wrote of a session a journal of ours, so that the session can go on; the originals stay beside it.

Its records are kept as they stand, those of unknown types too. What our journals say and its do not is added: how a turn
ended, what a compaction came to, that the user cleared the context. Lines that are no records are passed over.
"""

import os
import re
import shutil
import time
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from msgspec import Struct

from sould.agents.base.errors import JournalFullError, SouldError, why_refused
from sould.agents.journal.context import Context
from sould.agents.journal.locking import lock_file
from sould.agents.journal.records import as_record, metadata_line, seal, unseal
from sould.agents.journal.recovery import OpenWork
from sould.agents.sessions.store.imported import kimi
from sould.agents.sessions.store.imported.finding import LARGEST, turns_of
from sould.agents.sessions.store.imported.shape import ImportedConversation, ImportedMessage
from sould.agents.sessions.store.info import JOURNAL
from sould.agents.sessions.store.kimilayout import (
    CONTEXT,
    additional_in,
    foreign,
    is_ours,
    last_written,
    open_own,
    parsed,
    require_own,
    state_of,
)
from sould.agents.soul.turn import new_turn_id
from sould.agents.toolapi.base import tool_error
from sould.agents.wire.content import TextPart, input_text
from sould.agents.wire.messages import (
    EXTENSION_TYPES,
    CompactionEnd,
    ContextCleared,
    DirectoryAdded,
    RequestClosed,
    SteerInput,
    ToolResult,
    TurnBegin,
    TurnEnd,
    TurnError,
    UnknownMessageError,
    WireMessage,
    dump,
    parse,
)

_NO_TURN_END: Final = frozenset({"1.0", "1.1"})
"""Versions of Wire without `TurnEnd`."""
_COMMAND: Final = re.compile(r"/(clear|reset|compact|yolo|afk|plan|add-dir|export|import)(?!\S)")
"""What asks no model."""
_CLEARS: Final = frozenset({"clear", "reset"})
COMPACTED: Final = "Previous context has been compacted. Here is the compaction output:"
_NO_PERSON: Final = ("<system", "<notification", COMPACTED)
"""How a message begins that kimi-cli put into its user's mouth."""
_KEPT: Final = 2
"""Messages of the user and the agent that it keeps when it compacts."""
_LEFT_OPEN: Final = (
    "Interrupted: kimi-cli ended while this call was open; it may or may not have run. Check before you repeat it."
)


class _Line(NamedTuple):
    """A record as it stands in a file. `sealed`: we wrote it."""

    timestamp: float
    envelope: dict[str, Any]
    sealed: bool
    incomplete: bool

    @property
    def message(self) -> WireMessage | None:
        try:
            return parse(self.envelope)
        except UnknownMessageError:
            return None


class _Survey(Struct):
    """What must be known of a whole file before its first record is written."""

    version: str = "1.1"
    began: float = 0.0
    sealed: bool = False
    ends_turns: bool = False
    prompts: int = 0
    first_prompt: str = ""
    compactions: int = 0
    """Those whose summary is not in the file."""

    def take(self, line: _Line) -> None:
        """Look at the next record."""
        self.began = self.began or line.timestamp
        self.sealed = self.sealed or line.sealed
        match line.message if line.envelope["type"] in _SURVEYED else None:
            case TurnBegin(user_input=said) | SteerInput(user_input=said) if not _COMMAND.match(input_text(said)):
                self.first_prompt = input_text(said) if not self.prompts else self.first_prompt
                self.prompts += 1
            case TurnEnd():
                self.ends_turns = True
            case CompactionEnd(summary="", failed=False):
                self.compactions += 1
            case _:
                pass

    def of_version(self, version: object) -> None:
        """The file says which version of Wire it has."""
        self.version = version if isinstance(version, str) else self.version

    @property
    def knows_turn_ends(self) -> bool:
        """Whether a turn without an end was cut off."""
        return self.ends_turns or self.version not in _NO_TURN_END


_SURVEYED: Final = frozenset({"TurnBegin", "SteerInput", "TurnEnd", "CompactionEnd"})


def convert(directory: Path, cwd: Path) -> None:
    """Give a session in kimi-cli's layout a journal of ours, in one step, unless it has one. Blocks.

    Raises:
        SessionOpenElsewhereError: somebody has it open.
        SouldError: there is too much of it.
        JournalFullError: the disk refuses; everything is as it was.
    """
    directory = directory.resolve()
    try:
        if is_ours(directory):
            return
        lock = lock_file(directory / f"{JOURNAL}.lock")
        try:
            require_own(directory)
            _convert(directory, cwd)
        finally:
            os.close(lock)
    except OSError as error:
        raise JournalFullError(f"The session in {directory} cannot be taken over: {why_refused(error)}.") from error


def _convert(directory: Path, cwd: Path) -> None:
    journal, draft = directory / JOURNAL, directory / f"{JOURNAL}.new"
    for path in (journal, directory / CONTEXT):
        if path.exists() and path.stat().st_size > LARGEST:
            raise SouldError(
                f"{path} has {path.stat().st_size:,} bytes; sessions of at most {LARGEST:,} can go on here."
            )
    draft.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.writelines(_journal(directory, cwd))
            file.flush()
            os.fsync(file.fileno())
        for path in (journal, directory / CONTEXT):
            _keep(path)
        draft.replace(journal)
    finally:
        draft.unlink(missing_ok=True)


def _keep(path: Path) -> None:
    """Copy what kimi-cli wrote to a name of its own."""
    if not path.exists():
        return
    names = (path.with_name(f"{path.stem}.kimi{f'_{number}' if number else ''}.jsonl") for number in count())
    kept = next(name for name in names if not name.exists())
    draft = kept.with_name(f"{kept.name}.new")
    draft.unlink(missing_ok=True)
    with open_own(path) as source, draft.open("xb") as copy:
        shutil.copyfileobj(source, copy)
        copy.flush()
        os.fsync(copy.fileno())
    draft.replace(kept)


def _journal(directory: Path, cwd: Path) -> Iterator[bytes]:
    """The lines of the new journal."""
    survey = _survey(directory / JOURNAL)
    before = _said_before(directory / CONTEXT, survey)
    began = survey.began or last_written(directory) or time.time()
    yield metadata_line({"session_id": directory.name, "cwd": str(cwd), "created": began})
    conversion = _Conversion(survey, deque(_summaries(directory, survey.compactions)))
    if not survey.sealed:
        for path in additional_in(state_of(directory)):
            yield conversion.line(began, DirectoryAdded(path=str(path)))
    for message in turns_of(before) if before is not None else ():
        yield conversion.line(began, message)
    for line in _lines(directory / JOURNAL):
        yield from conversion.take(line)
    yield from conversion.end()


class _Conversion:
    """Takes the records of a file one after another and gives the lines of a journal."""

    def __init__(self, survey: _Survey, summaries: deque[str]) -> None:
        self._survey = survey
        self._summaries = summaries
        self._context, self._work = Context(), OpenWork()
        self._number = 0
        self._now = survey.began
        self._clears = False
        """The running turn is the command that clears the context."""

    def take(self, line: _Line) -> Iterator[bytes]:
        """The lines of the next record: itself, and what goes before it."""
        kind, message = line.envelope["type"], line.message
        self._now = line.timestamp
        if kind in EXTENSION_TYPES and not line.sealed:
            return  # kimi-cli has no such message
        match message:
            case TurnBegin():
                # a turn in which others run has no step of its own, and ends with the last of them
                yield from self._finish(cut=self._survey.knows_turn_ends and self._work.step > 0)
                yield self._raw(line, self._begin(line, message))
            case TurnEnd():
                if self._work.turn is not None:
                    yield from self._close()
                    yield self._raw(line, {"turn_id": self._work.turn.turn_id})
            case CompactionEnd(summary="", failed=False):
                yield self.line(self._now, self._compacted(message))
            case _:
                yield self._raw(line, {})

    def end(self) -> Iterator[bytes]:
        """The lines with which everything has an end."""
        yield from self._finish(cut=self._survey.knows_turn_ends)
        yield from self._close()

    def line(self, timestamp: float, message: WireMessage) -> bytes:
        """The line of a message of ours."""
        return self._sealed(timestamp, dump(message), message, {})

    def _begin(self, line: _Line, turn: TurnBegin) -> dict[str, Any]:
        command = _COMMAND.match(input_text(turn.user_input)) if not line.sealed else None
        self._clears = command is not None and command[1] in _CLEARS
        return {"turn_id": turn.turn_id or new_turn_id()} | ({"command": True} if command else {})

    def _finish(self, *, cut: bool) -> Iterator[bytes]:
        """End the turn that is open, if one is."""
        turn = self._work.turn
        if turn is None:
            return
        yield from self._close()
        error = TurnError(kind="interrupted", message="kimi-cli ended in the middle of this turn.") if cut else None
        stop = "interrupted" if cut else "finished"
        yield self.line(self._now, TurnEnd(turn_id=turn.turn_id, stop_reason=stop, error=error))

    def _close(self) -> Iterator[bytes]:
        """End what the turn has begun."""
        for call in self._work.calls:
            result = tool_error(_LEFT_OPEN, brief="Interrupted")
            yield self.line(self._now, ToolResult(tool_call_id=call.id, return_value=result))
        for request in self._work.requests:
            yield self.line(self._now, RequestClosed(request_id=request.id, reason="cancelled"))
        if self._work.compaction is not None:
            failed = CompactionEnd(
                compaction_id=self._work.compaction.compaction_id, failed=True, error="It was not finished."
            )
            yield self.line(self._now, failed)
        if self._clears:
            self._clears = False
            yield self.line(self._now, ContextCleared())

    def _compacted(self, end: CompactionEnd) -> CompactionEnd:
        """With what it came to, as far as that is known; else the model keeps everything."""
        summary = self._summaries.popleft()
        if not summary:
            failed = {"failed": True, "error": "Its summary is not in the session's files."}
            return end.model_copy(update=failed)
        messages = self._context.messages
        said = [at for at, message in enumerate(messages) if message.role in ("user", "assistant")]
        first = said[-_KEPT:][0] if said else len(messages)
        return end.model_copy(update={"summary": summary, "kept": len(messages) - first})

    def _raw(self, line: _Line, more: dict[str, Any]) -> bytes:
        payload = line.envelope.get("payload")
        if more:
            payload = {**(cast("dict[str, Any]", payload) if isinstance(payload, dict) else {}), **more}
        envelope = {**line.envelope, "payload": payload}
        try:
            message = parse(envelope)
        except UnknownMessageError:
            message = None
        return self._sealed(line.timestamp, envelope, message, {"incomplete": True} if line.incomplete else {})

    def _sealed(
        self, timestamp: float, envelope: dict[str, Any], message: WireMessage | None, more: dict[str, Any]
    ) -> bytes:
        if message is not None:
            self._context.apply(message)
            self._work.apply(message)
        self._number += 1
        return seal({"timestamp": timestamp, "message": envelope, **more, "n": self._number})


# --- reading what there is ----------------------------------------------------------------------------------------


def _survey(journal: Path) -> _Survey:
    survey = _Survey()
    if journal.exists():
        with open_own(journal) as source:
            first = parsed(next(source, b""))
        if first is not None and first.get("type") == "metadata":
            survey.of_version(first.get("protocol_version"))
        for line in _lines(journal):
            survey.take(line)
    return survey


def _lines(journal: Path) -> Iterator[_Line]:
    if not journal.exists():
        return
    with open_own(journal) as source:
        for line in source:
            ours = unseal(line.removesuffix(b"\n"))
            fields = ours or foreign(line)
            record = as_record(fields, 0) if fields is not None else None
            if record is not None:
                envelope = {"type": record.type, "payload": record.payload}
                yield _Line(record.timestamp, envelope, ours is not None, record.incomplete)


def _summaries(directory: Path, compactions: int) -> Sequence[str]:
    """What each compaction came to, "" where that is not known: a context that was compacted begins with it."""
    if not compactions:
        return ()
    rotated = sorted(directory.glob("context_*.jsonl"), key=lambda path: (len(path.name), path.name))
    found: list[str] = []
    for path in rotated:
        summary = _summary(path)
        if summary and summary not in found[-1:]:
            found.append(summary)
    newest = _summary(directory / CONTEXT)
    if newest not in found[-1:]:
        found.append(newest)
    return [*[""] * (compactions - len(found)), *found[-compactions:]]


def _summary(context: Path) -> str:
    """The summary with which a context begins, "" when it does not."""
    if not context.is_file() or context.stat().st_size > LARGEST:
        return ""
    with open_own(context) as source:
        for line in source:
            message = parsed(line) or {}
            role = message.get("role")
            if isinstance(role, str) and not role.startswith("_"):
                whole = "\n".join(_texts(message.get("content")))
                return _without_mark(whole) if role == "user" and COMPACTED in whole[:200] else ""
    return ""


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in cast("list[object]", content) if isinstance(content, list) else ():
        text = cast("dict[str, Any]", part).get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            yield text


def _without_mark(text: str) -> str:
    behind = text.partition(COMPACTED)[2]
    return behind.removeprefix("</system>").strip()


def _said_before(context: Path, survey: _Survey) -> ImportedConversation | None:
    """What a context has that was said before the journal began: kimi-cli has not always kept one."""
    if survey.sealed or survey.compactions or not context.is_file():
        return None
    with open_own(context) as source:
        found = kimi.read(source.read())
    prompts = [at for at, each in enumerate(found.said) if each.who == "user" and _typed(each)]
    missing = len(prompts) - survey.prompts
    if missing <= 0:
        return None
    if survey.prompts:
        first = prompts[missing]
        if survey.first_prompt not in _text(found.said[first]):
            return None
        del found.said[first:]
    return found if found.said else None


def _typed(said: ImportedMessage) -> bool:
    return not _text(said).lstrip().startswith(_NO_PERSON)


def _text(said: ImportedMessage) -> str:
    return "\n".join(part.text for part in said.parts if isinstance(part, TextPart))
