"""A local model server that costs as little as possible: OpenAI's streaming chat format over plain asyncio.

Run as a program; prints its port. The last user message orders the answer, `bench COUNT DELAY_US [INTERVAL]`: COUNT
chunks, DELAY_US apart (0: as fast as the socket takes them), each a write of its own, as servers do. Each chunk's text
is the monotonic clock in nanoseconds, so whoever reads it can say how long it was on its way.
"""

import asyncio
import json
import re
import sys
import time

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
MODELS = json.dumps(
    {"object": "list", "data": [{"id": "bench", "object": "model", "created": 0, "owned_by": "bench"}]}
).encode()
ORDER = re.compile(rb"bench (\d+) (\d+)(?!.*bench \d+ \d+)", re.DOTALL)


def event(delta: dict[str, str], finish: str | None = None) -> bytes:
    """One server-sent event."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {
        "id": "chatcmpl-bench",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "bench",
        "choices": [choice],
    }
    return b"data: " + json.dumps(body).encode() + b"\n\n"


MARK = "@@@@"
BEFORE, AFTER = event({"content": MARK}).split(MARK.encode())
FIRST = event({"role": "assistant", "content": ""})
USAGE = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
LAST = event({}, "stop") + b"data: " + json.dumps({"id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": 0,
    "model": "bench", "choices": [], "usage": USAGE}).encode() + b"\n\ndata: [DONE]\n\n"  # fmt: skip


def chunk() -> bytes:
    """One piece of text: the time it left."""
    return BEFORE + b"%d " % time.monotonic_ns() + AFTER


def framed(body: bytes) -> bytes:
    """One HTTP chunk."""
    return b"%x\r\n%s\r\n" % (len(body), body)


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection, kept open for many requests."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
            body = await reader.readexactly(int(length[1])) if length else b""
            if head.startswith(b"GET"):
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(MODELS)
                    + MODELS
                )
                continue
            order = ORDER.search(body)
            await answer(writer, int(order[1]) if order else 3, int(order[2]) if order else 0)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def answer(writer: asyncio.StreamWriter, count: int, delay_us: int) -> None:
    """Stream one answer."""
    writer.transport.set_write_buffer_limits(0)  # nothing is gathered here; asyncio has set TCP_NODELAY
    writer.write(HEAD + framed(FIRST))
    if delay_us == 0:
        for _ in range(count):
            writer.write(framed(chunk()))
            await writer.drain()
    else:
        begin = time.monotonic()
        for number in range(count):
            # Against drift: each chunk has its own time, whatever the one before it took.
            await asyncio.sleep(max(0.0, begin + number * delay_us / 1e6 - time.monotonic()))
            writer.write(framed(chunk()))
            await writer.drain()
    writer.write(framed(LAST) + b"0\r\n\r\n")
    await writer.drain()


async def main() -> None:
    """Serve until stdin closes."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=64 * 1024 * 1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await asyncio.to_thread(sys.stdin.buffer.read)


if __name__ == "__main__":
    asyncio.run(main())
