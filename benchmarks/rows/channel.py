"""A session that has answered once, in each agent of the world: what most measurements begin with. It measures nothing."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from acpclient import AcpClient
from agents import Agent
from world import World


@dataclass(frozen=True, slots=True)
class Channel:
    """An agent, an editor of it, a session."""

    agent: Agent
    client: AcpClient
    session: str

    @property
    def processes(self) -> tuple[int, ...]:
        """Who does the work."""
        return self.agent.processes(self.client)


@contextmanager
def channels(world: World) -> Generator[dict[str, Channel]]:
    """One for each agent."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(channel(agent)) for name, agent in world.agents.items()}


@contextmanager
def channel(agent: Agent, cwd: Path | None = None, path: str = "") -> Generator[Channel]:
    """A session in a directory, with a PATH."""
    with agent.opened(cwd, path) as client:
        session = client.new()
        client.chunks(session, 1)
        yield Channel(agent, client, session)
