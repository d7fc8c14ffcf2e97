"""The JSON Schemas of Wire: each event and request as `sould wire` sends it, each method's parameters, each answer.

Made of the types that are sent and read. Below `wire` is what every program gets, below `wire-extensions` what one that asks
for `extensions` gets instead, where that is more.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast, get_args

import msgspec
from pydantic import BaseModel, TypeAdapter

from sould.agents.tools.external.definition import GivenTool
from sould.agents.wire.content import ContentPart
from sould.agents.wire.messages import Extension, SubagentEvent, ToolResult, WireEvent, WireRequest
from sould.daemon.wire import params, results
from sould.daemon.wire.versions import OURS_IN_PARTS, TYPES

Json = dict[str, Any]
METHODS: Final[Mapping[str, tuple[type[BaseModel], type[msgspec.Struct]]]] = {
    "initialize": (params.InitializeParams, results.Initialized),
    "prompt": (params.InputParams, results.Prompted),
    "steer": (params.InputParams, results.Steered),
    "set_plan_mode": (params.PlanModeParams, results.PlanModeSet),
    "replay": (params.ReplayParams, results.Replayed),
    "cancel": (params.WireParams, results.Cancelled),
}
ANSWERS: Final[Mapping[str, type[BaseModel]]] = {
    "ApprovalRequest": params.ApprovalAnswer,
    "QuestionRequest": params.QuestionAnswer,
    "HookRequest": params.HookVerdict,
    "ToolCallRequest": ToolResult,
}
"""What a program's results are read by."""
SOMETIMES: Final = frozenset({"origin", "secret"})
"""Fields that are written only where there is something to say; all others always are."""
_NOTES: Final = frozenset({"title", "default", "discriminator"})
_EVENT: Final[Json] = {
    "type": "object",
    "properties": {"type": {"type": "string"}, "payload": {"type": "object"}},
    "required": ["type", "payload"],
}


def models() -> Iterator[tuple[str, Json]]:
    """The schemas that are made of models, by their names below docs/schemas."""
    for kind in get_args(WireEvent | WireRequest):
        name = kind.__name__
        plain, whole = _of_wire(name, _sent(kind)), _sent(kind)
        yield f"wire/{name}", _described(plain)
        if plain != whole:
            yield f"wire-extensions/{name}", whole
    for kind in get_args(Extension):
        yield f"wire-extensions/{kind.__name__}", _sent(kind)
    yield "wire/ContentPart", _described(_without(_part(), OURS_IN_PARTS))
    yield "wire-extensions/ContentPart", _part()
    for name, (asked, _) in METHODS.items():
        schema = _read(asked)
        if asked is params.InitializeParams:
            tool = _plain(GivenTool.model_json_schema())
            schema["$defs"] |= tool.pop("$defs")
            schema["properties"]["external_tools"]["anyOf"][0]["items"] = tool
        yield f"wire/{name}.params", schema
    for name, answer in ANSWERS.items():
        yield f"wire/{name}.result", _read(answer)


def shapes() -> Iterator[tuple[str, type[msgspec.Struct]]]:
    """The types of what sould answers, by the names of their schemas."""
    for name, (_, answered) in METHODS.items():
        yield f"wire/{name}.result", answered
    yield "wire/error", results.Failed


def _sent(kind: type[BaseModel]) -> Json:
    schema = _always(_plain(kind.model_json_schema()))
    if kind is SubagentEvent:
        schema["properties"]["event"] = _EVENT
    return schema


def _part() -> Json:
    return _always(_plain(TypeAdapter(ContentPart).json_schema()))


def _read(kind: type[BaseModel]) -> Json:
    return _described(_without_everywhere(_plain(kind.model_json_schema()), {"_meta", *SOMETIMES, "is_new"}))


def _of_wire(name: str, schema: Json) -> Json:
    """Of a type of Wire, the fields that a plain client gets."""
    kind = TYPES[name]
    kept = {field: schema["properties"][field] for field in kind.fields}
    if name == "SubagentEvent":
        kept["task_tool_call_id"] = {"type": "string", "description": "The parent, for clients of versions before 1.6."}
    made = {**schema, "properties": kept, "required": list(kind.fields)}
    return _without(made, kind.ours)


def _without(schema: Json, ours: Any) -> Json:
    """With nothing of what `exclude` leaves out, and no definition that is not used then."""
    _leave_out(schema, ours, schema.get("$defs", {}))
    return _used(schema)


def _leave_out(node: Json, ours: Any, definitions: Mapping[str, Json]) -> None:
    if not ours:
        return
    for branch in (*node.get("anyOf", ()), *node.get("oneOf", ())):
        _leave_out(branch, ours, definitions)
    if "$ref" in node:
        _leave_out(definitions[node["$ref"].rpartition("/")[2]], ours, definitions)
    if "__all__" in ours:
        _leave_out(node.get("items", {}), ours["__all__"], definitions)
    elif isinstance(ours, Mapping):
        for name, within in cast("Json", ours).items():
            _leave_out(node.get("properties", {}).get(name, {}), within, definitions)
    elif "properties" in node:
        node["properties"] = {name: each for name, each in node["properties"].items() if name not in ours}
        node["required"] = [name for name in node.get("required", ()) if name not in ours]


def _without_everywhere(schema: Json, names: set[str]) -> Json:
    for node in (schema, *schema.get("$defs", {}).values()):
        _leave_out(node, names, {})
    return _used(schema)


def _always(schema: Json) -> Json:
    """With every field required: null is written out."""
    for node in (schema, *schema.get("$defs", {}).values()):
        if "properties" in node:
            node["required"] = [name for name in node["properties"] if name not in SOMETIMES]
    return schema


def _plain(node: Any, *, names: bool = False) -> Any:
    """Without titles, which repeat names, defaults, for what is sent is always written, and numbers of our decisions."""
    if isinstance(node, str):
        return re.sub(r" \(D\d+\)", "", node)
    if isinstance(node, list):
        return [_plain(each) for each in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    return {
        key: _plain(each, names=key in ("properties", "$defs") and not names)
        for key, each in cast("Json", node).items()
        if names or key not in _NOTES
    }


def _used(schema: Json) -> Json:
    definitions, text = schema.pop("$defs", {}), ""
    used: set[str] = set()
    while used != (used := set(re.findall(r"'#/\$defs/(\w+)'", f"{schema}{text}"))):
        text = str([definitions[name] for name in sorted(used)])
    kept = {name: each for name, each in definitions.items() if name in used}
    return {**schema, "$defs": kept} if kept else schema


def _described(schema: Json) -> Json:
    """With the first paragraph of each description: those behind it are about what is ours, and about our code."""
    for node in (schema, *schema.get("$defs", {}).values()):
        if "description" in node:
            first, _, _ = node["description"].partition("\n\n")
            node["description"] = first.replace("\n", " ")
    return schema
