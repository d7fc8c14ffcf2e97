"""What the model is told before a step: how the session stands, what folders ask for, what happened to its files, lost calls.

Only words: what plan mode forbids is refused by `permissions.policy`, and questions to nobody are dismissed where they are
asked, whatever the model was told.
"""

import asyncio
import os
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct, field

from sould.agents.base.liveconfig import LiveConfig
from sould.agents.files.projects.patches import NOT_COMPARED, patch, shortened
from sould.agents.files.projects.untold import Ancestry, OthersEdit, RejectedEdit, Untold, Who
from sould.agents.journal.log import SessionLog
from sould.agents.permissions.approval import Approval
from sould.agents.soul.loop import StepExtension
from sould.agents.soul.projectinstructions import Instructions, LeftOut, Waits, directories_up, folder_instructions
from sould.agents.soul.turn import Turn
from sould.agents.toolapi.background import BackgroundTasks
from sould.agents.toolapi.toolset import Toolset
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import ContextNote
from sould.agents.wire.notice import notice

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
NOTE = (
    "Your last message holds a call of a tool as text, so nothing was run. If you meant to call it, make the call as a tool call "
    "now; if not, say again what you wanted to say, without such markup."
)
_MARKUP = re.compile(
    r"<tool_call>|<function=\w|<function_calls>|<invoke name=|<\|tool_calls?(?:_section)?_begin|<\|tool_call\|>|\[TOOL_CALLS\]"
    "|<\N{FULLWIDTH VERTICAL LINE}tool\N{LOWER ONE EIGHTH BLOCK}calls?\N{LOWER ONE EIGHTH BLOCK}begin"
)
"""How Hermes and Qwen, Qwen3-Coder, Claude, Kimi, GLM, Mistral and DeepSeek write calls."""
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
GIVEN: Final = "These are the project's instructions for the folders you work in now. They count for the files there:"
TellLeftOut: TypeAlias = Callable[[Sequence[LeftOut]], Awaitable[None]]
"""Tells the user what the model was not given, each thing once."""
EVERY: Final = 5
"""Steps between two reminders of plan mode; each `EVERY`th of them is the full text."""
FULL: Final = (
    "Plan mode is on. Change nothing: edits, commands with effects and external tools are refused, and working around "
    "that is not wanted. Read, search and think; ask the user what you cannot find out. When the plan is ready, show it "
    "with ExitPlanMode, or, where you do not have that tool, as your answer."
)
BRIEF: Final = "Plan mode is still on: change nothing; show the plan when it is ready."
OVER: Final = "Plan mode is over: you may make changes again, within the usual approvals."
AWAY: Final = (
    "The user is away and answers nothing until they are back: questions are dismissed, and what only they may allow is "
    "refused. Decide yourself, take the safer way where you doubt, and say at the end what you decided."
)
BACK: Final = "The user is back and answers questions again."


class PlanReminder(StepExtension, Struct):
    """Of plan mode: in full when it begins and now and then, in a line between; and when it is over."""

    log: SessionLog
    approval: Approval
    _on: bool = False
    _steps: int = 0

    async def before_step(self, turn: Turn) -> None:
        """Publish a note when one is due."""
        on = self.approval.mode == "plan"
        if on != self._on:
            self._on, self._steps = on, 0
            self.log.publish(ContextNote(text=FULL if on else OVER))
        elif on:
            self._steps += 1
            if self._steps % EVERY == 0:
                self.log.publish(ContextNote(text=FULL if self._steps % (EVERY * EVERY) == 0 else BRIEF))


IsAway: TypeAlias = Callable[[], bool]
"""Whether the user has said that they are away."""


class AwayReminder(StepExtension, Struct):
    """Once that nobody is there to answer, and once that somebody is again; never under `skip_afk_prompt_injection`."""

    log: SessionLog
    is_away: IsAway
    config: LiveConfig
    _told: bool = False

    async def before_step(self, turn: Turn) -> None:
        """Publish a note when things changed."""
        away = self.is_away() and not self.config.now.skip_afk_prompt_injection
        if away != self._told:
            self._told = away
            self.log.publish(ContextNote(text=AWAY if away else BACK))


class TaskReminder(StepExtension, Struct, frozen=True):
    """Of background tasks that have ended since the last step."""

    tasks: BackgroundTasks

    async def before_step(self, turn: Turn) -> None:
        """Publish a note when some have."""
        self.tasks.tell()


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


class LeakedCalls(StepExtension, Struct):
    """Asks again for calls that a model wrote as text, because its server did not recognize them; not twice in a row.

    The text is never run: who made it up cannot be told from the text of a page or a file.
    """

    log: SessionLog
    toolset: Toolset
    counts: Counter[str]
    """See `Repairs.counts`."""
    _asked_at: int = -1
    """How many messages there were when it asked last."""

    async def before_stop(self, turn: Turn) -> bool:
        """See `StepExtension`."""
        messages = self.log.context.messages
        said = messages[-1] if messages and messages[-1].role == "assistant" else None
        if said is None or said.tool_calls or len(messages) == self._asked_at + 1:
            return False
        text = "".join(part.text for part in said.content if isinstance(part, TextPart))
        if not self._is_call(text):
            return False
        self.log.publish(ContextNote(text=NOTE))
        self.log.publish(
            notice("repair", "The model wrote a call as text", "It was asked to make it.", severity="warning")
        )
        self.counts["call"] += 1
        self._asked_at = len(self.log.context.messages)
        return True

    def _is_call(self, text: str) -> bool:
        plain = _CODE.sub("", text) if "`" in text else text
        return bool(_MARKUP.search(plain)) and any(spec.name in plain for spec in self.toolset.specs)


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

    def _words(self, rejects: Sequence[RejectedEdit], edits: Sequence[OthersEdit]) -> str:
        """Blocks."""
        return "\n".join((*self._rejected(rejects), *self._edited(edits)))

    def _rejected(self, rejects: Sequence[RejectedEdit]) -> Iterator[str]:
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
