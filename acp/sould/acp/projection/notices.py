"""What happens beside the conversation: notices and compaction, as text for clients that know neither. Pure."""

from collections.abc import Iterator

from sould.acp.content import text_block
from sould.acp.features import Features
from sould.acp.outbound import Json
from sould.acp.projection.chunks import chunk, user_chunks
from sould.agents.journal.channel import Record
from sould.agents.wire import messages as wire
from sould.agents.wire.notice import TO_REVIEW

_SEVERITIES = frozenset({"info", "warning", "error"})
STOPPED: dict[wire.StopReason, tuple[str, str]] = {
    "max_steps_reached": (
        "Stopped at the step limit of a turn",
        "Say “go on” to continue; `max_steps_per_turn` in the configuration raises the limit.",
    ),
    "repeated_calls": (
        "Stopped because the model kept making the same call",
        "Say what it should do instead, or “go on” to continue.",
    ),
}
"""Ends of a turn that clients have a code for and mostly no words: they are said to the user."""
_COMPACTED = {"kept", "also_kept", "tokens_before", "tokens_after", "strategy", "note"}
"""What the protocol has no place for, in `_meta`."""


class Notices:
    """One client's. It remembers which compaction runs."""

    def __init__(self, features: Features) -> None:
        self._features = features
        self._compaction = ""

    def notice(self, severity: str, title: str, description: str, record: Record) -> Json:
        """A notice, or the words of one."""
        title = title or "Notice"
        if self._features.notices:
            known = severity if severity in _SEVERITIES else "info"
            update: Json = {"sessionUpdate": "notice", "severity": known, "title": title}
            if description:
                update["description"] = description
            return update
        return self.words(severity, title, description, record)

    @staticmethod
    def words(severity: str, title: str, description: str, record: Record) -> Json:
        """The same as a part of the conversation."""
        kind = "agent_thought_chunk" if severity == "info" else "agent_message_chunk"
        said = f"{title}: {description}" if description else title
        return chunk(kind, text_block(f"[{severity}] {said}\n"), f"n{record.seq}")

    @staticmethod
    def answer(message: wire.Notification, record: Record, *, own: bool) -> Iterator[Json]:
        """What a command came to that was no turn; `own`: this client sent it, and shows it itself."""
        if not own:
            yield from user_chunks(message.title, record.seq)
        by = message.payload.get("by", "")
        said = message.body if own or not by else f"{by}: {message.body}"
        yield chunk("agent_message_chunk", text_block(f"{said}\n"), f"n{record.seq}")

    def of(self, message: wire.StepRetry | wire.Notification | wire.HookResolved, record: Record) -> Iterator[Json]:
        """What the user is told of it."""
        match message:
            case wire.StepRetry():
                status = f" (HTTP {message.status_code})" if message.status_code else ""
                title = f"The model did not answer{status}; trying again"
                attempt = f"Attempt {message.next_attempt} of {message.max_attempts} in {message.wait_s:.1f} s."
                yield self.notice("info", title, attempt, record)
            case wire.Notification(type=kind) if kind == TO_REVIEW:
                yield self._to_review(message, record)
            case wire.Notification():
                yield self.notice(message.severity, message.title, message.body, record)
            case wire.HookResolved():
                if message.action == "block":
                    yield self.notice("warning", f"A hook blocked {message.target}", message.reason, record)
                elif message.reason:
                    title = f"A hook for {message.event} failed and decided nothing"
                    yield self.notice("warning", title, message.reason, record)

    def _to_review(self, message: wire.Notification, record: Record) -> Json:
        """The last line of a turn: how much of it is to be reviewed. A client that opens it by itself has the numbers."""
        if not self._features.notices:  # a paragraph of its own, also where a client puts all text of a turn together
            return chunk("agent_message_chunk", text_block(f"\n\n{message.title}: /review\n"), f"n{record.seq}")
        update = self.notice(message.severity, message.title, "/review", record)
        return {**update, "_meta": {"sould": {"review": dict(message.payload)}}}

    def compacting(self, message: wire.CompactionBegin | wire.CompactionEnd, record: Record) -> Json:
        """A compaction begins or has ended."""
        if isinstance(message, wire.CompactionBegin):
            self._compaction = message.compaction_id or f"c{record.seq}"
        if not self._features.compaction:
            return chunk("agent_thought_chunk", text_block(_in_words(message)), f"m{record.seq}")
        update: Json = {
            "sessionUpdate": "compaction_update",
            "compactionId": message.compaction_id or self._compaction,
            "status": _state(message),
        }
        if isinstance(message, wire.CompactionEnd):
            if message.summary:
                update["summary"] = [text_block(message.summary)]
            if message.error and not message.cancelled:
                update["error"] = message.error
            if not message.failed:
                update["_meta"] = {"sould": message.model_dump(mode="json", include=_COMPACTED)}
        return update


def _state(message: wire.CompactionBegin | wire.CompactionEnd) -> str:
    if isinstance(message, wire.CompactionBegin):
        return "in_progress"
    if message.cancelled:
        return "cancelled"
    return "failed" if message.failed else "completed"


def _in_words(message: wire.CompactionBegin | wire.CompactionEnd) -> str:
    if isinstance(message, wire.CompactionBegin):
        return "Compacting the conversation…"
    if message.cancelled:
        return message.error
    if message.failed:
        return f"The conversation could not be compacted: {message.error}"
    said = f"The conversation was compacted from {message.tokens_before} to {message.tokens_after} tokens. "
    return (said + message.note).strip()
