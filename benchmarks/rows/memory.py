"""What the daemon costs in memory and at rest: idle, with a session, with MCP, after large trees, after many sessions."""

import statistics
import sys
import time
from collections.abc import Collection, Generator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from functools import partial

from acpclient import AcpClient
from agents import HERE, Agent
from processes import cpu, pss, settle, wakeups, woken
from row import RAW, AtMost, Figures, Row, Sides, measures
from rows.channel import channel
from world import World

WATCHED_S = 20.0
WATCHER_S = 13.0
"""Without processor time: until whatever watches configuration has begun, two steps behind the first session."""
TREE = 100_000
BACK_S = 20.0
"""How long it may take to give memory back."""
CLIENTS = 20
VISITS = 50
"""Sessions of each of these clients."""
VISIT_CHUNKS, VISIT_US = 20, 20_000

IDLE = Row("memory-idle", "idle, no session", "what it costs to have it", "MB PSS", AtMost(45), RAW)
SESSION = Row(
    "memory-session", "with a session that has answered", "what it costs to use it", "MB PSS", AtMost(80), RAW
)
MCP = Row("memory-mcp", "the same with an MCP server, itself not counted", "with tools of yours", "MB PSS", AtMost(130))
IDLE_CPU = Row("idle-cpu", "idle with a session: processor", "battery", "%", AtMost(0.1), RAW)
WAITING_WAKEUPS = Row("waiting-wakeups", "idle, no session: wake-ups a minute", "battery", "a minute", AtMost(10), RAW)
IDLE_WAKEUPS = Row("idle-wakeups", "idle with a session: wake-ups a minute", "battery", "a minute", AtMost(20), RAW)
AFTER_TREES = Row(
    "memory-after-trees",
    f"after commands in trees of {TREE:,} files, idle again: growth",
    "that a monorepo is not paid for all day",
    "%",
    AtMost(10),
)
SECOND_HALF = Row(
    "memory-visits",
    f"{CLIENTS * VISITS:,} sessions opened, asked and closed by {CLIENTS} clients: growth in the second half",
    "that it can run for months",
    "%",
    AtMost(5),
)
AT_THE_END = Row("memory-visits-end", "the same: memory at their end", "the same", "MB PSS")


@measures(IDLE, SESSION, MCP, IDLE_CPU, WAITING_WAKEUPS, IDLE_WAKEUPS, rounds=1, peers=True)
def daemon(world: World) -> Generator[Sides]:
    """All its processes, from a fresh start."""
    yield {name: partial(resting, agent, world.scale * WATCHED_S) for name, agent in world.agents.items()}


def resting(agent: Agent, watched: float) -> Figures:
    """One after the other: idle, with a session, with MCP."""
    agent.rest()
    with agent.opened() as client:
        processes = agent.processes(client)
        settle(processes)
        figures = {IDLE.name: pss(processes), WAITING_WAKEUPS.name: at_rest(processes, watched)[1]}
        client.chunks(client.new(), 100)
        settle(processes, calm=WATCHER_S)
        figures[SESSION.name] = pss(processes)
        figures[IDLE_CPU.name], figures[IDLE_WAKEUPS.name] = at_rest(processes, watched)
        return {**figures, **(with_mcp(agent, client) if agent.keeps else {})}


def at_rest(processes: Collection[int], watched: float) -> tuple[float, float]:
    """How much of a processor they take, in percent, and how often a minute they wake up."""
    used, slept = cpu(processes), wakeups(processes)
    time.sleep(watched)
    return (cpu(processes) - used) / watched * 100, woken(slept, wakeups(processes)) / watched * 60


def with_mcp(agent: Agent, client: AcpClient) -> Figures:
    """One more session, with a server."""
    server = {"name": "bench", "command": sys.executable, "args": [str(HERE / "mcpserver.py")], "env": []}
    client.chunks(client.new([server]), 1)
    processes = agent.processes(client)
    settle(processes)
    return {MCP.name: pss(processes, without="mcpserver.py")}


@measures(AFTER_TREES, rounds=1)
def after_trees(world: World) -> Generator[Sides]:
    """Commands in a large tree, in git and not, from sessions that are closed again."""
    yield {name: partial(worked, agent, world) for name, agent in world.agents.items() if agent.shared_by_editors}


def worked(agent: Agent, world: World) -> Figures:
    """One session in each tree."""
    agent.rest()
    with channel(agent) as stays:
        name, arguments = agent.shell
        stays.client.call(stays.session, name, arguments("true"))
        settle(stays.processes)
        before = pss(stays.processes)
        for git in (True, False):
            with channel(agent, world.tree(TREE, git=git)) as visitor:
                visitor.client.call(visitor.session, name, arguments("true"))
                visitor.client.request("session/close", {"sessionId": visitor.session})
        settle(stays.processes, calm=world.scale * BACK_S / 4, patience=BACK_S)
        return {AFTER_TREES.name: (pss(stays.processes) / before - 1) * 100}


@measures(SECOND_HALF, AT_THE_END, rounds=1)
def visits(world: World) -> Generator[Sides]:
    """Many sessions, by clients of which some always has a turn running."""
    yield {name: partial(visited, agent, world) for name, agent in world.agents.items() if agent.shared_by_editors}


def visited(agent: Agent, world: World) -> Figures:
    """All of them, while memory is looked at."""
    agent.rest()
    used: list[float] = []
    with ExitStack() as stack:
        clients = [stack.enter_context(agent.opened()) for _ in range(world.scaled(CLIENTS, 2))]
        processes = agent.shared()
        with ThreadPoolExecutor(len(clients)) as pool:
            work = [pool.submit(visit, client, world.scaled(VISITS, 3)) for client in clients]
            while wait(work, timeout=0.1).not_done:
                used.append(pss(processes))
            for each in work:
                each.result()
    tenth = max(1, len(used) // 10)
    middle, end = statistics.mean(used[len(used) // 2 :][:tenth]), statistics.mean(used[-tenth:])
    return {SECOND_HALF.name: (end / middle - 1) * 100, AT_THE_END.name: end}


def visit(client: AcpClient, count: int) -> None:
    """One client's sessions, one after the other."""
    for _ in range(count):
        session = client.new()
        client.chunks(session, VISIT_CHUNKS, VISIT_US)
        client.request("session/close", {"sessionId": session})
