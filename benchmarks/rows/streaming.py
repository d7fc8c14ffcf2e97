"""From the model to the editor: first token, latency of a chunk, chunks a second, and many sessions at once."""

import time
from collections.abc import Generator
from functools import partial

from acpclient import AcpClient, AgentFailedError
from figures import quantile
from processes import cpu
from row import RAW, AtLeastOfFloor, AtMost, Figures, OfFloor, Row, Sides, measures
from rows.channel import Channel, channels
from world import World

PAUSE_S = 0.5
PACED = 1000
PACED_US = 5000
BURST = 20_000
CROWD = 200
CROWD_CHUNKS = 100
CROWD_US = 50_000

FIRST = Row(
    "first-token",
    "prompt -> first token, prompts back to back",
    "what the agent adds to the model's own time",
    budget=OfFloor(plus=5),
    floor=RAW,
)
PAUSED = Row(
    "first-token-paused",
    "prompt -> first token, after 0.5 s of silence",
    "the same when a person types: caches and processors have gone cold",
    budget=OfFloor(plus=5),
    floor=RAW,
)
P50 = Row(
    "chunk-p50",
    "model chunk -> ACP line, median of 1,000 at 200/s",
    "how far the screen is behind the model",
    budget=OfFloor(2),
    floor=RAW,
)
P99 = Row(
    "chunk-p99",
    "the same, 99th percentile",
    "how much the text stutters",
    budget=AtMost(2),
    floor=RAW,
)
RATE = Row(
    "full-speed",
    "one session at full speed, one event a write",
    "the fastest model that is shown without falling behind",
    unit="chunks/s",
    budget=AtLeastOfFloor(0.9),
    floor=RAW,
)
COST = Row(
    "full-speed-cpu",
    "processor time for 2,000 chunks of it",
    "battery, and what is left for your build",
    unit="CPU s",
    budget=OfFloor(1.2),
    floor=RAW,
)
CROWD_P99 = Row(
    "crowd-p99",
    "200 sessions prompted at once, 20 chunks/s each: latency of all their chunks, p99",
    "agents working side by side, from the moment they begin",
    budget=OfFloor(2),
    floor=RAW,
)
CROWD_SLOWEST = Row(
    "crowd-slowest",
    "the same: median latency in the slowest session",
    "that none of them starves",
    budget=AtMost(50),
    floor=RAW,
)
CROWD_FIRST = Row("crowd-first-token", "the same: until the last has its first token", "the slowest start", floor=RAW)
CROWD_CPU = Row("crowd-cpu", "the same: processor", "what 200 agents cost", unit="%", floor=RAW)


@measures(FIRST, rounds=50, quick=30, peers=True)
def first_token(world: World) -> Generator[Sides]:
    """A model that answers at once, prompt behind prompt."""
    with channels(world) as sessions:
        yield {name: partial(prompted, each, FIRST, 0) for name, each in sessions.items()}


@measures(PAUSED, rounds=15, quick=5, peers=True)
def first_token_paused(world: World) -> Generator[Sides]:
    """The same after a pause."""
    with channels(world) as sessions:
        yield {name: partial(prompted, each, PAUSED, PAUSE_S) for name, each in sessions.items()}


@measures(P50, P99, rounds=3, quick=5, peers=True)
def chunk_latency(world: World) -> Generator[Sides]:
    """A steady stream, as a model writes."""
    count = world.scaled(PACED)
    with channels(world) as sessions:
        yield {name: partial(paced, each, count) for name, each in sessions.items()}


@measures(RATE, COST, rounds=5, quick=5, peers=True)
def full_speed(world: World) -> Generator[Sides]:
    """As fast as it goes."""
    count = world.scaled(BURST)
    with channels(world) as sessions:
        yield {name: partial(burst, each, count) for name, each in sessions.items()}


@measures(CROWD_P99, CROWD_SLOWEST, CROWD_FIRST, CROWD_CPU, rounds=3)
def crowd(world: World) -> Generator[Sides]:
    """Many sessions of one editor, each with its own stream at the pace of a model."""
    with channels(world) as sessions:
        yield {name: partial(crowded, each, world) for name, each in sessions.items()}


def prompted(channel: Channel, row: Row, pause: float) -> Figures:
    """One prompt."""
    time.sleep(pause)
    return {row.name: channel.client.chunks(channel.session, 1).first_ms}


def paced(channel: Channel, count: int) -> Figures:
    """One steady stream."""
    latencies = channel.client.chunks(channel.session, count, PACED_US).latencies
    return {P50.name: quantile(latencies, 0.5) / 1e6, P99.name: quantile(latencies, 0.99) / 1e6}


def burst(channel: Channel, count: int) -> Figures:
    """One stream at full speed."""
    before = cpu(channel.processes)
    stream = channel.client.chunks(channel.session, count)
    used = cpu(channel.processes) - before
    return {RATE.name: stream.rate, COST.name: used / count * 2000}


def crowded(channel: Channel, world: World) -> Figures:
    """All sessions are opened first; what is measured begins with the first prompt."""
    client, chunks = channel.client, world.scaled(CROWD_CHUNKS, 2)
    sessions = [client.new() for _ in range(world.scaled(CROWD, 2))]
    before, begin = cpu(channel.processes), time.monotonic()
    client.until({client.start(session, f"bench {chunks} {CROWD_US}") for session in sessions})
    taken = time.monotonic() - begin
    used = cpu(channel.processes) - before
    latencies = latencies_of(client, sessions, chunks)
    for session in sessions:
        client.request("session/close", {"sessionId": session})
    streams = [client.streams[session] for session in sessions]
    return {
        CROWD_P99.name: quantile([each for of_one in latencies for each in of_one], 0.99) / 1e6,
        CROWD_SLOWEST.name: max(quantile(of_one, 0.5) for of_one in latencies) / 1e6,
        CROWD_FIRST.name: (max(stream.first for stream in streams) - min(stream.sent for stream in streams)) / 1e6,
        CROWD_CPU.name: used / taken * 100,
    }


def latencies_of(client: AcpClient, sessions: list[str], chunks: int) -> list[list[int]]:
    """Of each session; every chunk must have come."""
    latencies = [client.streams[session].latencies for session in sessions]
    lost = len(sessions) * chunks - sum(map(len, latencies))
    if lost:
        raise AgentFailedError(f"{lost} of {len(sessions) * chunks} chunks were lost")
    return latencies
