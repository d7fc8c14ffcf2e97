"""Chat completion chunks into deltas: our own reading of the OpenAI-compatible stream, lenient where servers differ.

It does no input and no output. One instance reads one answer. Differences it accepts are named in the tests, each with
its source; what it does not accept is an error with the first bytes, never a silent end.
"""

import json
from collections.abc import Iterator
from typing import Any, cast

import orjson

from sould.agents.llm.provider import (
    Delta,
    EmptyAnswerError,
    Finish,
    ProviderConnectionError,
    ProviderError,
    ProviderProtocolError,
)
from sould.agents.llm.provider_errors import Redactor, event_error, malformed
from sould.agents.llm.serverstate import HandedOut
from sould.agents.llm.sse import EventLines
from sould.agents.llm.toolcalls import ToolCallReader
from sould.agents.wire.content import TextPart, ThinkPart
from sould.agents.wire.messages import TokenUsage

# Thoughts that a model writes into its text, between `<think>` and `</think>` at the very beginning of an answer.
# MiniMax, QwQ and others do, under servers that do not take them out. A tag may be split between two pieces.


_OPEN, _CLOSE = "<think>", "</think>"


class ThoughtTags:
    """Reads text until the answer proper begins; after that it is not needed."""

    __slots__ = ("_after", "_begun", "_held", "_thinking")

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False
        self._begun = False
        """A thought was shown."""
        self._after = False
        """Thinking has ended; white space before the answer is dropped."""

    def read(self, text: str) -> Iterator[TextPart | ThinkPart]:
        """What the text so far is certain to be, without white space around thoughts."""
        self._held += text.lstrip() if self._after and not self._held else text
        if not self._thinking:
            begun = self._held.lstrip()
            if _OPEN.startswith(begun[: len(_OPEN)]) and len(begun) < len(_OPEN):
                return  # it may become the tag
            if not begun.startswith(_OPEN):
                yield from self.close()
                return
            self._thinking, self._begun, self._held = True, False, begun[len(_OPEN) :]
        yield from self._thoughts()

    def _thoughts(self) -> Iterator[TextPart | ThinkPart]:
        if not self._begun:
            self._held = self._held.lstrip("\n")
        thoughts, tag, answer = self._held.partition(_CLOSE)
        if tag:
            if thoughts.rstrip("\n"):
                yield ThinkPart(think=thoughts.rstrip("\n"))
            self._thinking, self._after, self._held = False, True, ""
            if answer := answer.lstrip():
                yield TextPart(text=answer)
            return
        end = _split(thoughts)
        if end:
            self._begun = True
            yield ThinkPart(think=thoughts[:end])
            self._held = thoughts[end:]

    def close(self) -> Iterator[TextPart | ThinkPart]:
        """There is no more text before what comes now."""
        if self._held:
            yield ThinkPart(think=self._held) if self._thinking else TextPart(text=self._held)
        self._held = ""


def _split(text: str) -> int:
    """How many characters are certainly thought: all but line ends and a possible start of `</think>` at the end."""
    at = text.rfind("<")
    end = at if at >= 0 and _CLOSE.startswith(text[at:]) else len(text)
    return len(text[:end].rstrip("\n"))


_REASONING_KEYS = ("reasoning_content", "reasoning", "reasoning_text")
_SAID = frozenset({"role", "content", "tool_calls", "refusal"})
"""Keys of a delta that hold no state of the server."""


class AnswerReader:
    """Bytes in, deltas out; `finish` says how it ended. `events` counts events that were part of the answer."""

    __slots__ = (
        "_calls", "_finish_reason", "_handed_out", "_has_text", "_lines", "_message_id", "_reasoning_keys", "_redact", "_tags", "_usage",
        "done", "events", "trouble",
    )  # fmt: skip

    def __init__(self, redact: Redactor, reasoning_key: str = "") -> None:
        self._lines = EventLines(redact)
        self._handed_out = HandedOut()
        self._calls = ToolCallReader(self._handed_out)
        self._redact = redact
        self._reasoning_keys = (reasoning_key, *_REASONING_KEYS) if reasoning_key else _REASONING_KEYS
        self._finish_reason: str | None = None
        self._message_id: str | None = None
        self._usage: TokenUsage | None = None
        self._has_text = False
        self._tags = ThoughtTags()
        self.done = False
        self.events = 0
        self.trouble: ProviderError | None = None
        """What came behind the last deltas that were given, and ends the answer."""

    @property
    def signs(self) -> int:
        """How often the server showed that it is at work: by events of the answer, and by comments."""
        return self.events + self._lines.comments

    @property
    def ended(self) -> bool:
        """The model has said why it stopped; what may follow is usage."""
        return self.done or self._finish_reason is not None

    def feed(self, data: bytes) -> list[Delta]:
        """The deltas this read completes; `trouble` is what is wrong behind them.

        Raises:
            ProviderError: an error event, or bytes that are not the API, before any delta.
        """
        out: list[Delta] = []
        try:
            for payload in self._lines.feed(data):
                self._read(payload, out)
        except ProviderError as error:
            if not out:
                raise
            self.trouble = error
            return out
        self.trouble = self._lines.trouble
        return out

    def feed_whole(self, body: bytes) -> list[Delta]:
        """The deltas of an answer that came as one JSON object instead of a stream."""
        out: list[Delta] = []
        self._read(body, out)
        return out

    def close(self) -> list[Delta]:
        """The deltas the end of the bytes completes."""
        out: list[Delta] = []
        for payload in self._lines.close():
            self._read(payload, out)
        for part in self._tags.close():
            self._note(part, out)
        self._calls.close(out)
        return out

    def finish(self) -> Finish:
        """The end of an answer that is complete.

        Raises:
            ProviderConnectionError: the bytes ended before the answer did.
            EmptyAnswerError: it said nothing.
        """
        if not self.ended:
            raise ProviderConnectionError("The model's answer was cut off midway.", retryable=True, kind="connection")
        if not self._has_text and not self._calls.any:
            reason = self._finish_reason or "none given"
            raise EmptyAnswerError(
                f"The model sent an empty answer (finish_reason={self._redact.line(reason)}).",
                retryable=reason in {"stop", "none given", "tool_calls"} or "MALFORMED" in reason,
                kind="empty",
            )
        return Finish(self._finish_reason, self._usage, self._message_id, self._handed_out)

    def _read(self, payload: bytes, out: list[Delta]) -> None:
        if self.done:
            return
        try:
            event = orjson.loads(payload)
        except orjson.JSONDecodeError:
            self._read_odd(payload, out)
            return
        try:
            self._event(event, out)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise self._malformed(payload) from error

    def _read_odd(self, payload: bytes, out: list[Delta]) -> None:
        """Not JSON: the end mark, several events without blank lines between, JSON that is only nearly so, or garbage."""
        stripped = payload.strip()
        if stripped == b"[DONE]":
            self.done = True
        elif b"\n" in stripped:
            for line in stripped.split(b"\n"):
                self._read(line, out)
        elif stripped:
            try:
                event = json.loads(stripped)  # accepts a lone half of a surrogate pair, and NaN
            except ValueError as error:
                raise self._malformed(payload) from error
            self._read(orjson.dumps(_mended(event)), out)

    def _malformed(self, payload: bytes) -> ProviderProtocolError:
        return malformed("The model server sent an event that is not the API's", payload.strip(), self._redact)

    def _event(self, event: dict[str, Any], out: list[Delta]) -> None:
        choices = event.get("choices")
        if choices:
            self.events += 1
            choice: dict[str, Any] = choices[0]
            delta = choice.get("delta")
            if delta:
                self._delta(delta, out)
            elif choice.get("message"):
                self._whole(choice["message"], out)
            reason = choice.get("finish_reason")
            if reason:
                self._finished(reason, event, choice)
            elif "error" in choice:
                raise event_error(choice["error"], self._redact)
            if "usage" in choice:
                self._count(choice["usage"])
        elif "error" in event or event.get("object") == "error" or event.get("type") == "error":
            raise event_error(event.get("error") or event, self._redact)
        elif choices is not None:
            self.events += 1
        usage = event.get("usage")
        if usage:
            self._count(usage)
        if self._message_id is None and isinstance(event.get("id"), str):
            self._message_id = event["id"]

    def _finished(self, reason: Any, event: dict[str, Any], choice: dict[str, Any]) -> None:
        if reason == "error" or event.get("error"):
            raise event_error(event.get("error") or choice.get("error") or "the model failed", self._redact)
        self._finish_reason = str(reason)

    def _delta(self, delta: dict[str, Any], out: list[Delta]) -> None:
        for key in delta:
            if key not in _SAID:
                self._state(delta, out)
                break
        text = delta.get("content")
        if text:
            self._text(text, out)
        calls = delta.get("tool_calls")
        if calls:
            self._calls.read(calls, out)
        refusal = delta.get("refusal")
        if refusal:
            self._text(refusal, out)

    def _whole(self, message: dict[str, Any], out: list[Delta]) -> None:
        """The answer at once. Some servers say it so again at the end of a stream: then only its calls count, which are told apart."""
        if self._has_text or self._calls.any:
            self._calls.read(message.get("tool_calls") or [], out)
        else:
            self._delta(message, out)

    def _state(self, delta: dict[str, Any], out: list[Delta]) -> None:
        """Thoughts, and what else the server wants back. Some say their thoughts twice, under two keys."""
        for key in self._reasoning_keys:
            if think := delta.get(key):
                out.append(ThinkPart(think=think))
                self._handed_out.thought(key)
                break
        for key in delta.keys() - _SAID.union(self._reasoning_keys):
            self._handed_out.read(key, delta[key])

    def _text(self, content: Any, out: list[Delta]) -> None:
        if type(content) is str:
            if self._has_text:
                out.append(TextPart(text=content))
            else:
                self._first_text(content, out)
            return
        for part in cast("list[dict[str, Any]]", content):
            if part.get("type") == "thinking":
                out.extend(ThinkPart(think=piece["text"]) for piece in part["thinking"])
            elif part.get("text"):
                self._text(part["text"], out)

    def _first_text(self, text: str, out: list[Delta]) -> None:
        """Text before the answer has begun: some models think in tags at its very beginning."""
        for part in self._tags.read(text):
            self._note(part, out)

    def _note(self, part: TextPart | ThinkPart, out: list[Delta]) -> None:
        self._has_text = self._has_text or (isinstance(part, TextPart) and not part.text.isspace())
        out.append(part)

    def _count(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        counted = read_usage(cast("dict[str, Any]", usage))
        if counted is not None:
            self._usage = counted


def read_usage(usage: dict[str, Any]) -> TokenUsage | None:
    """Tokens as the server counted them; None when it counted none. Cached tokens are part of `prompt_tokens`."""
    total = _count_of(usage, "prompt_tokens")
    output = _count_of(usage, "completion_tokens")
    if not total and not output:
        return None
    details = usage.get("prompt_tokens_details")
    cached = _count_of(cast("dict[str, Any]", details), "cached_tokens") if isinstance(details, dict) else 0
    cached = cached or _count_of(usage, "cached_tokens") or _count_of(usage, "prompt_cache_hit_tokens")
    cached = min(cached, total)
    said = usage.get("completion_tokens_details")
    thought = _count_of(cast("dict[str, Any]", said), "reasoning_tokens") if isinstance(said, dict) else 0
    return TokenUsage(
        input_other=total - cached, output=output, input_cache_read=cached, output_thought=min(thought, output)
    )


def _count_of(fields: dict[str, Any], key: str) -> int:
    value = fields.get(key)
    return int(value) if isinstance(value, (int, float)) and value > 0 else 0


def _mended(value: Any) -> Any:
    """JSON that orjson can write: a lone surrogate becomes U+FFFD, NaN becomes null."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_mended(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in cast("dict[str, Any]", value).items()}
    return value
