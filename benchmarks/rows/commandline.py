"""`sould run hi`, with and without a running daemon, and what it costs in the client's own process."""

import os
import subprocess
import time
from collections.abc import Generator
from functools import partial

from agents import Agent
from row import AtMost, Figures, Row, Sides, measures
from world import World

WARM = Row(
    "run-warm", "`sould run` of a one-word answer, daemon running", "a question from the shell", budget=AtMost(150)
)
WARM_CPU = Row(
    "run-warm-cpu",
    "the same: processor time of the client",
    "a question from a script, a hundred times",
    unit="CPU s",
    budget=AtMost(0.1),
)
COLD = Row("run-cold", "`sould run` of a one-word answer, nothing running", "the first question of the day")


@measures(WARM, WARM_CPU, rounds=7, quick=5)
def warm(world: World) -> Generator[Sides]:
    """With a daemon that has answered before."""
    for agent in asked(world).values():
        ask(agent)
    yield {name: partial(asked_again, agent) for name, agent in asked(world).items()}


@measures(COLD, rounds=3)
def cold(world: World) -> Generator[Sides]:
    """With nothing running."""
    yield {name: partial(asked_cold, agent) for name, agent in asked(world).items()}


def asked(world: World) -> dict[str, Agent]:
    """The agents that have a command line of this kind: ours, of any revision."""
    return {name: agent for name, agent in world.agents.items() if agent.once}


def ask(agent: Agent) -> tuple[float, float]:
    """Milliseconds, and the client's own processor time."""
    begin = time.perf_counter()
    with (agent.home / "errors").open("ab") as errors:
        process = subprocess.Popen(
            agent.once,
            cwd=agent.project,
            env=agent.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
    _, status, used = os.wait4(process.pid, 0)
    taken = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(agent.once)} ended with {process.returncode}")
    return taken * 1e3, used.ru_utime + used.ru_stime


def asked_again(agent: Agent) -> Figures:
    """Warm."""
    taken, used = ask(agent)
    return {WARM.name: taken, WARM_CPU.name: used}


def asked_cold(agent: Agent) -> Figures:
    """Cold."""
    agent.rest()
    return {COLD.name: ask(agent)[0]}
