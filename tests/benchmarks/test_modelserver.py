"""The model server sends as real servers do: each event by itself, whatever format an agent speaks."""

import asyncio
import json
import re
import socket
import time
from collections.abc import Iterator

import pytest

from acpclient import Json
from modelserver import serve
from orders import Answer, Arrival, Calls, Stream, answer_to
from wireformats import FORMATS, Chat, Messages, Responses
from world import model_server

TIME = re.compile(rb'"(\d{6,}) "')


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with model_server() as listening:
        yield listening


def asked(port: int, path: str, body: Json) -> list[bytes]:
    """The writes of the answer."""
    content = json.dumps(body).encode()
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"POST /v1%s HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % (path.encode(), len(content)) + content)
        received = b""
        while not received.endswith(b"\r\n0\r\n\r\n"):
            received += client.recv(1 << 16)
    rest = received.partition(b"\r\n\r\n")[2]
    pieces: list[bytes] = []
    while not rest.startswith(b"0\r\n"):
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        pieces.append(rest[:length])
        rest = rest[length + 2 :]
    return pieces


def prompt(path: str, text: str) -> Json:
    """A request in the format of a path."""
    message = {"type": "message", "role": "user", "content": [{"type": "text", "text": text}]}
    return {"input": [message]} if path == "/responses" else {"messages": [message]}


@pytest.mark.parametrize("path", ["/chat/completions", "/responses", "/messages"])
def test_each_event_is_a_write_of_its_own(port: int, path: str) -> None:
    pieces = asked(port, path, prompt(path, "bench 50 1000"))
    assert all(piece.count(b"data: {") == 1 for piece in pieces)
    assert sum(bool(TIME.search(piece)) for piece in pieces if b"done" not in piece) == 50


async def test_no_write_waits_for_the_next() -> None:
    """The kernel may still join writes of a busy machine (its autocorking), so segments cannot be counted."""
    set_options: list[int] = []

    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        made = writer.get_extra_info("socket")
        set_options.append(made.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        await serve(reader, writer)

    async with await asyncio.start_server(serve_one, "127.0.0.1", 0) as server:
        listening = server.sockets[0].getsockname()[1]
        await asyncio.to_thread(asked, listening, "/messages", prompt("/messages", "bench arrival"))
    assert set_options == [1]


def test_chunks_at_full_speed_are_not_gathered_either(port: int) -> None:
    pieces = asked(port, "/chat/completions", prompt("/chat/completions", "bench 2000 0"))
    assert all(piece.count(b"data: {") == 1 for piece in pieces)
    assert len(pieces) >= 2000


def test_a_chunk_says_when_it_left_and_an_arrival_when_the_request_came(port: int) -> None:
    before = time.monotonic_ns()
    pieces = asked(port, "/chat/completions", prompt("/chat/completions", "bench arrival"))
    (said,) = [int(found[1]) for piece in pieces if (found := TIME.search(piece))]
    assert before < said < time.monotonic_ns()


@pytest.mark.parametrize(
    ("order", "results", "answer"),
    [
        ("bench 20 5", 0, Stream(20, 5)),
        ("about this: bench 20 5, please", 0, Stream(20, 5)),
        ("bench arrival", 0, Arrival()),
        (
            'bench steps 2 2 Read {"path": "f@number@"} and so on',
            2,
            Calls("Read", ('{"path": "f2"}', '{"path": "f3"}')),
        ),
        ('bench steps 2 2 Read {"path": "f"}', 4, Stream(1, 0)),
        ("hello", 0, Stream(1, 0)),
    ],
)
def test_an_order_is_found_in_what_an_agent_puts_around_it(order: str, results: int, answer: Answer) -> None:
    assert answer_to(order, results) == answer


CALLED = 'bench steps 2 1 Shell {"command": "true"}'


@pytest.mark.parametrize(
    ("form", "body"),
    [
        (
            Chat,
            {
                "messages": [
                    {"role": "user", "content": "bench 9 9"},
                    {"role": "tool", "content": "of an earlier turn"},
                    {"role": "user", "content": [{"type": "text", "text": CALLED}]},
                    {"role": "assistant", "content": ""},
                    {"role": "tool", "content": "bench 1 1"},
                ]
            },
        ),
        (
            Responses,
            {
                "input": [
                    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": CALLED}]},
                    {"type": "function_call", "name": "Shell"},
                    {"type": "function_call_output", "output": "bench 1 1"},
                ]
            },
        ),
        (
            Messages,
            {
                "messages": [
                    {"role": "user", "content": CALLED},
                    {"role": "assistant", "content": ""},
                    {"role": "user", "content": [{"type": "tool_result", "content": "bench 1 1"}]},
                    {"role": "user", "content": [{"type": "text", "text": "a reminder"}]},
                ]
            },
        ),
    ],
)
def test_results_since_the_order_are_counted_in_every_format(
    form: type[Chat | Responses | Messages], body: Json
) -> None:
    assert form in FORMATS
    assert form.order(body) == Calls("Shell", ('{"command": "true"}',))
