"""A user with a client of the project, and a session whose agent runs commands through the real Shell tool."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from sould.agents.files.projects.port import ProjectPort
from sould.agents.files.reviewing.answers import Outcome
from sould.agents.files.reviewing.listing import ReviewedHunk, Selection
from sould.agents.files.reviewing.orders import Order
from sould.agents.wire.messages import ToolOutput
from soultest.bench import Bench, Watcher, call, finish


def shell(command: str) -> str:
    """A call that runs it."""
    return call("Shell", command=command)


class Desk:
    """A user with a client of the project, and a session whose agent does what it is told."""

    def __init__(self, bench: Bench, port: ProjectPort, watcher: Watcher) -> None:
        self.root = bench.project
        self.port = port
        self.watcher = watcher

    async def turn(self) -> None:
        """The next turn of the script."""
        await finish(self.watcher.session, "go")

    async def says(self, text: str) -> None:
        """The user says this."""
        await finish(self.watcher.session, text)

    async def prints(self, text: str) -> None:
        """A command that runs says this."""
        await self.watcher.wait_for(ToolOutput, lambda output: text in output.text)

    async def pending(self, *, absent: bool = False) -> list[ReviewedHunk]:
        """What is pending."""
        return [hunk for each in await self.port.pending_now(absent=absent) for hunk in each.hunks]

    async def shown(self) -> list[tuple[str, str, str]]:
        """File, kind and lines of what is pending."""
        hunks = await self.pending()
        return [(str(Path(each.path).relative_to(self.root)), each.kind, "".join(each.texts)) for each in hunks]

    async def reject(self, *ids: int) -> Outcome:
        """Reject these, or everything."""
        return await self.port.review.decide(Order("reject", Selection(ids), "test"))

    def text(self, name: str) -> str:
        """What a file holds."""
        return (self.root / name).read_bytes().decode()

    def user(self, name: str, text: str) -> None:
        """The user saves a file in an editor that says nothing."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


@asynccontextmanager
async def desk(bench: Bench, *scripts: str) -> AsyncGenerator[Desk, None]:
    """A desk whose model says this."""
    bench.script(*scripts)
    async with bench.running(), bench.port.project(bench.project, Path.home(), "editor") as port:
        yield Desk(bench, port, Watcher(await bench.new("full")))
