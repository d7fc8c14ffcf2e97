"""`/export` and `/import`: the words around the operations that share a conversation."""

from msgspec import Struct

from sould.agents.sessions.commands.conversation import Conversation
from sould.agents.sessions.operations.sharing import NotExportedError, NotImportedError, Sharing
from sould.agents.soul.loop import Ending
from sould.agents.soul.turn import Turn


class SharingCommands(Struct, frozen=True):
    """Of one session."""

    conversation: Conversation
    sharing: Sharing

    async def export(self, turn: Turn, argument: str) -> Ending:
        """The conversation without the turn that asks for it; `argument` is a file or a directory."""
        try:
            done = await self.sharing.export(argument, until=turn.id)
        except NotExportedError as error:
            return self.conversation.refuse(error.message)
        return self.conversation.say(f"The conversation was exported to `{done.path}`.")

    async def bring(self, _: Turn, argument: str) -> Ending:
        """`argument`: a file, or a session's id."""
        say = self.conversation.say
        if not argument:
            return self.conversation.refuse("Name what to import: `/import PATH`, or the id of another session.")
        try:
            done = await self.sharing.bring(argument)
        except NotImportedError as error:
            return self.conversation.refuse(error.message)
        return say(f"Imported {done.source}: about {done.tokens} tokens, which the agent now knows.")
