"""The daemon with an agent that is none of ours, beside our own: it answers from a file.

A session has it where its directory has `answers.json`, with an answer for each prompt. One that is null makes the agent ask; its turn
then lasts until the user adds something that has an answer.
"""

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from sould.agents.journal.log import SessionLog
from sould.agents.sessions.services import HostServices
from sould.agents.sessions.soulfactory import SoulBasis, SoulFactory
from sould.agents.soul.loop import Ending
from sould.agents.soul.session_request import SessionRequest
from sould.agents.soul.soul import OpenWork, Resumed
from sould.agents.soul.turn import Turn
from sould.agents.soul.unfinished import Unfinished
from sould.agents.wire.content import TextPart, UserInput, input_text
from sould.agents.wire.messages import GivenPrompt, SteerInput, StepBegin, StepInterrupted
from sould.daemon.paths import Paths
from sould.daemon.process.compose import Composition, compose, own_souls
from sould.daemon.process.main import main
from sould.daemon.process.sessions import Build

ASKS = "What else?"
COMMAND = (sys.executable, "-P", "-X", "utf8", __file__)
"""What runs this daemon."""


class FileSoul(Struct):
    """A `Soul` with no part."""

    log: SessionLog
    path: Path
    model: None = None
    compactor: None = None
    toolset: None = None
    steps: None = None
    _given: asyncio.Queue[UserInput] = field(default_factory=asyncio.Queue)

    async def prepare(self, *, resumes: bool, unchanged: bool) -> None:
        """See `Soul`: the file is read for each answer."""

    async def turn(self, turn: Turn) -> Ending:
        """See `Soul`."""
        self.log.publish(StepBegin(n=1))
        try:
            answer = self._answers()[self._asked()]
            while answer is None:
                self.log.publish(TextPart(text=ASKS))
                given = await self._given.get()
                self.log.publish(SteerInput(user_input=given))
                answer = self._answers()[input_text(given)]
        except BaseException:
            self.log.publish(StepInterrupted())
            raise
        self.log.publish(TextPart(text=answer))
        return Ending("finished")

    def not_taken(self, user_input: UserInput) -> str:
        """See `Soul`."""
        return (
            ""
            if isinstance(user_input, str) or all(isinstance(part, TextPart) for part in user_input)
            else "A file takes no pictures"
        )

    def steer(self, user_input: UserInput) -> None:
        """See `Soul`."""
        self._given.put_nowait(user_input)

    def undelivered(self) -> Sequence[UserInput]:
        """See `Soul`."""
        return [self._given.get_nowait() for _ in range(self._given.qsize())]

    def instruct(self, given: GivenPrompt | None) -> None:
        """See `Soul`: it takes none."""

    def tell_anew(self) -> None:
        """See `Soul`: it was told nothing."""

    def resume(self, work: OpenWork) -> Resumed:
        """See `Soul`: what was interrupted is over."""
        return Resumed()

    def leave(self, waiting: Unfinished) -> None:
        """See `Soul`: nothing of it waits for a person."""

    async def close(self) -> None:
        """See `Soul`: nothing is open."""

    def _asked(self) -> str:
        asked = next(message for message in reversed(self.log.context.messages) if message.role == "user")
        return "".join(part.text for part in asked.content if isinstance(part, TextPart))

    def _answers(self) -> Mapping[str, str | None]:
        return json.loads(self.path.read_text())


class FileSouls(Struct, frozen=True):
    """A `SoulFactory`."""

    path: Path

    async def require_model(self, services: HostServices, opening: SessionRequest) -> None:
        """See `SoulFactory`: it needs none."""

    async def make(self, basis: SoulBasis) -> FileSoul:
        """See `SoulFactory`."""
        return FileSoul(basis.log, self.path)


def chosen(opening: SessionRequest) -> SoulFactory:
    """A `SoulChoice`."""
    path = opening.cwd / "answers.json"
    return FileSouls(path) if path.exists() else own_souls(opening)


def composed(paths: Paths) -> Composition:
    """As the daemon is composed, with another soul beside its own."""
    return compose(paths, chosen)


if __name__ == "__main__":
    main(build=Build(composed, COMMAND))
