"""A chat request as the body servers of the OpenAI kind expect: pure data in, pure data out.

What servers cannot take is left out with a word in its place, so that a conversation survives a change of model.
`request_body` says what is sent; `request_bytes` gives the same without making again what an earlier request made.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

import orjson
from msgspec import Struct

from sould.agents.config import Capability
from sould.agents.llm.growing import GrowingBytes
from sould.agents.llm.provider import ChatMessage, ChatRequest, ModelInfo, ThoughtLevel, ToolSpec
from sould.agents.wire.content import (
    AudioPart,
    ContentPart,
    ImagePart,
    TextPart,
    ThinkPart,
    UserInput,
    VideoPart,
)

Dialect: TypeAlias = Literal["plain", "openai", "kimi", "openrouter"]
"""Which of the documented ways a server wants reasoning and caching asked for."""

JsonObject: TypeAlias = dict[str, Any]


class RequestStyle(Struct, frozen=True):
    """What of a request depends on the server and its configuration."""

    dialect: Dialect = "plain"
    reasoning_key: str = ""
    """The key under which earlier reasoning is sent back; empty: it is not."""
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None


def request_body(request: ChatRequest, info: ModelInfo, style: RequestStyle) -> JsonObject:
    """The whole body of `POST /chat/completions`."""
    head, tail = _around(request, info, style)
    messages = [*_system(request), *_messages(request.messages, info, style)]
    return {**head, "messages": messages, **tail}


def request_bytes(request: ChatRequest, info: ModelInfo, style: RequestStyle) -> list[bytes]:
    """The same as JSON, in pieces to be sent one after the other; what `request.sent` keeps is not made again."""
    head, tail = _around(request, info, style)
    opening = b',"messages":[' + b"".join(map(_json, _system(request)))
    sent = request.sent or GrowingBytes[ChatMessage]()
    form = (info.capabilities & _OF_MEDIA, style.reasoning_key)
    messages = sent.made(tuple(request.messages), form, _begins, partial(_messages_json, info=info, style=style))
    said = [data for data in messages if data]
    if said and not request.system_prompt:
        said[0] = said[0][1:]
    return [_json(head)[:-1] + opening, *said, b"]," + _json(tail)[1:]]


def _around(request: ChatRequest, info: ModelInfo, style: RequestStyle) -> tuple[JsonObject, JsonObject]:
    """What stands before the messages and behind them, in the order of the SDK."""
    tail: JsonObject = {"stream_options": {"include_usage": True}}
    if request.tools:
        tail["tools"] = [_tool(tool) for tool in request.tools]
    if style.max_output_tokens is not None:
        tail["max_completion_tokens" if style.dialect == "openai" else "max_tokens"] = style.max_output_tokens
    if style.temperature is not None:
        tail["temperature"] = style.temperature
    if style.top_p is not None:
        tail["top_p"] = style.top_p
    if request.session_id and style.dialect in {"openai", "kimi"}:
        tail["prompt_cache_key"] = request.session_id
    if request.thought_level is not None and "thinking" in info.capabilities:
        tail.update(_reasoning(request.thought_level, style.dialect))
    return {"model": info.model, "stream": True}, tail


def _begins(message: ChatMessage) -> bool:
    """Media of tools stand behind the last of their results."""
    return message.role != "tool"


def _messages_json(messages: Sequence[ChatMessage], *, info: ModelInfo, style: RequestStyle) -> bytes:
    """Each with a comma before it."""
    made = _json(list(_messages(messages, info, style)))
    return b"," + made[1:-1] if len(made) > 2 else b""


def _json(value: object) -> bytes:
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:  # lone surrogates: each becomes "?", as in the journal; and numbers beyond 64 bits
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def _reasoning(level: ThoughtLevel, dialect: Dialect) -> JsonObject:
    match dialect:
        case "kimi":
            return {"thinking": {"type": "disabled" if level == "off" else "enabled"}}
        case "openrouter":
            return {"reasoning": {"enabled": False} if level == "off" else {"effort": level}}
        case _:
            return {} if level == "off" else {"reasoning_effort": level}


def _tool(tool: ToolSpec) -> JsonObject:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _system(request: ChatRequest) -> list[JsonObject]:
    return [{"role": "system", "content": request.system_prompt}] if request.system_prompt else []


def _messages(messages: Iterable[ChatMessage], info: ModelInfo, style: RequestStyle) -> Iterator[JsonObject]:
    shown: list[JsonObject] = []
    for message in messages:
        if shown and message.role != "tool":
            yield {"role": "user", "content": shown}
            shown = []
        match message.role:
            case "user":
                yield {"role": "user", "content": _content(message.content, info)}
            case "assistant":
                if message.content or message.tool_calls:
                    yield _assistant(message, style)
            case "tool":
                yield {
                    "role": "tool",
                    "tool_call_id": message.tool_call_id or "",
                    "content": _text(message.content) or "(no output)",
                }
                shown.extend(_tool_media(message, info))
    if shown:
        yield {"role": "user", "content": shown}


def _assistant(message: ChatMessage, style: RequestStyle) -> JsonObject:
    # null beside tool calls is the API's own form; an empty string is refused by some servers
    sent: JsonObject = {
        "role": "assistant",
        "content": _spoken(message.content) or (None if message.tool_calls else ""),
    }
    thinking = "".join(part.think for part in message.content if isinstance(part, ThinkPart))
    if style.reasoning_key and thinking:
        sent[style.reasoning_key] = thinking
    if message.tool_calls:
        sent["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.function.name, "arguments": call.function.arguments or "{}"},
            }
            for call in message.tool_calls
        ]
    return sent


def _content(parts: Iterable[ContentPart], info: ModelInfo) -> str | list[JsonObject]:
    """Plain text where it is only text: some servers' templates know no lists."""
    parts = tuple(parts)
    if all(isinstance(part, (TextPart, ThinkPart)) for part in parts):
        return _text(parts)
    return [sent for part in parts if (sent := _part(part, info)) is not None]


def _part(part: ContentPart, info: ModelInfo) -> JsonObject | None:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case ThinkPart():
            return None
        case ImagePart() if "image_in" in info.capabilities:
            return {"type": "image_url", "image_url": {"url": part.image_url.url}}
        case VideoPart() if "video_in" in info.capabilities:
            return {"type": "video_url", "video_url": {"url": part.video_url.url}}
        case AudioPart() if "audio_in" in info.capabilities and part.audio_url.url.startswith("data:"):
            kind, _, data = part.audio_url.url.removeprefix("data:").partition(";base64,")
            return {"type": "input_audio", "input_audio": {"data": data, "format": _sound_format(kind)}}
        case _:
            return {"type": "text", "text": f"({_KINDS[part.type]} was here; this model cannot take it)"}


_KINDS = {"image_url": "An image", "video_url": "A video", "audio_url": "Audio", "text": "", "think": ""}
_MEDIA: dict[str, tuple[Capability, str]] = {
    "image_url": ("image_in", "images"),
    "video_url": ("video_in", "video"),
    "audio_url": ("audio_in", "audio"),
}
"""What each kind of media needs of a model, and what people call it."""
_OF_MEDIA = frozenset(capability for capability, _ in _MEDIA.values())
_SOUND_FORMATS = {"mpeg": "mp3", "wave": "wav", "vnd.wave": "wav", "": "wav"}
"""Media types by the names that servers know, where these are others."""


def not_taken(given: UserInput, info: ModelInfo) -> str:
    """The first kind of media in an input that the model cannot take, as "audio"; empty when it takes all of it."""
    media = [] if isinstance(given, str) else [_MEDIA[part.type] for part in given if part.type in _MEDIA]
    return next((kind for needed, kind in media if needed not in info.capabilities), "")


def _sound_format(media_type: str) -> str:
    name = media_type.partition(";")[0].partition("/")[2].removeprefix("x-")
    return _SOUND_FORMATS.get(name, name)


def _tool_media(message: ChatMessage, info: ModelInfo) -> list[JsonObject]:
    """The API has no media in tool messages: they follow in a user message of their own."""
    media = [part for part in message.content if not isinstance(part, (TextPart, ThinkPart))]
    if not media:
        return []
    label = {"type": "text", "text": f"(output of tool call {message.tool_call_id})"}
    return [label, *(sent for part in media if (sent := _part(part, info)) is not None)]


def _text(parts: Iterable[ContentPart]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def _spoken(parts: Iterable[ContentPart]) -> str:
    """What the model said; the API takes no media from it, so a word stands in their place."""
    said = (part.text if isinstance(part, TextPart) else _shown(part) for part in parts)
    return "\n".join(text for text in said if text)


def _shown(part: ContentPart) -> str:
    return f"({_KINDS[part.type]} was here)" if _KINDS[part.type] else ""
