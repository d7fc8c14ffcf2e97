"""Message chunks: text as it streams, which is the hot path, and content that comes whole. Pure."""

from collections.abc import Iterator, Sequence

import orjson

from sould.acp.content import input_blocks, text_block
from sould.acp.outbound import Json
from sould.agents.wire.content import TextPart, ThinkPart, UserInput
from sould.agents.wire.messages import TurnBegin

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
