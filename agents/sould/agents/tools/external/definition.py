"""What a client says of a tool it runs, and what it answers when the tool was called: read strictly, with reasons.

Pure. Nothing of a client reaches the model or a person before it went through here.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

import orjson
from msgspec import Struct
from pydantic import ConfigDict, Field, JsonValue, ValidationError

from sould.agents.base.parsed import Parsed
from sould.agents.base.text import faulty
from sould.agents.mcp.naming import LARGEST_SCHEMA, shortened
from sould.agents.toolapi.base import tool_error
from sould.agents.toolapi.toolset import NAME
from sould.agents.wire.content import media_url
from sould.agents.wire.messages import ToolKind, ToolReturn

LONGEST_OUTPUT: Final = 100_000
"""Characters of text in an answer, as for MCP servers."""
LARGEST_ANSWER: Final = 8 * 1024 * 1024
"""Bytes of an answer, images included."""
LARGEST_REST: Final = 256 * 1024
"""Bytes of what an answer has for people and programs."""
_OURS: Final = frozenset({"rejected", "feedback"})
"""Extras by which a person's no is known; a client's answer is none."""


class InvalidDefinitionError(Exception):
    """A tool that cannot be offered; the text is the reason."""


class _Schema(Parsed):
    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    type: Literal["object"] = "object"
    properties: dict[str, dict[str, JsonValue] | bool] = Field(default_factory=dict[str, dict[str, JsonValue] | bool])
    required: tuple[str, ...] = ()


class GivenTool(Parsed):
    """A tool as its client writes it. `kind` (ours): what a call does; tools that only look are not asked about."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    name: str
    description: str = ""
    parameters: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    kind: ToolKind = "other"


class ExternalDefinition(Struct, frozen=True):
    """A tool of a client, fit to be offered. `schema` is as the client wrote it; by `kind` the client says whether it only looks."""

    name: str
    description: str
    schema: dict[str, Any]
    kind: ToolKind


def read_definition(given: Mapping[str, object]) -> ExternalDefinition:
    """The tool that a client describes: `name`, `description`, `parameters` (a JSON schema) and `kind`.

    Raises:
        InvalidDefinitionError: it cannot be offered.
    """
    try:
        tool = GivenTool.model_validate(given)
    except ValidationError as error:
        raise InvalidDefinitionError(_fault(error)) from error
    try:
        _Schema.model_validate(tool.parameters)
    except ValidationError as error:
        raise InvalidDefinitionError(f"parameters.{_fault(error)}") from error
    if not NAME.fullmatch(tool.name):
        raise InvalidDefinitionError("a name has 1 to 64 letters, digits, - and _, and begins with a letter or _")
    if "__" in tool.name:
        raise InvalidDefinitionError("names with __ are those of MCP servers' tools")
    if len(orjson.dumps(tool.parameters)) > LARGEST_SCHEMA:
        raise InvalidDefinitionError(f"the schema is larger than {LARGEST_SCHEMA // 1024} KiB")
    return ExternalDefinition(tool.name, shortened(tool.description), tool.parameters, tool.kind)


def read_answer(name: str, given: object) -> ToolReturn:
    """What a client's tool came to: Wire's `return_value`. What is wrong with it is an error for the model."""
    given = given.model_dump(mode="json") if isinstance(given, ToolReturn) else given
    try:
        if len(orjson.dumps(given)) > LARGEST_ANSWER:
            return _unusable(name, f"it is larger than {LARGEST_ANSWER // 1024 // 1024} MiB")
        answer = ToolReturn.model_validate(given)
    except orjson.JSONEncodeError:
        return _unusable(name, "it is not JSON")
    except ValidationError as error:
        return _unusable(name, _fault(error))
    if problem := _problem(answer):
        return _unusable(name, problem)
    extras = {key: value for key, value in (answer.extras or {}).items() if key not in _OURS}
    return answer.model_copy(update={"extras": extras or None})


def _problem(answer: ToolReturn) -> str:
    parts = () if isinstance(answer.output, str) else answer.output
    texts = [answer.message, *([answer.output] if isinstance(answer.output, str) else [])]
    texts += [part.text for part in parts if part.type == "text"]
    size = sum(map(len, texts))
    if size > LONGEST_OUTPUT:
        return f"it has {size} characters, and the limit is {LONGEST_OUTPUT}; ask for less at once"
    for number, part in enumerate(parts):
        if part.type == "think":
            return f"output.{number} is thinking, which only models do"
        if not (media_url(part) or "data:").startswith("data:"):
            return f"output.{number} has no data: URL"
    rest = answer.model_dump(mode="json", include={"display", "extras"})
    if len(orjson.dumps(rest)) > LARGEST_REST:
        return f"`display` and `extras` are larger than {LARGEST_REST // 1024} KiB"
    return ""


def _unusable(name: str, why: str) -> ToolReturn:
    return tool_error(
        f"{name} was run, but its answer cannot be used: {why}. What it did stays done.", brief="Unusable answer"
    )


def _fault(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return faulty(str(next(iter(first["loc"]), "it")), first).rstrip(".")
