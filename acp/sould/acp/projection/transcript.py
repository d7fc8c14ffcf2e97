"""A part of a conversation as it stands: each message whole, each call in its present state. Pure.

What a client makes of the updates of that part, one after the other, is what it makes of these. Updates that belong to
what came before the part are not among them: they are in the part before.
"""

from collections.abc import Iterable
from itertools import count
from typing import cast

from msgspec import Struct, structs

from sould.acp.features import Facts, Features, LiveState
from sould.acp.outbound import Json
from sould.acp.projection.projection import UpdatesV1
from sould.acp.projection.toolcalls import CLEAR
from sould.agents.journal.channel import Record
from sould.agents.wire import messages as wire

_RUNNING = frozenset({"pending", "in_progress"})
_TERMINAL = "terminal_output"


class _Entry(Struct, frozen=True):
    """One update; `sequence`: where in the session what it shows begins."""

    sequence: int
    update: Json


class TranscriptPart:
    """Feed it every record of the part, in order, then those behind it until `settled`."""

    def __init__(self, session_id: str, cwd: str, features: Features) -> None:
        self._updates = UpdatesV1(
            Facts(session_id, cwd, LiveState()), structs.replace(features, sequence=True, subagents=False), ""
        )
        self._entries: dict[str, _Entry] = {}
        """By what they are about: a message, a call, or the place where they began."""
        self._last = ""
        self._numbers = count()
        self._ended = False

    def take(self, record: Record) -> None:
        """More of it. A subagent's question about a call from before the part is not the part's."""
        message = record.message
        if (
            isinstance(message, wire.ApprovalRequest)
            and message.source_kind == "background_agent"
            and message.tool_call_id not in self._updates.calls
        ):
            return
        self._add(record.after.number, self._updates.whole(record))

    def recall(self, record: Record) -> None:
        """What was told before the part, and may be in force in it: the plan. Before anything is taken."""
        plans = (each for each in self._updates.whole(record) if each["sessionUpdate"] == "plan")
        self._add(record.after.number, plans)

    def end(self) -> None:
        """What comes from now on is behind it: of that only what becomes of its calls is its own."""
        self._ended = True

    @property
    def running(self) -> frozenset[str]:
        """Its calls that have not ended."""
        shown = (entry.update for entry in self._entries.values())
        return frozenset(update["toolCallId"] for update in shown if update.get("status") in _RUNNING)

    def add_output(self, updates: Iterable[Json]) -> None:
        """What its calls have printed, which is in no record."""
        self._add(0, updates)

    def shown(self) -> list[Json]:
        """Its updates, oldest first."""
        return [{"sequence": entry.sequence, "update": entry.update} for entry in self._entries.values()]

    def _add(self, sequence: int, updates: Iterable[Json]) -> None:
        for update in updates:
            kind = update["sessionUpdate"]
            if kind in ("tool_call", "tool_call_update"):
                self._add_call(sequence, update)
            elif self._ended:
                continue
            elif kind == "plan":
                self._entries.pop(kind, None)
                self._put(kind, sequence, update)
            elif kind == "compaction_update":
                self._merge(f"compaction {update['compactionId']}", sequence, update)
            elif kind.endswith("_chunk"):
                self._add_chunk(sequence, update)
            else:
                self._put(f"{kind} {next(self._numbers)}", sequence, update)

    def _add_chunk(self, sequence: int, update: Json) -> None:
        """Text joins the text before it; a picture, and what follows it, stands by itself."""
        kind, message = update["sessionUpdate"], update["messageId"]
        before = self._entries.get(self._last)
        if (
            before is not None
            and (before.update["sessionUpdate"], before.update.get("messageId")) == (kind, message)
            and _is_text(update)
            and _is_text(before.update)
        ):
            content = before.update["content"]
            more = {**content, "text": content["text"] + update["content"]["text"]}
            self._change(self._last, {"content": more})
        else:
            self._put(f"{kind} {next(self._numbers)}", sequence, update)

    def _add_call(self, sequence: int, update: Json) -> None:
        key = f"call {update['toolCallId']}"
        before = self._entries.get(key)
        if before is None:
            if update["sessionUpdate"] == "tool_call" and not self._ended:
                self._put(key, sequence, update)
            return
        meta = _merged_meta(before.update.get("_meta"), update.get("_meta"))
        self._change(key, {**update, "sessionUpdate": "tool_call", **({"_meta": meta} if meta else {})})

    def _merge(self, key: str, sequence: int, update: Json) -> None:
        if key in self._entries:
            self._change(key, update)
        else:
            self._put(key, sequence, update)

    def _change(self, key: str, fields: Json) -> None:
        before = self._entries[key]
        self._entries[key] = _Entry(before.sequence, {**before.update, **fields})

    def _put(self, key: str, sequence: int, update: Json) -> None:
        self._entries[key] = _Entry(sequence, update)
        self._last = key


def _is_text(update: Json) -> bool:
    content = update.get("content")
    return isinstance(content, dict) and cast("Json", content).get("type") == "text"


def _merged_meta(before: Json | None, more: Json | None) -> Json:
    """Both, and all that was printed: since the terminal was emptied last."""
    merged = {**(before or {}), **(more or {})}
    texts = [cast("Json", meta[_TERMINAL])["data"] for meta in (before, more) if meta and _TERMINAL in meta]
    if texts:
        merged[_TERMINAL] = {**merged[_TERMINAL], "data": "".join(texts).rpartition(CLEAR)[2]}
    return merged
