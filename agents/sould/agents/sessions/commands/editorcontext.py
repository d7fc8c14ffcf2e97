"""`/editor-context`: whether agents may know what the user looks at, chosen for the project."""

from pathlib import Path
from typing import cast, get_args

from msgspec import Struct

from sould.agents.sessions.commands.conversation import Conversation
from sould.agents.sessions.settings.projectmemory import ProjectMemory
from sould.agents.soul.loop import Ending
from sould.agents.soul.turn import Turn
from sould.agents.tools.editor.site import Sharing

_SAID: dict[Sharing, str] = {
    "off": "Agents in this project are not told what you have open in the editor.",
    "ask": "Agents in this project ask before they are told what you have open in the editor.",
    "on": "Agents in this project may see what you have open in the editor: files, cursor and selection.",
}


class EditorContextCommands(Struct, frozen=True):
    """Of one session, in `cwd`."""

    conversation: Conversation
    memory: ProjectMemory
    cwd: Path

    async def choose(self, _: Turn, argument: str) -> Ending:
        """Choose what `argument` says; without one, show what holds."""
        if argument and argument not in get_args(Sharing):
            return self.conversation.refuse(f"Say `off`, `ask` or `on`, not `{argument[:40]}`.")
        if argument:
            self.memory.remember_editor_context(self.cwd, cast("Sharing", argument))
        return self.conversation.say(_SAID[self.memory.editor_context(self.cwd)])
