"""Display blocks: what a tool result or an approval shows to a person.

Blocks are data for renderers; nothing here may influence what the model reads.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    Tag,
    model_serializer,
)

CHANGED = "changed"
"""In a result's extras: the paths of files that were found changed after a command."""
NOT_KEPT = "changed; it holds secrets, so its text was not kept"


_KNOWN = ("brief", "diff", "todo", "shell", "background_task")


class Block(BaseModel):
    """Base of all display blocks: frozen, unknown keys ignored."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="ignore")


class BriefBlock(Block):
    """One short line, in place of the full output."""

    type: Literal["brief"] = "brief"
    text: str


class DiffBlock(Block):
    """One file's change. Unless `is_summary`, `old_text` and `new_text` are the whole file.

    A new file has an empty `old_text` and `is_new` true. `old_start` and `new_start` are 1-based line numbers.
    `secret` (ours): people are shown it, and it is never written anywhere: as JSON it has no text.
    """

    type: Literal["diff"] = "diff"
    path: str
    old_text: str
    new_text: str
    old_start: int = 1
    new_start: int = 1
    is_summary: bool = False
    is_new: bool = False
    secret: bool = False

    @model_serializer(mode="wrap")
    def _without_secret(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = serialise(self)
        if not self.secret:
            fields.pop("secret", None)
            return fields
        return fields | {"old_text": "", "new_text": NOT_KEPT, "is_summary": True}


class TodoItem(Block):
    """One entry of the todo list."""

    title: str
    status: Literal["pending", "in_progress", "done"]


class TodoBlock(Block):
    """The complete todo list after the call."""

    type: Literal["todo"] = "todo"
    items: tuple[TodoItem, ...]


class ShellBlock(Block):
    """A command, exactly as it will run."""

    type: Literal["shell"] = "shell"
    language: str = "bash"
    command: str


class BackgroundTaskBlock(Block):
    """A task that goes on after the call."""

    type: Literal["background_task"] = "background_task"
    task_id: str
    kind: str
    status: str
    description: str


class UnknownBlock(Block):
    """A block of a type this version does not know, kept as it came."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="allow")
    type: Annotated[str, Field(json_schema_extra={"not": {"enum": list(_KNOWN)}})]


def _tag(value: Any) -> str:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] -- raw input
    return kind if isinstance(kind, str) and kind in _KNOWN else "unknown"


DisplayBlock: TypeAlias = Annotated[
    Annotated[BriefBlock, Tag("brief")]
    | Annotated[DiffBlock, Tag("diff")]
    | Annotated[TodoBlock, Tag("todo")]
    | Annotated[ShellBlock, Tag("shell")]
    | Annotated[BackgroundTaskBlock, Tag("background_task")]
    | Annotated[UnknownBlock, Tag("unknown")],
    Discriminator(_tag),
]

Display: TypeAlias = Annotated[tuple[DisplayBlock, ...], Field(default=())]
