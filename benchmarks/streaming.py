"""From the model to the editor: first token, latency of a chunk, chunks a second, and many sessions at once."""

import statistics
import time

from acpclient import AcpClient
from report import Report, Row, quantile
from rig import Rig, cpu

PROMPTS = 50
PACED_CHUNKS = 1000
PACED_US = 2000
BURST_CHUNKS = 20_000
BURSTS = 5
SESSIONS = 200
SESSION_CHUNKS = 160
SESSION_US = 50_000


def measure(world: Rig, report: Report) -> None:
    """All rows; the floor agent runs beside ours, in turns."""
    ours, floor = world.agent(), world.floor()
    for client in (ours, floor):
        client.initialize()
    session, raw = ours.new(), floor.new()
    for client, name in ((ours, session), (floor, raw)):
        client.prompt(name, 10, 0)
    first_token(report, (ours, session), (floor, raw))
    chunk_latency(report, (ours, session), (floor, raw))
    full_speed(world, report, (ours, session), (floor, raw))
    floor.close()
    many_sessions(world, report, ours)
    ours.close()


Channel = tuple[AcpClient, str]


def first_token(report: Report, ours: Channel, floor: Channel) -> None:
    """Prompt to first token with a model that answers at once."""
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(PROMPTS):
        for (client, session), times in zip((ours, floor), taken, strict=True):
            stream = client.prompt(session, 1, 0)
            times.append((stream.first - stream.sent) / 1e6)
    mine, theirs = (statistics.median(times) for times in taken)
    report.add(
        Row(
            "prompt -> first token, instant model",
            f"{mine:.2f} ms ({mine / theirs:.1f}x)",
            "<= 5 ms",
            f"{theirs:.2f} ms raw agent",
            mine <= 5,
        )
    )


def chunk_latency(report: Report, ours: Channel, floor: Channel) -> None:
    """A steady stream, as a model writes."""
    mine = ours[0].prompt(ours[1], PACED_CHUNKS, PACED_US)
    theirs = floor[0].prompt(floor[1], PACED_CHUNKS, PACED_US)
    for share, limit in ((0.5, 0.4), (0.99, 2.0)):
        here, there = quantile(mine.latencies, share) / 1e6, quantile(theirs.latencies, share) / 1e6
        what = f"model chunk -> ACP line, p{share * 100:.0f}, a chunk each {PACED_US / 1000:.0f} ms"
        report.add(
            Row(
                what,
                f"{here:.2f} ms ({here / there:.1f}x)",
                f"<= {limit} ms",
                f"{there:.2f} ms raw agent",
                here <= limit,
            )
        )


def full_speed(world: Rig, report: Report, ours: Channel, floor: Channel) -> None:
    """As fast as it goes, in turns; medians, with the least and the most in brackets."""
    rates: tuple[list[float], list[float]] = ([], [])
    used: tuple[list[float], list[float]] = ([], [])
    pids = world.daemon(), floor[0].process.pid
    for _ in range(BURSTS):
        for (client, session), pid, speeds, seconds in zip((ours, floor), pids, rates, used, strict=True):
            before = cpu(pid)
            speeds.append(client.prompt(session, BURST_CHUNKS, 0).rate)
            seconds.append((cpu(pid) - before) / BURST_CHUNKS * 2000)
    mine, theirs = map(statistics.median, rates)
    report.add(
        Row(
            "one session, full speed, an event a write",
            f"{mine:,.0f} chunks/s {spread(rates[0], ',.0f')}",
            ">= 0.9x raw agent",
            f"{theirs:,.0f} chunks/s {spread(rates[1], ',.0f')} raw agent",
            mine >= 0.9 * theirs,
        )
    )
    each, their_each = map(statistics.median, used)
    report.add(
        Row(
            "processor per 2,000 chunks",
            f"{each:.3f} s {spread(used[0], '.3f')}",
            "<= 1.2x raw agent",
            f"{their_each:.3f} s {spread(used[1], '.3f')} raw agent",
            each <= 1.2 * their_each,
        )
    )


def spread(values: list[float], shown: str) -> str:
    """The least and the most."""
    return f"[{min(values):{shown}}-{max(values):{shown}}]"


def many_sessions(world: Rig, report: Report, client: AcpClient) -> None:
    """200 sessions of one editor, each with its own stream at the pace of a model."""
    sessions = [client.new() for _ in range(SESSIONS)]
    daemon = world.daemon()
    before, begin = cpu(daemon), time.monotonic()
    client.until({client.start(session, SESSION_CHUNKS, SESSION_US) for session in sessions})
    taken = time.monotonic() - begin
    streams = [client.streams[session] for session in sessions]
    missing = SESSIONS * SESSION_CHUNKS - sum(stream.chunks for stream in streams)
    # Steady: from when all of them stream until the first has ended. Starting 200 turns at once is a row of its own.
    steady, end = max(stream.first for stream in streams), min(stream.last for stream in streams)
    latencies = [
        latency
        for stream in streams
        for left, latency in zip(stream.left, stream.latencies, strict=True)
        if steady < left < end
    ]
    p99 = quantile(latencies, 0.99) / 1e6
    worst = max(quantile(stream.latencies, 0.5) for stream in streams) / 1e6
    report.add(
        Row(
            f"{SESSIONS} sessions streaming at once, p99",
            f"{p99:.1f} ms, {(cpu(daemon) - before) / taken * 100:.0f} % CPU"
            + (f", {missing} lost" if missing else ""),
            "<= 50 ms, none starves",
            f"slowest session's p50 {worst:.1f} ms",
            p99 <= 50 and not missing and worst <= 50,
        )
    )
    slowest = (steady - min(stream.sent for stream in streams)) / 1e6
    report.add(Row(f"{SESSIONS} prompts at once, until the last first token", f"{slowest:.0f} ms"))
