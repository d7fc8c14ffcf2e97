"""Model servers as strict as those that people use: what each wants back, refuses, streams and says of an error.

A family is one kind of server. Its docstring names where its rules were seen: pages of its makers, and reports of its users as
`project number`. `FamilyServer` gives the answers that a test wants the model to give, in the family's own way.
"""

import base64
import binascii
import json
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import orjson

from soultest.families import schemas
from soultest.families.schemas import Dialect
from soultest.llm import CHUNK, Exchange, Json, ModelServer

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
_SIGNED = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8"
_KINDS = "image/png", "image/jpeg", "image/gif"
SUMMARY = "## current_focus\nThe story goes on.\n\n## environment\nA project of a few files.\n"
"""What every model answers to a question without tools: a summary."""


@dataclass(frozen=True)
class Call:
    """A call that the model makes."""

    name: str
    arguments: Json


@dataclass(frozen=True)
class Said:
    """One answer of the model."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thoughts: str = ""
    cut: bool = False
    """It ends at the limit on an answer, within its last call."""
    stops: bool = False
    """After its first words it says nothing more."""

    @property
    def digest(self) -> str:
        """The same for the answer and for the message that it comes back as."""
        return _digest(self.text, [(call.name, call.arguments) for call in self.calls])


@dataclass(frozen=True)
class Complaint:
    """Why a request is refused. `kind`: what the client may do about it, or "fault" where it could have known better."""

    words: str
    kind: str = "fault"
    status: int = 400


@dataclass
class Family:
    """OpenAI, and what all others took from it: API reference, "Create chat completion"; openai-python 2758; opencode 1814."""

    limit: int = 10**9
    """Bytes of a request that fit into its context."""
    _said: dict[str, Said] = field(default_factory=dict[str, Said])

    name: ClassVar[str] = "openai"
    type: ClassVar[str] = "openai"
    """The `type` of such a provider in the configuration."""
    answer_fields: ClassVar[frozenset[str]] = frozenset()
    """What messages of the model may have besides the API's own fields."""
    call_fields: ClassVar[frozenset[str]] = frozenset()
    dialect: ClassVar[Dialect] = schemas.openai
    sees: ClassVar[bool] = True

    # --- what it refuses

    def complaint(self, body: Json) -> Complaint | None:
        """The first thing that is wrong with a request."""
        return next(self.complaints(body), None)

    def complaints(self, body: Json) -> Iterator[Complaint]:
        """All that is wrong with a request; a family adds its own."""
        size = len(json.dumps(body))
        if size > self.limit:
            yield Complaint(self.overflow(size // 4, self.limit // 4), "overflow")
        yield from _about_fields(body, self.answer_fields, self.call_fields)
        yield from _about_tools(body, type(self).dialect)
        yield from _about_order(body)
        yield from _about_content(body, sees=self.sees)
        for at, message in enumerate(body["messages"]):
            if message["role"] == "assistant":
                yield from self.about_answer(at, message, self._said.get(_digest_of(message)), body)

    def about_answer(self, at: int, message: Json, mine: Said | None, body: Json) -> Iterator[Complaint]:
        """What is wrong with a message of the model. `mine`: the answer of this server that it repeats."""
        yield from ()

    def overflow(self, tokens: int, most: int) -> str:
        """That a request is too long."""
        return (
            f"This model's maximum context length is {most} tokens. However, your messages resulted in {tokens} tokens."
        )

    def error(self, complaint: Complaint) -> object:
        """The body of an error."""
        return {"error": {"message": complaint.words, "type": "invalid_request_error", "param": None, "code": None}}

    # --- what it says

    def deltas(self, said: Said) -> Iterator[Json | bytes]:
        """An answer in pieces; bytes are sent as they are."""
        yield {"role": "assistant", "content": None if said.calls else ""}
        yield from self.thoughts(said)
        for piece in pieces(said.text):
            yield {"content": piece}
        yield from self.calls(said)

    def thoughts(self, said: Said) -> Iterator[Json | bytes]:
        """Thoughts are its secret."""
        del said
        yield from ()

    def calls(self, said: Said) -> Iterator[Json | bytes]:
        """Each begins with its id and name; its arguments follow in pieces."""
        for index, call in enumerate(said.calls):
            function = {"name": call.name, "arguments": ""}
            head = {"index": index, "id": self.call_id(index), "type": "function", "function": function}
            yield {"tool_calls": [head | self.handed_out(said, index)]}
            for piece in pieces(arguments_of(said, index)):
                yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}

    def handed_out(self, said: Said, index: int) -> Json:
        """What a call must come back with."""
        del said, index
        return {}

    def call_id(self, index: int) -> str:
        """The server's own id of a call."""
        return f"call_{index}AbCdEfGhIjKlMnOpQrStUv"

    def reason(self, said: Said) -> str:
        """Why the answer ended."""
        return "length" if said.cut else "tool_calls" if said.calls else "stop"

    def remember(self, said: Said) -> None:
        """It knows its own answers again."""
        self._said[said.digest] = said


class FamilyServer(ModelServer):
    """A server of a family. The model says what the test gave it; a question without tools is answered with a summary."""

    def __init__(self, family: Family) -> None:
        super().__init__()
        self.family = family
        self.refused: list[Complaint] = []
        self.unsaid: deque[Said] = deque()
        """Answers that nobody asked for yet."""

    def say(self, *answers: Said) -> None:
        """What the model answers next."""
        self.unsaid.extend(answers)

    async def _answer(self, exchange: Exchange) -> None:
        body = exchange.request.body
        complaint = self.family.complaint(body)
        if complaint is not None:
            self.refused.append(complaint)
            await exchange.answer(complaint.status, orjson.dumps(self.family.error(complaint)))
            return
        said = Said(SUMMARY)
        if body.get("tools"):
            said = self.unsaid.popleft() if self.unsaid else Said("I have nothing more to say.")
        self.family.remember(said)
        await exchange.start()
        for number, delta in enumerate(self.family.deltas(said)):
            if isinstance(delta, bytes):
                await exchange.raw(delta)
            else:
                await exchange.delta(**delta)
            if said.stops and number > 1:
                await exchange.until_gone()
                return
        await exchange.delta(finish=self.family.reason(said))
        await exchange.event(CHUNK | {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}})
        await exchange.raw(b"data: [DONE]\n\n")
        await exchange.end()


def pieces(text: str, size: int = 7) -> Iterator[str]:
    """A text in pieces."""
    return (text[at : at + size] for at in range(0, len(text), size))


def arguments_of(said: Said, index: int) -> str:
    """The arguments of a call as they are sent: those of the last are cut off where the answer is."""
    text = json.dumps(said.calls[index].arguments)
    return text[: len(text) // 2] if said.cut and index == len(said.calls) - 1 else text


def spoken(message: Json) -> str:
    """The text of a message."""
    content = message.get("content")
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())


def _digest(text: str, calls: list[tuple[str, Json]]) -> str:
    return json.dumps([text.strip(), calls], sort_keys=True)


def _digest_of(message: Json) -> str:
    calls = [each["function"] for each in message.get("tool_calls", ())]
    return _digest(spoken(message), [(call["name"], _object(call["arguments"])) for call in calls])


def _object(text: str) -> Json:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}


# --- the API's own rules

_LIMITS = frozenset({"max_tokens", "max_completion_tokens"})
_TOP = _LIMITS | {"model", "messages", "stream", "stream_options", "tools", "temperature", "top_p", "reasoning_effort"}
_BY_ROLE = {
    "system": frozenset({"role", "content"}),
    "user": frozenset({"role", "content"}),
    "assistant": frozenset({"role", "content", "tool_calls"}),
    "tool": frozenset({"role", "tool_call_id", "content"}),
}
_OF_CALL = frozenset({"id", "type", "function"})


def _about_fields(body: Json, of_answers: frozenset[str], of_calls: frozenset[str]) -> Iterator[Complaint]:
    for key in body.keys() - _TOP - {"thinking", "prompt_cache_key"}:
        yield Complaint(f"Unrecognized request argument supplied: {key}")
    for at, message in enumerate(body["messages"]):
        known = _BY_ROLE[message["role"]] | (of_answers if message["role"] == "assistant" else frozenset[str]())
        for key in message.keys() - known:
            yield Complaint(f"messages.{at}: property '{key}' is unsupported")
        for call in message.get("tool_calls", ()):
            for key in call.keys() - _OF_CALL - of_calls:
                yield Complaint(f"messages.{at}.tool_calls: Extra inputs are not permitted, field: '{key}'")


def _about_tools(body: Json, dialect: Dialect) -> Iterator[Complaint]:
    tools = [tool["function"] for tool in body.get("tools", ())]
    if len(tools) > 128:
        yield Complaint(f"Invalid 'tools': array too long. Expected at most 128, but got {len(tools)} instead.")
    names = [tool["name"] for tool in tools]
    for at, tool in enumerate(tools):
        if not NAME.fullmatch(tool["name"]) or names.count(tool["name"]) > 1:
            yield Complaint(f"Invalid 'tools[{at}].function.name': it must be unique and match {NAME.pattern}")
        if len(tool["description"]) > 1024:
            yield Complaint(f"Invalid 'tools[{at}].function.description': string too long, maximum length 1024")
        for words in dialect(tool["parameters"]):
            yield Complaint(f"Invalid schema for function '{tool['name']}': {words}")


def _about_order(body: Json) -> Iterator[Complaint]:
    """Each call has its result, right behind it, and each result its call."""
    waiting: list[str] = []
    for at, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                yield Complaint(f"messages.{at}: a 'tool' message must follow the 'tool_calls' that it answers")
            else:
                waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            yield Complaint(f"messages.{at}: 'tool_calls' must be followed by a result for each: {waiting}")
        waiting = [call["id"] for call in message.get("tool_calls", ())]
        if len(set(waiting)) < len(waiting):
            yield Complaint(f"messages.{at}: `tool_use` ids must be unique")
    if waiting:
        yield Complaint(f"An assistant message with 'tool_calls' must be followed by a result for each: {waiting}")


def _about_content(body: Json, *, sees: bool) -> Iterator[Complaint]:
    for at, message in enumerate(body["messages"]):
        content: str | list[Json] | None = message["content"]
        if content is None and message["role"] == "assistant" and message.get("tool_calls"):
            continue
        if not spoken(message).strip() and not isinstance(content, list):
            yield Complaint(f"messages.{at}: text content blocks must contain non-whitespace text")
        for call in message.get("tool_calls", ()):
            if not NAME.fullmatch(call["function"]["name"]):
                yield Complaint(f"messages.{at}.tool_use.name: String should match pattern {NAME.pattern}")
            if not isinstance(_parsed(call["function"]["arguments"]), dict):
                yield Complaint(f"messages.{at}: the arguments of a call must be a JSON object")
        for part in content if isinstance(content, list) else ():
            yield from _about_part(at, part, sees=sees)


def _about_part(at: int, part: Json, *, sees: bool) -> Iterator[Complaint]:
    if part["type"] == "text":
        if not part["text"].strip():
            yield Complaint(f"messages.{at}: text content blocks must be non-empty")
        return
    if not sees:
        yield Complaint(f"messages[{at}]: unknown variant `{part['type']}`, expected `text` at line 1", "media")
        return
    head, _, data = part["image_url"]["url"].partition(";base64,")
    try:
        begins = base64.b64decode(data, validate=True)[:8]
    except binascii.Error:
        begins = b""
    kind = next((kind for kind, mark in zip(_KINDS, _SIGNED, strict=True) if begins.startswith(mark)), "")
    if head != f"data:{kind}":
        yield Complaint(f"messages.{at}: Image does not match the provided media type {head.removeprefix('data:')}")


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
