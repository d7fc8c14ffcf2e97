"""What is brought up to date before a turn of a session runs, as an ordered list of named steps.

Each step knows one part of the session. None of them runs the turn or ends it.
"""

from typing import Protocol

from sould.agents.llm.requests import not_taken
from sould.agents.sessions.session_builder import Parts
from sould.agents.sessions.settings.notices import NewsReader
from sould.agents.sessions.turns.turns import Prompt
from sould.agents.sessions.unreadinstructions import UnreadInstructions
from sould.agents.sessions.worktreeoffer import WorktreeOffer
from sould.agents.wire.notice import notice


class PreparationStep(Protocol):
    """One of them."""

    async def __call__(self, prompt: Prompt, /) -> None:
        """Before the turn that `prompt` asks for."""
        ...


class TurnPreparation:
    """Of one session."""

    def __init__(self, parts: Parts) -> None:
        host, workplace = parts.services.host, parts.services.workplace
        self._parts = parts
        self._config = host.configuration.live
        self._new = not parts.entry.info.turns
        self._news = NewsReader(host.news, parts.log, workplace.opening.environment)
        self._offer: WorktreeOffer | None = WorktreeOffer(parts.services, parts.log) if self._new else None
        self._unread: UnreadInstructions | None = (
            UnreadInstructions.of(parts.services, parts.log) if self._new else None
        )
        self._steps: tuple[PreparationStep, ...] = (
            self._serve_buffers_of_its_client,
            self._forget_late_steering,
            self._begin_budgets,
            self._count_turn,  # before servers are waited for: another client may look for the newest session now
            self._refresh_models,
            self._tell_left_out_media,
            self._tell_news,
            self._tell_unread_instructions,
            self._offer_worktree,
            self._refresh_servers,
            self._prepare_soul,
        )

    async def prepare(self, prompt: Prompt) -> None:
        """Do it all, in order.

        Raises:
            SouldError: the turn cannot begin, and ends with this.
        """
        self._config.look()
        for step in self._steps:
            await step(prompt)

    async def _serve_buffers_of_its_client(self, prompt: Prompt) -> None:
        self._parts.services.files.clients.turn_of(prompt.client_id)

    async def _forget_late_steering(self, _: Prompt) -> None:
        self._parts.soul.undelivered()

    async def _begin_budgets(self, _: Prompt) -> None:
        self._parts.services.model.budgets.begin()

    async def _count_turn(self, prompt: Prompt) -> None:
        """But of commands: those count by what they leave behind."""
        if not prompt.resumes and not prompt.command:
            self._parts.entry.count_turn(prompt.user_input)

    async def _refresh_models(self, _: Prompt) -> None:
        await self._parts.services.model.models.refresh()

    async def _tell_left_out_media(self, prompt: Prompt) -> None:
        model = self._parts.services.model.models.info
        if media := not_taken(prompt.user_input, model):
            told = "It was left out; choose another model, or send text."
            self._parts.log.publish(notice("media", f"{model.model} takes no {media}", told, severity="warning"))

    async def _tell_news(self, _: Prompt) -> None:
        self._news.tell()
        await self._parts.choices.trusting.tell(new=self._new)

    async def _tell_unread_instructions(self, _: Prompt) -> None:
        """Once: later the system prompt is what it was."""
        if self._unread is not None:
            unread, self._unread = self._unread, None
            await unread.tell_of_project()

    async def _offer_worktree(self, prompt: Prompt) -> None:
        """In the first turn: later a worktree without what was done here is of no use. A command may be about something else."""
        if self._offer is not None and not prompt.command:
            offer, self._offer = self._offer, None
            await offer.make()

    async def _refresh_servers(self, prompt: Prompt) -> None:
        """Nobody waits for tools of a model that cannot be asked."""
        asks_nothing = self._parts.services.model.models.missing and not prompt.command
        await self._parts.further.mcp.refresh(wait=not asks_nothing)

    async def _prepare_soul(self, prompt: Prompt) -> None:
        await self._parts.soul.prepare(resumes=prompt.resumes)
