"""The commands that show or choose a setting, for clients without menus of their own: `/mode` and kin, `/editor-context`."""

from collections.abc import Iterator
from pathlib import Path
from typing import cast, get_args

from msgspec import Struct

from sould.agents.base.errors import OptionError
from sould.agents.sessions.commands.slash import Conversation
from sould.agents.sessions.settings.modes import Modes
from sould.agents.sessions.settings.modeswitch import AFK, GONE, YOLO, ModeSwitch
from sould.agents.sessions.settings.options import SessionOptions
from sould.agents.sessions.settings.projectmemory import ProjectMemory
from sould.agents.soul.loop import Ending
from sould.agents.soul.turn import Turn
from sould.agents.tools.editor.site import Sharing
from sould.agents.tools.planmode import PlanMode

_FULL = "Full access for this session: only secrets and changes to protected files still ask."
_SAID: dict[Sharing, str] = {
    "off": "Agents in this project are not told what you have open in the editor.",
    "ask": "Agents in this project ask before they are told what you have open in the editor.",
    "on": "Agents in this project may see what you have open in the editor: files, cursor and selection.",
}


class ChoosingCommands(Struct, frozen=True):
    """Of one session, in `cwd`."""

    conversation: Conversation
    options: SessionOptions
    modes: Modes
    mode_switch: ModeSwitch
    plan_mode: PlanMode
    memory: ProjectMemory
    cwd: Path

    async def choose(self, option_id: str, _: Turn, argument: str) -> Ending:
        """Choose what `argument` says; without one, show what there is."""
        if argument:
            try:
                await self.options.choose(option_id, argument, "")
            except OptionError as error:
                return self.conversation.refuse(error.message)
        lines = list(self._described(option_id))
        return self.conversation.say("\n".join(lines[:1] if argument else lines))

    def _described(self, option_id: str) -> Iterator[str]:
        option = next(option for option in self.options.all() if option.id == option_id)
        yield f"{option.name}: **{option.value}**"
        for choice in option.choices:
            about = choice.description or (choice.name if choice.name != choice.value else "")
            yield f"- `{choice.value}` {about}".rstrip()

    async def plan(self, turn: Turn, argument: str) -> Ending:
        """`on` (or nothing), `off`, `view`, `clear`; anything else begins planning and is what to plan."""
        say = self.conversation.say
        match argument:
            case "off":
                await self.plan_mode.leave()
                return say(f"Plan mode is off; the mode is {self.modes.mode}.")
            case "view":
                return say(self.plan_mode.plan or "There is no plan yet.")
            case "clear":
                self.plan_mode.forget()
                return say("The plan was cleared.")
            case "" | "on":
                await self.plan_mode.enter()
                return say("Plan mode is on: nothing is changed until you approve a plan or turn it off.")
            case _:
                await self.plan_mode.enter()
                return await self.conversation.ask(turn, f"The user asks for a plan: {argument}")

    async def yolo(self, _: Turn, argument: str) -> Ending:
        """Full access, or `off`."""
        return await self._full_access(YOLO, _FULL, ends=argument == "off")

    async def afk(self, _: Turn, argument: str) -> Ending:
        """Full access while nobody is there to be asked, or `off`."""
        return await self._full_access(AFK, GONE, ends=argument == "off")

    async def _full_access(self, mode: str, said: str, *, ends: bool) -> Ending:
        if ends:
            await self.mode_switch.end_full_access()
            return self.conversation.say(f"The mode is {self.modes.mode}.")
        await self.options.choose("mode", mode, "")
        return self.conversation.say(said)

    async def share_editor(self, _: Turn, argument: str) -> Ending:
        """Choose what `argument` says; without one, show what holds."""
        if argument and argument not in get_args(Sharing):
            return self.conversation.refuse(f"Say `off`, `ask` or `on`, not `{argument[:40]}`.")
        if argument:
            self.memory.remember_editor_context(self.cwd, cast("Sharing", argument))
        return self.conversation.say(_SAID[self.memory.editor_context(self.cwd)])
