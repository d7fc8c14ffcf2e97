"""Agent specs: which prompt and tools make an agent. YAML, version 1.

A spec and what it extends are merged as raw data and validated once; paths in it belong to the file that wrote them
(D31). Every mistake names file, line and key. Nothing here loads a tool.
"""

import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, cast

from msgspec import Struct
from msgspec.structs import replace
from pydantic import BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from sould.agents.base.parsed import Parsed
from sould.agents.base.text import fault
from sould.agents.soul.specfile import INHERIT, SpecDocument, fingerprint, merged, read_document, stamps
from sould.agents.soul.tool_conditions import Situation, When, described, why_not
from sould.agents.toolapi.decorator import InvalidToolError
from sould.agents.toolapi.loading import is_retired, resolve_alias, same_tool

BUILTIN = Path(__file__).parent.parent / "specs"
_BELOW_BUILTIN = f"{BUILTIN}{os.sep}"


def _as_entry(value: object) -> object:
    return {"tool": value} if isinstance(value, str) else value


class ToolEntry(Parsed):
    """A tool by its `module:Class` path (or `file.py:function`), and when it is offered."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: str
    when: When | None = None


class SubagentEntry(Parsed):
    """A kind of subagent: the file that describes it, and what the model is told it is for.

    Without a description the model is told what the file calls `when_to_use`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path
    description: str = ""


class SpecFields(Parsed):
    """What an agent file says, everything merged."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = ""
    system_prompt_path: Path
    system_prompt_args: dict[str, str] = Field(default_factory=dict)
    model: str = ""
    when_to_use: str = ""
    tools: tuple[Annotated[ToolEntry, BeforeValidator(_as_entry)], ...]
    allowed_tools: tuple[str, ...] | None = None
    exclude_tools: tuple[str, ...] = ()
    read_only: bool = False
    """It changes nothing in any mode: it is held to what plan mode allows."""
    mcp_tools: tuple[str, ...] | None = None
    """Patterns of the names of MCP tools it has; None: all of the session."""
    subagents: dict[str, SubagentEntry] = Field(default_factory=dict)


class AgentSpec(Struct, frozen=True):
    """One agent, ready to be made."""

    fields: SpecFields
    document: SpecDocument
    own_name: str = ""
    own_tools: tuple[str, ...] = ()
    """The tools that its own file lists, in place of taking them from what it extends."""

    @property
    def name(self) -> str:
        """What its own file calls it, else the file's name."""
        path = self.document.path
        return self.own_name or (path.parent.name if path.stem == "agent" else path.stem)

    @property
    def files(self) -> tuple[Path, ...]:
        """Everything it is made from: a change of one of them changes the agent."""
        named = (entry.tool.rpartition(":")[0] for entry in self.fields.tools)
        tools = [Path(module) for module in named if module.endswith(".py")]
        return (*self.document.files, self.fields.system_prompt_path, *tools)

    @property
    def looks_around(self) -> bool:
        """Its conditions are about files and programs, which come and go."""
        conditions = (entry.when for entry in self.fields.tools if entry.when is not None)
        return any(when.command_exists or when.file_exists for when in conditions)

    @property
    def ships(self) -> bool:
        """Everything it is made from ships with sould."""
        return all(map(ships, self.files))

    @property
    def made_of(self) -> str:
        """A digest of its files, but for those that ship with sould; "" when there are no others."""
        return fingerprint(path for path in self.files if not ships(path))

    def tools(self, now: Situation | None = None) -> tuple["ToolChoice", ...]:
        """Every tool the spec names, with the reason why it is not offered. Without `now` no condition is judged."""
        choices: list[ToolChoice] = []
        listed: set[str] = set()
        for index, entry in enumerate(self.fields.tools):
            choice = self._judged(index, entry, now)
            if not choice.reason:
                ours = resolve_alias(choice.path) or choice.path
                if ours in listed:
                    choice = replace(choice, reason="it is listed earlier, by this or another of its names")
                listed.add(ours)
            choices.append(choice)
        return tuple(choices)

    def idle(self) -> tuple[str, ...]:
        """What allowed_tools and exclude_tools name and none of the tools is, nor was in the last version."""
        named = (name for name in self._named if not is_retired(name))
        return tuple(name for name in named if not any(same_tool(name, entry.tool) for entry in self.fields.tools))

    def retired(self) -> bool:
        """Whether it names a tool of the last version."""
        return any(map(is_retired, (*self._named, *(entry.tool for entry in self.fields.tools))))

    @property
    def _named(self) -> tuple[str, ...]:
        return (*(self.fields.allowed_tools or ()), *self.fields.exclude_tools)

    def without(self, names: Sequence[str]) -> "AgentSpec":
        """The same agent with further tools excluded."""
        fields = self.fields.model_copy(update={"exclude_tools": (*self.fields.exclude_tools, *names)})
        return replace(self, fields=fields)

    def _judged(self, index: int, entry: ToolEntry, now: Situation | None) -> "ToolChoice":
        fields = self.fields
        reason = ""
        if fields.allowed_tools is not None and not any(same_tool(each, entry.tool) for each in fields.allowed_tools):
            reason = "it is not among allowed_tools"
        elif any(same_tool(each, entry.tool) for each in fields.exclude_tools):
            reason = "exclude_tools names it"
        elif resolve_alias(entry.tool) is None:
            reason = "this version does not have it"
        elif entry.when is not None and now is not None:
            reason = why_not(entry.when, now)
        condition = described(entry.when) if entry.when is not None else ""
        return ToolChoice(entry.tool, self.document.place("tools", index), reason, condition)


class ToolChoice(Struct, frozen=True):
    """A tool of a spec. `reason` says why it is not offered; "": it is. `condition`: while what it is."""

    path: str
    place: str
    reason: str = ""
    condition: str = ""


def ships(path: Path) -> bool:
    """The file ships with sould."""
    return str(path).startswith(_BELOW_BUILTIN)


_SHIPPED: dict[Path, tuple[AgentSpec, tuple[object, ...]]] = {}
"""The specs that ship with sould, shared by all sessions, with what the disk said of their files when they were read.

Of others nothing is kept: what their paths lead to may be another file the next time.
"""


def load_spec(path: Path) -> AgentSpec:
    """Read a spec file and what it extends. One that ships with sould is not read again while its files stay the same.

    Raises:
        ConfigError: naming file, line and key.
    """
    known = _SHIPPED.get(path)
    if known is not None and stamps(known[0].files) == known[1]:
        return known[0]
    spec = _load(path)
    if spec.ships:
        _SHIPPED[path] = spec, stamps(spec.files)
    return spec


def _load(path: Path) -> AgentSpec:
    own, document = _extended(path, ())
    try:
        fields = SpecFields.model_validate({key: value for key, value in document.agent.items() if key != "extend"})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = tuple(part for part in first["loc"] if part != "function-before[_as_entry(), ToolEntry]")
        raise document.error(f"{_wording(first, key)}.", *key) from error
    spec = AgentSpec(fields, document, fields.name if "name" in own.agent else "", _listed(own))
    _check_files(spec)
    return spec


def _listed(own: SpecDocument) -> tuple[str, ...]:
    entries = [_as_entry(each) for each in own.agent.get("tools") or () if each != INHERIT]
    return tuple(str(cast("dict[str, Any]", each).get("tool")) for each in entries if isinstance(each, dict))


def builtin_spec(name: str) -> AgentSpec:
    """A spec that ships with sould."""
    return load_spec(builtin_path(name))


def builtin_path(name: str) -> Path:
    """Where a spec that ships with sould is."""
    return BUILTIN / name / "agent.yaml"


@cache  # they come and go with a version of sould, which is another process
def builtin_names() -> tuple[str, ...]:
    """The specs that ship with sould."""
    return tuple(sorted(path.parent.name for path in BUILTIN.glob("*/agent.yaml")))


def is_file_tool(tool: str) -> bool:
    """Whether the tool is named by a Python file in place of a module."""
    return tool.rpartition(":")[0].endswith(".py")


def _extended(path: Path, above: tuple[Path, ...]) -> tuple[SpecDocument, SpecDocument]:
    """The file itself, and the file merged over what it extends."""
    own = _with_absolute_paths(read_document(path))
    base = own.agent.get("extend")
    if base is None:
        _check_inherits_nothing(own)
        return own, own
    if not isinstance(base, str):
        raise own.error("must be the name of a builtin agent or a relative path.", "extend")
    target = _base_path(base, path)
    if not target.is_file():
        known = ", ".join(builtin_names())
        raise own.error(f"there is no agent {base!r}: no such file, and the builtin ones are {known}.", "extend")
    if target in (*above, path):
        chain = " -> ".join(str(each) for each in (*above, path, target))
        raise own.error(f"the agents extend each other in a cycle: {chain}.", "extend")
    _, parent = _extended(target, (*above, path))
    return own, merged(parent, own)


def _check_inherits_nothing(document: SpecDocument) -> None:
    for key, value in document.agent.items():
        if value == INHERIT or (isinstance(value, list) and INHERIT in value):
            raise document.error("there is nothing to inherit, because this file extends no agent.", key)


def _base_path(base: str, path: Path) -> Path:
    if base in builtin_names():
        return builtin_path(base)
    return (path.parent / base).resolve()


def _with_absolute_paths(document: SpecDocument) -> SpecDocument:
    """Paths belong to the file that wrote them, so they are made absolute before anything is merged."""

    def absolute(value: object) -> object:
        return str((document.path.parent / value).resolve()) if isinstance(value, str) and value != INHERIT else value

    def tool(value: object) -> object:
        if isinstance(value, str) and is_file_tool(value):
            file, _, name = value.rpartition(":")
            return f"{absolute(file)}:{name}"
        if isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            return {**fields, "tool": tool(fields.get("tool"))}
        return value

    def subagent(value: object) -> object:
        if isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            return {**fields, **({"path": kind(fields["path"])} if "path" in fields else {})}
        return {"path": kind(value)} if isinstance(value, str) and value != INHERIT else value

    def kind(value: object) -> object:
        return str(_base_path(value, document.path)) if isinstance(value, str) else value

    agent = dict(document.agent)
    if "system_prompt_path" in agent:
        agent["system_prompt_path"] = absolute(agent["system_prompt_path"])
    _apply(agent, "tools", list, lambda tools: [tool(each) for each in tools])
    _apply(agent, "subagents", dict, lambda kinds: {name: subagent(each) for name, each in kinds.items()})
    return replace(document, agent=agent)


def _apply(agent: dict[str, Any], key: str, kind: type, change: Callable[[Any], object]) -> None:
    if isinstance(agent.get(key), kind):
        agent[key] = change(agent[key])


def _check_files(spec: AgentSpec) -> None:
    fields, document = spec.fields, spec.document
    if not fields.system_prompt_path.is_file():
        raise document.error(f"there is no file {fields.system_prompt_path}.", "system_prompt_path")
    for name, entry in fields.subagents.items():
        if not entry.path.is_file():
            raise document.error(f"there is no file {entry.path}.", "subagents", name, "path")
    for index, entry in enumerate(fields.tools):
        try:
            resolve_alias(entry.tool)
        except InvalidToolError as error:
            raise InvalidToolError(document.error(error.message, "tools", index).message) from error


def _wording(problem: ErrorDetails, key: tuple[int | str, ...]) -> str:
    if problem["type"] != "extra_forbidden":
        return fault(problem)
    where, known = "an agent", ("extend", *SpecFields.model_fields)
    match key:
        case ("tools", _, "when", _):
            where, known = "a condition", tuple(When.model_fields)
        case ("tools", _, _):
            where, known = "a tool", tuple(ToolEntry.model_fields)
        case ("subagents", _, _):
            where, known = "a subagent", tuple(SubagentEntry.model_fields)
        case _:
            pass
    return f"is not a key of {where}; its keys are {', '.join(known)}"
