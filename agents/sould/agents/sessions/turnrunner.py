"""One turn of a session, from the prompt to its end: a command, the agent's work, or the agent's repeated.

Everything is brought up to date before it, step by step; most turns find it as the last one left it. What the next process must
know is saved behind the turn.
"""

import asyncio
import logging

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.config import Config
from sould.agents.base.filechanges import Stamp
from sould.agents.base.tasks import run_shielded_in_thread
from sould.agents.llm.provider import ModelInfo
from sould.agents.sessions.commands.router import PromptRouter
from sould.agents.sessions.loops.commands import LoopCommands
from sould.agents.sessions.modeltitle import ModelTitle
from sould.agents.sessions.session_builder import Parts
from sould.agents.sessions.settings.notices import NewsReader
from sould.agents.sessions.told_once import UnreadInstructions, WorktreeOffer
from sould.agents.sessions.turns.operating import noticing
from sould.agents.sessions.turns.turns import Prompt, Turns
from sould.agents.soul.loop import Ending
from sould.agents.soul.turn import Turn
from sould.agents.wire.content import attached_text, input_text
from sould.agents.wire.messages import ContextReverted
from sould.agents.wire.notice import notice

logger = logging.getLogger(__name__)


class _Prepared(Struct, frozen=True, eq=False):
    """What everything was brought up to date with."""

    config: Config
    models: tuple[ModelInfo, ...]
    """The one that answers, and those to choose from."""
    files: Stamp
    """How the files stood that say which skills, agents and MCP servers there are, and what the user trusts."""
    generation: int
    """Of the model's context, which has been told of them."""


class TurnPreparation:
    """Of one session."""

    def __init__(self, parts: Parts) -> None:
        host, workplace = parts.services.host, parts.services.workplace
        self._parts = parts
        self._config, self._changes = host.configuration.live, host.policy.changes
        self._models, self._mcp, self._skills = parts.services.model.models, parts.mcp, workplace.skills
        self._new = not parts.entry.info.turns
        self._news = NewsReader(host.news, parts.log, workplace.opening.environment)
        self._offer: WorktreeOffer | None = WorktreeOffer(parts.services, parts.log) if self._new else None
        self._unread: UnreadInstructions | None = (
            UnreadInstructions.of(parts.services, parts.log) if self._new else None
        )
        self._prepared: _Prepared | None = None

    async def prepare(self, prompt: Prompt) -> None:
        """Do it all, in order.

        Raises:
            SouldError: the turn cannot begin, and ends with this.
        """
        config = self._config.look()
        self._begin(prompt)
        known = self._prepared
        if known is None or known.config is not config or not self._models.lasting:
            await self._models.refresh()
        unchanged = self._is_prepared(config)
        self._tell_left_out_media(prompt)
        self._news.tell()
        if not unchanged:
            await self._parts.choices.trusting.tell(new=self._new)
        await self._begin_session(prompt)
        if unchanged:
            await self._mcp.wait()
            await self._parts.soul.prepare(resumes=prompt.resumes, unchanged=True)
        else:
            await self._renew(prompt, config)

    def _begin(self, prompt: Prompt) -> None:
        """A command counts as a turn by what it leaves behind, not here."""
        self._parts.services.files.clients.turn_of(prompt.client_id)
        self._parts.soul.undelivered()
        self._parts.services.model.budgets.begin()
        if not prompt.resumes and not prompt.command:
            # before servers are waited for: another client may look for the newest session now
            self._parts.entry.count_turn(prompt.user_input)

    def _is_prepared(self, config: Config) -> bool:
        """Whether certainly nothing has happened that a turn must know of. In doubt, something has."""
        known = self._prepared
        return (
            known is not None
            and known.config is config
            and known.generation == self._parts.log.context.generation
            and known.models == (self._models.info, *self._models.available)
            and not self._mcp.of_project
            and self._changes.holds(known.files)
        )

    async def _renew(self, prompt: Prompt, config: Config) -> None:
        """Look at everything that the user and the project configure; what they trust was looked at just before."""
        self._prepared = None
        servers = await asyncio.to_thread(self._changes.stamp, self._mcp.places)
        # nobody waits for tools of a model that cannot be asked
        await self._mcp.refresh(wait=not self._models.missing or prompt.command)
        await self._parts.soul.prepare(resumes=prompt.resumes, unchanged=False)
        if prompt.resumes:
            return
        skills, trust = self._skills.stamp, self._parts.choices.trusting.stamp
        if servers is not None and skills is not None and trust is not None:
            models = (self._models.info, *self._models.available)
            generation = self._parts.log.context.generation
            self._prepared = _Prepared(config, models, (*servers, *skills, *trust), generation)

    def _tell_left_out_media(self, prompt: Prompt) -> None:
        if problem := self._parts.soul.not_taken(prompt.user_input):
            told = "It was left out; choose another model, or send text."
            self._parts.log.publish(notice("media", problem, told, severity="warning"))

    async def _begin_session(self, prompt: Prompt) -> None:
        """What is said in a session's first turn: later its system prompt is what it was.

        A worktree is offered before anything was done; a command may be about something else.
        """
        if self._unread is not None:
            unread, self._unread = self._unread, None
            await unread.tell_of_project()
        if self._offer is not None and not prompt.command:
            offer, self._offer = self._offer, None
            await offer.make()


class TurnRunner:
    """Runs the turns of one session."""

    def __init__(self, parts: Parts, turns: Turns, router: PromptRouter, loop_commands: LoopCommands) -> None:
        self._parts = parts
        self._config = parts.services.host.configuration.live
        self._turns = turns
        self._router = router
        self._loop_commands = loop_commands
        self.title = ModelTitle(parts.entry, parts.soul.model)
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
            self.title.after_turn(prompt.user_input)
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
        if todos.items != state.todos or budgets.changed or state.unsaved:
            state.keep_todos(todos.items)
            budgets.note_saved()
            await run_shielded_in_thread(state.save, self._parts.services.directory)
