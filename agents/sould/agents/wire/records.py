"""The lines of `wire.jsonl`: how one is written, read, checked, and what a damaged file still says.

Wire's record shape `{timestamp, message}` plus `n` (sequence) and, last, `c` (CRC-32 of the bytes before it). Pure
reading: nothing here changes a file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sould.agents.wire.messages import CompactionBegin, ToolCall, TurnBegin, WireMessage, WireRequest


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes in the middle of a journal that are no record: left in place and passed over."""

    position: int
    length: int


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """One record as it stands in the file. `message` is None when this version does not know its type.

    `incomplete`: the message was still streaming when the writer stopped; this is what of it was saved.
    """

    seq: int
    timestamp: float
    type: str
    payload: Any
    incomplete: bool = False

    @property
    def message(self) -> WireMessage | None:
        """The message, or None for a type this version does not know."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Recovery:
    """What opening a journal found: damage repaired or passed over, and work the writer left open (F61)."""

    records: int = 0
    last_seq: int = 0
    metadata: Mapping[str, Any] | None = None
    torn_bytes: int = 0
    torn_path: Path | None = None
    damage: tuple[Damage, ...] = ()
    cut: int | None = None
    """Sequence of the message that was streaming; what was saved of it is now its record."""
    open_turn: TurnBegin | None = None
    open_step: bool = False
    open_calls: tuple[ToolCall, ...] = ()
    """Calls without a result, in order. They may or may not have run."""
    open_requests: tuple[WireRequest, ...] = ()
    open_compaction: CompactionBegin | None = None

    @property
    def clean(self) -> bool:
        """Nothing was repaired and nothing was left open."""
        raise NotImplementedError

    @property
    def notice(self) -> str:
        """One sentence for the user, or "" when there is nothing to tell."""
        raise NotImplementedError


def read_records(path: Path) -> Iterator[JournalRecord]:
    """The records of a journal, ours or another Wire writer's, in order; damage is passed over, unknown types are kept."""
    raise NotImplementedError
