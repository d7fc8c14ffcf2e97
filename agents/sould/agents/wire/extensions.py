"""Messages of our own, beside Wire's: sent only to clients that ask for them, journaled unless they say otherwise.

Other Wire readers pass over them. Each docstring states the message's ordering contract.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from sould.agents.wire.content import UserInput
from sould.agents.wire.display import Display, TodoItem


class Message(BaseModel):
    """Base of all Wire messages: frozen; unknown keys of newer writers are ignored."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="ignore", populate_by_name=True)


class Location(Message):
    """A place a call touches: absolute path, 1-based line."""

    path: str
    line: int | None = None


ToolKind: TypeAlias = Literal[
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"
]


class CallPreview(Message):
    """How a call is shown while the model still writes its arguments: what its tool declares, whatever they will be."""

    title: str = ""
    kind: ToolKind = "other"
    command: bool = False
    """It is one command, and its result what that prints."""


class ToolCallDetail(Message):
    """What a call will do, once its arguments are complete: after the last `ToolCallPart`, before approval and result."""

    tool_call_id: str
    name: str
    title: str
    kind: ToolKind = "other"
    locations: tuple[Location, ...] = ()
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    display: Display = ()
    cwd: str = ""
    after: str = ""
    """The call of the same step that it begins after; "": it waits for none."""


class ToolOutput(Message):
    """Output of a running call, to be appended. Volatile: the `ToolResult` holds what is kept."""

    tool_call_id: str
    text: str


class CommandBegin(Message):
    """A command was started for a call; once for each, after the call's `ToolCallDetail` and before its `ToolResult`."""

    tool_call_id: str


class RequestClosed(Message):
    """A request ended without an answer: `cancelled` with its turn, or `expired`. Dialogs for it close."""

    request_id: str
    reason: Literal["cancelled", "expired"]


class PromptQueued(Message):
    """A prompt waits for the running turn; `position` counts from 1, 0 means it left the queue."""

    turn_id: str
    client_id: str = ""
    position: int
    user_input: UserInput = ""


class PlanUpdate(Message):
    """How far a flow or loop has come, whole each time; within its turn. Clients show it as they show a todo list."""

    items: tuple[TodoItem, ...]


class SessionChanged(Message):
    """Title or options changed; absent fields are unchanged."""

    title: str | None = None
    options: dict[str, str | bool] | None = None
    commands: bool = False


class Custom(Message):
    """A message that a tool or a hook of the user's made up (D35), named `vendor/what`. The model never sees it."""

    name: Annotated[str, Field(max_length=100, pattern=r"^[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._/-]*$")]
    data: JsonValue = None


class GivenPrompt(Message):
    """Instructions for the agent from the client of a session: behind the agent's own, or in their place."""

    mode: Literal["append", "override"]
    text: str


class SystemPrompt(Message):
    """The frozen system prompt; first record of a session, and again when it is replaced."""

    text: str
    made_of: str = ""
    """A digest of the user's or the project's files that made the agent; "": none of theirs."""
    given: GivenPrompt | None = None
    """What of it a client gave; it stays until a client gives something else."""


class SubagentCreated(Message):
    """A new kind of subagent exists from here on, in this session (D32). `creator`: the agent's id, "" for the main one."""

    name: str
    description: str = ""
    system_prompt: str
    tools: tuple[str, ...] = ()
    creator: str = ""


class DirectoryAdded(Message):
    """From here on the session also works in this directory, absolute and resolved; going back does not take it away."""

    path: str


class ContextNote(Message):
    """A note to the model that people need not see; enters the context where it stands."""

    text: str


class Choice(Message):
    """Of an answer's text, the choice that the model made at a decision; people see the text without it."""

    text: str


class ServerState(Message):
    """What a model's server handed out with an answer and wants back with it, unchanged; before the results of its calls.

    `origin` is that server and model; no other is sent it. `answer` are keys of the answer's message, `calls` keys of its
    calls by their ids. `reasoning_key` is where the text of its thoughts came, which is not repeated here.
    """

    origin: str
    reasoning_key: str = ""
    answer: dict[str, JsonValue] = Field(default_factory=dict)
    calls: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)


class MediaLeftOut(Message):
    """Media that a model's server refused: `origin`, that server and model, is not sent them again. Between steps."""

    origin: str
    digests: tuple[str, ...]


class ContextCleared(Message):
    """The model's context is emptied here; the journal keeps everything."""


class ContextReverted(Message):
    """The model's context goes back to checkpoint `checkpoint_id`; what came after is forgotten by the model.

    Checkpoints from before a compaction are reached too. `restore_id`: the `FilesRestored` that went with it; such a step
    back was the user's, and `ContextReturned` can take it back.
    """

    checkpoint_id: int
    restore_id: str = ""


class ContextReturned(Message):
    """The last `ContextReverted` is taken back; only before another turn of the model began."""


class DMailHeld(Message):
    """A D-Mail waits for this agent, in place of the one that waited before; it is there until `DMailTaken`.

    Without that it is delivered when the session is opened again, or, had it been to turn time back, the agent is told.
    """

    message: str
    sender: str = ""
    checkpoint_id: int | None = None
    priority: int = 0


class DMailTaken(Message):
    """The D-Mail that waited does not wait any more: it arrived, or was dropped."""


class FilesRestoring(Message):
    """Files are about to be restored: the edits of `calls` are taken back, or those of the restore `undoes`.

    Without its `FilesRestored` it was cut off, and is done again when the session is opened.
    """

    restore_id: str
    calls: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()
    """Paths that are left as they are all the same."""
    undoes: str = ""
    checkpoint_id: int | None = None
    """The context goes back there once the files are restored."""
    kept: bool = False
    """What the user kept of the edits is taken back, too."""


class RestoredFile(Message):
    """What became of one file: `restored`, `deleted`, `created`; or, with the reason, left as it is: `conflict`, `kept`.

    `kept` is one that was not to be touched, because the user had not been asked about it, or one of which the user kept
    what was to go back (`kept`). Also of a restored file something may stay.
    """

    path: str
    action: str
    reason: str = ""
    changes: int = 0
    """Places that went back; 0: nobody counted."""
    kept: tuple[int, ...] = ()
    """What stays because the user kept it: the first lines, from 1, or 0 for what happened to the file as a whole."""
    conflicts: int = 0
    """Places that could not go back, for `reason`."""


class FilesRestored(Message):
    """What a restore came to."""

    restore_id: str
    files: tuple[RestoredFile, ...] = ()
    can_take_kept: bool = False
    """`/undo kept` takes back what stays because the user kept it, too."""
