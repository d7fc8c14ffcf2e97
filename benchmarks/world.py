"""What every measurement stands on: a private world of agents, a model server, and projects of any size.

Nothing outside the project's `build` folder and a temporary directory is written, and every process is ended by its id.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from agents import HERE, Agent
from trees import make_tree

MakeAgent: TypeAlias = Callable[[str, Path, int], Agent]
"""Makes the agent of a name, in a home, with the port of the model server."""


@dataclass(slots=True)
class World:
    """One private world; `make_world` makes and ends it."""

    home: Path
    python: Path
    """The interpreter in whose environment the product is."""
    port: int
    """Where the model server listens."""
    scale: float = 1.0
    """What sizes are multiplied by; figures of another scale than 1 are for trying only."""
    agents: dict[str, Agent] = field(default_factory=dict[str, Agent])
    """By name, in the order in which they take turns."""
    sessions: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])
    """Those that took long to make: by agent and number of messages."""
    trees: dict[tuple[int, bool], Path] = field(default_factory=dict[tuple[int, bool], Path])

    def scaled(self, size: int, least: int = 1) -> int:
        """A size in this world."""
        return max(least, round(size * self.scale))

    def tree(self, files: int, *, git: bool) -> Path:
        """A project of so many files, made when it is first asked for."""
        if (files, git) not in self.trees:
            place = self.home / "trees" / f"{files}-{'git' if git else 'plain'}"
            self.trees[files, git] = make_tree(place, self.scaled(files) if files else 0, git=git)
        return self.trees[files, git]

    def path_without(self, program: str) -> str:
        """A PATH with everything that ours has, but this program."""
        place = self.home / f"without-{program}"
        if not place.exists():
            place.mkdir()
            for folder in reversed(os.environ["PATH"].split(os.pathsep)):
                for found in Path(folder).glob("*") if folder else ():
                    (place / found.name).unlink(missing_ok=True)
                    (place / found.name).symlink_to(found)
            (place / program).unlink(missing_ok=True)
        return str(place)

    def add(self, name: str, make: MakeAgent) -> None:
        """One more agent, in a home of its own."""
        home = self.home / name.replace(" ", "-")
        (home / "project").mkdir(parents=True)
        (home / "run").mkdir(mode=0o700)
        self.agents[name] = make(name, home, self.port)


@contextmanager
def make_world(python: Path, agents: dict[str, MakeAgent], scale: float = 1.0) -> Generator[World]:
    """A fresh world with these agents, taken down at the end whatever happens."""
    with ExitStack() as last:
        home = Path(tempfile.mkdtemp(prefix="bench-"))
        last.callback(shutil.rmtree, home, ignore_errors=True)
        world = World(home, python, last.enter_context(model_server()), scale)
        for name, make in agents.items():
            world.add(name, make)
        for agent in world.agents.values():
            last.callback(agent.rest)
        yield world


@contextmanager
def model_server() -> Generator[int]:
    """A model server's port; it ends with its standard input."""
    command = [sys.executable, str(HERE / "modelserver.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        yield int(process.stdout.readline())
        process.stdin.close()
