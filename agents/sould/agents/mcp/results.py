"""What an MCP server says, in our words: definitions of tools, results of calls, questions.

The only conversion there is; images and structured content are kept, text is cut to what a model can read.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, cast

import orjson
from msgspec import Struct
from pydantic import JsonValue

from sould.agents.llm.provider import ChatMessage
from sould.agents.toolapi.base import tool_ok
from sould.agents.wire.content import AudioPart, ContentPart, ImagePart, MediaUrl, TextPart
from sould.agents.wire.display import BriefBlock
from sould.agents.wire.messages import ToolReturn

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock, CreateMessageRequestParams

# What the structured content of a result says that its content blocks do not.
# Servers repeat there what the blocks show, pictures included; a model that reads base64 pays for each letter and
# sees nothing.


Block: TypeAlias = Mapping[str, Any]
"""A content block as MCP writes it, without what is null."""

DEEPEST: Final = 100
"""Levels of structured content that are looked at."""
SHORTEST: Final = 256
"""Letters from which on a value is taken for base64."""
_BASE64: Final = re.compile(rf"[A-Za-z0-9+/_-]{{{SHORTEST},}}={{0,2}}")
_NOTHING: Final = object()


class ShownResult:
    """What the blocks of a result show."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks
        self._data: dict[str, Block] = {}
        for block in (each.get("resource", each) for each in blocks):
            data = block.get("data") or block.get("blob")
            if data:
                self._data[data] = block

    def left_out(self, text: str) -> str:
        """A text with words in place of the data that another block shows."""
        return _BASE64.sub(lambda found: _beside(self._data.get(found[0])) or found[0], text) if self._data else text

    def beyond(self, structured: JsonValue) -> JsonValue:
        """What structured content says besides, with words in place of base64; None: nothing."""
        rest = self._rest(structured, DEEPEST)
        return None if rest is _NOTHING else cast("JsonValue", rest)

    def _rest(self, value: object, levels: int) -> object:
        """`value` without what the blocks say; `_NOTHING` where that was all of it."""
        if not levels:
            return "[too deep to be shown]"
        match value:
            case str():
                data = value.rpartition(";base64,")[2] if value.startswith("data:") else value
                return _NOTHING if data in self._data else _in_words(value, data)
            case list():
                return _kept([self._rest(each, levels - 1) for each in cast("list[object]", value)])
            case dict():
                return self._rest_of_object(cast("dict[str, object]", value), levels - 1)
            case _:
                return value

    def _rest_of_object(self, value: dict[str, object], levels: int) -> object:
        given = {key: each for key, each in value.items() if each is not None}
        if given in self._blocks:
            return _NOTHING
        block = next(
            (self._data[each] for each in given.values() if isinstance(each, str) and each in self._data), None
        )
        if block is not None:  # what it says of the data besides
            value = {key: each for key, each in given.items() if block.get(key) != each}
        rest = {key: kept for key, each in value.items() if (kept := self._rest(each, levels)) is not _NOTHING}
        return rest if rest or not given else _NOTHING


def _kept(members: list[object]) -> object:
    kept = [each for each in members if each is not _NOTHING]
    return kept if kept or not members else _NOTHING


def _in_words(value: str, data: str) -> str:
    return f"[base64 of {len(data) * 3 // 4} bytes, not shown]" if _BASE64.fullmatch(data) else value


def _beside(block: Block | None) -> str:
    return f"[{block.get('mimeType') or 'data'}, beside this text]" if block is not None else ""


LARGEST_STRUCTURE = 256 * 1024
"""Bytes of structured content kept beside the text."""


class ToolDefinition(Struct, frozen=True):
    """A tool as its server describes it."""

    name: str
    description: str
    schema: dict[str, Any]
    read_only: bool = False
    """The server says that the tool changes nothing."""
    as_task: bool = False
    """The server runs it as a task only, which we do not start."""


class PromptDefinition(Struct, frozen=True):
    """A prompt as its server describes it; `arguments` are names, and whether they are required."""

    name: str
    description: str
    arguments: tuple[tuple[str, bool], ...]


class ResourceDefinition(Struct, frozen=True):
    """Something a server lets us read. `template`: its address has `{variables}` to fill in."""

    uri: str
    name: str
    description: str = ""
    template: bool = False


class Sampling(Struct, frozen=True):
    """A server asks for an answer of the session's model, at most `max_tokens` long."""

    system_prompt: str
    messages: tuple[ChatMessage, ...]
    max_tokens: int


class Sampled(Struct, frozen=True):
    """What the model answered. `stop_reason` in MCP's words."""

    text: str
    model: str
    stop_reason: str


class Elicitation(Struct, frozen=True):
    """A server asks the user: a form with this schema, or a page to visit."""

    message: str
    schema: Mapping[str, Any] | None
    url: str = ""


class Elicited(Struct, frozen=True):
    """What the user did with it: filled it in (or agreed to visit the page), said no, or went away."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, JsonValue] | None = None


class Asking(Protocol):
    """A session, as far as a server may ask its user something."""

    async def elicit(self, server: str, question: Elicitation) -> Elicited:
        """What the user did with the question."""
        ...

    async def sample(self, server: str, wanted: Sampling) -> Sampled | str:
        """The model's answer, which the user allowed; else why there is none."""
        ...


def converted(result: "CallToolResult", limit: int) -> ToolReturn:
    """A call's result for the model; `limit` is in characters and counts text only."""
    shown = ShownResult([block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in result.content])
    parts = [_part(block) for block in result.content]
    parts = [TextPart(text=shown.left_out(part.text)) if isinstance(part, TextPart) else part for part in parts]
    structured = shown.beyond(result.structured_content)
    if structured is not None and not any(isinstance(part, TextPart) for part in parts):
        parts.append(TextPart(text=orjson.dumps(structured, option=orjson.OPT_INDENT_2).decode()))
    kept, cut = within(parts, limit)
    output = kept if any(not isinstance(part, TextPart) for part in kept) else _joined(kept)
    if result.is_error:
        message = f"The tool reports an error. {cut}".strip()
        return ToolReturn(is_error=True, output=output, message=message, display=(BriefBlock(text="Error"),))
    fits = structured is not None and len(orjson.dumps(structured)) <= LARGEST_STRUCTURE
    return tool_ok(output, message=cut, extras={"structured": structured} if fits else None)


def _part(block: "ContentBlock") -> ContentPart:
    match block.type:
        case "text":
            return TextPart(text=block.text)
        case "image":
            return ImagePart(image_url=MediaUrl(url=f"data:{block.mime_type};base64,{block.data}"))
        case "audio":
            return AudioPart(audio_url=MediaUrl(url=f"data:{block.mime_type};base64,{block.data}"))
        case "resource_link":
            return TextPart(text=f"[{block.name}]({block.uri})")
        case "resource":
            return resource(block.resource.model_dump(mode="json", by_alias=True))


def resource(given: dict[str, Any]) -> ContentPart:
    """The content of a resource, from the object MCP gives it in."""
    uri, kind = given.get("uri", ""), given.get("mimeType") or ""
    if "text" in given:
        return TextPart(text=f"{uri}\n{given['text']}")
    if kind.startswith("image/"):
        return ImagePart(image_url=MediaUrl(url=f"data:{kind};base64,{given.get('blob', '')}"))
    return TextPart(text=f"{uri} ({kind or 'binary'}, {len(given.get('blob', '')) * 3 // 4} bytes, not shown)")


def sampling(params: "CreateMessageRequestParams") -> Sampling:
    """What a server wants of the model; a tool it brings for that is not offered, because we never say we could."""
    messages: list[ChatMessage] = []
    for message in params.messages:
        blocks = message.content if isinstance(message.content, list) else [message.content]
        media = (block for block in blocks if block.type == "text" or block.type == "image" or block.type == "audio")
        parts = tuple(_part(block) for block in media)
        messages.append(ChatMessage(message.role, parts))
    return Sampling(params.system_prompt or "", tuple(messages), params.max_tokens)


def within(parts: list[ContentPart], limit: int) -> tuple[tuple[ContentPart, ...], str]:
    """The parts with their text cut to `limit` characters in all, head and tail of the part that goes over."""
    total = sum(len(part.text) for part in parts if isinstance(part, TextPart))
    if total <= limit:
        return tuple(parts), ""
    room = limit
    kept: list[ContentPart] = []
    for part in parts:
        if not isinstance(part, TextPart):
            kept.append(part)
        elif len(part.text) <= room:
            kept.append(part)
            room -= len(part.text)
        elif room:
            half = room // 2
            kept.append(TextPart(text=f"{part.text[:half]}\n[... left out ...]\n{part.text[len(part.text) - half :]}"))
            room = 0
    return tuple(kept), f"Only {limit} of {total} characters of output are shown."


def _joined(parts: tuple[ContentPart, ...]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))
