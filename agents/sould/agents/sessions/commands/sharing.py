"""`/export` and `/import`: the words around the operations that share a conversation."""

from collections.abc import Iterator

from msgspec import Struct

from sould.agents.sessions.commands.conversation import Conversation
from sould.agents.sessions.commands.slash import Entry, SlashCommand
from sould.agents.sessions.operations.sharing import NotExportedError, NotImportedError, Sharing
from sould.agents.soul.loop import Ending
from sould.agents.soul.turn import Turn


class SharingCommands(Struct, frozen=True):
    """Of one session."""

    conversation: Conversation
    sharing: Sharing

    def entries(self) -> Iterator[Entry]:
        """See `CommandSource`."""
        export = "Export the conversation to a file"
        yield SlashCommand("export", export, "[path ending in .md, .json or .jsonl]"), self._export
        bring = "Import a conversation from a file or another session"
        yield SlashCommand("import", bring, "path or session id"), self._import

    async def _export(self, turn: Turn, argument: str) -> Ending:
        """The conversation without the turn that asks for it; `argument` is a file or a directory."""
        try:
            done = await self.sharing.export(argument, until=turn.id)
        except NotExportedError as error:
            return self.conversation.refuse(error.message)
        return self.conversation.say(f"The conversation was exported to `{done.path}`.")

    async def _import(self, _: Turn, argument: str) -> Ending:
        say = self.conversation.say
        if not argument:
            return self.conversation.refuse("Name what to import: `/import PATH`, or the id of another session.")
        try:
            done = await self.sharing.bring(argument)
        except NotImportedError as error:
            return self.conversation.refuse(error.message)
        return say(f"Imported {done.source}: about {done.tokens} tokens, which the agent now knows.")
