"""The three ways in which agents talk to models: OpenAI's chat completions and responses, Anthropic's messages.

Each is read for the last order and the results since, and written event by event. Nothing here opens a socket or looks
at a clock. What is written is the least that the agents accept, so that no format costs its agent more than it must.
"""

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from orders import Answer, answer_to, is_order

Json = dict[str, Any]
MARK = "@@@@"


class WireFormat(Protocol):
    """One answer in one format. Each item of what is given is one event, and becomes one write."""

    def begin(self) -> Iterator[bytes]:
        """What comes before all else."""
        ...

    def text(self, text: bytes) -> bytes:
        """A chunk of text. It needs no escaping."""
        ...

    def call(self, identifier: str, tool: str, arguments: str) -> Iterator[bytes]:
        """A call of a tool."""
        ...

    def end(self) -> Iterator[bytes]:
        """What comes after all else."""
        ...


def server_sent(body: Json, name: str = "") -> bytes:
    """One server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(body)}\n\n".encode()


def around_mark(event: bytes) -> tuple[bytes, bytes]:
    """What stands before and behind the text of a chunk."""
    before, after = event.split(MARK.encode())
    return before, after


def last_order(latest_first: Iterable[tuple[str, bool]]) -> Answer:
    """What to answer to these messages: each its text, and whether it is the result of a tool. Reads no further than it must."""
    results = 0
    for text, is_result in latest_first:
        if is_result:
            results += 1
        elif is_order(text):
            return answer_to(text, results)
    return answer_to("", 0)


def plain(content: str | list[Json] | None) -> str:
    """The text of a message's content, which is a text or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or "" for part in content or ())


class Chat:
    """OpenAI's chat completions."""

    PATH = b"/chat/completions"

    def __init__(self) -> None:
        self.called = 0

    @staticmethod
    def order(body: Json) -> Answer:
        """What the request orders."""
        return last_order(
            (plain(message.get("content")) if message["role"] == "user" else "", message["role"] == "tool")
            for message in reversed(body["messages"])
        )

    @staticmethod
    def event(delta: Json, finish: str | None = None) -> bytes:
        """One chunk of the completion."""
        return server_sent(CHAT | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def begin(self) -> Iterator[bytes]:
        """The role."""
        yield self.event({"role": "assistant", "content": ""})

    def text(self, text: bytes) -> bytes:
        """A chunk of text."""
        return CHAT_TEXT[0] + text + CHAT_TEXT[1]

    def call(self, identifier: str, tool: str, arguments: str) -> Iterator[bytes]:
        """A whole call in one chunk."""
        function = {"name": tool, "arguments": arguments}
        yield self.event(
            {"tool_calls": [{"index": self.called, "id": identifier, "type": "function", "function": function}]}
        )
        self.called += 1

    def end(self) -> Iterator[bytes]:
        """The reason, what it cost, and the end."""
        yield self.event({}, "tool_calls" if self.called else "stop")
        usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
        yield server_sent(CHAT | {"choices": [], "usage": usage}) + b"data: [DONE]\n\n"


numbers = itertools.count(1)
CHAT: Json = {"id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": 0, "model": "bench"}
CHAT_TEXT = around_mark(Chat.event({"content": MARK}))


class Responses:
    """OpenAI's responses, which codex speaks."""

    PATH = b"/responses"

    def __init__(self) -> None:
        self.index = 0
        self.said: list[bytes] = []

    @staticmethod
    def order(body: Json) -> Answer:
        """What the request orders."""
        return last_order(
            (plain(item["content"]) if item.get("role") == "user" else "", item["type"].endswith("_call_output"))
            for item in reversed(body["input"])
        )

    @staticmethod
    def event(name: str, **fields: Any) -> bytes:
        """One event; its name stands in it, too."""
        return server_sent({"type": name, **fields}, name)

    def message(self, status: str, content: list[Json]) -> Json:
        """The message, as it is when it begins and when it ends."""
        return {"id": "msg_bench", "type": "message", "role": "assistant", "status": status, "content": content}

    def begin(self) -> Iterator[bytes]:
        """The response, and the message in it."""
        yield self.event("response.created", response={"id": "resp_bench", "status": "in_progress", "output": []})
        yield self.event("response.output_item.added", output_index=0, item=self.message("in_progress", []))

    def text(self, text: bytes) -> bytes:
        """A chunk of text."""
        self.said.append(text)
        return RESPONSES_TEXT[0] + text + RESPONSES_TEXT[1]

    def said_all(self) -> Iterator[bytes]:
        """The end of the message."""
        part: Json = {"type": "output_text", "text": b"".join(self.said).decode(), "annotations": []}
        yield self.event("response.output_item.done", output_index=0, item=self.message("completed", [part]))

    def call(self, identifier: str, tool: str, arguments: str) -> Iterator[bytes]:
        """A whole call; the message ends before the first."""
        if self.index == 0:
            yield from self.said_all()
        self.index += 1
        item = {"id": f"fc_{identifier}", "type": "function_call", "call_id": identifier, "name": tool}
        item |= {"arguments": arguments, "status": "completed"}
        yield self.event("response.output_item.done", output_index=self.index, item=item)

    def end(self) -> Iterator[bytes]:
        """The message, if nothing has ended it, and the response."""
        if self.index == 0:
            yield from self.said_all()
        usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10}
        usage |= {"output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 20}
        response: Json = {"id": "resp_bench", "status": "completed", "output": [], "usage": usage}
        yield self.event("response.completed", response=response)


RESPONSES_TEXT = around_mark(
    Responses.event("response.output_text.delta", item_id="msg_bench", output_index=0, content_index=0, delta=MARK)
)


class Messages:
    """Anthropic's messages, which claude speaks."""

    PATH = b"/messages"

    def __init__(self) -> None:
        self.index = 0

    @staticmethod
    def order(body: Json) -> Answer:
        """What the request orders. Results of tools are parts of a user's message, each counted."""
        return last_order(
            part
            for message in reversed(body["messages"])
            if message["role"] == "user"
            for part in reversed(Messages.parts(message["content"]))
        )

    @staticmethod
    def parts(content: str | list[Json]) -> list[tuple[str, bool]]:
        """The parts of a message: text, and whether it is a result."""
        if isinstance(content, str):
            return [(content, False)]
        return [(part.get("text", ""), part["type"] == "tool_result") for part in content]

    @staticmethod
    def event(name: str, **fields: Any) -> bytes:
        """One event; its name stands in it, too."""
        return server_sent({"type": name, **fields}, name)

    def block(self, block: Json) -> bytes:
        """The beginning of a block."""
        return self.event("content_block_start", index=self.index, content_block=block)

    def begin(self) -> Iterator[bytes]:
        """The message, and the block of text."""
        usage = {"input_tokens": 10, "output_tokens": 1}
        # Each its own: a client takes answers of one id for parts of one message.
        message: Json = {
            "id": f"msg_{next(numbers)}",
            "type": "message",
            "role": "assistant",
            "model": "bench",
            "content": [],
        }
        yield self.event(
            "message_start", message=message | {"stop_reason": None, "stop_sequence": None, "usage": usage}
        )
        yield self.block({"type": "text", "text": ""})

    def text(self, text: bytes) -> bytes:
        """A chunk of text."""
        return MESSAGES_TEXT[0] + text + MESSAGES_TEXT[1]

    def call(self, identifier: str, tool: str, arguments: str) -> Iterator[bytes]:
        """A block of its own; the one before it ends."""
        yield self.event("content_block_stop", index=self.index)
        self.index += 1
        yield self.block({"type": "tool_use", "id": f"toolu_{identifier}", "name": tool, "input": {}})
        delta = {"type": "input_json_delta", "partial_json": arguments}
        yield self.event("content_block_delta", index=self.index, delta=delta)

    def end(self) -> Iterator[bytes]:
        """The last block, the reason, and the message."""
        yield self.event("content_block_stop", index=self.index)
        reason = {"stop_reason": "tool_use" if self.index else "end_turn", "stop_sequence": None}
        yield self.event("message_delta", delta=reason, usage={"output_tokens": 10})
        yield self.event("message_stop")


MESSAGES_TEXT = around_mark(Messages.event("content_block_delta", index=0, delta={"type": "text_delta", "text": MARK}))
FORMATS = (Chat, Responses, Messages)
