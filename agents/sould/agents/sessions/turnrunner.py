"""One turn of a session, from the prompt to its end: a command, the agent's work, or the agent's repeated.

Everything is brought up to date before it, and what the next process must know is saved behind it.
"""

import logging

from msgspec.structs import replace

from sould.agents.base.tasks import run_shielded_in_thread
from sould.agents.sessions.commands.router import PromptRouter
from sould.agents.sessions.loops.commands import LoopCommands
from sould.agents.sessions.modeltitle import ModelTitle
from sould.agents.sessions.preparation import TurnPreparation
from sould.agents.sessions.session_builder import Parts
from sould.agents.sessions.turns.operating import noticing
from sould.agents.sessions.turns.turns import Prompt, Turns
from sould.agents.soul.loop import Ending
from sould.agents.soul.turn import Turn
from sould.agents.wire.content import attached_text, input_text
from sould.agents.wire.messages import ContextReverted

logger = logging.getLogger(__name__)


class TurnRunner:
    """Runs the turns of one session."""

    def __init__(
        self, parts: Parts, turns: Turns, router: PromptRouter, loop_commands: LoopCommands, title: ModelTitle
    ) -> None:
        self._parts = parts
        self._config = parts.services.host.configuration.live
        self._turns = turns
        self._router = router
        self._loop_commands = loop_commands
        self._title = title
        self._preparation = TurnPreparation(parts)

    async def run(self, prompt: Prompt) -> Ending:
        """Do it all; why it ended. Cancelling it ends the turn."""
        try:
            with self._parts.services.files.others.turn_runs():
                await self._preparation.prepare(prompt)
                ending = await self._run_prepared(
                    Turn(prompt.turn_id, prompt.client_id, self._config.now.loop_control), prompt
                )
                await self._after(prompt, ending)
                return ending
        finally:
            self._parts.operations.review.tell_turn(prompt.turn_id)
            await self._save_state()

    async def _run_prepared(self, turn: Turn, prompt: Prompt) -> Ending:
        if prompt.resumes:
            return await self._parts.soul.turn(turn)
        if prompt.command or self._router.is_command(prompt.user_input):
            return await self._run_command(turn, prompt)
        if not await self._parts.hooks.allow_prompt(prompt.user_input):
            return Ending("refusal")
        await self._parts.mcp.read_mentions(prompt.user_input)
        text = input_text(prompt.user_input)
        return await (
            self._loop_commands.repeat(turn, text)
            if self._loop_commands.repeats and text.strip()
            else self._parts.soul.turn(turn)
        )

    async def _run_command(self, turn: Turn, prompt: Prompt) -> Ending:
        """A command counts as a turn of a blank session only when it leaves something behind."""
        turn = replace(turn, attached=attached_text(prompt.user_input))
        if not self._parts.entry.info.blank:
            if prompt.command:
                self._parts.entry.count_turn(prompt.user_input)
            return await self._router.run(turn, prompt.user_input)
        with noticing(self._parts.log.channel, lambda: self._parts.entry.count_turn(prompt.user_input)):
            return await self._router.run(turn, prompt.user_input)

    async def _after(self, prompt: Prompt, ending: Ending) -> None:
        if ending.error is not None:
            logger.warning("a turn failed (%s): %s", ending.error.kind, ending.error.message)
        await self._parts.hooks.failed(ending)
        if ending.stop_reason == "refusal":
            self._forget_refused()
        if ending.stop_reason == "finished" and self._names_itself(prompt):
            self._title.after_turn(prompt.user_input)
        self._take_leftovers(prompt)

    def _names_itself(self, prompt: Prompt) -> bool:
        """Scripts and commands need no title worth a request."""
        wanted = self._config.now.sessions.titles_by_model and not prompt.command
        return wanted and self._parts.attached.chooses_for_project(prompt.client_id)

    def _forget_refused(self) -> None:
        """What a model or a hook refused is not asked of a model with the next prompt (ACP); people see it all the same."""
        compactor, refused = self._parts.soul.compactor, self._parts.log.context.undoable
        if compactor is not None and refused is not None and not refused.cleared:
            self._parts.log.publish(ContextReverted(checkpoint_id=refused.checkpoint))
            compactor.tell_used()

    def _take_leftovers(self, prompt: Prompt) -> None:
        """What came too late to steer the turn is a prompt of its own; its sender was told that it is taken."""
        for given in self._parts.soul.undelivered():
            self._turns.submit(Prompt(given, prompt.client_id))

    async def _save_state(self) -> None:
        """What the turn left that the next process must know, before anybody is told of the turn's end."""
        state, todos, budgets = self._parts.choices.state, self._parts.work.todos, self._parts.services.model.budgets
        if todos.get() != state.todos or budgets.changed or state.unsaved:
            state.keep_todos(todos.get())
            budgets.note_saved()
            await run_shielded_in_thread(state.save, self._parts.services.directory)
