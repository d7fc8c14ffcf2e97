"""What a context is made of: what was said and done, from which the messages for a model are made when one is asked.

Never reads a file. A session of thousands of messages is read back without making any of them.
"""

import re
from collections.abc import Iterable, Iterator

import orjson
from msgspec import Struct

from sould.agents.base.text import MEDIA_TOKENS, weight
from sould.agents.llm.provider import ChatMessage
from sould.agents.wire.content import AudioPart, ContentPart, ImagePart, TextPart, ThinkPart, UserInput, VideoPart
from sould.agents.wire.messages import ServerState, ToolCall, ToolReturn, WireMessage
from sould.agents.wire.stream import joined, piece

INTERRUPTED = "interrupted; it may or may not have run"
NOTHING = "<system>No output.</system>"
_MARK = re.compile(r"<(\s*/?\s*system(?:\s[^>]*)?>)", re.IGNORECASE)
"""What only sould says in a result."""


class Run(Struct):
    """Deltas of one content part or tool call; the first piece is what `first` holds."""

    first: WireMessage
    pieces: list[str]

    def whole(self) -> WireMessage:
        """The part or call."""
        return self.first if len(self.pieces) == 1 else joined(self.first, self.pieces)


class Result(Struct, frozen=True):
    """What the model is told of a call. What people are shown, as both texts of an edited file, is in the journal alone."""

    output: UserInput
    message: str

    @classmethod
    def of(cls, result: ToolReturn) -> "Result":
        """Of what the call came to."""
        return cls(result.output, result.message)


class Said:
    """What a person said, or a note in their place."""

    __slots__ = ("_content", "_made")

    def __init__(self, content: UserInput) -> None:
        self._content = content
        self._made: tuple[ChatMessage, ...] = ()

    def messages(self) -> tuple[ChatMessage, ...]:
        """One message."""
        if not self._made:
            self._made = (ChatMessage("user", _parts(self._content)),)
        return self._made


class Step:
    """What one model call said and did. Its messages are made anew until it is closed and every call has its result."""

    __slots__ = ("_made", "calls", "closed", "content", "results", "state")

    def __init__(self) -> None:
        self.content: list[Run | ContentPart] = []
        self.calls: dict[str, Run] = {}
        self.results: dict[str, Result] = {}
        self.closed = False
        self.state: ServerState | None = None
        self._made: tuple[ChatMessage, ...] | None = None

    def add(self, part: TextPart | ThinkPart, text: str) -> None:
        """Text or thinking, joined to what of the same kind is at the end."""
        last = self.content[-1] if self.content else None
        if isinstance(last, Run) and type(last.first) is type(part):
            last.pieces.append(text)
        else:
            self.content.append(Run(part, [text]))

    def keep(self, state: ServerState) -> None:
        """The model's server wants this back with the answer."""
        self.state = state

    def close(self) -> None:
        """The model says nothing more in it."""
        self.closed = True

    @property
    def made(self) -> bool:
        """Its messages will not change any more."""
        return self._made is not None

    def messages(self) -> tuple[ChatMessage, ...]:
        """The answer and the results of its calls; nothing when only thoughts came."""
        if self._made is not None:
            return self._made
        made = tuple(self._make())
        if self.closed and len(self.results) == len(self.calls):
            self._made = made
        return made

    def count(self) -> int:
        """How many messages it makes, without making them."""
        return len(self.calls) + 1 if self.calls or not all(map(_is_thought_or_blank, self.content)) else 0

    def _make(self) -> Iterator[ChatMessage]:
        if not self.count():
            return  # no provider takes a message of thoughts alone
        content = tuple(part for part in map(_finished, self.content) if not is_blank(part))
        calls = tuple(_sendable(run.whole()) for run in self.calls.values())
        yield ChatMessage("assistant", content, calls, state=self.state)
        for call_id in self.calls:
            result = self.results.get(call_id)
            said = result_content(result) if result else (TextPart(text=f"<system>{INTERRUPTED}</system>"),)
            yield ChatMessage("tool", said, tool_call_id=call_id)


def _finished(part: Run | ContentPart) -> ContentPart:
    whole = part.whole() if isinstance(part, Run) else part
    assert isinstance(whole, TextPart | ThinkPart | ImagePart | AudioPart | VideoPart)
    return whole


def _is_thought_or_blank(part: Run | ContentPart) -> bool:
    first = part.first if isinstance(part, Run) else part
    if isinstance(first, ThinkPart):
        return True
    return isinstance(part, Run) and not any(text and not text.isspace() for text in part.pieces)


def is_blank(part: ContentPart) -> bool:
    """There is nothing in it that a model could be sent: many servers refuse a text of white space."""
    return (isinstance(part, TextPart) and not part.text.strip()) or (
        isinstance(part, ThinkPart) and not part.think and not part.encrypted
    )


def _sendable(call: WireMessage) -> ToolCall:
    """A call whose arguments are a JSON object: a broken one (cut off, or the model's mistake) has none."""
    assert isinstance(call, ToolCall)
    try:
        sound = isinstance(orjson.loads(call.function.arguments or ""), dict)
    except orjson.JSONDecodeError:
        sound = False
    if sound:
        return call
    return call.model_copy(update={"function": call.function.model_copy(update={"arguments": "{}"})})


def _parts(user_input: UserInput) -> tuple[ContentPart, ...]:
    return (TextPart(text=user_input),) if isinstance(user_input, str) else user_input


def result_content(result: Result) -> tuple[ContentPart, ...]:
    """What the model is told of a call's result. Only sould says `<system>` there: a mark in what came is escaped."""
    note = (TextPart(text=f"<system>{_unmarked(result.message)}</system>"),) if result.message else ()
    output = (part if not isinstance(part, TextPart) else _unmarked_part(part) for part in _parts(result.output))
    said = tuple(part for part in (*note, *output) if not is_blank(part))
    return said or (TextPart(text=NOTHING),)


def _unmarked(text: str) -> str:
    return _MARK.sub(r"<\\\1", text) if "system" in text.casefold() else text


def _unmarked_part(part: TextPart) -> TextPart:
    text = _unmarked(part.text)
    return part if text is part.text else part.model_copy(update={"text": text})


def result_weight(result: Result) -> int:
    """Quarter tokens of what the model is told of a result, without making it: a session read back has thousands of them."""
    if not isinstance(result.output, str):
        return content_weight(result_content(result))
    note = weight("<system></system>") + weight(_unmarked(result.message)) if result.message else 0
    return note + weight(_unmarked(result.output)) or weight(NOTHING)


def message_weight(message: ChatMessage) -> int:
    """Quarter tokens of a message, estimated."""
    return content_weight(message.content) + sum(
        weight(call.function.name) + weight(piece(call)) for call in message.tool_calls
    )


def content_weight(content: Iterable[ContentPart]) -> int:
    """Quarter tokens of parts, estimated."""
    total = 0
    for part in content:
        total += weight(piece(part)) if isinstance(part, (TextPart, ThinkPart)) else 4 * MEDIA_TOKENS
    return total
