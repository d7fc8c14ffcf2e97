"""The commands about what the model knows: `/init`, `/context`, `/compact`, `/clear`."""

from pathlib import Path

from msgspec import Struct

from sould.agents.sessions.commands.conversation import Conversation
from sould.agents.sessions.operations.context import ModelContext, NotCompacted
from sould.agents.sessions.operations.travel import CLEARED, COMPACTED, breakdown_text
from sould.agents.soul.loop import Ending
from sould.agents.soul.turn import Turn

_INIT_PROMPT = Path(__file__).with_name("init.md")


class ContextCommands(Struct, frozen=True):
    """Of one session."""

    conversation: Conversation
    context: ModelContext

    async def init(self, turn: Turn, wishes: str) -> Ending:
        """Let the agent write AGENTS.md."""
        instruction = _INIT_PROMPT.read_text(encoding="utf-8").strip()
        return await self.conversation.ask(turn, f"{instruction}\n\n{wishes}".strip())

    async def show(self, _turn: Turn, _: str) -> Ending:
        """What fills the model's window."""
        return self.conversation.say(breakdown_text(self.context.breakdown))

    async def compact(self, _turn: Turn, guidance: str) -> Ending:
        """`preview` as the first word shows the summary before it is used."""
        first, _, rest = guidance.partition(" ")
        preview = first == "preview"
        done = await self.context.compact(rest.strip() if preview else guidance, preview=preview)
        if isinstance(done, NotCompacted):
            return self.conversation.say(f"The context is unchanged. {done.reason}")
        return self.conversation.say(COMPACTED)

    async def clear(self, _turn: Turn, _: str) -> Ending:
        """Begin with an empty context."""
        self.context.clear()
        return self.conversation.say(f"{CLEARED} The history stays readable.")
