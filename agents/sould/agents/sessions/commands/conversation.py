"""What a slash command says to people, and what it asks of the session's agent."""

from msgspec import Struct

from sould.agents.base.liveconfig import LiveConfig
from sould.agents.journal.log import SessionLog
from sould.agents.soul.flows.runner import FlowAgent
from sould.agents.soul.loop import Ending, StepExtension
from sould.agents.soul.soul import NO_STEPS, Soul, needed
from sould.agents.soul.turn import Turn
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import ContextNote


class Conversation(Struct, frozen=True):
    """Of one session, in the turn of a command."""

    log: SessionLog
    soul: Soul
    config: LiveConfig

    def say(self, text: str) -> Ending:
        """Reply to a command, to people only."""
        self.log.publish(TextPart(text=text))
        return Ending("finished")

    def refuse(self, text: str) -> Ending:
        """Say to people why the command does not do what it says: for whoever runs it in a script, it has failed."""
        self.log.publish(TextPart(text=text))
        return Ending("finished", failed=True)

    async def ask(self, turn: Turn, prompt: str) -> Ending:
        """Let the agent work on `prompt`, which people are not shown: they see the command."""
        self._tell_attached(turn)
        self.log.publish(ContextNote(text=prompt))
        return await self.soul.turn(turn)

    def agent(self, turn: Turn, extensions: tuple[StepExtension, ...] = ()) -> FlowAgent:
        """The agent, for a flow that asks it step by step within the turn. Raises OptionError: it cannot be asked so."""
        steps = needed(self.soul.steps, NO_STEPS)
        self._tell_attached(turn)
        return FlowAgent(self.log, steps, turn, self.config, extensions)

    def _tell_attached(self, turn: Turn) -> None:
        if turn.attached:
            self.log.publish(ContextNote(text=f"The user attached this to what follows:\n{turn.attached}"))
