"""Many editors at once: what each costs in memory, and whether all of them stay quick."""

import subprocess
from collections.abc import Generator
from contextlib import ExitStack
from functools import partial

from acpclient import AgentFailedError, until_all
from agents import Agent
from figures import quantile
from processes import cpu, pss, settle
from row import RAW, AtMost, Figures, Measurement, Row, Sides, measures
from rows.channel import channel
from world import World

CHUNKS = 250
CHUNK_US = 20_000
SHELL = "sh"


def editor_rows(count: int) -> tuple[Row, Row, Row, Row]:
    """Memory, latency, first token and processor, with so many editors."""
    name, many = f"editors-{count}", f"{count} editors"
    return (
        Row(
            f"{name}-memory",
            f"each of {count} further editors with a session",
            "one more window",
            unit="MB PSS",
            budget=AtMost(0.5),
            floor=SHELL,
        ),
        Row(
            f"{name}-p99",
            f"{many} prompted at once, 50 chunks/s each: latency of a chunk, p99",
            "working in all of them",
            budget=AtMost(15),
            floor=RAW,
        ),
        Row(
            f"{name}-first-token",
            "the same: until the last has its first token",
            "the slowest start",
            budget=AtMost(150),
            floor=RAW,
        ),
        Row(f"{name}-cpu", "the same: processor", "what they cost", unit="%", floor=RAW),
    )


def together(count: int, *, rounds: int, peers: bool) -> Measurement:
    """The measurement of so many editors."""
    rows = editor_rows(count)

    @measures(*rows, rounds=rounds, peers=peers)
    def prepare(world: World) -> Generator[Sides]:
        yield {SHELL: partial(shell, rows[0])} | {
            name: partial(opened, agent, world.scaled(count, 2), world.scaled(CHUNKS, 2), rows)
            for name, agent in world.agents.items()
        }

    return prepare


def shell(memory: Row) -> Figures:
    """A waiting shell: the least that a process for each editor can be."""
    with subprocess.Popen(["sh", "-c", "echo; read line"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdout.readline()
        used = pss([process.pid])
        process.stdin.close()
    return {memory.name: used}


def opened(agent: Agent, count: int, chunks: int, rows: tuple[Row, Row, Row, Row]) -> Figures:
    """From nothing to all of them streaming."""
    agent.rest()
    memory, p99, first_token, processor = rows
    with channel(agent) as first, ExitStack() as stack:
        settle(first.processes)
        alone = pss(first.processes)
        clients = [stack.enter_context(agent.opened()) for _ in range(count)]
        sessions = {client: client.new() for client in clients}
        processes = {pid for client in clients for pid in agent.processes(client)} | set(first.processes)
        settle(processes)
        each = (pss(processes) - alone) / count
        before = cpu(processes)
        until_all(
            {client: {client.start(session, f"bench {chunks} {CHUNK_US}")} for client, session in sessions.items()}
        )
        used = cpu(processes) - before
        streams = [client.streams[session] for client, session in sessions.items()]
    if any(stream.chunks != chunks for stream in streams):
        raise AgentFailedError("chunks were lost")
    begun, ended = min(stream.sent for stream in streams), max(stream.last for stream in streams)
    return {
        memory.name: each,
        p99.name: quantile([latency for stream in streams for latency in stream.latencies], 0.99) / 1e6,
        first_token.name: (max(stream.first for stream in streams) - begun) / 1e6,
        processor.name: used / ((ended - begun) / 1e9) * 100,
    }


eight = together(8, rounds=3, peers=True)
fifty = together(50, rounds=2, peers=False)
