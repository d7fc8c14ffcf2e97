"""A local model server that costs as little as possible, over plain asyncio. Run as a program; prints its port.

It answers what the prompt orders (`orders.py`), in the format that the request's path names (`wireformats.py`). Each event
is a write of its own with TCP_NODELAY, as real servers send: it must never gather several into one.
"""

import asyncio
import itertools
import json
import re
import sys
import time
from collections.abc import Iterable

import orjson

from orders import Answer, Arrival, Calls, Stream
from wireformats import FORMATS, WireFormat

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
MODELS = json.dumps(
    {"object": "list", "data": [{"id": "bench", "object": "model", "created": 0, "owned_by": "bench"}]}
).encode()
LARGEST = 256 * 1024 * 1024
"""Bytes of a request."""
numbers = itertools.count(1)


def now() -> bytes:
    """The text of a chunk: the time at which it leaves."""
    return b"%d " % time.monotonic_ns()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection, kept open for many requests."""
    writer.transport.set_write_buffer_limits(
        0
    )  # `drain` waits until everything is written; asyncio has set TCP_NODELAY
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = LENGTH.search(head)
            body = await reader.readexactly(int(length[1])) if length else b""
            await answer(writer, head.split(b"\r\n", 1)[0], body, now())
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def answer(writer: asyncio.StreamWriter, request: bytes, body: bytes, arrived: bytes) -> None:
    """Answer one request: a stream for a prompt, the list of models or a plain no for all else."""
    path = request.split(b" ")[1].split(b"?")[0]
    made = next((each for each in FORMATS if request.startswith(b"POST") and path.endswith(each.PATH)), None)
    if made is not None:
        await stream(writer, made(), made.order(orjson.loads(body)), arrived)
        return
    known = path.endswith(b"/models")
    content = MODELS if known else b"{}"
    status = b"200 OK" if known else b"404 Not Found"
    writer.write(
        b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % (status, len(content))
        + (b"" if request.startswith(b"HEAD") else content)
    )
    await writer.drain()


async def stream(writer: asyncio.StreamWriter, form: WireFormat, wanted: Answer, arrived: bytes) -> None:
    """Stream one answer."""
    writer.write(HEAD)
    await send(writer, form.begin())
    match wanted:
        case Arrival():
            await send(writer, [form.text(arrived)])
        case Stream():
            await chunks(writer, form, wanted)
        case Calls():
            await send(writer, [form.text(now())])
            for arguments in wanted.arguments:
                await send(writer, form.call(f"call_{next(numbers)}", wanted.tool, arguments))
    await send(writer, form.end())
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def chunks(writer: asyncio.StreamWriter, form: WireFormat, wanted: Stream) -> None:
    """Chunks at their times. Against drift, each has its own, whatever the one before it took."""
    begin = time.monotonic()
    for number in range(wanted.count):
        if wanted.delay_us:
            await asyncio.sleep(max(0.0, begin + number * wanted.delay_us / 1e6 - time.monotonic()))
        await send(writer, [form.text(now())])


async def send(writer: asyncio.StreamWriter, events: Iterable[bytes]) -> None:
    """Each event as an HTTP chunk and a write of its own."""
    for event in events:
        writer.write(b"%x\r\n%s\r\n" % (len(event), event))
        await writer.drain()


async def main() -> None:
    """Serve until stdin closes."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=LARGEST, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await asyncio.to_thread(sys.stdin.buffer.read)


if __name__ == "__main__":
    asyncio.run(main())
