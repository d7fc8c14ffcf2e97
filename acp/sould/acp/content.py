"""Content blocks of ACP to and from the parts of Wire. Pure."""

import html
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from sould.acp.schema import (
    AudioBlock,
    ContentBlock,
    ImageBlock,
    ResourceBlock,
    ResourceContents,
    ResourceLink,
    TextBlock,
)
from sould.agents.rpc.errors import INVALID_PARAMS, RpcError
from sould.agents.wire.content import (
    AudioPart,
    ContentPart,
    ImagePart,
    MediaUrl,
    TextPart,
    ThinkPart,
    UserInput,
    VideoPart,
)

Json = dict[str, Any]


def user_input(blocks: Sequence[ContentBlock]) -> UserInput:
    """What the user sends, in order; plain text when it is nothing but one text.

    Raises:
        RpcError: nothing was sent, or audio, which no model here hears.
    """
    if all(isinstance(block, TextBlock) and not block.text.strip() for block in blocks):
        raise RpcError(INVALID_PARAMS, "The prompt is empty.")
    if len(blocks) == 1 and isinstance(blocks[0], TextBlock):
        return blocks[0].text
    return tuple(_part(block) for block in blocks)


def _part(block: ContentBlock) -> ContentPart:
    match block:
        case TextBlock():
            return TextPart(text=block.text)
        case ImageBlock():
            return ImagePart(image_url=MediaUrl(url=f"data:{block.mime_type};base64,{block.data}"))
        case AudioBlock():
            raise RpcError(INVALID_PARAMS, "Audio is not supported: send the words as text.")
        case ResourceLink():
            return TextPart(text=_tag("resource_link", block.uri, block.name))
        case ResourceBlock():
            return _resource(block.resource)


def _resource(resource: ResourceContents) -> ContentPart:
    if resource.text is not None:
        opening = _tag("resource", resource.uri, closed=False)
        return TextPart(text=f"{opening}\n{resource.text}\n</resource>")
    kind = resource.mime_type or "application/octet-stream"
    if resource.blob is not None and kind.startswith("image/"):
        return ImagePart(image_url=MediaUrl(url=f"data:{kind};base64,{resource.blob}"))
    return TextPart(text=_tag("resource_link", resource.uri, note=f"{kind}, not shown here"))


def _tag(name: str, uri: str, title: str = "", *, note: str = "", closed: bool = True) -> str:
    parts = urlsplit(uri)
    place = ("path", unquote(parts.path)) if parts.scheme == "file" else ("uri", uri)
    attributes = [place, ("name", title), ("note", note)]
    written = "".join(f' {key}="{html.escape(value)}"' for key, value in attributes if value)
    return f"<{name}{written}{' /' if closed else ''}>"


def block(part: ContentPart) -> Json:
    """A part as a content block; media that are not embedded become links."""
    match part:
        case TextPart():
            return text_block(part.text)
        case ThinkPart():
            return text_block(part.think)
        case ImagePart():
            return _media("image", part.image_url.url)
        case AudioPart():
            return _media("audio", part.audio_url.url)
        case VideoPart():
            return _link(part.video_url.url)


def text_block(text: str) -> Json:
    """Text as a content block."""
    return {"type": "text", "text": text}


def input_blocks(given: UserInput) -> list[Json]:
    """What a user sent, as content blocks."""
    return [text_block(given)] if isinstance(given, str) else [block(part) for part in given]


def _media(kind: str, url: str) -> Json:
    head, separator, data = url.partition(";base64,")
    if not separator or not head.startswith("data:"):
        return _link(url)
    return {"type": kind, "data": data, "mimeType": head.removeprefix("data:")}


def _link(url: str) -> Json:
    if url.startswith("data:"):
        return text_block(f"[{url[5:].partition(';')[0]}]")
    return {"type": "resource_link", "uri": url, "name": url.rsplit("/", 1)[-1] or url}
