"""Whether Wire in MessagePack would pay: what a streamed session costs both sides in processor time, beside lines of JSON.

    .venv/bin/python benchmarks/framing.py [DIRECTORY]

A writer sends the events of streamed text over a pipe, at 10,000 a second and as fast as they are taken, to a client that
decodes each. Framings take turns in one run; a figure is a median. DIRECTORY: where npm has `msgpackr`, for the client in
Node; without it there is none. Linux only.
"""

import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import orjson

from sould.agents.wire.content import TextPart
from sould.daemon.wire.lines import encode
from sould.daemon.wire.versions import NEWEST, WireReader

MESSAGES = 50_000
RATE = 10_000
ROUNDS = 5
WORDS = ("the ", "daemon ", "writes ", "what ", "a ", "model ", "says", ", ", "token ", "by ", "token", ".\n")
"""Text as models stream it, about a token at a time."""
Json = dict[str, Any]
packed = msgspec.msgpack.Encoder().encode


def as_message(message: Json) -> bytes:
    """In MessagePack, behind its length."""
    body = packed(message)
    return len(body).to_bytes(4, "big") + body


ENCODERS: dict[str, Callable[[Json], bytes]] = {"json": encode, "msgpack": as_message}
NODE = {
    "json": """
let rest = "", count = 0;
process.stdin.setEncoding("utf8");
process.stdin.on("data", (data) => {
  const lines = (rest + data).split("\\n");
  rest = lines.pop();
  for (const line of lines) count += JSON.parse(line).params.payload.text.length;
});
""",
    "msgpack": """
const { unpack } = require("msgpackr");
let rest = Buffer.alloc(0), count = 0;
process.stdin.on("data", (data) => {
  let all = rest.length ? Buffer.concat([rest, data]) : data, at = 0;
  while (all.length - at >= 4 && all.length - at - 4 >= all.readUInt32BE(at)) {
    const end = at + 4 + all.readUInt32BE(at);
    count += unpack(all.subarray(at + 4, end)).params.payload.text.length;
    at = end;
  }
  rest = all.subarray(at);
});
""",
}
NODE_END = """
process.stdin.on("end", () => {
  const used = process.cpuUsage();
  console.log(JSON.stringify([(used.user + used.system) / 1e6, count]));
});
"""


def write(framing: str, rate: str) -> None:
    """The writer: what a session's events cost from the record to the pipe."""
    reader, make = WireReader(NEWEST), ENCODERS[framing]
    words = itertools.cycle(WORDS)
    begun, sent = time.monotonic(), 0
    for number in range(MESSAGES):
        if int(rate) and number % 10 == 0:
            time.sleep(max(0.0, begun + number / int(rate) - time.monotonic()))
        envelope = reader.envelope(TextPart(text=next(words)))
        data = make({"jsonrpc": "2.0", "method": "event", "params": envelope})
        sent += len(data)
        os.write(1, data)
    print(json.dumps([used(), sent]), file=sys.stderr)


def used() -> float:
    """Seconds of the processor so far."""
    found = resource.getrusage(resource.RUSAGE_SELF)
    return found.ru_utime + found.ru_stime


def read(decoder: str) -> None:
    """A client in Python."""
    begun, count = used(), 0
    for message in DECODERS[decoder]():
        count += len(message["params"]["payload"]["text"])
    print(json.dumps([used() - begun, count]))


def lines(decode: Callable[[bytes], Json]) -> Iterator[Json]:
    """As a client reads them."""
    return map(decode, sys.stdin.buffer)


def messages() -> Iterator[Json]:
    """As a client reads them, with `msgspec`."""
    source, decode = sys.stdin.buffer, msgspec.msgpack.Decoder().decode
    while head := source.read(4):
        yield decode(source.read(int.from_bytes(head, "big")))


DECODERS: dict[str, Callable[[], Iterator[Json]]] = {
    "json": lambda: lines(json.loads),
    "orjson": lambda: lines(orjson.loads),
    "msgpack": messages,
}


def once(framing: str, client: str, rate: int, directory: str) -> tuple[float, float, int]:
    """Seconds of the writer, of the client, and bytes."""
    this = [sys.executable, __file__]
    reading = ["node", "-e", NODE[framing] + NODE_END] if client == "node" else [*this, "read", client]
    with subprocess.Popen(
        [*this, "write", framing, str(rate)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as writer:
        read_by = subprocess.run(reading, stdin=writer.stdout, stdout=subprocess.PIPE, cwd=directory, check=True)
        assert writer.stderr is not None
        wrote, sent = json.loads(writer.stderr.read())
    took, _ = json.loads(read_by.stdout)
    return wrote, took, sent


def main(directory: str = "") -> None:
    """Print a line for each client and rate: medians in microseconds a message, and the median of the ratios of pairs."""
    clients = [("json", "msgpack"), ("orjson", "msgpack"), *([("node", "node")] if directory else [])]
    for rate in (RATE, 0):
        for plain, other in clients:
            pairs = [
                (once("json", plain, rate, directory or "."), once("msgpack", other, rate, directory or "."))
                for _ in range(ROUNDS)
            ]
            print(f"{f'{rate} a second' if rate else 'flat out'}, {plain} beside {other}:")
            for index, side in enumerate(("writer", "client")):
                old, new = (statistics.median(pair[at][index] for pair in pairs) / MESSAGES * 1e6 for at in (0, 1))
                ratio = statistics.median(pair[1][index] / pair[0][index] for pair in pairs)
                print(f"  {side}: JSON {old:.1f} us, MessagePack {new:.1f} us, ratio {ratio:.2f}")
            print(f"  bytes a message: {pairs[0][0][2] / MESSAGES:.0f}, {pairs[0][1][2] / MESSAGES:.0f}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", framing, rate]:
            write(framing, rate)
        case ["read", decoder]:
            read(decoder)
        case rest:
            main(*rest)
