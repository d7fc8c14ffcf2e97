"""What is written and read again: `session/load` of a long session, and appends to a journal."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from acpclient import AcpClient
from report import Report, Row, quantile
from rig import HERE, Rig

TURNS = 5000
LOADS = 5
BESIDE = 25_000
CHUNKS, CHUNK_US = 500, 2000
RECORDS = 20_000


def measure(world: Rig, report: Report) -> None:
    """All rows."""
    load(world, report)
    beside(world, report)
    append(world, report)


def load(world: Rig, report: Report) -> None:
    """A session of 10,000 messages, beside reading, checking and parsing the same file."""
    client = world.agent()
    client.initialize()
    small, session = client.new(), client.new()
    for each in (small, session):
        client.prompt(each, 10, 0)  # what nobody asked anything is not kept
    client.close()
    world.stop_daemon()
    directory = next((world.home / "state").rglob(session))
    program(world, "fill", str(directory), str(TURNS))
    floor = program(world, "read", str(directory / "wire.jsonl"))["ms"]
    times: list[float] = []
    for _ in range(LOADS):
        world.stop_daemon()
        client = world.agent()
        client.initialize()
        # What a daemon imports at its first session is measured elsewhere.
        opened(client, small)
        begin = time.perf_counter()
        opened(client, session)
        times.append((time.perf_counter() - begin) * 1e3)
        client.close()
    taken = statistics.median(times)
    ratio = taken / floor
    size = (directory / "wire.jsonl").stat().st_size / 1e6
    report.add(
        Row(
            f"session/load of {2 * TURNS:,} messages ({size:.1f} MB)",
            f"{taken:.0f} ms ({ratio:.2f}x)",
            "<= 1.5x the floor",
            f"{floor:.0f} ms read + json + crc",
            ratio <= 1.5,
        )
    )


def beside(world: Rig, report: Report) -> None:
    """What one client's long session costs the others: chunks of a steady stream while it is opened and read."""
    reader = world.agent()
    reader.initialize()
    session, long = reader.new(), reader.new()
    for each in (session, long):
        reader.prompt(each, 10, 0)  # what nobody asked anything is not kept
    reader.request("session/close", {"sessionId": long})
    program(world, "fill", str(next((world.home / "state").rglob(long))), str(BESIDE))
    calm = reader.prompt(session, CHUNKS, CHUNK_US)
    with loader(world, long) as other:
        other("load")
        stream = reader.prompt(session, CHUNKS, CHUNK_US)
        other("end")
    reader.close()
    here, there = quantile(stream.latencies, 0.99) / 1e6, quantile(calm.latencies, 0.99) / 1e6
    report.add(
        Row(
            f"chunk while another client loads {2 * BESIDE:,} messages, p99",
            f"{here:.1f} ms, p50 {quantile(stream.latencies, 0.5) / 1e6:.1f} ms",
            "<= 50 ms",
            f"{there:.1f} ms when nobody does",
            here <= 50,
        )
    )


@contextmanager
def loader(world: Rig, session: str) -> Generator[Callable[[str], None]]:
    """Another client, ready to load; each call gives it its next line."""
    command = [sys.executable, str(HERE / "loader.py"), str(world.python.parent / "sould"), str(world.project), session]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=world.environment, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin
        assert process.stdout
        process.stdout.readline()
        told, heard = process.stdin, process.stdout

        def tell(line: str) -> None:
            if line == "end":
                heard.readline()
            print(line, file=told, flush=True)

        yield tell


def opened(client: AcpClient, session: str) -> None:
    """One `session/load`, all its updates read."""
    client.request("session/load", {"sessionId": session, "cwd": str(client.cwd), "mcpServers": []})


def append(world: Rig, report: Report) -> None:
    """The journal, in a daemon's place."""
    with tempfile.TemporaryDirectory(dir=world.home) as scratch:
        found = program(world, "append", scratch, str(RECORDS))
    growth = found["last_us"] / found["first_us"]
    report.add(
        Row(
            "append to the journal",
            f"{found['first_us']:.1f} us, after {RECORDS:,} records {found['last_us']:.1f} us",
            "O(1)",
            "",
            growth < 1.5,
        )
    )
    ratio = found["promise_ms"] / found["sync_ms"]
    report.add(
        Row(
            "append and promise (group commit)",
            f"{found['promise_ms']:.2f} ms ({ratio:.1f}x)",
            "one fdatasync",
            f"{found['sync_ms']:.2f} ms write + fdatasync",
            ratio < 3,
        )
    )


def program(world: Rig, *arguments: str) -> dict[str, float]:
    """Run `journalprogram.py` in the clean environment."""
    command = [str(world.python), str(HERE / "journalprogram.py"), *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=world.environment, cwd=world.home)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)
