"""The tools of one agent: loaded by `module:Class`, given their services, checked and called.

Tools are named by import path in the agent spec and receive services by the annotations of their constructor. Nothing
here knows a particular tool; a tool that raises is caught here, because its bug must not end the turn.
"""

import inspect
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, cast, get_type_hints

from pydantic import BaseModel, JsonValue, ValidationError

from sould.agents.errors import SouldError
from sould.agents.llm.provider import ToolSpec
from sould.agents.tools.base import CallView, PerCall, Tool, ToolCallContext, tool_error
from sould.agents.tools.locks import FileLocks
from sould.agents.wire.messages import ToolKind, ToolReturn

log = logging.getLogger(__name__)

REFERENCE_PACKAGE = "kimi_cli.tools."
REFERENCE_TOOLS = {
    "ReadFile": "sould.agents.tools.readfile:ReadFile",
    "WriteFile": "sould.agents.tools.writefile:WriteFile",
    "StrReplaceFile": "sould.agents.tools.strreplace:StrReplaceFile",
    "Glob": "sould.agents.tools.globtool:Glob",
    "Grep": "sould.agents.tools.grep:Grep",
    "Shell": "sould.agents.tools.shell:Shell",
    "Bash": "sould.agents.tools.shell:Shell",
    "SetTodoList": "sould.agents.tools.todo:SetTodoList",
}
"""Class names of the reference's tools, wherever in its package they live (D15): `file:ReadFile`, `file.read:ReadFile`."""

REFERENCE_TOOLS_WE_LACK = frozenset(
    {
        "Agent", "AskUserQuestion", "CMD", "CreateSubagent", "EnterPlanMode", "ExitPlanMode", "FetchURL", "ReadMediaFile",
        "SearchWeb", "SendDMail", "Task", "TaskList", "TaskOutput", "TaskStop", "Think",
    }
)  # fmt: skip


class InvalidToolError(SouldError):
    """A tool of an agent spec cannot be loaded: the sentence names the tool and what is wrong with it."""

    kind = "config"


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """A call whose tool exists and whose arguments fit: how people see it before it runs."""

    name: str
    kind: ToolKind
    view: CallView


class Toolset:
    """The tools an agent has, in the order the model sees them."""

    def __init__(self, loaded: Sequence["_LoadedTool"], skipped: Sequence[str] = ()) -> None:
        self._tools = {entry.tool.name: entry for entry in loaded}
        self.skipped = tuple(skipped)
        """Tools of the reference that a spec asked for and this version does not have; tell the user once."""

    @classmethod
    def load(cls, paths: Sequence[str], services: Mapping[Any, object]) -> "Toolset":
        """Build the tools named by `paths`; `services` maps each injectable type to its object.

        Raises:
            InvalidToolError: no such module or class, a service nobody provides, two tools with one name.
        """
        known: dict[Any, object] = {FileLocks: FileLocks(), **services}
        loaded: dict[str, _LoadedTool] = {}
        skipped: list[str] = []
        for path in paths:
            ours = _resolve_alias(path)
            if ours is None:
                skipped.append(path)
                continue
            entry = _load(ours, known)
            if entry.tool.name in loaded:
                raise InvalidToolError(
                    f"two tools are called {entry.tool.name}: {loaded[entry.tool.name].path} and {ours}"
                )
            loaded[entry.tool.name] = entry
        return cls(list(loaded.values()), skipped)

    @cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model sees them; the same bytes for the life of the session."""
        return tuple(entry.tool.spec for entry in self._tools.values())

    def find(self, name: str) -> Tool[Any] | None:
        """The tool called `name`."""
        entry = self._tools.get(name)
        return entry.tool if entry is not None else None

    def check(self, name: str, arguments: Mapping[str, Any]) -> CheckedCall | ToolReturn:
        """What the call is, or the error to give the model in place of running it."""
        entry = self._tools.get(name)
        if entry is None:
            return self._missing(name)
        params = _validate(entry.tool, arguments)
        if isinstance(params, ToolReturn):
            return params
        return CheckedCall(name, entry.tool.kind, entry.tool.view(params))

    async def call(self, name: str, arguments: Mapping[str, Any], context: ToolCallContext) -> ToolReturn:
        """Run the tool. Anything that goes wrong is an error for the model; only cancellation is raised."""
        entry = self._tools.get(name)
        if entry is None:
            return self._missing(name)
        params = _validate(entry.tool, arguments)
        if isinstance(params, ToolReturn):
            return params
        try:
            return await entry.for_call(context).run(params, context)
        except Exception as error:  # an exception from a tool is its bug; the turn must survive it
            log.exception("tool %s failed", name)
            return tool_error(
                f"{name} failed inside ({type(error).__name__}). This is a fault of the tool, not of your arguments; "
                "go on another way, or tell the user.",
                brief=f"{name} failed",
            )

    def _missing(self, name: str) -> ToolReturn:
        return tool_error(f"Tool `{name}` not found. The tools are: {', '.join(self._tools)}.", brief="No such tool")


@dataclass(frozen=True, slots=True)
class _LoadedTool:
    path: str
    tool: Tool[Any]
    arguments: Mapping[str, object]
    """What its constructor got, by parameter."""

    def for_call(self, context: ToolCallContext) -> Tool[Any]:
        """The tool, built anew when it uses a service that wants to know the call."""
        if not any(isinstance(service, PerCall) for service in self.arguments.values()):
            return self.tool
        bound = {
            parameter: service.for_call(context) if isinstance(service, PerCall) else service
            for parameter, service in self.arguments.items()
        }
        return type(self.tool)(**bound)


def _resolve_alias(path: str) -> str | None:
    """Our path for `path`; None for a tool of the reference that we do not have."""
    module, _, name = path.partition(":")
    if not f"{module}.".startswith(REFERENCE_PACKAGE):
        return path
    if name in REFERENCE_TOOLS:
        return REFERENCE_TOOLS[name]
    if name in REFERENCE_TOOLS_WE_LACK:
        return None
    raise InvalidToolError(
        f"{path}: no such tool; those of the reference that work here are {', '.join(REFERENCE_TOOLS)}"
    )


def _load(path: str, services: Mapping[Any, object]) -> _LoadedTool:
    module, colon, name = path.partition(":")
    if not colon:
        raise InvalidToolError(f"{path}: a tool is written `module:Class`")
    try:
        factory: object = getattr(import_module(module), name, None)
    except ImportError as error:
        raise InvalidToolError(f"{path}: {error}") from error
    if not inspect.isclass(factory) or not issubclass(factory, Tool):
        raise InvalidToolError(f"{path}: {module} has no tool class {name}")
    tool_class = cast("type[Tool[Any]]", factory)
    arguments = _injected(path, tool_class, services)
    return _LoadedTool(path, tool_class(**arguments), arguments)


def _injected(path: str, factory: type[Tool[Any]], services: Mapping[Any, object]) -> dict[str, object]:
    """The constructor's arguments, looked up by annotation; parameters with a default are left to it when unknown."""
    if factory.__init__ is object.__init__:
        return {}
    try:
        hints = get_type_hints(factory.__init__)
    except NameError as error:
        raise InvalidToolError(f"{path}: an annotation of its constructor cannot be resolved: {error}") from error
    arguments: dict[str, object] = {}
    for parameter in list(inspect.signature(factory).parameters.values()):
        kind = hints.get(parameter.name)
        if kind in services:
            arguments[parameter.name] = services[kind]
        elif parameter.default is inspect.Parameter.empty:
            wanted = getattr(kind, "__name__", "nothing (it has no annotation)")
            offered = ", ".join(sorted(service.__name__ for service in services))
            raise InvalidToolError(
                f"{path}: parameter `{parameter.name}` asks for {wanted}, which is no service; the services are {offered}"
            )
    return arguments


def _validate(tool: Tool[Any], arguments: Mapping[str, Any]) -> BaseModel | ToolReturn:
    """The parameters, or an error that names each bad one, what is wrong with it, and good arguments."""
    kind = cast("type[BaseModel]", tool.params)
    try:
        return kind.model_validate(arguments)
    except ValidationError as error:
        problems = [
            f"`{'.'.join(str(part) for part in problem['loc']) or 'arguments'}`: {_wording(problem['type'], problem['msg'])}"
            for problem in error.errors(include_url=False, include_input=False)[:5]
        ]
    names = ", ".join(f"`{name}`" for name in tool.spec.parameters.get("properties", {}))
    return tool_error(
        f"Bad arguments for {tool.name}, so nothing was run. {'; '.join(problems)}. "
        f"The parameters are {names or 'none'}. Example: {_json(tool.example or _example(tool.spec.parameters))}",
        brief="Bad arguments",
    )


def _wording(kind: str, message: str) -> str:
    if kind == "missing":
        return "is required"
    if kind == "extra_forbidden":
        return "is not a parameter of this tool"
    return message[:1].lower() + message[1:]


_PLACEHOLDERS: dict[str, JsonValue] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}


def _example(schema: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Arguments made from the schema's required properties, for tools that give no example."""
    properties: dict[str, dict[str, Any]] = schema.get("properties", {})
    return {
        name: _PLACEHOLDERS.get(properties[name].get("type", "string"), "...") for name in schema.get("required", [])
    }


def _json(value: Mapping[str, JsonValue]) -> str:
    return json.dumps(value, ensure_ascii=False)
