"""What our own requests about sessions and files are answered with (`_sould/session`, `_sould/files`; queue and time travel).

docs/schemas is made of these. Values only; names are as they are said.
"""

from typing import Any, Literal

from msgspec import Struct


class ShownUpdate(Struct, frozen=True):
    """An update of the conversation, whole: as `session/update` has it, in its present state."""

    sequence: int
    """Where in the session what it shows begins."""
    update: dict[str, Any]


class Transcript(Struct, frozen=True):
    """A page of a conversation, oldest first."""

    updates: list[ShownUpdate]
    before: int | None
    """What to ask for the page before it; null: there is none."""
    sequence: int
    """Of live updates, those up to this one are included."""


class Archived(Struct, frozen=True):
    """Where a session is now."""

    archived: bool


class FoundSession(Struct, frozen=True, rename="camel"):
    """A session that has the words; `snippet`: one line of what was said around them, or empty. `origin`: "" where nobody knows it."""

    session_id: str
    cwd: str
    title: str
    updated_at: str
    archived: bool
    origin: str
    snippet: str


class FoundSessions(Struct, frozen=True):
    """Last used first."""

    sessions: list[FoundSession]


class MentionedResource(Struct, frozen=True):
    """Something that an MCP server of the session offers: a `resource_link` with its `uri` in a prompt has it read."""

    server: str
    uri: str
    name: str
    description: str


class SessionResources(Struct, frozen=True):
    """By server, in its order; `partial`: there are more."""

    resources: list[MentionedResource]
    partial: bool


class BackgroundTask(Struct, frozen=True, rename="camel"):
    """What goes on beside the turns, or did. `toolCallId`: the call that began a subagent; `message`: how it ended."""

    id: str
    kind: Literal["shell", "agent"]
    description: str
    status: Literal["running", "completed", "failed", "timed_out", "stopped", "lost"]
    message: str
    started_at: str
    ended_at: str | None
    tool_call_id: str | None


class BackgroundTasks(Struct, frozen=True):
    """All that are known, oldest first."""

    tasks: list[BackgroundTask]


class TaskOutput(Struct, frozen=True):
    """The end of what a task has printed."""

    text: str


class ToolTokens(Struct, frozen=True):
    """What a tool, or with `server` all tools of an MCP server, take of the window; `calls`: those the model still remembers.

    `described`: tokens of what the model is told of them at each call; `used`: those of their calls and results.
    """

    name: str
    server: bool
    calls: int
    described: int
    used: int


class ContextBreakdown(Struct, frozen=True):
    """Tokens of the model's window. `counted`: its server has counted `used`, but for what was added since.

    How it divides is estimated. `asked`: what people said, with notes and summaries; `answered`: what the agent said and thought.
    """

    used: int
    window: int
    counted: bool
    instructions: int
    asked: int
    answered: int
    tools: list[ToolTokens]
    """Those that take most first."""


class Exported(Struct, frozen=True):
    """A conversation as Markdown."""

    text: str


class KeptElsewhere(Struct, frozen=True, rename="camel"):
    """A conversation of another agent; `updated_at` in ISO 8601."""

    agent: str
    path: str
    title: str
    updated_at: str


class KeptConversations(Struct, frozen=True):
    """Last used first."""

    found: tuple[KeptElsewhere, ...]


class Imported(Struct, frozen=True, rename="camel"):
    """The new session, from where it is (`source`), how many `messages` it has, and how much was passed over, by why."""

    session_id: str
    source: str
    messages: int
    skipped: dict[str, int]


class FoundFile(Struct, frozen=True):
    """`name`: relative to where was searched; that of a directory ends in a slash."""

    path: str
    name: str


class FoundFiles(Struct, frozen=True):
    """The best first. `partial`: there may be more, the project was too large to be listed in time."""

    files: list[FoundFile]
    partial: bool


class Applied(Struct, frozen=True):
    """`unchanged`: the file held exactly this already. `path`: resolved."""

    outcome: Literal["applied", "unchanged"]
    path: str


class CommitMessage(Struct, frozen=True):
    """A subject, and perhaps a body behind an empty line."""

    message: str


class QueuedPrompt(Struct, frozen=True):
    """A prompt that waits for the running turn, the next one at `position` 1. `mine`: this client sent it."""

    id: str
    position: int
    mine: bool
    prompt: list[dict[str, Any]]


class Queue(Struct, frozen=True):
    """The next one first. The notification `_sould/queue` has the same."""

    prompts: list[QueuedPrompt]


class ChangedQueue(Struct, frozen=True):
    """The queue as it is now. `notWaiting`: the prompt was taken meanwhile."""

    outcome: Literal["edited", "moved", "notWaiting", "removed"]
    prompts: list[QueuedPrompt]


class ShownMoment(Struct, frozen=True):
    """A checkpoint: before a turn (`text`: its prompt) or a step; or an `event`, such as a compaction, which nothing goes back to.

    `did`: titles of the calls after it; `files`: what these changed. `reachable`: `_sould/rewind` goes there now.
    """

    kind: Literal["event", "step", "turn"]
    checkpoint: int
    timestamp: float
    text: str
    did: list[str]
    files: list[str]
    reachable: bool


class ShownTimeline(Struct, frozen=True, rename="camel"):
    """The oldest first."""

    moments: list[ShownMoment]
    can_undo: bool
    can_redo: bool


class TravelledFile(Struct, frozen=True, omit_defaults=True):
    """What became of a file: `restored`, `created` or `deleted`; or left as it is, for `reason`: `conflict` or `kept`.

    `changes`: places that went back, `conflicts`: that could not; `kept`: lines where something stays that the user kept, or 0.
    """

    path: str
    action: str
    reason: str = ""
    changes: int = 0
    kept: tuple[int, ...] = ()
    conflicts: int = 0


class Travelled(Struct, frozen=True):
    """What became of going back, or forth. `nothing`: there was nowhere to go."""

    outcome: Literal["cancelled", "done", "nothing"]
    files: list[TravelledFile]
