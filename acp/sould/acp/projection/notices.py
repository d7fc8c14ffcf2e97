"""What happens beside the conversation: notices, compaction, the plan, restores, queued prompts, messages of the user's tools.

Notices and compaction are text for clients that know neither. Pure.
"""

from collections.abc import Iterator, Sequence

import orjson
from msgspec import to_builtins

from sould.acp.content import chunk, input_blocks, text_block, user_chunks
from sould.acp.features import Facts, Features
from sould.acp.outbound import Json
from sould.acp.projection.titles import title
from sould.acp.shapes import Queue, QueuedPrompt
from sould.agents.journal.channel import Record
from sould.agents.soul.timetravel.outcome import LEFT, TAKE_KEPT, headline, line
from sould.agents.wire import messages as wire
from sould.agents.wire.content import UserInput
from sould.agents.wire.display import TodoItem
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
MOST_NAMED = 100
"""Files that the card of a restore names."""
_STATUS = {"pending": "pending", "in_progress": "in_progress", "done": "completed"}


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


def custom_in(message: object) -> tuple[wire.Custom, str] | None:
    """The message of a tool or hook of the user's own (D35), and the subagent whose tool sent it ("": none's); None for all others."""
    agent = ""
    while isinstance(message, wire.SubagentEvent):
        agent, message = message.agent_id or "", message.event
    return (message, agent) if isinstance(message, wire.Custom) else None


def custom_line(session_id: str, message: wire.Custom, agent_id: str) -> bytes:
    """`_sould/custom`, a notification of ours."""
    params: Json = {"sessionId": session_id, "name": message.name, "data": message.data}
    if agent_id:
        params["agentId"] = agent_id
    return orjson.dumps({"jsonrpc": "2.0", "method": "_sould/custom", "params": params}) + b"\n"


class ShownPlan:
    """The plan a client was shown last: the agent's list of what is to do, or how far a flow has come."""

    def __init__(self) -> None:
        self._items: Sequence[TodoItem] = ()

    def show(self, items: Sequence[TodoItem]) -> Json:
        """The whole plan, as it is now."""
        self._items = items
        entries: list[Json] = [
            {"content": item.title, "priority": "medium", "status": _STATUS[item.status]} for item in items
        ]
        return {"sessionUpdate": "plan", "entries": entries}

    def put_down(self) -> Iterator[Json]:
        """The turn was cut off: what was in progress is to be done again, and nobody does it now."""
        if any(item.status == "in_progress" for item in self._items):
            yield self.show(
                [
                    item.model_copy(update={"status": "pending"}) if item.status == "in_progress" else item
                    for item in self._items
                ]
            )


def restored(message: wire.FilesRestored, cwd: str) -> Json:
    """The card of a restore: what went back and what was left. `_meta.sould.files` holds the same for programs."""
    files = message.files[:MOST_NAMED]
    lines = [f"- {line(file, cwd)}" for file in files]
    if len(message.files) > len(files):
        lines.append(f"- and {len(message.files) - len(files)} more")
    if message.can_take_kept:
        lines += ["", TAKE_KEPT]
    changed = [file.path for file in files if file.action not in LEFT]
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": f"restore-{message.restore_id}",
        "title": title(headline(message)),
        "kind": "edit",
        "status": "completed",
        "content": [{"type": "content", "content": text_block("\n".join(lines))}],
        "locations": [{"path": path} for path in changed],
        "_meta": {"sould": {"files": [file.model_dump(exclude_defaults=True) for file in files]}},
    }


class ShownQueue:
    """One client's view of its session's queue."""

    def __init__(self, facts: Facts, client_id: str) -> None:
        self._facts = facts
        self._client_id = client_id
        self._asked: dict[str, UserInput] = {}
        """What this client asked for in the prompts of its own that waited, before anybody changed them."""
        self._told: list[QueuedPrompt] = []

    def shown(self) -> list[QueuedPrompt]:
        """The prompts that wait, next first."""
        return [
            QueuedPrompt(
                id=prompt.turn_id,
                position=number,
                mine=prompt.client_id == self._client_id,
                prompt=input_blocks(prompt.user_input),
            )
            for number, prompt in enumerate(self._facts.state.queue(), 1)
        ]

    def news(self) -> bytes:
        """`_sould/queue`, a notification of ours with the whole list; nothing when it is as this client knows it."""
        queue = self.shown()
        if queue == self._told:
            return b""
        self._told = queue
        params = {"sessionId": self._facts.session_id, **to_builtins(Queue(queue))}
        return orjson.dumps({"jsonrpc": "2.0", "method": "_sould/queue", "params": params}) + b"\n"

    def moved(self, message: wire.PromptQueued) -> str:
        """A prompt waits, moved or left; a sentence when it is this client's own and waits."""
        if not message.position:
            self._asked.pop(message.turn_id, None)
        elif message.client_id == self._client_id:
            self._asked.setdefault(message.turn_id, message.user_input)
            return f"Queued ({_nth(message.position)}): starts after the current turn."
        return ""

    def was_changed(self, turn: wire.TurnBegin) -> bool:
        """Whether the turn that begins is about something else than this client had asked for."""
        return self._asked.pop(turn.turn_id, turn.user_input) != turn.user_input


def _nth(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
