"""From spawning the command to the answer of `initialize`, warm and cold, interleaved with a bare interpreter."""

import statistics
import subprocess
import time
from collections.abc import Callable

from acpclient import AcpClient
from report import Report, Row
from rig import Rig

WARM_ROUNDS = 30
COLD_ROUNDS = 7


def measure(world: Rig, report: Report) -> None:
    """Both rows. The rounds are interleaved, so that a busy machine is busy for all of them."""
    opened(world.agent)
    bare: list[float] = []
    warm: list[float] = []
    for _ in range(WARM_ROUNDS):
        bare.append(interpreter(world))
        warm.append(opened(world.agent))
    ours, floor = statistics.median(warm), statistics.median(bare)
    ratio = ours / floor
    report.add(
        Row(
            "spawn -> initialize, daemon warm",
            f"{ours:.1f} ms ({ratio:.2f}x)",
            "<= 1.5x the floor",
            f"{floor:.1f} ms python3 -c pass",
            ratio <= 1.5,
        )
    )
    cold: list[float] = []
    raw: list[float] = []
    for _ in range(COLD_ROUNDS):
        world.stop_daemon()
        cold.append(opened(world.agent))
        raw.append(opened(world.floor))
    ours, floor = statistics.median(cold), statistics.median(raw)
    report.add(
        Row(
            "spawn -> initialize, no daemon running",
            f"{ours:.0f} ms ({ours / floor:.2f}x)",
            "<= 250 ms",
            f"{floor:.0f} ms hand-written asyncio agent",
            ours <= 250,
        )
    )


def interpreter(world: Rig) -> float:
    """Milliseconds of `python3 -c pass`, from spawn to exit."""
    start = time.perf_counter()
    subprocess.run([str(world.python), "-c", "pass"], env=world.environment, check=True)
    return (time.perf_counter() - start) * 1e3


def opened(start_agent: Callable[[], AcpClient]) -> float:
    """Milliseconds until `initialize` is answered."""
    start = time.perf_counter()
    client = start_agent()
    client.initialize()
    taken = (time.perf_counter() - start) * 1e3
    client.close()
    return taken
