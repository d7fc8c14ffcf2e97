"""Message chunks: text as it streams, which is the hot path, and content that comes whole. Pure."""

from collections.abc import Iterator

import orjson

from sould.acp.content import input_blocks, text_block
from sould.acp.outbound import Json
from sould.agents.wire.content import TextPart, ThinkPart, UserInput
from sould.agents.wire.messages import TurnBegin

PIECE = 16_384
"""Characters of one text chunk; what was merged while the client was behind is sent in pieces of this size."""
_UPDATES = {TextPart: b"agent_message_chunk", ThinkPart: b"agent_thought_chunk", TurnBegin: b"user_message_chunk"}


class TextChunks:
    """Streams of text as lines. `head` is what every `session/update` of the session begins with."""

    def __init__(self, head: bytes) -> None:
        self._head = head
        self._message: tuple[type, int] | None = None
        self._chunk_head = b""

    def lines(self, text: str, seq: int, kind: type) -> bytes:
        """More of the text, the thought or the prompt with this number; a new number is a new message."""
        if self._message != (kind, seq):
            self._begin(seq, kind)
        if len(text) <= PIECE:
            return self._chunk_head + orjson.dumps(text) + b"}}}}\n"
        return b"".join(self._chunk_head + orjson.dumps(piece) + b"}}}}\n" for piece in _pieces(text))

    def _begin(self, seq: int, kind: type) -> None:
        self._message = (kind, seq)
        self._chunk_head = b'%b{"sessionUpdate":"%b","messageId":"m%d","content":{"type":"text","text":' % (
            self._head,
            _UPDATES[kind],
            seq,
        )


def chunk(kind: str, content: Json, message_id: str) -> Json:
    """One content block of a message."""
    return {"sessionUpdate": kind, "messageId": message_id, "content": content}


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
