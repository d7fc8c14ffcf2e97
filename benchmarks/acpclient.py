"""A measuring ACP client: blocking reads, no thread, nothing between the pipe and the clock.

It knows only what the measurements need, says yes to every question, and never sends what an editor would not. The text
of the model server's chunks is the time they left, so `Stream` holds one latency per chunk, however the agent packed
them into lines.
"""

import os
import re
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

Json = dict[str, Any]
TIMES = re.compile(r"[\d ]+")
PATIENCE = 120.0
"""Seconds without a word."""


@dataclass(slots=True)
class Stream:
    """What one prompt brought. Times are monotonic nanoseconds."""

    sent: int = 0
    first: int = 0
    last: int = 0
    cut: str = ""
    """The beginning of a chunk that the agent split between two lines."""
    left: list[int] = field(default_factory=list[int])
    """When each chunk left the model server."""
    latencies: list[int] = field(default_factory=list[int])
    """How long each was on its way."""
    remarks: list[str] = field(default_factory=list[str])
    """What the agent said that was not the model's."""

    @property
    def chunks(self) -> int:
        """Chunks of the model, not lines on the wire."""
        return len(self.latencies)

    @property
    def first_ms(self) -> float:
        """From the prompt to its first chunk."""
        return (self.first - self.sent) / 1e6

    @property
    def rate(self) -> float:
        """Chunks a second, from the prompt to the last of them."""
        return self.chunks / ((self.last - self.sent) / 1e9) if self.last > self.sent else 0.0

    def take(self, text: str, now: int) -> None:
        """Note the chunks in a text that has arrived; what is none of the model's is the agent's own word."""
        if not TIMES.fullmatch(text):
            self.remarks.append(text)
            return
        self.first = self.first or now
        self.last = now
        *whole, self.cut = (self.cut + text).split(" ")
        left = [int(sent) for sent in whole]
        self.left += left
        self.latencies += [now - sent for sent in left]


class AgentFailedError(RuntimeError):
    """The agent answered with an error, closed its end, or said nothing for too long."""


class AcpClient:
    """One agent process and its pipes."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], cwd: Path, errors: Path) -> None:
        """What the agent says on standard error goes to the file `errors`."""
        self.cwd = cwd
        self.begun = time.monotonic_ns()
        with errors.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, cwd=cwd, env=environment, bufsize=0
            )
        assert self.process.stdin
        assert self.process.stdout
        self.to, self.out = self.process.stdin.fileno(), self.process.stdout.fileno()
        self.rest = b""
        self.count = 0
        self.patience = PATIENCE
        self.streams: dict[str, Stream] = {}
        self.results: dict[int, Json] = {}

    def close(self) -> None:
        """Close the pipes, as an editor does, and wait for the process."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def write(self, message: Json) -> None:
        """One line."""
        write_all(self.to, orjson.dumps({"jsonrpc": "2.0", **message}) + b"\n")

    def send(self, method: str, params: Json) -> int:
        """A request; its id."""
        self.count += 1
        self.write({"id": self.count, "method": method, "params": params})
        return self.count

    def request(self, method: str, params: Json) -> Json:
        """A request and its result; updates that come first are taken in."""
        identifier = self.send(method, params)
        self.until({identifier})
        return self.results[identifier]

    def until(self, identifiers: set[int]) -> None:
        """Read until all these requests are answered; an agent that only goes on and on has failed, too."""
        deadline = time.monotonic() + self.patience
        while not identifiers <= self.results.keys():
            if not select.select([self.out], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise AgentFailedError(f"no answer came for {self.patience:.0f} s")
            self.read()

    def read(self) -> None:
        """Take in the whole messages of one read."""
        data = os.read(self.out, 1 << 20)
        if not data:
            raise AgentFailedError("it closed its end")
        self.take(data)

    def take(self, data: bytes) -> None:
        """The whole lines of what was read."""
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            if line:
                self.hear(orjson.loads(line))

    def hear(self, message: Json) -> None:
        """Take in one message."""
        method = message.get("method")
        if method == "session/update":
            self.update(message["params"])
        elif method == "session/request_permission":
            self.allow(message)
        elif method is None and "error" in message:
            raise AgentFailedError(f"it answered {message['error']}")
        elif method is None:
            self.results[message["id"]] = message["result"]

    def update(self, params: Json) -> None:
        """Note when the chunks of an update arrived."""
        stream = self.streams.get(params["sessionId"])
        update = params["update"]
        if stream is not None and update["sessionUpdate"] == "agent_message_chunk" and update["content"]["text"]:
            stream.take(update["content"]["text"], time.monotonic_ns())

    def allow(self, request: Json) -> None:
        """Say yes."""
        options = request["params"]["options"]
        chosen = next(option["optionId"] for option in options if option["kind"].startswith("allow"))
        self.write({"id": request["id"], "result": {"outcome": {"outcome": "selected", "optionId": chosen}}})

    def initialize(self) -> Json:
        """The handshake."""
        info = {"name": "bench", "version": "0"}
        return self.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": info})

    def new(self, mcp_servers: Sequence[Json] = ()) -> str:
        """A new session."""
        params = {"cwd": str(self.cwd), "mcpServers": list(mcp_servers)}
        return self.request("session/new", params)["sessionId"]

    def load(self, session: str) -> None:
        """An earlier session, all its updates read."""
        self.request("session/load", {"sessionId": session, "cwd": str(self.cwd), "mcpServers": []})

    def start(self, session: str, order: str) -> int:
        """Prompt with an order for the model server; the request's id."""
        self.streams[session] = Stream(sent=time.monotonic_ns())
        return self.send("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": order}]})

    def prompt(self, session: str, order: str) -> Stream:
        """Prompt and read the answer to its end."""
        self.until({self.start(session, order)})
        return self.streams[session]

    def chunks(self, session: str, count: int, delay_us: int = 0) -> Stream:
        """Prompt for so many chunks, and see that they came."""
        stream = self.prompt(session, f"bench {count} {delay_us}")
        if stream.chunks != count:
            raise AgentFailedError(f"{stream.chunks} of {count} chunks arrived; it said {stream.remarks}")
        return stream

    def call(self, session: str, tool: str, arguments: Json) -> float:
        """Let the model call a tool once: milliseconds from the call leaving the model to its next request."""
        left = self.prompt(session, f"bench steps 1 1 {tool} {orjson.dumps(arguments).decode()}").left
        if len(left) != 2:
            raise AgentFailedError(
                f"a call of {tool} brought {len(left)} answers of the model, not 2; it said {self.streams[session].remarks}"
            )
        return (left[1] - left[0]) / 1e6


def write_all(descriptor: int, data: bytes) -> None:
    """All of it, however little a pipe takes at once."""
    while data:
        data = data[os.write(descriptor, data) :]


def until_all(waiting: Mapping[AcpClient, set[int]]) -> None:
    """Read from several clients until all their requests are answered."""
    poll = select.poll()
    unanswered = dict(waiting)
    by_descriptor = {client.out: client for client in unanswered}
    for descriptor in by_descriptor:
        poll.register(descriptor, select.POLLIN | select.POLLHUP)
    while unanswered:
        ready = poll.poll(PATIENCE * 1000)
        if not ready:
            raise AgentFailedError(f"nothing came for {PATIENCE:.0f} s")
        for descriptor, _ in ready:
            client = by_descriptor[descriptor]
            client.read()
            if client in unanswered and unanswered[client] <= client.results.keys():
                del unanswered[client]
