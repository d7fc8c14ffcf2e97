"""`@tool`: a plain function as a tool; its schema comes from the signature, its description from the docstring (D30).

Parameters annotated with a service are given that service and are absent from the schema. Whether they can be is decided
when the tool is loaded, so that a mistake is named before any turn.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Union, cast, get_args, get_origin, get_type_hints, overload

from msgspec import Struct
from msgspec.structs import replace
from pydantic import BaseModel, JsonValue, PydanticUserError, TypeAdapter, create_model

from sould.agents.base.errors import SouldError
from sould.agents.toolapi.base import CallReporter, CallView, PerCall, Tool, ToolCallContext, ToolParams
from sould.agents.toolapi.custom import CustomMessage, as_custom
from sould.agents.toolapi.result import ToolResultBuilder
from sould.agents.wire.messages import Custom, ToolKind, ToolReturn

SERVICES = "Approval, Config, DenwaRenji, Environment, LaborMarket, PromptArguments, Session, ToolCallContext, Toolset, Workspace"
"""What a tool of the user's may ask for (D30)."""


class InvalidToolError(SouldError):
    """A tool of an agent spec cannot be loaded: the sentence names the tool and what is wrong with it."""

    kind = "config"


Function = Callable[..., Awaitable[ToolReturn | str] | ToolReturn | str]


class ToolFunction(Struct, frozen=True):
    """What `@tool` makes of a function. Still callable, for tests of the function itself."""

    function: Function
    name: str
    description: str
    kind: ToolKind
    title: str = ""

    def __call__(self, *args: object, **kwargs: object) -> Awaitable[ToolReturn | str] | ToolReturn | str:
        """Call the function as it is."""
        return self.function(*args, **kwargs)

    def bind(self, services: Mapping[Any, object]) -> "FunctionTool":
        """The tool, with its services.

        Raises:
            InvalidToolError: a parameter that is neither a service nor a type the model could send.
        """
        try:
            hints = get_type_hints(self.function, include_extras=True)
        except NameError as error:
            raise InvalidToolError(f"{self.name}: an annotation cannot be resolved: {error}") from error
        given: dict[str, object] = {}
        wanted: dict[str, Any] = {}
        for parameter in inspect.signature(self.function).parameters.values():
            kind = hints.get(parameter.name, Any)
            service = service_type(kind)
            if service is ToolCallContext or _is_service(service, services):
                given[parameter.name] = None if service is ToolCallContext else services[service]
                continue
            _check_sendable(self.name, parameter, kind)
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            wanted[parameter.name] = (kind, default)
        params = create_model(f"{self.name}Params", __base__=ToolParams, **wanted)
        calls = frozenset(name for name, service in given.items() if service is None)
        return FunctionTool(self, params, given, calls)


class FunctionTool(Tool[BaseModel]):
    """A bound function. A plain (not async) one runs in a thread, so that it holds up nobody."""

    name: ClassVar[str] = ""

    def __init__(
        self,
        made: ToolFunction,
        params: type[BaseModel],
        services: Mapping[str, object],
        calls: frozenset[str],
    ) -> None:
        self.name = made.name  # pyright: ignore[reportAttributeAccessIssue] -- each instance is a tool of its own
        self.title = made.title  # pyright: ignore[reportAttributeAccessIssue] -- as above
        self.kind = made.kind  # pyright: ignore[reportAttributeAccessIssue] -- as above
        self.params = params
        self.description = made.description
        self._function = made.function
        self._services = services
        self._calls = calls

    def view(self, params: BaseModel) -> CallView:
        """The tool with its first argument."""
        first = next((str(value) for value in params.model_dump().values() if value not in (None, "")), "")
        return CallView(title=f"{self.name}: {first[:80]}" if first else self.name)

    async def run(self, params: BaseModel, call: ToolCallContext) -> ToolReturn:
        """Call the function; text is a success with that output, cut where it is too long for the model."""
        arguments = {name: getattr(params, name) for name in type(params).model_fields}
        for name, service in self._services.items():
            bound = service.for_call(call) if isinstance(service, PerCall) else service
            arguments[name] = call if name in self._calls else bound
        if inspect.iscoroutinefunction(self._function):
            result = await self._function(**arguments)
        else:
            elsewhere = {name: _from_thread(call) for name in self._calls}
            result = await asyncio.to_thread(self._function, **{**arguments, **elsewhere})
        if isinstance(result, ToolReturn):
            return result
        builder = ToolResultBuilder()
        builder.write(str(result))
        return builder.ok()


class _FromThread(CallReporter, Struct, frozen=True):
    """What a function in a thread tells: the loop publishes it, before the function's result."""

    reporter: CallReporter
    loop: asyncio.AbstractEventLoop

    def stream(self, text: str) -> None:
        self.loop.call_soon_threadsafe(self.reporter.stream, text)

    def command_begins(self) -> None:
        self.loop.call_soon_threadsafe(self.reporter.command_begins)

    def send(self, message: CustomMessage | Custom) -> None:
        self.loop.call_soon_threadsafe(self.reporter.send, as_custom(message))

    def interrupt_note(self, text: str) -> None:
        self.loop.call_soon_threadsafe(self.reporter.interrupt_note, text)

    def printed(self, text: str) -> None:
        self.loop.call_soon_threadsafe(self.reporter.printed, text)

    async def effects(self) -> None:
        await self.reporter.effects()


def _from_thread(call: ToolCallContext) -> ToolCallContext:
    return replace(call, reporter=_FromThread(call.reporter, asyncio.get_running_loop()))


@overload
def tool(function: Function, /) -> ToolFunction: ...
@overload
def tool(*, name: str = "", kind: ToolKind = "other", title: str = "") -> Callable[[Function], ToolFunction]: ...
def tool(
    function: Function | None = None, /, *, name: str = "", kind: ToolKind = "other", title: str = ""
) -> ToolFunction | Callable[[Function], ToolFunction]:
    """Make a function a tool. `name` is what the model calls it, else the function's name in CamelCase; `title`: see `Tool`."""

    def make(function: Function) -> ToolFunction:
        own = cast("str", getattr(function, "__name__", "tool"))
        called = name or "".join(part.capitalize() for part in own.split("_"))
        return ToolFunction(function, called, inspect.getdoc(function) or called, kind, title)

    return make(function) if function is not None else make


def service_type(kind: object) -> object:
    """The type a parameter asks for: `X | None` asks for X, and does without; `Annotated[X, …]` asks for X."""
    if get_origin(kind) is Annotated:
        return service_type(get_args(kind)[0])
    arguments = [each for each in get_args(kind) if each is not NoneType]
    is_optional = get_origin(kind) in (Union, UnionType) and len(arguments) == 1
    return arguments[0] if is_optional else kind


def _is_service(kind: object, services: Mapping[Any, object]) -> bool:
    try:
        return kind in services
    except TypeError:  # an annotation that cannot be hashed is no service
        return False


def _check_sendable(tool_name: str, parameter: inspect.Parameter, kind: object) -> None:
    if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        raise InvalidToolError(f"{tool_name}: parameter `{parameter.name}` takes any number of values; name each one")
    if parameter.name.startswith("_"):
        raise InvalidToolError(f"{tool_name}: parameter `{parameter.name}` begins with an underscore; rename it")
    try:
        TypeAdapter[JsonValue](kind).json_schema()  # pyright: ignore[reportArgumentType] -- whatever the annotation is
    except (PydanticUserError, TypeError) as error:
        raise InvalidToolError(
            f"{tool_name}: parameter `{parameter.name}` asks for {getattr(kind, '__name__', kind)}, which is neither a "
            f"service nor a type the model can send; the services are {SERVICES}"
        ) from error
