"""A measuring ACP client: blocking reads, no thread, nothing between the pipe and the clock.

It answers nothing but permissions, and knows only what the measurements need. The text of the model server's chunks is
the time they left, so `Stream` holds one latency per chunk, however the agent packed them into lines.
"""

import os
import select
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

Json = dict[str, Any]
PATIENCE = 120.0


@dataclass(slots=True)
class Stream:
    """What one prompt brought. Times are monotonic nanoseconds."""

    sent: int = 0
    first: int = 0
    last: int = 0
    lines: int = 0
    cut: str = ""
    """The beginning of a chunk that the agent split between two lines."""
    left: list[int] = field(default_factory=list[int])
    """When each chunk left the model server."""
    latencies: list[int] = field(default_factory=list[int])
    """How long each was on its way."""

    @property
    def chunks(self) -> int:
        """Chunks of the model, not lines on the wire."""
        return len(self.latencies)

    @property
    def rate(self) -> float:
        """Chunks a second, from the prompt to the last of them."""
        return self.chunks / ((self.last - self.sent) / 1e9) if self.last > self.sent else 0.0


class AgentDiedError(RuntimeError):
    """The agent closed its end, or said nothing for `PATIENCE`."""


class AcpClient:
    """One agent process and its pipes."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], cwd: Path) -> None:
        self.cwd = cwd
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd, env=dict(environment), bufsize=0
        )
        assert self.process.stdin
        assert self.process.stdout
        self.to, self.out = self.process.stdin.fileno(), self.process.stdout.fileno()
        self.rest = b""
        self.count = 0
        self.streams: dict[str, Stream] = {}

    def close(self) -> None:
        """Close the pipes, as an editor does, and wait for the process."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def send(self, method: str, params: Json) -> int:
        """A request; its id."""
        self.count += 1
        line = orjson.dumps({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}) + b"\n"
        while line:
            line = line[os.write(self.to, line) :]
        return self.count

    def request(self, method: str, params: Json) -> Json:
        """A request and its result; updates that come first are taken in."""
        return self.until({self.send(method, params)})[0]

    def until(self, identifiers: set[int], idle: Callable[[], None] | None = None) -> list[Json]:
        """Read until all these requests are answered; their results in the order of the answers."""
        results: list[Json] = []
        waiting = set(identifiers)
        while waiting:
            for line in self.read():
                message = orjson.loads(line)
                if message.get("method") == "session/update":
                    self.take(message["params"])
                elif message.get("id") in waiting and "method" not in message:
                    waiting.discard(message["id"])
                    if "error" in message:
                        raise RuntimeError(f"the agent answered with an error: {message['error']}")
                    results.append(message["result"])
            if idle:
                idle()
        return results

    def read(self) -> list[bytes]:
        """The whole lines of one read."""
        if not select.select([self.out], [], [], PATIENCE)[0]:
            raise AgentDiedError(f"no word for {PATIENCE:.0f} s")
        data = os.read(self.out, 1 << 20)
        if not data:
            raise AgentDiedError("the agent closed its end")
        *lines, self.rest = (self.rest + data).split(b"\n")
        return [line for line in lines if line]

    def take(self, params: Json) -> None:
        """Note when the chunks of an update arrived."""
        stream = self.streams.get(params["sessionId"])
        if stream is None or params["update"]["sessionUpdate"] != "agent_message_chunk":
            return
        now = time.monotonic_ns()
        stream.first = stream.first or now
        stream.last = now
        stream.lines += 1
        *whole, stream.cut = (stream.cut + params["update"]["content"]["text"]).split(" ")
        left = [int(sent) for sent in whole]
        stream.left += left
        stream.latencies += [now - sent for sent in left]

    def initialize(self) -> Json:
        """The handshake."""
        return self.request(
            "initialize",
            {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": {"name": "bench", "version": "0"}},
        )

    def new(self) -> str:
        """A new session."""
        return self.request("session/new", {"cwd": str(self.cwd), "mcpServers": []})["sessionId"]

    def start(self, session: str, count: int, delay_us: int) -> int:
        """Prompt for a stream; the request's id."""
        self.streams[session] = Stream(sent=time.monotonic_ns())
        text = f"bench {count} {delay_us}"
        return self.send("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})

    def prompt(self, session: str, count: int, delay_us: int) -> Stream:
        """Prompt for a stream and read it to its end."""
        self.until({self.start(session, count, delay_us)})
        stream = self.streams[session]
        if stream.chunks != count:
            raise RuntimeError(f"{stream.chunks} of {count} chunks arrived")
        return stream
