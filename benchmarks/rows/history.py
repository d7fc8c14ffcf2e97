"""What a long session costs: the request that leaves, loading it, and what its loading costs other clients.

The sessions are made as a person makes them: a turn in which the model calls tools, with their output.
"""

import json
import re
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import orjson

from agents import HERE, Agent
from figures import quantile
from orders import NUMBER
from processes import cpu
from row import OURS, AtMost, Figures, OfFloor, Row, Sides, measures
from rows.channel import Channel, channel
from world import World

LENGTHS = (20, 200, 1000, 5000)
"""Messages."""
LOADED = 5000
CALLS = 20
"""Of one step. Real ones have fewer, but each step asks the model with all that went before, and this shall take a minute."""
OUTPUT = "one of the lines that a tool has put out, a long one\n" * 18
"""What a call brings: with 5,000 messages about as much as a window of a million tokens holds."""
CHUNKS, CHUNK_US = 500, 2000
SAID = re.compile(rb'"content": "(\d+) "')
"""The time in a chunk of the model server."""
FILE = "read, crc32, orjson"
BYTES = "as many bytes, ready to send"


def request_rows(length: int) -> tuple[Row, Row]:
    """When a request leaves, and what a turn costs, with so many messages before it."""
    what = f"prompt in a session of {length:,} messages"
    leaves = Row(
        f"request-{length}",
        f"{what}: -> the whole request is at the model",
        "how much longer each answer takes to begin in a long session",
        budget=AtMost(15) if length == LENGTHS[-1] else None,
        floor=BYTES,
    )
    return leaves, Row(f"request-{length}-cpu", f"{what}: processor time of the turn", "the same, as battery", "CPU ms")


REQUESTS = {length: request_rows(length) for length in LENGTHS}
LOAD = Row(
    "load",
    f"session/load of {LOADED:,} messages with tool output",
    "opening yesterday's session",
    budget=OfFloor(2),
    floor=FILE,
)
NEWEST = Row(
    "newest-page",
    f"the newest page of {LOADED:,} messages with tool output, of a session that is not open",
    "opening yesterday's session in a panel",
    budget=AtMost(200),
    floor="session/load",
)
BESIDE = Row(
    "load-beside",
    f"chunk in another client while {LOADED:,} messages are loaded, p99",
    "that opening a session disturbs nobody",
    budget=AtMost(50),
    floor="when nobody loads",
)


@measures(*(row for pair in REQUESTS.values() for row in pair), rounds=7)
def requests(world: World) -> Generator[Sides]:
    """One session for each length; they stay open side by side."""
    with ExitStack() as stack:
        yield {
            name: partial(requested, {length: stack.enter_context(grown(agent, world, length)) for length in LENGTHS})
            for name, agent in remembering(world).items()
        } | {BYTES: partial(sent, world)}


def remembering(world: World) -> dict[str, Agent]:
    """The agents that keep a history: not the floor."""
    return {name: agent for name, agent in world.agents.items() if agent.keeps}


@contextmanager
def grown(agent: Agent, world: World, length: int) -> Generator[Channel]:
    """A session of so many messages, made when it is first asked for and loaded from then on."""
    with agent.opened() as client:
        known = world.sessions.get((agent.name, length))
        opened = Channel(agent, client, known or client.new())
        if known:
            client.load(known)
        else:
            grow(opened, world.scaled(length))
            world.sessions[agent.name, length] = opened.session
        yield opened


def grow(opened: Channel, messages: int) -> None:
    """One long turn: a step is a message with calls, and a message for each of their results."""
    assert opened.agent.read
    steps = max(1, round(messages / (1 + CALLS)))
    for number in range(steps * CALLS):  # a model that reads one file again and again would be stopped
        (opened.client.cwd / f"output{number}.txt").write_text(OUTPUT)
    tool, arguments = opened.agent.read
    order = f"bench steps {steps} {CALLS} {tool} {json.dumps(arguments(f'output{NUMBER}.txt'))}"
    opened.client.prompt(opened.session, order)


def requested(sessions: dict[int, Channel]) -> Figures:
    """A prompt in each session."""
    figures: dict[str, float] = {}
    for length, opened in sessions.items():
        leaves, used = REQUESTS[length]
        before = cpu(opened.processes)
        stream = opened.client.prompt(opened.session, "bench arrival")
        figures[leaves.name] = (stream.left[0] - stream.sent) / 1e6
        figures[used.name] = (cpu(opened.processes) - before) * 1e3
    return figures


def sent(world: World) -> Figures:
    """Requests that are there already: what the socket and the model server take for so many bytes."""
    figures: dict[str, float] = {}
    for length, (leaves, _) in REQUESTS.items():
        outputs = [{"role": "tool", "tool_call_id": "call", "content": OUTPUT}] * world.scaled(length)
        body = orjson.dumps({"stream": True, "messages": [*outputs, {"role": "user", "content": "bench arrival"}]})
        head = b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(body)
        with socket.create_connection(("127.0.0.1", world.port)) as server, server.makefile("rb") as answer:
            begin = time.monotonic_ns()
            server.sendall(head + body)
            arrived = next(int(said[1]) for line in answer if (said := SAID.search(line)))
        figures[leaves.name] = (arrived - begin) / 1e6
    return figures


@measures(LOAD, rounds=5)
def load(world: World) -> Generator[Sides]:
    """From a daemon that has just answered something else; beside reading, checking and parsing the same file."""
    agent = world.agents[OURS]
    with grown(agent, world, LOADED) as opened:
        session = opened.session
    agent.rest()
    wire = next(agent.home.rglob(f"{session}/wire.jsonl"))
    yield {OURS: partial(loaded, agent, session, LOAD), FILE: partial(parsed, wire)}


@measures(NEWEST, rounds=7)
def newest_page(world: World) -> Generator[Sides]:
    """From a daemon that has just answered something else; beside showing all of it."""
    agent = world.agents[OURS]
    with grown(agent, world, LOADED) as opened:
        session = opened.session
    yield {OURS: partial(paged, agent, session), NEWEST.floor: partial(loaded, agent, session, NEWEST)}


def paged(agent: Agent, session: str) -> Figures:
    """One `_sould/session/transcript`."""
    agent.rest()
    with channel(agent) as opened:
        begin = time.perf_counter()
        opened.client.request("_sould/session/transcript", {"sessionId": session})
        return {NEWEST.name: (time.perf_counter() - begin) * 1e3}


def loaded(agent: Agent, session: str, row: Row) -> Figures:
    """One `session/load`. What a daemon imports at its first session is measured elsewhere."""
    agent.rest()
    with channel(agent) as opened:
        begin = time.perf_counter()
        opened.client.load(session)
        return {row.name: (time.perf_counter() - begin) * 1e3}


def parsed(wire: Path) -> Figures:
    """Read the file, check each line's checksum and parse it."""
    begin = time.perf_counter()
    for line in wire.read_bytes().splitlines():
        zlib.crc32(line[:-16])
        orjson.loads(line)
    return {LOAD.name: (time.perf_counter() - begin) * 1e3}


@measures(BESIDE, rounds=3)
def beside(world: World) -> Generator[Sides]:
    """A steady stream, with and without another client that opens a long session."""
    agent = world.agents[OURS]
    with grown(agent, world, LOADED) as long:
        pass
    agent.rest()
    with channel(agent) as reader:
        yield {
            OURS: partial(disturbed, reader, long.session),
            BESIDE.floor: partial(streamed, reader),
        }


def streamed(reader: Channel) -> Figures:
    """A steady stream."""
    latencies = reader.client.chunks(reader.session, CHUNKS, CHUNK_US).latencies
    return {BESIDE.name: quantile(latencies, 0.99) / 1e6}


def disturbed(reader: Channel, session: str) -> Figures:
    """The same, beside a client in a process of its own, so that what it reads does not hold up the one that measures."""
    agent = reader.agent
    command = [sys.executable, str(HERE / "loader.py"), str(agent.project), session, *agent.command]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=agent.environment, stdin=pipe, stdout=pipe, text=True) as loader:
        assert loader.stdin
        assert loader.stdout
        loader.stdout.readline()
        print(file=loader.stdin, flush=True)
        figures = streamed(reader)
        loader.stdout.readline()
        loader.stdin.close()
    return figures
