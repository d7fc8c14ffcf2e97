"""The user is told which instructions of their project (`AGENTS.md`) the model was not given, and why. Once for each project."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from sould.agents.journal.log import SessionLog
from sould.agents.sessions.services import SessionServices
from sould.agents.sessions.settings.seen_notices import ToldOnce
from sould.agents.soul.projectinstructions import LeftOut, Waits, project_instructions
from sould.agents.wire.notice import notice

MOST_NAMED: Final = 10
"""Files in one notice."""
TITLE: Final = "Not all instructions of this project were given to the model"
_BODY: Final = (
    "sould reads AGENTS.md: from the top of the project down to where the session works, "
    "and of folders whose files it works with."
)


class UnreadInstructions(Struct, frozen=True):
    """Tells the user of one session, which works in `cwd`. `told`: what sessions of this project said before."""

    log: SessionLog
    told: ToldOnce
    cwd: Path
    waits: Waits

    @classmethod
    def of(cls, services: SessionServices, log: SessionLog) -> "UnreadInstructions":
        """Of this session."""
        told = ToldOnce(services.host.storage.directory / "told.json")
        return cls(log, told, services.workplace.opening.cwd, services.workplace.waits)

    async def tell_of_project(self) -> None:
        """Of those that the system prompt is made of."""
        await self.tell((await asyncio.to_thread(project_instructions, self.cwd, self.waits)).left_out)

    async def tell(self, left_out: Sequence[LeftOut]) -> None:
        """Say what was not said before."""
        news = await asyncio.to_thread(self._news, left_out) if left_out else ()
        if news:
            body = "\n".join((*_lines(news), _BODY))
            self.log.publish(notice("instructions", TITLE, body, severity="warning"))

    def _news(self, left_out: Sequence[LeftOut]) -> Sequence[LeftOut]:
        """Blocks."""
        return [each for each in left_out if self.told.is_news(f"instructions {each.name}", self.cwd, each.why)]


def _lines(left_out: Sequence[LeftOut]) -> Iterator[str]:
    yield from (f"- `{each.name}`: {each.why}." for each in left_out[:MOST_NAMED])
    if len(left_out) > MOST_NAMED:
        yield f"- and {len(left_out) - MOST_NAMED} more"
