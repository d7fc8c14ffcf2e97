"""What a tool is: typed parameters, a description in a file beside it, one method.

A tool's failure is a return value for the model; an exception from a tool is a bug of ours. Tools reach the world
through their injected services only, and never hold state of a turn: that comes with the `ToolCallContext`.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

from msgspec import Struct, field
from pydantic import BaseModel, ConfigDict, JsonValue

from sould.agents.base.workspace import ResolvedPath, WorkspaceError
from sould.agents.llm.provider import ToolSpec
from sould.agents.toolapi.custom import CustomMessage
from sould.agents.toolapi.portable import inlined, portable
from sould.agents.wire.content import ContentPart
from sould.agents.wire.display import BriefBlock, DisplayBlock
from sould.agents.wire.messages import CallPreview, Custom, Location, OutputSource, ToolKind, ToolReturn

ParamsT = TypeVar("ParamsT", bound=BaseModel)
LOOKS: frozenset[ToolKind] = frozenset({"read", "search", "think", "fetch"})
"""Kinds of tools that change nothing, by their makers' word."""
REJECTED = "The user rejected this tool call. Stop what you are doing and wait for the user to say how to go on."


def tool_ok(
    output: str | tuple[ContentPart, ...] = "",
    *,
    message: str = "",
    display: tuple[DisplayBlock, ...] = (),
    extras: dict[str, JsonValue] | None = None,
) -> ToolReturn:
    """A success: `output` and `message` for the model, `display` for people, `extras` for programs."""
    return ToolReturn(is_error=False, output=output, message=message, display=display, extras=extras)


def tool_error(
    message: str, *, brief: str = "", output: str = "", display: tuple[DisplayBlock, ...] = ()
) -> ToolReturn:
    """A failure the model can act on: `message` says what is wrong and what to do, `brief` is the one line people see."""
    shown = (BriefBlock(text=brief), *display) if brief else display
    return ToolReturn(is_error=True, output=output, message=message, display=shown)


def tool_rejected(feedback: str = "") -> ToolReturn:
    """The user said no. With feedback the turn goes on (D29)."""
    message = f"The user rejected this tool call and said: {feedback}" if feedback else REJECTED
    return ToolReturn(
        is_error=True,
        message=message,
        display=(BriefBlock(text=f"Rejected: {feedback}" if feedback else "Rejected by user"),),
        extras={"rejected": True, "feedback": feedback},
    )


def with_words(result: ToolReturn, words: str) -> ToolReturn:
    """The result, with what the user said as they allowed the call."""
    message = f"{result.message}\n\nThe user allowed this tool call and said: {words}".lstrip()
    display = result.display if result.is_error else (*result.display, BriefBlock(text=f"Allowed: {words}"))
    return result.model_copy(update={"message": message, "display": display})


class RefusedError(Exception):
    """The call may not go on; `result` is what the model is told. Raised through a tool, caught where tools are called."""

    def __init__(self, result: ToolReturn) -> None:
        super().__init__(result.message)
        self.result = result


class AgentSource(Struct, frozen=True):
    """The subagent that makes a call, as an approval says it."""

    agent_id: str
    kind: str
    description: str = ""
    background: bool = False
    lineage: tuple[str, ...] = ()
    """The kinds from the main agent's subagent down to this one."""


class CallReporter:
    """To whom a running call tells how it goes: subclass it and override what is heard; the rest is dropped."""

    __slots__ = ()

    def stream(self, text: str) -> None:
        """See `ToolCallContext.stream`."""

    def command_begins(self) -> None:
        """See `ToolCallContext.command_begins`."""

    def send(self, message: CustomMessage | Custom) -> None:
        """See `ToolCallContext.send`."""

    def interrupt_note(self, text: str) -> None:
        """See `ToolCallContext.on_interrupt_note`."""

    def printed(self, text: str) -> None:
        """See `ToolCallContext.printed`."""

    def asking(self) -> AbstractAsyncContextManager[None]:
        """See `ToolCallContext.asking`."""
        return nullcontext()

    async def effects(self) -> None:
        """See `ToolCallContext.effects`."""

    async def not_kept(self, paths: Sequence[Path]) -> Sequence[Path]:
        """See `ToolCallContext.not_kept`."""
        return ()

    def reached(self, source: OutputSource) -> None:
        """See `ToolCallContext.reached`."""

    def allowed_with(self, words: str) -> None:
        """See `ToolCallContext.allowed_with`."""


class NullReporter(CallReporter):
    """Nobody is told of the call."""


class ToolCallContext(Struct, frozen=True):
    """The call being made: passed, never global."""

    id: str
    step: int
    reporter: CallReporter = field(default_factory=NullReporter)
    """Who is told what the methods here tell."""
    turn_id: str = ""
    """The turn the call belongs to; the edit log attributes edits to it."""
    source: AgentSource | None = None
    """The subagent that calls; None: the session's main agent."""
    checkpoint: int = -1
    """The newest of the agent that calls."""
    tool: str = ""
    """The name of the tool that is called."""
    read_only: bool = False
    """The agent that calls may look, and change nothing in any mode."""
    model: str = ""
    """The model that made the call."""
    allowed: bool = False
    """A person saw what the call is about to write and said yes."""
    all_names: bool = False
    """A person said that names of the file outside the project (hard links) may change with it."""

    def stream(self, text: str) -> None:
        """Show output while the tool runs; synchronous, bounded by the caller's channel."""
        self.reporter.stream(text)

    def command_begins(self) -> None:
        """A command was started for the call; told by the files a tool is given, so that no tool has to."""
        self.reporter.command_begins()

    def send(self, message: CustomMessage | Custom) -> None:
        """Send clients a message of the tool's own; the model does not see it. Raises ValueError when it is too large."""
        self.reporter.send(message)

    def on_interrupt_note(self, text: str) -> None:
        """Say what the model is to know should the call be cut off."""
        self.reporter.interrupt_note(text)

    def printed(self, text: str) -> None:
        """Keep what a program had printed, should the call be cut off: it ran, and this is all there is of it."""
        self.reporter.printed(text)

    def asking(self) -> AbstractAsyncContextManager[None]:
        """For the block the call waits for the user's answer, and does nothing."""
        return self.reporter.asking()

    async def effects(self) -> None:
        """Awaited when a program may run for the call: what changes on disk from here on is its doing."""
        await self.reporter.effects()

    async def not_kept(self, paths: Sequence[Path]) -> Sequence[Path]:
        """Those of the files of which no copy is kept, so that going back could not restore them, as far as is known by now."""
        return await self.reporter.not_kept(paths)

    def reached(self, source: OutputSource) -> None:
        """Told when the call may go on to there: its output comes from it, and may need the user's eyes."""
        self.reporter.reached(source)

    def allowed_with(self, words: str) -> None:
        """Told what the user said as they allowed something of the call: its model gets that with the result."""
        self.reporter.allowed_with(words)


@runtime_checkable
class PerCall(Protocol):
    """A service that knows which call uses it. A tool that asks for one is built anew for every call."""

    def for_call(self, call: ToolCallContext) -> object:
        """The service as `call` sees it."""
        ...


class ToolParams(BaseModel):
    """Base of parameters: a name the tool does not know is an error, so that a slip is not silently ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)


class AnyArguments(BaseModel):
    """Of a tool whose arguments somebody else checks: any object. It is the model's JSON, and nothing else gets in."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    @property
    def given(self) -> dict[str, Any]:
        """As the model wrote them."""
        return self.model_extra or {}


class CallView(Struct, frozen=True):
    """How people see a call before it runs; every string is plain text."""

    title: str
    locations: tuple[Location, ...] = ()
    display: tuple[DisplayBlock, ...] = ()


TextChange: TypeAlias = Callable[[str | None], str | None]
"""The text of a file after a call, from the text before (None: no file). None: the call does not fit. Blocks."""


class Foreseen(Struct, frozen=True):
    """What a call is about to do with one file."""

    path: ResolvedPath
    change: TextChange


class Tool(ABC, Generic[ParamsT]):
    """Subclass, set `name`, `params` and `kind`, annotate `__init__` with the services needed, implement `run`.

    The description is the file `<module>.md` beside the module, or `<name>.md` where a module holds several tools.
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    """Further names a model may call it by; they are not offered."""
    title: ClassVar[str] = ""
    """What people see a call as until its arguments are whole and `view` says more: "Edit a file"."""
    kind: ClassVar[ToolKind] = "other"
    """What people see it as; it also says whether a call has effects, see `has_effects`."""
    is_command: ClassVar[bool] = False
    """A call is one command, and its result what that prints: it may have a display terminal before it runs."""
    example: ClassVar[dict[str, JsonValue]] = {}
    """Good arguments, shown to a model that sent bad ones."""
    params: type[ParamsT]

    @abstractmethod
    async def run(self, params: ParamsT, call: ToolCallContext) -> ToolReturn:
        """Do it. Ask for approval inside, before the first effect. Raise nothing but `RefusedError` and cancellation."""

    def view(self, params: ParamsT) -> CallView:
        """What to show before running. Its locations are all that the call looks at or changes; without any it may be all."""
        return CallView(title=self.name)

    def foreseen(self, params: ParamsT) -> Foreseen | None:
        """What the call is about to write, shown to whoever follows the review until it has; None: it is not known before."""
        return None

    @property
    def preview(self) -> CallPreview:
        """What to show as soon as the model names the tool."""
        return CallPreview(title=self.title, kind=self.kind, command=self.is_command)

    @property
    def has_effects(self) -> bool:
        """Whether a call may change or run something. Such calls of one step run one by one, in the model's order (D51)."""
        return self.kind not in LOOKS

    @cached_property
    def description(self) -> str:
        """The text the model reads, from the file beside the tool's module."""
        return _shipped_text(type(self)) if type(self).__module__.startswith("sould.") else _text_beside(type(self))

    @cached_property
    def spec(self) -> ToolSpec:
        """The tool as the model sees it."""
        return ToolSpec(self.name, self.description, parameters_schema(self.params))

    @cached_property
    def argument_schema(self) -> Mapping[str, Any]:
        """By which the arguments of a call are read, where that is more than the model sees."""
        return self.spec.parameters


def _text_beside(tool: type[Tool[Any]]) -> str:
    module = Path(inspect.getfile(tool))
    own = module.with_name(f"{tool.name}.md")
    return (own if own.exists() else module.with_suffix(".md")).read_text(encoding="utf-8").strip()


_shipped_text = cache(_text_beside)
"""Of tools that ship with sould: read once for all sessions, as their code is. A user's text may change."""


@cache
def parameters_schema(params: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of `params`, as every model's server takes it: no titles (they cost tokens and say nothing).

    Made once and shared by all sessions: read it only.
    """
    schema = portable(_without_titles(inlined(params.model_json_schema())))
    schema.pop("description", None)
    return schema


def _without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    def strip(node: Any, *, names: bool = False) -> Any:
        if isinstance(node, dict):
            items: dict[str, Any] = node  # pyright: ignore[reportUnknownVariableType] -- JSON
            kept = {key: value for key, value in items.items() if names or key != "title"}
            return {key: strip(value, names=key == "properties" and not names) for key, value in kept.items()}
        if isinstance(node, list):
            return [strip(item) for item in node]  # pyright: ignore[reportUnknownVariableType] -- JSON
        return node

    return strip(schema)


def failure(error: WorkspaceError) -> ToolReturn:
    """A workspace's error as a tool result."""
    return tool_error(sentence(error), brief=str(error))


def sentence(error: WorkspaceError) -> str:
    """What it says, ended as a sentence."""
    text = str(error)
    return text if text.endswith((".", ")", "?")) else f"{text}."
