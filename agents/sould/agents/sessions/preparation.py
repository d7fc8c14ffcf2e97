"""What is brought up to date before a turn of a session runs. Most turns find everything as the last one left it.

Each step knows one part of the session. None of them runs the turn or ends it.
"""

import asyncio

from msgspec import Struct

from sould.agents.base.config import Config
from sould.agents.base.filechanges import Stamp
from sould.agents.llm.provider import ModelInfo
from sould.agents.sessions.session_builder import Parts
from sould.agents.sessions.settings.notices import NewsReader
from sould.agents.sessions.told_once import UnreadInstructions, WorktreeOffer
from sould.agents.sessions.turns.turns import Prompt
from sould.agents.wire.notice import notice


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
