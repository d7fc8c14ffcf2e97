"""What a model is told of the folders it works in: their `AGENTS.md`, with the first file that it reads or writes there.

Those between the top of the project and the session's directory are in its system prompt. What was told is looked for in the
conversation itself, so that it is told again where it was compacted away, and not when a session goes on.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct, field

from sould.agents.files.projects.untold import Untold
from sould.agents.journal.log import SessionLog
from sould.agents.soul.loop import StepExtension
from sould.agents.soul.projectinstructions import Instructions, LeftOut, Waits, directories_up, folder_instructions
from sould.agents.soul.turn import Turn
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import ContextNote

GIVEN: Final = "These are the project's instructions for the folders you work in now. They count for the files there:"


TellLeftOut: TypeAlias = Callable[[Sequence[LeftOut]], Awaitable[None]]
"""Tells the user what the model was not given, each thing once."""


class FolderInstructions(StepExtension, Struct):
    """Tells one agent; `agent_id` is "" for the session's own. `additional`: where the session works besides `cwd`; may grow."""

    log: SessionLog
    untold: Untold
    cwd: Path
    additional: Sequence[Path]
    waits: Waits
    tell: TellLeftOut
    agent_id: str = ""
    _looked: set[str] = field(default_factory=set[str])
    """Folders."""
    _generation: int = 0

    async def before_step(self, turn: Turn) -> None:
        """Publish a note when there is something to tell."""
        context = self.log.context
        if context.generation != self._generation:
            self._generation = context.generation
            self._looked.clear()
        news = {os.path.dirname(path) for path in self.untold.known(self.agent_id)} - self._looked
        if not news:
            return
        self._looked |= news
        given = [part.text for message in context.messages for part in message.content if isinstance(part, TextPart)]
        found = await asyncio.to_thread(self._found, sorted(news), given)
        if found.text:
            self.log.publish(ContextNote(text=f"{GIVEN}\n\n{found.text}"))
        await self.tell(found.left_out)

    def _found(self, news: Sequence[str], given: Sequence[str]) -> Instructions:
        """Blocks."""
        folders = dict(each for path in news for each in self._folders(Path(path)))
        own = directories_up(self.cwd)
        below = [(each, root) for each, root in folders.items() if each not in own]
        return folder_instructions(below, "\n".join(given), self.waits, Path(os.path.realpath(self.cwd)))

    def _folders(self, directory: Path) -> Iterator[tuple[Path, Path]]:
        """From the root that a folder is below down to it, each with that root."""
        roots = (Path(os.path.realpath(self.cwd)), *self.additional)
        root = next((each for each in roots if directory.is_relative_to(each)), None)
        if root is not None:
            up = [directory, *directory.parents]
            yield from ((each, root) for each in reversed(up[: up.index(root) + 1]))
