"""The daemon with an agent that is none of ours: it answers from a file.

    python filesoul.py --listen DESCRIPTOR

`answers.json` of the session's directory has an answer for each prompt. One that is null makes the agent ask; its turn
then lasts until the user adds something that has an answer.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from sould.agents.journal.log import SessionLog
from sould.agents.sessions.soulfactory import SoulBasis
from sould.agents.soul.loop import Ending
from sould.agents.soul.soul import OpenWork, Resumed
from sould.agents.soul.turn import Turn
from sould.agents.soul.unfinished import Unfinished
from sould.agents.wire.content import TextPart, UserInput, input_text
from sould.agents.wire.messages import SteerInput, StepBegin, StepInterrupted
from sould.daemon.paths import Paths
from sould.daemon.process.compose import Composition, compose
from sould.daemon.process.main import main

ASKS = "What else?"


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

    def steer(self, user_input: UserInput) -> None:
        """See `Soul`."""
        self._given.put_nowait(user_input)

    def undelivered(self) -> Sequence[UserInput]:
        """See `Soul`."""
        return [self._given.get_nowait() for _ in range(self._given.qsize())]

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


async def make_file_soul(basis: SoulBasis) -> FileSoul:
    """A `SoulFactory`."""
    return FileSoul(basis.log, basis.services.workplace.opening.cwd / "answers.json")


def composed(paths: Paths) -> Composition:
    """As the daemon is composed, with other souls."""
    return compose(paths, make_file_soul)


if __name__ == "__main__":
    main(compose=composed)
