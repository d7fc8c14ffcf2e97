"""What a command costs beside what it does: `true` in projects of all sizes, and reading a file.

Timed from the model's call to its next request, both at the model server: whatever an agent does around a command is in it.
"""

from collections.abc import Generator
from contextlib import ExitStack
from functools import partial
from statistics import median

from acpclient import AgentFailedError
from agents import Agent
from processes import cpu, settle
from row import RAW, AtMost, Figures, Measurement, OfFloor, Row, Sides, measures
from rows.channel import Channel, channel, channels
from world import World

SIZES = (0, 2_000, 20_000, 100_000)
FOLLOWING = 3
EMPTY = "the same in an empty directory"

READ = Row(
    "read-file",
    "ReadFile of 1,000 lines: call -> next request",
    "each look at a file",
    budget=OfFloor(plus=5),
    floor=RAW,
)
AGAIN = Row(
    "shell-again",
    "Shell `true` in 2,000 files, git, in a session of many commands",
    "the same as `shell-2000-git-next`, finer, for `make bench-quick`",
    floor=RAW,
)


def command_rows(files: int, kind: str) -> tuple[Row, Row, Row]:
    """First and following command, and what a following one costs, in a tree of this size."""
    where = f"{files:,} files, {kind}"
    name = f"shell-{files}-{kind.replace(' ', '-')}"
    first = Row(f"{name}-first", f"Shell `true`, {where}: first command", "the first command of a session", floor=EMPTY)
    following = Row(
        f"{name}-next",
        f"Shell `true`, {where}: following commands",
        "every other command: a test, a build, a look at git",
        budget=OfFloor(plus=20) if files else None,
        floor=EMPTY if files else RAW,
    )
    used = Row(
        f"{name}-cpu",
        f"Shell `true`, {where}: processor time",
        "the same, as battery",
        unit="CPU s",
        budget=AtMost(0.02) if files else None,
        floor=EMPTY if files else RAW,
    )
    return first, following, used


def in_tree(files: int, *, git: bool) -> Measurement:
    """The measurement of one size."""
    rows = command_rows(files, "git" if git else "no git")

    @measures(*rows, rounds=3, peers=git)
    def prepare(world: World) -> Generator[Sides]:
        place = world.tree(files, git=git)
        sides = {name: partial(commands, agent, world, files, rows, git=git) for name, agent in world.agents.items()}
        empty = {EMPTY: partial(commands, next(iter(world.agents.values())), world, 0, rows, git=git)}
        assert place.exists()
        yield sides | (empty if files else {})

    return prepare


def commands(agent: Agent, world: World, files: int, rows: tuple[Row, Row, Row], *, git: bool) -> Figures:
    """From an agent that knows nothing of the tree yet. Following commands are run when it does nothing any more."""
    agent.rest()
    first, following, used = rows
    with channel(agent, world.tree(files, git=git)) as opened:
        begun = run(opened)
        settle(opened.processes)
        before = cpu(opened.processes)
        times = [run(opened) for _ in range(FOLLOWING)]
        spent = (cpu(opened.processes) - before) / FOLLOWING
    return {first.name: begun, following.name: median(times), used.name: spent}


def run(opened: Channel) -> float:
    """One command."""
    name, arguments = opened.agent.shell
    return opened.client.call(opened.session, name, arguments("true"))


@measures(READ, rounds=20, quick=10, peers=True)
def read_file(world: World) -> Generator[Sides]:
    """The same file, again and again."""
    with channels(world) as sessions:
        for each in sessions.values():
            (each.client.cwd / "lines.txt").write_text("".join(f"line {number}\n" for number in range(1000)))
        yield {name: partial(read, each) for name, each in sessions.items()}


def read(opened: Channel) -> Figures:
    """One reading."""
    if opened.agent.read is None:
        raise AgentFailedError(opened.agent.cannot[READ.name])
    name, arguments = opened.agent.read
    return {READ.name: opened.client.call(opened.session, name, arguments("lines.txt"))}


@measures(AGAIN, rounds=20, quick=10)
def again(world: World) -> Generator[Sides]:
    """In a session that has run a command before; one session for all rounds."""
    tree = world.tree(SIZES[1], git=True)
    with ExitStack() as stack:
        sessions = {name: stack.enter_context(channel(agent, tree)) for name, agent in world.agents.items()}
        for opened in sessions.values():
            run(opened)
        yield {name: partial(run_again, opened) for name, opened in sessions.items()}


def run_again(opened: Channel) -> Figures:
    """One more command."""
    return {AGAIN.name: run(opened)}


TREES = tuple(in_tree(files, git=git) for files in SIZES for git in (True, False))
