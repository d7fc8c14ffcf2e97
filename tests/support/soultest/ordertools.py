"""Tools of every kind that say when they begin and end, and end when they are told to: for tests of the order of calls."""

import asyncio
from dataclasses import dataclass, field
from typing import ClassVar

from sould.agents.tools import CallView, Location, Tool, ToolCallContext, ToolParams, ToolReturn, tool_error, tool_ok
from sould.agents.wire.messages import ToolKind

NAMES = ("Look", "Search", "Fetch", "Subagent", "Edit", "Command", "Other")
PATHS = tuple(f"soultest.ordertools:{name}" for name in NAMES)


@dataclass(slots=True)
class Stage:
    """Who is at work. Injectable."""

    trace: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """`begin` and `end` of each call, by its number."""
    running: dict[int, asyncio.Event] = field(default_factory=dict[int, asyncio.Event])
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def stand(self, number: int) -> None:
        """Run until told to end."""
        over = self.running[number] = asyncio.Event()
        self._note("begin", number)
        try:
            await over.wait()
        finally:
            del self.running[number]
            self._note("end", number)

    async def reach(self, numbers: set[int]) -> None:
        """Wait until exactly these are at work."""
        while set(self.running) != numbers:
            await self._next(f"{numbers} at work, not {set(self.running)}")

    async def busy(self) -> set[int]:
        """Who is at work; waits until somebody is."""
        while all(over.is_set() for over in self.running.values()):
            await self._next("somebody at work")
        return {number for number, over in self.running.items() if not over.is_set()}

    def finish(self, number: int) -> None:
        """Let it end."""
        self.running[number].set()

    async def _next(self, wanted: str) -> None:
        self._changed.clear()
        try:
            await asyncio.wait_for(self._changed.wait(), 20)
        except TimeoutError:
            raise AssertionError(f"there was to be {wanted}: {self.trace}") from None

    def _note(self, what: str, number: int) -> None:
        self.trace.append((what, number))
        self._changed.set()


class Params(ToolParams):
    number: int
    path: str = ""
    how: str = "ok"


class Look(Tool[Params]):
    name = "Look"
    kind: ClassVar[ToolKind] = "read"
    params = Params

    @property
    def description(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride] -- no file beside this one
        return "Looks at a path, or at anything."

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def view(self, params: Params) -> CallView:
        return CallView(self.name, locations=(Location(path=params.path),) if params.path else ())

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        await self._stage.stand(params.number)
        if params.how == "raises":
            raise ValueError("as the test says")
        return tool_ok(str(params.number)) if params.how == "ok" else tool_error("failed", output=str(params.number))


class Search(Look):
    name = "Search"
    kind: ClassVar[ToolKind] = "search"


class Fetch(Look):
    name = "Fetch"
    kind: ClassVar[ToolKind] = "fetch"


class Edit(Look):
    name = "Edit"
    kind: ClassVar[ToolKind] = "edit"


class Command(Look):
    name = "Command"
    kind: ClassVar[ToolKind] = "execute"


class Other(Look):
    name = "Other"
    kind: ClassVar[ToolKind] = "other"


class Subagent(Other):
    name = "Subagent"

    @property
    def has_effects(self) -> bool:
        return False
