"""The families: one class for each kind of server."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar
from zlib import crc32

from soultest.families import schemas
from soultest.families.schemas import Dialect
from soultest.families.server import Complaint, Family, Said, arguments_of, pieces
from soultest.llm import Json


def _seal(said: Said, index: int = 0) -> str:
    """What a server signs an answer, or a call of it, with."""
    return sha256(f"{index} {said.digest}".encode()).hexdigest()


def _calls_of(body: Json) -> Iterator[tuple[int, Json]]:
    for at, message in enumerate(body["messages"]):
        for call in message.get("tool_calls", ()):
            yield at, call


@dataclass
class OpenAI(Family):
    """GPT-5: `max_tokens` has another name (opencode 37964, CLIProxyAPI 2101)."""

    def complaints(self, body: Json) -> Iterator[Complaint]:
        yield from super().complaints(body)
        if "max_tokens" in body:
            said = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
            yield Complaint(said, "learned")


class _Reasons(Family):
    """Thoughts are in `reasoning_content`, and every answer must come back with its own."""

    answer_fields: ClassVar[frozenset[str]] = frozenset({"reasoning_content"})

    def thoughts(self, said: Said) -> Iterator[Json | bytes]:
        for piece in pieces(said.thoughts):
            yield {"content": None, "reasoning_content": piece}


@dataclass
class DeepSeek(_Reasons):
    """Guide "Thinking mode"; kimi-cli 2141, openclaw 73417, shelley 224. It sees no pictures, and sends comments meanwhile."""

    name: ClassVar[str] = "deepseek"
    sees: ClassVar[bool] = False

    def about_answer(self, at: int, message: Json, mine: Said | None, body: Json) -> Iterator[Complaint]:
        thought = any("reasoning_content" in each for each in body["messages"])
        needed = message.get("tool_calls") or thought
        if mine is not None and mine.thoughts and message.get("reasoning_content") != mine.thoughts:
            yield Complaint("The `reasoning_content` in the thinking mode must be passed back to the API.")
        elif needed and "reasoning_content" not in message and any(said.thoughts for said in self._said.values()):
            yield Complaint(f"Missing `reasoning_content` field in the assistant message at message index {at}.")

    def thoughts(self, said: Said) -> Iterator[Json | bytes]:
        yield b": keep-alive\n\n"
        yield from super().thoughts(said)


@dataclass
class Kimi(_Reasons):
    """opencode 16318, continue 11711, new-api 3121."""

    name: ClassVar[str] = "kimi"
    dialect: ClassVar[Dialect] = schemas.moonshot
    type: ClassVar[str] = "kimi"

    def about_answer(self, at: int, message: Json, mine: Said | None, body: Json) -> Iterator[Complaint]:
        thinks = body.get("thinking", {}).get("type") == "enabled"
        if thinks and message.get("tool_calls") and message.get("reasoning_content") is None:
            said = "thinking is enabled but reasoning_content is missing in assistant tool call message"
            yield Complaint(f"{said} at index {at}")
        elif mine is not None and mine.thoughts and message.get("reasoning_content") != mine.thoughts:
            yield Complaint(f"the reasoning_content of the message at index {at} was changed")

    def call_id(self, index: int) -> str:
        return f"functions.Tool:{index}"

    def overflow(self, tokens: int, most: int) -> str:
        return f"Invalid request: Your request exceeded model token limit: {most}"


@dataclass
class Gemini(Family):
    """Page "Thought signatures"; langroid pull 969, gemini-cli 12674. Errors are lists; a call comes whole, the first is signed."""

    name: ClassVar[str] = "gemini"
    dialect: ClassVar[Dialect] = schemas.gemini
    call_fields: ClassVar[frozenset[str]] = frozenset({"extra_content"})

    def about_answer(self, at: int, message: Json, mine: Said | None, body: Json) -> Iterator[Complaint]:
        for index, call in enumerate(message.get("tool_calls", ())):
            expected = self.handed_out(mine, index) if mine is not None else {}
            if mine is not None and call.get("extra_content") != expected.get("extra_content"):
                said = "Function call is missing a thought_signature in functionCall parts."
                yield Complaint(f"{said} Function call `default_api:{call['function']['name']}`, position {at}.")

    def handed_out(self, said: Said, index: int) -> Json:
        return {} if index else {"extra_content": {"google": {"thought_signature": _seal(said)}}}

    def calls(self, said: Said) -> Iterator[Json | bytes]:
        for index, call in enumerate(said.calls):
            function = {"name": call.name, "arguments": arguments_of(said, index)}
            whole = {"index": index, "id": self.call_id(index), "type": "function", "function": function}
            yield {"role": "assistant", "tool_calls": [whole | self.handed_out(said, index)]}

    def call_id(self, index: int) -> str:
        return f"function-call-{index}"

    def reason(self, said: Said) -> str:
        return "length" if said.cut else "stop"

    def overflow(self, tokens: int, most: int) -> str:
        return f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({most})."

    def error(self, complaint: Complaint) -> object:
        return [{"error": {"code": complaint.status, "message": complaint.words, "status": "INVALID_ARGUMENT"}}]


@dataclass
class OpenRouter(Family):
    """Pages "Reasoning tokens", "Errors" and "Streaming"; agent-framework 2947, MassGen 624. It wraps what its providers say."""

    name: ClassVar[str] = "openrouter"
    answer_fields: ClassVar[frozenset[str]] = frozenset({"reasoning", "reasoning_details"})

    def about_answer(self, at: int, message: Json, mine: Said | None, body: Json) -> Iterator[Complaint]:
        expected = self._details(mine) if mine is not None and mine.thoughts else None
        if mine is not None and message.get("reasoning_details") != expected:
            yield Complaint("Gemini models require OpenRouter reasoning details to be preserved in each request.")

    def _details(self, said: Said) -> list[Json]:
        known = {"format": "google-gemini-v1"}
        text = {"type": "reasoning.text", "text": said.thoughts, "index": 0, **known}
        return [text, {"type": "reasoning.encrypted", "data": _seal(said), "index": 1, **known}]

    def thoughts(self, said: Said) -> Iterator[Json | bytes]:
        yield b": OPENROUTER PROCESSING\n\n"
        if said.thoughts:
            text, encrypted = self._details(said)
            for piece in pieces(said.thoughts):
                yield {"content": "", "reasoning": piece, "reasoning_details": [text | {"text": piece}]}
            yield {"content": "", "reasoning_details": [encrypted]}

    def overflow(self, tokens: int, most: int) -> str:
        return f"prompt is too long: {tokens} tokens > {most} maximum"

    def error(self, complaint: Complaint) -> object:
        raw = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": complaint.words}})
        wrapped = {"raw": raw, "provider_name": "Anthropic"}
        return {"error": {"message": "Provider returned error", "code": complaint.status, "metadata": wrapped}}


@dataclass
class VLLM(Family):
    """Glyph 9, grounded-rl 16, litellm 20480: its error is no `error`, and the last piece repeats the whole call."""

    name: ClassVar[str] = "vllm"
    answer_fields: ClassVar[frozenset[str]] = frozenset({"reasoning"})

    def thoughts(self, said: Said) -> Iterator[Json | bytes]:
        for piece in pieces(said.thoughts):
            yield {"reasoning": piece}

    def calls(self, said: Said) -> Iterator[Json | bytes]:
        yield from super().calls(said)
        if said.calls:
            last = len(said.calls) - 1
            function = {"name": said.calls[last].name, "arguments": arguments_of(said, last)}
            again = {"index": last, "id": self.call_id(last), "type": "function", "function": function}
            yield {"tool_calls": [again]}

    def call_id(self, index: int) -> str:
        return f"chatcmpl-tool-{index}0123456789abcdef"

    def overflow(self, tokens: int, most: int) -> str:
        return f"The decoder prompt (length {tokens}) is longer than the maximum model length of {most}."

    def error(self, complaint: Complaint) -> object:
        kind = {"type": "BadRequestError", "param": None, "code": complaint.status}
        return {"object": "error", "message": complaint.words, **kind}


class _Template(Family):
    """The template of a local model: those who speak take turns (mini-swe-agent 759, picoclaw 207)."""

    def complaints(self, body: Json) -> Iterator[Complaint]:
        yield from super().complaints(body)
        roles = [message["role"] for message in body["messages"] if message["role"] != "tool"]
        if any(one == two == "user" for one, two in itertools.pairwise(roles)):
            said = "Conversation roles must alternate user/assistant/user/assistant/..."
            yield Complaint(f'Error rendering prompt with jinja template: "{said}"')


@dataclass
class LMStudio(_Template):
    """hermes-agent pull 5331, lmdeploy 3412, mlx-openai-server pull 216: every piece of a call has another id; errors are text."""

    name: ClassVar[str] = "lmstudio"
    answer_fields: ClassVar[frozenset[str]] = frozenset({"reasoning"})

    def thoughts(self, said: Said) -> Iterator[Json | bytes]:
        for piece in pieces(said.thoughts):
            yield {"reasoning": piece}

    def calls(self, said: Said) -> Iterator[Json | bytes]:
        for number, delta in enumerate(super().calls(said)):
            if isinstance(delta, dict):
                [entry] = delta["tool_calls"]
                yield {"tool_calls": [entry | {"id": f"chatcmpl-tool-{number}", "type": "function"}]}

    def overflow(self, tokens: int, most: int) -> str:
        kept = f"Trying to keep the first {tokens} tokens when context the overflows."
        return f"{kept} However, the model is loaded with context length of only {most} tokens, which is not enough."

    def error(self, complaint: Complaint) -> object:
        return {"error": complaint.words}


@dataclass
class LlamaCpp(_Template, _Reasons):
    """Its README and tools/server; a model without eyes answers 500."""

    name: ClassVar[str] = "llama.cpp"

    def overflow(self, tokens: int, most: int) -> str:
        return f"request ({tokens} tokens) exceeds the available context size ({most} tokens), try increasing it"

    def error(self, complaint: Complaint) -> object:
        kind = "exceed_context_size_error" if complaint.kind == "overflow" else "invalid_request_error"
        return {"error": {"code": complaint.status, "message": complaint.words, "type": kind}}


@dataclass
class Ollama(Family):
    """docs/openai.md; lmdeploy 3412: a call comes whole, and all of an answer have the index 0."""

    name: ClassVar[str] = "ollama"
    answer_fields: ClassVar[frozenset[str]] = frozenset({"reasoning"})

    def thoughts(self, said: Said) -> Iterator[Json | bytes]:
        for piece in pieces(said.thoughts):
            yield {"role": "assistant", "content": "", "reasoning": piece}

    def calls(self, said: Said) -> Iterator[Json | bytes]:
        for index, call in enumerate(said.calls):
            function = {"name": call.name, "arguments": arguments_of(said, index)}
            entry = {"index": 0, "id": self.call_id(index), "type": "function", "function": function}
            yield {"role": "assistant", "content": "", "tool_calls": [entry]}

    def call_id(self, index: int) -> str:
        return f"call_{index}a8b9c0d"


@dataclass
class Gateway(Family):
    """A company's LiteLLM or Azure before Claude: docs "Reasoning content"; litellm 30835, goose pull 7504, opencode 31259.

    It knows no `stream_options`, and thoughts are signed blocks.
    """

    name: ClassVar[str] = "gateway"
    dialect: ClassVar[Dialect] = schemas.claude
    answer_fields: ClassVar[frozenset[str]] = frozenset({"thinking_blocks", "reasoning_content"})

    def complaints(self, body: Json) -> Iterator[Complaint]:
        if "stream_options" in body:
            yield Complaint("Unrecognized request argument supplied: stream_options", "learned")
        yield from super().complaints(body)

    def about_answer(self, at: int, message: Json, mine: Said | None, body: Json) -> Iterator[Complaint]:
        expected = self._blocks(mine) if mine is not None and mine.thoughts else None
        if mine is not None and message.get("thinking_blocks") != expected:
            yield Complaint(f"messages.{at}.content.0.type: Expected `thinking`, but found `tool_use`.")

    def _blocks(self, said: Said) -> list[Json]:
        return [{"type": "thinking", "thinking": said.thoughts, "signature": _seal(said)}]

    def thoughts(self, said: Said) -> Iterator[Json | bytes]:
        if said.thoughts:
            for piece in pieces(said.thoughts):
                yield {"reasoning_content": piece, "thinking_blocks": [{"type": "thinking", "thinking": piece}]}
            signed = {"type": "thinking", "thinking": "", "signature": _seal(said)}
            yield {"reasoning_content": "", "thinking_blocks": [signed]}

    def overflow(self, tokens: int, most: int) -> str:
        return "Bedrock Runtime: ValidationException: Input is too long for requested model."


@dataclass
class Mistral(Family):
    """opencode 1680, zed 37021, crush 1590: ids of nine characters, no user behind a tool, no field that it does not know."""

    name: ClassVar[str] = "mistral"

    def complaints(self, body: Json) -> Iterator[Complaint]:
        yield from super().complaints(body)
        for _, call in _calls_of(body):
            if len(call["id"]) != 9 or not call["id"].isalnum():
                yield Complaint(f"Tool call id was {call['id']} but must be a-z, A-Z, 0-9, with a length of 9.")
        roles = [message["role"] for message in body["messages"]]
        if ("tool", "user") in itertools.pairwise(roles):
            yield Complaint("Unexpected role 'user' after role 'tool'", "learned")

    def calls(self, said: Said) -> Iterator[Json | bytes]:
        for index, call in enumerate(said.calls):
            function = {"name": call.name, "arguments": arguments_of(said, index)}
            yield {"tool_calls": [{"index": index, "id": self.call_id(index), "function": function}]}

    def call_id(self, index: int) -> str:
        return f"D681PevK{index}"

    def error(self, complaint: Complaint) -> object:
        kind = {"type": "invalid_request_message_order", "param": None, "code": "3230"}
        return {"object": "error", "message": complaint.words, **kind}


@dataclass
class Copilot(Family):
    """opencode 2464, copilot-api 210: thoughts are opaque, and an error is JSON in a message."""

    name: ClassVar[str] = "copilot"
    dialect: ClassVar[Dialect] = schemas.claude
    answer_fields: ClassVar[frozenset[str]] = frozenset({"reasoning_text", "reasoning_opaque"})

    def about_answer(self, at: int, message: Json, mine: Said | None, body: Json) -> Iterator[Complaint]:
        expected = _seal(mine) if mine is not None and mine.thoughts else None
        if mine is not None and message.get("reasoning_opaque") != expected:
            yield Complaint(f"messages.{at}: the encrypted reasoning is missing or was changed")

    def thoughts(self, said: Said) -> Iterator[Json | bytes]:
        if said.thoughts:
            for piece in pieces(said.thoughts):
                yield {"content": None, "reasoning_text": piece}
            yield {"content": None, "reasoning_opaque": _seal(said)}

    def overflow(self, tokens: int, most: int) -> str:
        return f"prompt token count of {tokens} exceeds the limit of {most}"

    def error(self, complaint: Complaint) -> object:
        inner = {"error": {"message": complaint.words, "code": "invalid_request_body"}}
        return {"error": {"message": json.dumps(inner) + "\n", "type": "error"}}


FAMILIES: tuple[type[Family], ...] = (
    OpenAI,
    DeepSeek,
    Kimi,
    Gemini,
    OpenRouter,
    VLLM,
    LMStudio,
    LlamaCpp,
    Ollama,
    Gateway,
    Mistral,
    Copilot,
)


def three_for(name: str) -> tuple[type[Family], ...]:
    """Three families, others for another test, so that the tests together run over all."""
    first = crc32(name.encode()) % len(FAMILIES)
    return tuple(FAMILIES[(first + step * 4) % len(FAMILIES)] for step in range(3))
