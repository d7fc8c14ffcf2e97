"""A chat request as the body servers of the OpenAI kind expect: pure data in, pure data out.

What servers cannot take is left out with a word in its place, so that a conversation survives a change of model.
`request_body` says what is sent; `request_bytes` gives the same without making again what an earlier request made.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, TypeAlias

import orjson
from msgspec import Struct

from sould.agents.base.config import Capability
from sould.agents.llm.provider import ChatMessage, ChatRequest, ModelInfo, ThoughtLevel, ToolSpec
from sould.agents.llm.quirks import Quirks
from sould.agents.llm.registry import Dialect
from sould.agents.llm.request_cache import GrowingBytes
from sould.agents.wire.content import (
    AudioPart,
    ContentPart,
    ImagePart,
    TextPart,
    ThinkPart,
    UserInput,
    VideoPart,
    media_url,
)
from sould.agents.wire.messages import ServerState, ToolCall

JsonObject: TypeAlias = dict[str, Any]

_REASONING = "reasoning_content"
_UNUSABLE = re.compile(r"[^a-zA-Z0-9_-]")
"""What names of tools may not hold."""


class RequestStyle(Struct, frozen=True):
    """What of a request depends on the server and its configuration."""

    dialect: Dialect = "plain"
    reasoning_key: str = ""
    """A key under which the server sends its reasoning, beside those that are known."""
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    quirks: Quirks = Quirks()


def request_body(request: ChatRequest, info: ModelInfo, style: RequestStyle) -> JsonObject:
    """The whole body of `POST /chat/completions`."""
    head, tail = _around(request, info, style)
    messages = [*_system(request), *_messages(request.messages, _manner(request, info, style))]
    return {**head, "messages": messages, **tail}


def request_bytes(request: ChatRequest, info: ModelInfo, style: RequestStyle) -> list[bytes]:
    """The same as JSON, in pieces to be sent one after the other; what `request.sent` keeps is not made again."""
    head, tail = _around(request, info, style)
    opening = b',"messages":[' + b"".join(map(_json, _system(request)))
    sent = request.sent or GrowingBytes[ChatMessage]()
    manner = _manner(request, info, style)
    messages = sent.made(tuple(request.messages), manner, _begins, partial(_messages_json, manner=manner))
    said = [data for data in messages if data]
    if said and not request.system_prompt:
        said[0] = said[0][1:]
    closing = b"]," + _json(tail)[1:] if tail else b"]}"
    return [_json(head)[:-1] + opening, *said, closing]


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
    return {"model": info.model, "stream": True}, style.quirks.fields(tail)


def _begins(message: ChatMessage) -> bool:
    """Media of tools stand behind the last of their results, and what users say in a row is one message."""
    return message.role == "assistant"


class _Manner(Struct, frozen=True):
    """How the messages of a conversation are put for one model of one server."""

    media: frozenset[Capability]
    left_out: frozenset[str]
    """The digests of media that the server refused."""
    origin: str
    """Whose state goes back; "" where none does."""
    placeholder: str | None
    """Sent as `reasoning_content` with answers that have none; None: the field is not sent."""
    answer_after_tools: bool


def _manner(request: ChatRequest, info: ModelInfo, style: RequestStyle) -> _Manner:
    """How to write the messages for a model. Kimi wants reasoning in every answer while it thinks, DeepSeek once it handed out some."""
    quirks = style.quirks
    placeholder = quirks.placeholder
    if placeholder is None and not quirks.stateless:
        thinks = style.dialect == "kimi" and request.thought_level not in (None, "off")
        placeholder = "" if thinks or _has_handed_out(request, info.origin) else None
    origin = "" if quirks.stateless else info.origin
    media = info.capabilities & _OF_MEDIA
    return _Manner(media, request.left_out, origin, placeholder, quirks.answer_after_tools)


def _has_handed_out(request: ChatRequest, origin: str) -> bool:
    states = (message.state for message in reversed(request.messages) if message.state is not None)
    return any(state.origin == origin and state.reasoning_key == _REASONING for state in states)


def _messages_json(messages: Sequence[ChatMessage], *, manner: _Manner) -> bytes:
    """Each with a comma before it."""
    made = _json(list(_messages(messages, manner)))
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
    function = {"name": usable_name(tool.name), "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _system(request: ChatRequest) -> list[JsonObject]:
    return [{"role": "system", "content": request.system_prompt}] if request.system_prompt else []


def _messages(messages: Iterable[ChatMessage], manner: _Manner) -> Iterator[JsonObject]:
    """What a user says in a row is one message: the templates of many local models take no other."""
    said: list[ContentPart] = []
    after_tool = False
    for message in messages:
        if said and message.role == "assistant":
            yield from _user(said, manner, after_tool=after_tool)
            said = []
        match message.role:
            case "user":
                said.extend(message.content)
            case "assistant":
                if message.content or message.tool_calls:
                    yield _assistant(message, manner)
            case "tool":
                yield {
                    "role": "tool",
                    "tool_call_id": _id(message.tool_call_id or ""),
                    "content": _told(message.content),
                }
                said.extend(_tool_media(message))
        after_tool = message.role == "tool" or (after_tool and message.role == "user")
    if said:
        yield from _user(said, manner, after_tool=after_tool)


def _user(said: Sequence[ContentPart], manner: _Manner, *, after_tool: bool) -> Iterator[JsonObject]:
    if after_tool and manner.answer_after_tools:
        yield {"role": "assistant", "content": "(The results are above.)"}
    yield {"role": "user", "content": _content(said, manner)}


def _assistant(message: ChatMessage, manner: _Manner) -> JsonObject:
    state = message.state if message.state is not None and message.state.origin == manner.origin else None
    # null beside tool calls is the API's own form; an empty string is refused by some servers
    sent: JsonObject = {
        "role": "assistant",
        "content": _spoken(message.content) or (None if message.tool_calls else ""),
    }
    if manner.placeholder is not None:
        sent[_REASONING] = manner.placeholder
    if state is not None:
        if state.reasoning_key:
            sent[state.reasoning_key] = "".join(part.think for part in message.content if isinstance(part, ThinkPart))
        sent |= state.answer
    if message.tool_calls:
        sent["tool_calls"] = [_call(call, state) for call in message.tool_calls]
    return sent


def _call(call: ToolCall, state: ServerState | None) -> JsonObject:
    function = {"name": usable_name(call.function.name), "arguments": call.function.arguments or "{}"}
    handed_out = state.calls.get(call.id, {}) if state is not None else {}
    return {"id": _id(call.id), "type": "function", "function": function, **handed_out}


def usable_name(name: str) -> str:
    """A name of a tool as every server takes it. That of a call may be made up by the model."""
    made = _UNUSABLE.sub("_", name)
    return (made if made[:1].isalpha() or made[:1] == "_" else f"_{made}")[:64]


def _id(call_id: str) -> str:
    """An id of nine letters and digits, which every server takes; those of other programs' sessions may be others."""
    if len(call_id) == 9 and call_id.isascii() and call_id.isalnum():
        return call_id
    return sha256(call_id.encode(errors="replace")).hexdigest()[:9]


def _content(parts: Iterable[ContentPart], manner: _Manner) -> str | list[JsonObject]:
    """Plain text where it is only text: some servers' templates know no lists."""
    parts = tuple(parts)
    if all(isinstance(part, (TextPart, ThinkPart)) for part in parts):
        return _text(parts)
    return [sent for part in parts if (sent := _part(part, manner)) is not None]


def _part(part: ContentPart, manner: _Manner) -> JsonObject | None:
    if manner.left_out and media_digest(part) in manner.left_out:
        return {"type": "text", "text": f"({_KINDS[part.type]} was here; the model's server refused it)"}
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case ThinkPart():
            return None
        case ImagePart() if "image_in" in manner.media:
            return {"type": "image_url", "image_url": {"url": part.image_url.url}}
        case VideoPart() if "video_in" in manner.media:
            return {"type": "video_url", "video_url": {"url": part.video_url.url}}
        case AudioPart() if "audio_in" in manner.media and part.audio_url.url.startswith("data:"):
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


def media_digest(part: ContentPart) -> str:
    """What tells an image, audio or video from others; "" of text and reasoning."""
    url = media_url(part)
    return sha256(url.encode(errors="replace")).hexdigest()[:16] if url else ""


def not_taken(given: UserInput, info: ModelInfo) -> str:
    """The first kind of media in an input that the model cannot take, as "audio"; empty when it takes all of it."""
    media = [] if isinstance(given, str) else [_MEDIA[part.type] for part in given if part.type in _MEDIA]
    return next((kind for needed, kind in media if needed not in info.capabilities), "")


def _sound_format(media_type: str) -> str:
    name = media_type.partition(";")[0].partition("/")[2].removeprefix("x-")
    return _SOUND_FORMATS.get(name, name)


def _tool_media(message: ChatMessage) -> list[ContentPart]:
    """The API has no media in tool messages: they follow in a user message of their own."""
    media = [part for part in message.content if not isinstance(part, (TextPart, ThinkPart))]
    label = TextPart(text=f"(output of tool call {_id(message.tool_call_id or '')})")
    return [label, *media] if media else []


def _text(parts: Iterable[ContentPart]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def _told(parts: Iterable[ContentPart]) -> str:
    text = _text(parts)
    return text if text and not text.isspace() else "(no output)"


def _spoken(parts: Iterable[ContentPart]) -> str:
    """What the model said; the API takes no media from it, so a word stands in their place."""
    said = (part.text if isinstance(part, TextPart) else _shown(part) for part in parts)
    text = "\n".join(text for text in said if text)
    return text if not text.isspace() else ""


def _shown(part: ContentPart) -> str:
    return f"({_KINDS[part.type]} was here)" if _KINDS[part.type] else ""
