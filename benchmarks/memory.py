"""What the daemon and each further editor cost in memory, and what an idle daemon costs in processor time."""

import statistics
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor, wait

from acpclient import AcpClient
from report import Report, Row
from rig import Rig, cpu, pss

EDITORS = 8
IDLE_SECONDS = 5.0
CLIENTS = 20
SESSIONS = 50
"""Of each of these clients."""
CHUNKS = 20
CHUNK_US = 20_000


def measure(world: Rig, report: Report) -> None:
    """All rows, from a fresh daemon."""
    world.stop_daemon()
    first = world.agent()
    first.initialize()
    daemon = world.daemon()
    settle(daemon)
    idle = pss(daemon)
    report.add(Row("daemon idle", f"{idle:.1f} MB PSS", "<= 45 MB", "", idle <= 45))
    used = cpu(daemon)
    time.sleep(IDLE_SECONDS)
    share = (cpu(daemon) - used) / IDLE_SECONDS * 100
    report.add(Row("daemon idle, processor", f"{share:.1f} %", "0 %", "", share < 0.5))
    session = first.new()
    first.prompt(session, 100, 0)
    settle(daemon)
    busy = pss(daemon)
    report.add(Row("daemon with a session that has answered", f"{busy:.1f} MB PSS", "<= 80 MB", "", busy <= 80))
    further(world, report, daemon, busy)
    first.close()
    steady(world, report)


def further(world: Rig, report: Report, daemon: int, before: float) -> None:
    """Eight more editors, each with a session."""
    clients = [world.agent() for _ in range(EDITORS)]
    for client in clients:
        client.initialize()
        client.new()
    settle(daemon)
    bridge = statistics.mean(pss(client.process.pid) for client in clients)
    shell = subprocess.Popen(["sh", "-c", "read line"], stdin=subprocess.PIPE)
    time.sleep(0.2)
    floor = pss(shell.pid)
    shell.communicate()
    report.add(Row("each further editor, bridge", f"{bridge:.2f} MB PSS", "<= 1 MB", f"{floor:.2f} MB sh", bridge <= 1))
    each = (pss(daemon) - before) / EDITORS
    report.add(Row("each further editor, daemon", f"{each:.2f} MB PSS", "<= 2 MB", "", each <= 2))
    for client in clients:
        client.close()


def steady(world: Rig, report: Report) -> None:
    """Many sessions opened, prompted and closed, by clients of which some always has a turn running."""
    world.stop_daemon()
    clients = [world.agent() for _ in range(CLIENTS)]
    for client in clients:
        client.initialize()
    daemon = world.daemon()
    used: list[float] = []
    with ThreadPoolExecutor(CLIENTS) as pool:
        work = [pool.submit(visit, client) for client in clients]
        while wait(work, timeout=0.1).not_done:
            used.append(pss(daemon))
        for each in work:
            each.result()
    tenth = len(used) // 10
    middle, last = statistics.mean(used[len(used) // 2 :][:tenth]), statistics.mean(used[-tenth:])
    growth = (last / middle - 1) * 100
    report.add(
        Row(
            f"{CLIENTS * SESSIONS:,} sessions of {CLIENTS} clients, second half",
            f"{growth:+.1f} % ({middle:.1f} -> {last:.1f} MB PSS)",
            "<= 5 %",
            f"first tenth {statistics.mean(used[:tenth]):.1f} MB",
            growth <= 5,
        )
    )
    for client in clients:
        client.close()


def visit(client: AcpClient) -> None:
    """One client's sessions, one after the other."""
    for _ in range(SESSIONS):
        session = client.new()
        client.prompt(session, CHUNKS, CHUNK_US)
        client.request("session/close", {"sessionId": session})


def settle(daemon: int) -> None:
    """Until the daemon has finished what it does in the background: a second without processor time."""
    last, since = cpu(daemon), time.monotonic()
    deadline = since + 30
    while time.monotonic() - since < 1.0 and time.monotonic() < deadline:
        time.sleep(0.1)
        now = cpu(daemon)
        if now > last:
            last, since = now, time.monotonic()
