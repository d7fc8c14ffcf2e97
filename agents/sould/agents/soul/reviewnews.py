"""What a model is told before a step of the files it works on: what was rejected of its changes, and what others wrote since.

Once each, as far as `Untold` knows. What is told is bounded: of the rest the model learns where it is, and reads it.
"""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from sould.agents.files.projects.patches import NOT_COMPARED, patch, shortened
from sould.agents.files.projects.untold import Ancestry, OthersEdit, Rejected, Untold, Who
from sould.agents.journal.log import SessionLog
from sould.agents.soul.loop import StepExtension
from sould.agents.soul.turn import Turn
from sould.agents.wire.messages import ContextNote

MOST: Final = 16_000
"""Characters of differences, of rejects and of what others wrote."""
REJECTED: Final = "The user rejected changes of yours. They are not in the files any more; do not make them again unless you are asked to."
EDITED: Final[dict[Who, str]] = {
    "anybody": (
        "While this session was closed, files that you know were changed: by the user, by programs of theirs or other agents, or "
        "because changes of yours were rejected. They hold this now:"
    ),
    "user": "Since you last looked, the user (or a program of theirs) changed files that you know. They hold this now:",
    "program": (
        "Since you last looked, a program that you started, or the user, changed files that you know. They hold this now:"
    ),
    "agents": (
        "Since you last looked, agents of other sessions in this project changed files that you know. They hold this now:"
    ),
    "both": (
        "Since you last looked, the user and agents of other sessions in this project changed files that you know. They hold "
        "this now:"
    ),
}


class ReviewNews(StepExtension, Struct, frozen=True):
    """Tells one agent; `agent_id` is "" for the session's own. `agents` are all of the session."""

    log: SessionLog
    untold: Untold
    root: Path
    agents: Ancestry
    agent_id: str = ""

    async def before_step(self, turn: Turn) -> None:
        """Publish a note when there is something to tell."""
        edits = await self.untold.others_edits(self.agent_id)
        rejects = self.untold.rejects(self.agent_id, self.agents)
        if edits or rejects:
            text = await asyncio.to_thread(self._words, [each for _, _, some in rejects for each in some], edits)
            self.log.publish(ContextNote(text=text))
        if rejects:
            await self.log.commit()
            await self.untold.rejects_told([(project, told) for project, told, _ in rejects])
        await self.untold.keep()

    def _words(self, rejects: Sequence[Rejected], edits: Sequence[OthersEdit]) -> str:
        """Blocks."""
        return "\n".join((*self._rejected(rejects), *self._edited(edits)))

    def _rejected(self, rejects: Sequence[Rejected]) -> Iterator[str]:
        if rejects:
            yield REJECTED
        room = MOST
        for each in rejects:
            reason = f" The user's reason: {each.reason}" if each.reason else ""
            what = "" if each.hunk is not None else " (what you did to the file as a whole)"
            whose = f" Your subagent wrote it ({', '.join(each.writers)})." if each.writers else ""
            yield f"- {self._named(each.path)}{what}.{whose}{reason}"
            if each.hunk is not None:
                text = shortened("\n".join((*_marked("-", each.hunk.base), *_marked("+", each.hunk.texts))), room)
                room -= len(text)
                yield text

    def _edited(self, edits: Sequence[OthersEdit]) -> Iterator[str]:
        room = MOST
        for who, words in EDITED.items():
            for n, each in enumerate(edit for edit in edits if edit.by == who):
                if not n:
                    yield words
                text = shortened(self._difference(each), room)
                room -= len(text)
                yield text

    def _difference(self, edit: OthersEdit) -> str:
        name = self._named(edit.path)
        if edit.after is None:
            return f"{name} was deleted, or is no text any more."
        found = patch(edit.before or "", edit.after, f"{name} as you know it", f"{name} as it is now")
        return f"{name}: {found}" if found == NOT_COMPARED else found or f"{name}: its line ends changed."

    def _named(self, path: str) -> str:
        return str(Path(path).relative_to(self.root)) if Path(path).is_relative_to(self.root) else path


def _marked(sign: str, lines: Sequence[str]) -> Iterator[str]:
    return (sign + line.rstrip("\r\n") for line in lines)
