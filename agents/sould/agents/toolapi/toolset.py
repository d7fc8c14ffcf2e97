"""The tools of one agent: loaded by `module:Class`, given their services, checked and called.

Tools are named by import path in the agent spec and receive services by the annotations of their constructor. Nothing
here knows a particular tool; a tool that raises is caught here, because its bug must not end the turn.
"""

import asyncio
import inspect
import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast, get_type_hints

from msgspec import Struct
from msgspec.structs import replace
from pydantic import BaseModel, JsonValue, PydanticUserError, ValidationError
from pydantic_core import ErrorDetails

from sould.agents.base.errors import as_disk_full
from sould.agents.base.text import fault
from sould.agents.base.workspace import WorkspaceError
from sould.agents.llm.pictures import with_fitting_pictures
from sould.agents.llm.provider import ToolSpec
from sould.agents.toolapi.base import (
    CallView,
    Foreseen,
    PerCall,
    RefusedError,
    Tool,
    ToolCallContext,
    failure,
    tool_error,
)
from sould.agents.toolapi.coercion import coerced
from sould.agents.toolapi.decorator import SERVICES, FunctionTool, InvalidToolError, ToolFunction, service_type
from sould.agents.toolapi.loading import find_factory, resolve_alias
from sould.agents.toolapi.sources import Offer, ToolSources
from sould.agents.wire.messages import CallPreview, ToolKind, ToolReturn

log = logging.getLogger(__name__)

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""What model servers take as the name of a tool; Moonshot takes no digit first."""

MOST_TOOLS = 128
"""Tools in a request: OpenAI and Copilot take no more."""


class CheckedCall(Struct, frozen=True):
    """A call whose tool exists and whose arguments fit: how people see it before it runs."""

    name: str
    kind: ToolKind
    view: CallView
    has_effects: bool
    tool: "_LoadedTool"
    params: BaseModel
    """The arguments, validated: nobody does that again."""

    @property
    def foreseen(self) -> Foreseen | None:
        """See `Tool.foreseen`."""
        try:
            return self.tool.tool.foreseen(self.params)
        except (Exception, SystemExit):  # as in `check`; nobody is shown it before it is written
            log.exception("what tool %s is about to write is not known", self.name)
            return None

    def __repr__(self) -> str:
        return f"CheckedCall(name={self.name!r}, kind={self.kind!r}, has_effects={self.has_effects})"


class Toolset:
    """The tools an agent has, in the order the model sees them: its own, then those of its session's sources.

    A source never shadows a tool of the agent's own.
    """

    def __init__(self, sources: ToolSources | None = None, patterns: tuple[str, ...] | None = None) -> None:
        """`patterns`: which tools of the sources the agent may have; None: all."""
        self._sources = sources or ToolSources()
        self._patterns = patterns
        self.loaded_from: tuple[str, ...] = ()
        """The paths that its own tools were asked for by."""
        self._tools: dict[str, _LoadedTool] = {}
        self._aliases: dict[str, _LoadedTool] = {}
        self._services: Mapping[Any, object] = {}
        self._offered: tuple[Offer, tuple[ToolSpec, ...]] | None = None
        self._refused: dict[str, ToolSpec] = {}
        """Tools of the sources that the model's server refused, until they are changed."""
        self.over_limit: tuple[str, ...] = ()
        """Names of the tools that the last `specs` left out, because a request takes at most `MOST_TOOLS`."""

    @classmethod
    def load(
        cls,
        paths: Sequence[str],
        services: Mapping[Any, object],
        places: Sequence[str] = (),
        *,
        sources: ToolSources | None = None,
        patterns: tuple[str, ...] | None = None,
    ) -> "Toolset":
        """Build the tools named by `paths`; `services` maps each injectable type to its object, the toolset included.

        `places` says where each path was written, for the error. `sources` and `patterns`: see the constructor.

        Raises:
            InvalidToolError: no such module or class, a service nobody provides, two tools with one name.
        """
        made = cls(sources, patterns)
        known: dict[Any, object] = {Toolset: made, **services}
        loaded: dict[str, _LoadedTool] = {}
        for index, path in enumerate(paths):
            try:
                entry = _entry(path, known, loaded)
            except InvalidToolError as error:
                place = f"{places[index]}: tools.{index}: " if places else ""
                raise InvalidToolError(f"{place}{error.message}") from error
            if entry is not None:
                loaded[entry.tool.name] = entry
        made._services = known
        made.loaded_from = tuple(paths)
        made._take(tuple(loaded.values()))
        return made

    def rebuild(
        self, paths: Sequence[str], places: Sequence[str] = (), *, patterns: tuple[str, ...] | None = None
    ) -> "Toolset":
        """Other tools over the same services and sources; see `replace_with`. Raises InvalidToolError."""
        return Toolset.load(paths, self._services, places, sources=self._sources, patterns=patterns)

    def replace_with(self, other: "Toolset") -> None:
        """Have the other's tools from now on; whoever holds this toolset need not be told."""
        self._patterns = other._patterns
        self.loaded_from = other.loaded_from
        self._take(tuple(other._tools.values()))

    async def arrived(self, names: Iterable[str]) -> None:
        """Wait for tools of sources that are only just starting."""
        unknown = {name for name in names if self._entry(name) is None}
        await asyncio.gather(*map(self._sources.arrived, unknown))

    def _take(self, loaded: Sequence["_LoadedTool"]) -> None:
        self._tools = {entry.tool.name: entry for entry in loaded}
        self._aliases = {alias: entry for entry in loaded for alias in entry.tool.aliases}
        self._offered = None

    def _entry(self, name: str) -> "_LoadedTool | None":
        known = self._tools.get(name) or self._aliases.get(name)
        if known is not None:
            return known
        tool = self._of_sources(name)
        return _LoadedTool("", tool, {}) if tool is not None else None

    def _of_sources(self, name: str) -> Tool[Any] | None:
        """A tool of the sources. Models know one whose name does not begin with a letter with `_` before it (`usable_name`)."""
        return self.external.get(name) or self.external.get(name.removeprefix("_"))

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model sees them; the same bytes as long as the tools are the same."""
        external = self.external
        if self._offered is None or self._offered[0] is not external:
            further = [
                tool for name, tool in external.items() if name not in self._tools and not self._is_refused(tool)
            ]
            room = max(0, MOST_TOOLS - len(self._tools))
            self.over_limit = tuple(tool.name for tool in further[room:])
            own = (entry.tool.spec for entry in self._tools.values())
            self._offered = (external, (*own, *(tool.spec for tool in further[:room])))
        return self._offered[1]

    def leave_out(self, name: str) -> bool:
        """Do not offer a tool of the sources any more, which the model's server refused. False where there is none."""
        tool = self._of_sources(name)
        if tool is None or tool.name in self._tools or self._is_refused(tool):
            return False
        self._refused[tool.name] = tool.spec
        self._offered = None
        return True

    def _is_refused(self, tool: Tool[Any]) -> bool:
        return tool.name in self._refused and self._refused[tool.name] == tool.spec

    @property
    def external(self) -> Offer:
        """The tools of the sources that this agent may have, by name; the same object until they change."""
        return self._sources.offer(self._patterns)

    @property
    def paths(self) -> Mapping[str, str]:
        """The paths of the tools of the spec, by name."""
        return {name: entry.path for name, entry in self._tools.items()}

    def find(self, name: str) -> Tool[Any] | None:
        """The tool called `name`."""
        entry = self._entry(name)
        return entry.tool if entry is not None else None

    def preview(self, name: str) -> CallPreview | None:
        """How a call is shown as soon as the model has named the tool; None: no such tool, or one that says it badly."""
        tool = self.find(name)
        try:
            return tool.preview if tool is not None else None
        except (Exception, SystemExit):  # as in `check`; the call is only shown worse for it
            log.exception("preview of tool %s failed", name)
            return None

    def unasked_changes(self, name: str) -> bool:
        """A tool of the user's that may change something. Ours, and servers', ask before they do; theirs need not."""
        entry = self._tools.get(name) or self._aliases.get(name)
        return entry is not None and not entry.path.startswith("sould.") and entry.tool.has_effects

    def is_foreign(self, name: str) -> bool:
        """Whether the tool is the user's or the project's own code, which may do anything without asking."""
        entry = self._tools.get(name) or self._aliases.get(name)
        return entry is not None and not entry.path.startswith("sould.")

    def check(self, name: str, arguments: Mapping[str, Any]) -> CheckedCall | ToolReturn:
        """What the call is, or the error to give the model in place of running it."""
        entry = self._entry(name)
        if entry is None:
            return self._missing(name)
        params = _validate(entry.tool, coerced(arguments, entry.tool.argument_schema))
        if isinstance(params, ToolReturn):
            return params
        try:
            view, has_effects = entry.tool.view(params), entry.tool.has_effects
        except (Exception, SystemExit):  # as below; the call is only shown worse for it
            log.exception("view of tool %s failed", name)
            view, has_effects = CallView(title=name), True
        return CheckedCall(name, entry.tool.kind, view, has_effects, entry, params)

    async def call(self, checked: CheckedCall, context: ToolCallContext) -> ToolReturn:
        """Run the tool. Anything that goes wrong is an error for the model; only cancellation is raised."""
        name, entry = checked.name, checked.tool
        try:
            context = replace(context, tool=entry.tool.name)
            result = cast("object", await entry.for_call(context).run(checked.params, context))
            if not isinstance(result, ToolReturn):
                raise TypeError(f"run returned {type(result).__name__}, not ToolReturn")
            fitting = await with_fitting_pictures(result.output)
            return _sound(result if fitting is result.output else result.model_copy(update={"output": fitting}))
        except RefusedError as refused:
            return _sound(refused.result)
        except WorkspaceError as error:
            return _sound(failure(error))
        except (Exception, SystemExit) as error:  # an exception from a tool is its bug; turn and daemon must survive it
            log.exception("tool %s failed", name)
            if full := as_disk_full(error):
                return tool_error(f"{full.message} Tell the user.", brief=f"{name}: the disk is full")
            if isinstance(error, PermissionError) and error.filename is not None:
                return tool_error(
                    f"{error.filename} cannot be read or changed: the system does not permit it. Go on without it.",
                    brief="Not permitted",
                )
            return tool_error(
                f"{name} failed inside ({type(error).__name__}). This is a fault of the tool, not of your arguments; "
                "go on another way, or tell the user.",
                brief=f"{name} failed",
            )

    def _missing(self, name: str) -> ToolReturn:
        return self._sources.missing(name) or tool_error(
            f"Tool `{name}` not found. The tools are: {', '.join([*self._tools, *self.external])}.",
            brief="No such tool",
        )


def _sound(result: ToolReturn) -> ToolReturn:
    """The result with marks for halves of characters, which a file's name may hold and no text for a model or client."""
    texts = {"output": result.output, "message": result.message}
    update = {
        name: text.encode(errors="backslashreplace").decode()
        for name, text in texts.items()
        if isinstance(text, str) and not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text)
    }
    return result.model_copy(update=update) if update else result


class _LoadedTool(Struct, frozen=True):
    path: str
    tool: Tool[Any]
    arguments: Mapping[str, object]
    """What its constructor got, by parameter."""

    def for_call(self, context: ToolCallContext) -> Tool[Any]:
        """The tool, built anew when it uses a service that wants to know the call."""
        if not any(isinstance(service, PerCall | ToolCallContext) for service in self.arguments.values()):
            return self.tool
        return type(self.tool)(**{name: _bound(service, context) for name, service in self.arguments.items()})


_NO_CALL = ToolCallContext("", 0)
"""What a constructor that asks for the call is given as long as there is none."""


def _bound(service: object, context: ToolCallContext) -> object:
    if isinstance(service, ToolCallContext):
        return context
    return service.for_call(context) if isinstance(service, PerCall) else service


def _entry(path: str, services: Mapping[Any, object], loaded: Mapping[str, _LoadedTool]) -> _LoadedTool | None:
    """The tool at `path`; None for a tool of the reference that we do not have."""
    ours = resolve_alias(path)
    if ours is None:
        return None
    entry = _load(ours, services)
    known = loaded.get(entry.tool.name)
    if known is None:
        return entry
    if known.path == ours or (not isinstance(entry.tool, FunctionTool) and type(known.tool) is type(entry.tool)):
        return None  # the same one, by another of its names
    raise InvalidToolError(_two(entry.tool.name, known.path, ours))


def _two(name: str, first: str, second: str) -> str:
    return f"two tools are called {name}: {first} and {second}"


def check_tool(path: str, services: Mapping[Any, object], names: dict[str, str]) -> None:
    """Whether the tool at `path` could be loaded where there are such services; nothing is made of it.

    `names`: the paths of those looked at before, by name; this one joins them.

    Raises:
        InvalidToolError: it could not, or another has its name.
    """
    ours = resolve_alias(path)
    if ours is None:
        return
    factory = find_factory(ours)
    if isinstance(factory, ToolFunction):
        name = factory.bind(services).name
    elif inspect.isclass(factory) and issubclass(factory, Tool):
        tool_class = cast("type[Tool[Any]]", factory)
        name = tool_class.name
        if not ours.startswith("sould."):
            _injected(ours, tool_class, services)
            _described(ours, tool_class)
    else:
        raise InvalidToolError(_no_class(ours))
    if not NAME.fullmatch(name):
        raise InvalidToolError(_no_name(ours, name))
    if names.setdefault(name, ours) != ours:
        raise InvalidToolError(_two(name, names[name], ours))


def _no_class(path: str) -> str:
    module, _, name = path.rpartition(":")
    return f"{path}: {module} has no tool class {name}"


def _no_name(path: str, name: str) -> str:
    return f"{path}: {name!r} is not a valid tool name: a letter or _, then up to 63 letters, digits, - and _"


def _load(path: str, services: Mapping[Any, object]) -> _LoadedTool:
    factory = find_factory(path)
    if isinstance(factory, ToolFunction):
        return _LoadedTool(path, _named(path, factory.bind(services)), {})
    if not inspect.isclass(factory) or not issubclass(factory, Tool):
        raise InvalidToolError(_no_class(path))
    tool_class = cast("type[Tool[Any]]", factory)
    arguments = _injected(path, tool_class, {**services, ToolCallContext: _NO_CALL})
    if path.startswith("sould."):
        return _LoadedTool(path, tool_class(**arguments), arguments)
    return _LoadedTool(path, _tried(path, tool_class, arguments), arguments)


def _tried(path: str, tool_class: type[Tool[Any]], arguments: Mapping[str, object]) -> Tool[Any]:
    """A tool of the user's: what the model would be shown is made once, so that a mistake is said before any turn."""
    try:
        made = tool_class(**arguments)
        _ = made.spec
    except (Exception, SystemExit) as error:
        raise InvalidToolError(f"{path}: the tool cannot be created: {type(error).__name__}: {error}") from error
    return _named(path, made)


def _described(path: str, tool_class: type[Tool[Any]]) -> None:
    """The model can be told its parameters: their validator is made here, and not when its module is loaded."""
    try:
        cast("type[BaseModel]", tool_class.params).model_rebuild()  # pyright: ignore[reportGeneralTypeIssues] -- a tool says it for its class
    except PydanticUserError as error:
        raise InvalidToolError(f"{path}: its parameters cannot be described: {error.message}") from error


def _named(path: str, made: Tool[Any]) -> Tool[Any]:
    if not NAME.fullmatch(made.name):
        raise InvalidToolError(_no_name(path, made.name))
    return made


def _injected(path: str, factory: type[Tool[Any]], services: Mapping[Any, object]) -> dict[str, object]:
    """The constructor's arguments, looked up by annotation; parameters with a default are left to it when unknown."""
    try:
        wanted = _wanted(factory)
    except NameError as error:
        raise InvalidToolError(f"{path}: an annotation of its constructor cannot be resolved: {error}") from error
    arguments: dict[str, object] = {}
    for name, kind, required in wanted:
        if kind in services:
            arguments[name] = services[kind]
        elif required:
            known = getattr(kind, "__name__", "nothing (it has no annotation)")
            raise InvalidToolError(
                f"{path}: parameter `{name}` asks for {known}, which is not a service; the services are {SERVICES}"
            )
    return arguments


@lru_cache(maxsize=256)
def _wanted(factory: type[Tool[Any]]) -> tuple[tuple[str, object, bool], ...]:
    """The constructor's parameters: name, service, and whether there is no default. A class does not change its mind."""
    if factory.__init__ is object.__init__:
        return ()
    hints = get_type_hints(factory.__init__)
    return tuple(
        (each.name, service_type(hints.get(each.name)), each.default is inspect.Parameter.empty)
        for each in inspect.signature(factory).parameters.values()
    )


def _validate(tool: Tool[Any], arguments: Mapping[str, Any]) -> BaseModel | ToolReturn:
    """The parameters, or an error that names each bad one, what is wrong with it, and good arguments."""
    kind = cast("type[BaseModel]", tool.params)
    try:
        return kind.model_validate(arguments)
    except ValidationError as error:
        problems = _problems(error, arguments, tool.spec.parameters)
    names = ", ".join(f"`{name}`" for name in tool.spec.parameters.get("properties", {}))
    return tool_error(
        f"Bad arguments for {tool.name}, so nothing was run. {'; '.join(problems)}. "
        f"The parameters are {names or 'none'}. Example: {_json(tool.example or _example(tool.spec.parameters))}",
        brief="Bad arguments",
    )


MOST_PROBLEMS = 5


def _problems(error: ValidationError, arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """What is wrong, each with its place as the model wrote it. Of a value that may be one of several, what comes nearest."""
    found: dict[str, str] = {}
    for problem in error.errors(include_url=False, include_input=False):
        place = _place(problem, arguments)
        described = _description(schema, place[0]) if len(place) == 1 and isinstance(place[0], str) else ""
        found.setdefault(".".join(map(str, place)) or "arguments", f"{_wording(problem)}{described}")
    # that a whole value is of no kind says less than what is wrong inside it
    inner = [name for name in found if not any(other.startswith(f"{name}.") for other in found)]
    return [f"`{name}`: {found[name]}" for name in inner[:MOST_PROBLEMS]]


def _place(problem: ErrorDetails, arguments: object) -> list[str | int]:
    """The keys and positions of an error, without the names that the library has for the kinds a value may be of."""
    place: list[str | int] = []
    value = arguments
    *parts, last = problem["loc"] or ("",)
    for part in parts:
        if isinstance(value, dict) and part in value:
            value = cast("dict[Any, Any]", value)[part]
        elif isinstance(value, list) and isinstance(part, int) and part < len(cast("list[Any]", value)):
            value = cast("list[Any]", value)[part]
        else:
            continue
        place.append(part)
    is_key = isinstance(value, dict) and (last in value or problem["type"] == "missing")
    is_position = isinstance(value, list) and isinstance(last, int)
    return [*place, last] if last != "" and (is_key or is_position) else place


def _description(schema: Mapping[str, Any], name: str) -> str:
    """What a parameter is, as the model was told: a number alone does not say its unit."""
    properties = cast("dict[str, dict[str, Any]]", schema.get("properties") or {})
    said = str(properties.get(name, {}).get("description") or "")
    return f" ({said[:1].lower()}{said[1:].rstrip('.')})" if said else ""


def _wording(problem: ErrorDetails) -> str:
    return "is not a parameter of this tool" if problem["type"] == "extra_forbidden" else fault(problem)


_PLACEHOLDERS: dict[str, JsonValue] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}


def _example(schema: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Arguments made from the schema's required properties, for tools that give no example."""
    properties: dict[str, dict[str, Any]] = schema.get("properties", {})
    return {
        name: _PLACEHOLDERS.get(properties[name].get("type", "string"), "...") for name in schema.get("required", [])
    }


def _json(value: Mapping[str, JsonValue]) -> str:
    return json.dumps(value, ensure_ascii=False)
