"""Content blocks of ACP to and from the parts of Wire, and the message chunks that carry them. Pure."""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

import orjson

from sould.acp.outbound import Json
from sould.acp.schema import (
    AudioBlock,
    ContentBlock,
    ImageBlock,
    ResourceBlock,
    ResourceContents,
    ResourceLink,
    TextBlock,
)
from sould.agents.base.rpc.errors import INVALID_PARAMS, RpcError
from sould.agents.wire.content import (
    AudioPart,
    ContentPart,
    ImagePart,
    MediaUrl,
    Origin,
    TextPart,
    ThinkPart,
    UserInput,
    VideoPart,
)
from sould.agents.wire.messages import TurnBegin

LARGEST = 1_000_000
"""Bytes of the long texts of one line, as JSON: many clients read lines of at most a mebibyte."""
_END = "\n</resource>"
_LINES = re.compile(r"L?([0-9]+)(?:[-:]L?([0-9]+))?")
"""How editors write lines behind an address: `L10:20` (Zed), `L10-L20` (VS Code, GitHub), `10-20`, `L10`."""


def user_input(blocks: Sequence[ContentBlock]) -> UserInput:
    """What the user sends, in order; plain text when it is nothing but one text.

    Raises:
        RpcError: nothing was sent.
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
            origin = Origin(type="image", uri=block.uri) if block.uri else None
            return ImagePart(image_url=_data_url(block.mime_type, block.data), origin=origin)
        case AudioBlock():
            return AudioPart(audio_url=_data_url(block.mime_type, block.data))
        case ResourceLink():
            return TextPart(text=_tag("resource_link", block.uri, block.name), origin=_link_origin(block))
        case ResourceBlock():
            return _resource(block.resource)


def _resource(resource: ResourceContents) -> ContentPart:
    uri, kind = resource.uri, resource.mime_type
    origin = Origin(type="resource", uri=uri, mime_type=kind)
    if resource.text is not None:
        return TextPart(text=f"{_tag('resource', uri, closed=False)}\n{resource.text}{_END}", origin=origin)
    if resource.blob is not None and kind is not None and kind.startswith("image/"):
        return ImagePart(image_url=_data_url(kind, resource.blob), origin=origin)
    note = f"{kind or 'application/octet-stream'}, not shown here"
    named = Origin(type="resource_link", uri=uri, mime_type=kind)  # its contents are not kept
    return TextPart(text=_tag("resource_link", uri, note=note), origin=named)


def _link_origin(link: ResourceLink) -> Origin:
    return Origin.model_validate(link.model_dump(exclude={"meta"}))


def _data_url(kind: str, data: str) -> MediaUrl:
    return MediaUrl(url=f"data:{kind};base64,{data}")


def _tag(name: str, uri: str, title: str = "", *, note: str = "", closed: bool = True) -> str:
    import html  # noqa: PLC0415 -- the names of all characters, half a megabyte, for few prompts

    attributes = [*_place(uri), ("name", title), ("note", note)]
    written = "".join(f' {key}="{html.escape(value)}"' for key, value in attributes if value)
    return f"<{name}{written}{' /' if closed else ''}>"


def _place(uri: str) -> Iterator[tuple[str, str]]:
    """What an address names, as attributes: of a file its path, and which lines or symbol of it are meant.

    An address that says more than that is given as it is, too.
    """
    parts = _split(uri)
    if parts is None or parts.scheme != "file":
        yield "uri", uri
        return
    query, lines = parse_qs(parts.query), _LINES.fullmatch(unquote(parts.fragment))
    yield "path", unquote(parts.path)
    if lines is not None:
        yield "lines", "-".join(filter(None, lines.groups()))
    yield "symbol", ", ".join(query.get("symbol", ()))
    if query.keys() - {"symbol"} or (parts.fragment and lines is None):
        yield "uri", uri


def _split(uri: str) -> SplitResult | None:
    try:
        return urlsplit(uri)
    except ValueError:  # brackets that hold no address
        return None


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


def fits(*texts: str) -> bool:
    """Whether one line can hold these texts."""
    if 6 * sum(map(len, texts)) <= LARGEST:  # no character is longer as JSON
        return True
    return sum(len(orjson.dumps(text)) for text in texts) <= LARGEST


def text_block(text: str) -> Json:
    """Text as a content block."""
    return {"type": "text", "text": text}


def input_blocks(given: UserInput) -> list[Json]:
    """What a user sent, as the content blocks it was."""
    return [text_block(given)] if isinstance(given, str) else [_input_block(part) for part in given]


def _input_block(part: ContentPart) -> Json:
    origin = part.origin if isinstance(part, TextPart | ImagePart) else None
    if origin is None:
        return block(part)
    if origin.type == "resource_link":
        return _link_block(origin)
    if isinstance(part, TextPart):
        text = part.text.partition(">\n")[2].removesuffix(_END)  # no value in the tag before it has a bare ">"
        return _contents_block(origin, "text", text)
    shown = block(part)
    if origin.type == "image":
        return {**shown, "uri": origin.uri}
    return _contents_block(origin, "blob", shown["data"])


def _link_block(origin: Origin) -> Json:
    more = {"title": origin.title, "description": origin.description, "mimeType": origin.mime_type, "size": origin.size}
    known = {key: value for key, value in more.items() if value is not None}
    return {"type": "resource_link", "uri": origin.uri, "name": origin.label, **known}


def _contents_block(origin: Origin, key: str, contents: str) -> Json:
    """A resource with its contents; named only, when a line of a mebibyte could not hold them."""
    if not fits(contents):
        return _link_block(origin.model_copy(update={"type": "resource_link"}))
    kind = {"mimeType": origin.mime_type} if origin.mime_type else {}
    return {"type": "resource", "resource": {"uri": origin.uri, key: contents, **kind}}


def _media(kind: str, url: str) -> Json:
    head, separator, data = url.partition(";base64,")
    if not separator or not head.startswith("data:"):
        return _link(url)
    return {"type": kind, "data": data, "mimeType": head.removeprefix("data:")}


def _link(url: str) -> Json:
    if url.startswith("data:"):
        return text_block(f"[{url[5:].partition(';')[0]}]")
    return {"type": "resource_link", "uri": url, "name": _last(url)}


def _last(uri: str) -> str:
    return unquote(uri.rsplit("/", 1)[-1]) or uri


PIECE = 16_384
"""Characters of one text chunk; what was merged while the client was behind is sent in pieces of this size."""
END = b"}}\n"
"""Ends an update that says no more."""
_UPDATES: dict[type, str] = {
    TextPart: "agent_message_chunk",
    ThinkPart: "agent_thought_chunk",
    TurnBegin: "user_message_chunk",
}


class TextChunks:
    """Streams of text as lines. `head` is what every `session/update` of the session begins with."""

    def __init__(self, head: bytes) -> None:
        self._head = head
        self._seq = 0
        self._kind: type | None = None
        self._before = self._after = b""

    def lines(self, text: str, seq: int, kind: type, deltas: Sequence[str] = (), end: bytes = END) -> bytes:
        """More of the text, the thought or the prompt with this number; a new number is a new message.

        `deltas`: the texts that it is made of, each of which is an update of its own. `end`: see `update_line`.
        """
        if self._seq != seq or self._kind is not kind:
            self._begin(seq, kind)
        head, tail = self._before, self._after + end
        if len(text) <= PIECE:
            if not deltas:
                return head + orjson.dumps(text) + tail
            return b"".join([head + orjson.dumps(delta) + tail for delta in deltas])
        pieces = (piece for delta in deltas or (text,) for piece in _pieces(delta))
        return b"".join(head + orjson.dumps(piece) + tail for piece in pieces)

    def _begin(self, seq: int, kind: type) -> None:
        """What stands before and after the text in an update of this message: what is written where there is no hurry, parted."""
        self._seq, self._kind = seq, kind
        empty = update_line(self._head, chunk(_UPDATES[kind], text_block(""), f"m{seq}"), b"")
        before, _, after = empty.rpartition(b'""')
        self._before, self._after = before, after


def update_line(head: bytes, update: Json, end: bytes = END) -> bytes:
    """One `session/update`; `head` is what every one of the session begins with, `end` what follows the update."""
    return head + orjson.dumps(update) + end


def numbered(number: int) -> bytes:
    """The end of an update that tells where in the session it stands."""
    return b',"_meta":{"sould":{"sequence":%d}}}}\n' % number


def chunk(kind: str, content: Json, message_id: str) -> Json:
    """One content block of a message."""
    return {"sessionUpdate": kind, "messageId": message_id, "content": content}


def beside(side_question: str) -> Json:
    """What a chunk has that is of a side question or its answer, and so no part of what the agent remembers."""
    return {"_meta": {"sould": {"sideQuestion": side_question}}}


def user_chunks(given: UserInput, seq: int) -> Iterator[Json]:
    """What a user sent, as the blocks it was; long text in pieces."""
    for item in input_blocks(given):
        if item["type"] == "text":
            for piece in _pieces(item["text"]):
                yield chunk("user_message_chunk", text_block(piece), f"m{seq}")
        else:
            yield chunk("user_message_chunk", item, f"m{seq}")


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + PIECE] for start in range(0, len(text), PIECE))
