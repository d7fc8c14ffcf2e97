"""Compaction of one session: when, with which strategy, and what happens when it goes wrong.

The result is published as `CompactionEnd`, from which the context folds itself; a failure leaves the context as it was,
unless the window is full: then the conversation is cut, with a notice, because a session that cannot go on is lost.
Never compacts twice without a new message in between (D8).
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.config import Compaction, LoopControl
from sould.agents.base.liveconfig import LiveConfig
from sould.agents.base.text import tokens
from sould.agents.journal.log import SessionLog
from sould.agents.llm.costs import Costs
from sould.agents.llm.provider import (
    ChatMessage,
    ChatProvider,
    ChatRequest,
    Embeds,
    Finish,
    ModelInfo,
    ProviderError,
)
from sould.agents.llm.retry import RetryPolicy, stream_with_retry
from sould.agents.soul.compaction.breakdown import Breakdown, ContextSize, ServerOf
from sould.agents.soul.compaction.preview import Draft, Preview
from sould.agents.soul.compaction.strategies import Plan, Room, Similarity, by_embeddings, by_words, strategy_named
from sould.agents.soul.compaction.summariser import Summariser
from sould.agents.soul.compaction.transcript import language, last_request, message_tokens
from sould.agents.soul.hooks.engine import Hooks
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import CompactionBegin, CompactionEnd, StatusUpdate
from sould.agents.wire.notice import notice

FULL = 0.95
"""Of the window: above it, compaction must not fail."""
MAX_SUMMARY = 16_000
SHORTEST_SUMMARY = 200
MOST_CHARS = 200_000
"""Of the model's answer; no more of it is read."""
PATIENCE = 0.05
"""Of the window: how much must be added before an automatic compaction that failed or was declined is tried again."""
PROMPT_TOKENS = 800
"""What the question itself takes."""
INTERRUPTED = "Compaction was interrupted."
DECLINED = "The conversation is unchanged."
LARGER = "A summary would be longer than what it replaces: there is little to compact yet."


CurrentProvider: TypeAlias = Callable[[], ChatProvider]
"""Where the model that answers is asked, which may be another one at every look."""
Audience: TypeAlias = Callable[[], bool]
"""Whether a person looks, and is not away, who could be asked whether a summary will do."""


def no_audience() -> bool:
    """Of an agent that nobody talks to."""
    return False


class Compactor(Struct):
    """Watches one session's context."""

    log: SessionLog
    size: ContextSize
    provider: CurrentProvider
    costs: Costs
    """Told what a summary cost."""
    config: LiveConfig
    hooks: Hooks
    audience: Audience
    session_id: str
    why: str = ""
    """Why the last one left the context as it was."""
    _not_before: int = 0
    """Tokens below which nothing is tried again by itself."""

    async def compact_if_needed(self, *, unattended: bool = False) -> None:
        """Compact when the context has reached the trigger, at most once for the same messages.

        `unattended`: nobody is asked whether the summary will do, even where the user wants to be.

        Raises:
            ProviderError: the system prompt and the tools alone leave no room; says the sizes.
        """
        used = self.used
        if used < self._trigger:
            self._not_before = 0
            return
        self._refuse_hopeless()
        if used < self._not_before:
            return
        window = self._info.max_context_size
        asks = self._settings.confirm == "ask" and self.audience() and not unattended
        await self._compact("", preview=asks, must=used >= FULL * window)

    async def compact(self, guidance: str = "", *, preview: bool = False, must: bool = False) -> bool:
        """Compact now. False when there is nothing to compact, the user declined or the model failed.

        `preview`: the user sees the summary first. `must`: the model refused the conversation's length, so rather cut
        it than leave it.
        """
        return await self._compact(guidance, preview=preview, must=must, by_hand=True)

    @property
    def used(self) -> int:
        """Tokens the next model call will take, as far as is known."""
        return self.size.used

    @property
    def window(self) -> int:
        """Tokens that the model takes in all."""
        return self._info.max_context_size

    def breakdown(self, server_of: ServerOf) -> Breakdown:
        """What the context is made of."""
        return self.size.breakdown(server_of, self.window)

    @property
    def free(self) -> int:
        """Tokens that can still come before the conversation is compacted by itself."""
        return self._trigger - self.used

    @property
    def can_shorten(self) -> bool:
        """There is more in the conversation than one message that no summary would be shorter than."""
        messages = self.log.context.messages
        return len(messages) > 1 or message_tokens(messages) > SHORTEST_SUMMARY

    # --- sizes -------------------------------------------------------------------------------------------------------

    @property
    def _settings(self) -> Compaction:
        return self.config.now.compaction

    @property
    def _limits(self) -> LoopControl:
        return self.config.now.loop_control

    @property
    def _info(self) -> ModelInfo:
        return self.provider().info

    @property
    def _reserve(self) -> int:
        return min(self._limits.reserved_context_size, self._info.max_context_size // 4)

    @property
    def _trigger(self) -> int:
        window = self._info.max_context_size
        return min(int(window * self._limits.compaction_trigger_ratio), window - self._reserve)

    @property
    def _patience(self) -> int:
        return int(PATIENCE * self._info.max_context_size)

    def _room(self) -> Room:
        fixed = tokens(self.log.context.system_prompt) + self.size.tools
        free = max(0, self._trigger - fixed)
        # together seven eighths of what is free: after every compaction the trigger is some way off
        return Room(
            keep=self._limits.max_preserved_messages,
            tail=free // 2,
            excerpts=min(free // 8, MAX_SUMMARY),
            summary=max(SHORTEST_SUMMARY, min(free // 4, MAX_SUMMARY)),
        )

    def _refuse_hopeless(self) -> None:
        prompt = tokens(self.log.context.system_prompt)
        window = self._info.max_context_size
        if prompt + self.size.tools < self._trigger:
            return
        raise ProviderError(
            f"The system prompt (about {prompt} tokens) and the tools (about {self.size.tools}) leave no room for a conversation "
            f"in the {window} tokens of {self._info.key}: choose a model with a larger window or an agent with fewer tools.",
            kind="context_too_long",
        )

    # --- doing it ----------------------------------------------------------------------------------------------------

    async def _compact(self, guidance: str, *, preview: bool, must: bool, by_hand: bool = False) -> bool:
        messages = tuple(self.log.context.messages)
        self.why = "There is nothing to compact yet."
        if len(messages) == self.log.context.compacted_size:
            return False
        room = self._room()
        if by_hand:  # who asks for it wants less of the conversation, also where all of it would fit
            room = replace(room, excerpts=min(room.excerpts, message_tokens(messages) // 4))
        plan = await self._plan(messages, room)
        while plan is None and must and room.keep > 0:  # even the last messages are too much
            room = replace(room, keep=room.keep - 1)
            plan = await self._plan(messages, room)
        if plan is None:
            return False
        trigger = "auto" if must or not by_hand else "manual"
        await self.hooks.compaction("PreCompact", trigger, self.used)
        compaction_id = secrets.token_hex(6)
        self.log.publish(CompactionBegin(compaction_id=compaction_id))
        try:
            await self.log.commit()
            draft = await self._draft(messages, plan, room, guidance, must=must)
            if draft.grows and by_hand and not (preview or must):
                self._fail(compaction_id, LARGER)
                return False
            if preview:
                settled = await Preview(self.log, compaction_id).settle(
                    draft, lambda hint: self._draft(messages, plan, room, hint, must=False)
                )
                if settled is None:
                    self._not_before = self.used + self._patience
                    self._fail(compaction_id, DECLINED, cancelled=True)
                    return False
                draft = settled
        except ProviderError as error:
            # a full window waits for nothing: there it is cut
            self._not_before = min(self.used + self._patience, int(FULL * self._info.max_context_size))
            self._fail(compaction_id, error.message)
            return False
        except BaseException as error:
            self._fail(compaction_id, INTERRUPTED, cancelled=isinstance(error, asyncio.CancelledError))
            raise
        self._not_before = 0
        self._finish(compaction_id, plan, draft)
        await self.log.commit()
        await self.hooks.compaction("PostCompact", trigger, self.used)
        return True

    async def _plan(self, messages: Sequence[ChatMessage], room: Room) -> Plan | None:
        name = self._settings.strategy
        provider, model = self.provider(), self._settings.embedding_model
        if model and isinstance(provider, Embeds):
            try:
                return await strategy_named(name, _embedded(provider, model)).plan(messages, room)
            except ProviderError as error:
                self._notify(f"Embeddings failed ({error.message}), so words were compared instead.")
        return await strategy_named(name, by_words).plan(messages, room)

    async def _draft(
        self, messages: Sequence[ChatMessage], plan: Plan, room: Room, guidance: str, *, must: bool
    ) -> Draft:
        window = self._info.max_context_size
        summariser = Summariser(
            ask=self._ask,
            language=language(messages),
            chunk=window - self._reserve - room.summary - PROMPT_TOKENS,
            limit=room.summary,
            focus=last_request(messages),
            session_id=self.session_id,
        )
        note = plan.note
        try:
            summary = await summariser.summarise(plan, guidance)
        except ProviderError as error:
            if not must:
                raise
            summary = summariser.truncated(plan, error.message)
            note = f"The model could not summarize the conversation, so it was cut. {plan.note}"
            self._notify(f"{error.message} The conversation was cut instead; it stays readable in the history.")
        kept = [*(messages[at] for at in plan.also_kept), *messages[len(messages) - plan.kept :]]
        fixed = tokens(self.log.context.system_prompt) + self.size.tools
        said, left = tokens(summary.text), message_tokens(kept)
        grows = said >= message_tokens(messages) - left
        # both by the same measure: what the provider counts may be far from what we estimate
        measured = min(2.0, max(0.5, self.used / (fixed + message_tokens(messages))))
        return Draft(summary.text, note, self.used, int((fixed + said + left) * measured), grows)

    async def _ask(self, request: ChatRequest) -> str:
        provider = self.provider()
        said: list[str] = []
        room = MOST_CHARS
        async with stream_with_retry(provider, request, RetryPolicy.of(self._limits), lambda _: None) as stream:
            async for batch in stream:
                for delta in batch:
                    if isinstance(delta, TextPart):
                        said.append(delta.text)
                        room -= len(delta.text)
                    elif isinstance(delta, Finish):
                        self.costs.charge(provider.info, delta)
                if room < 0:
                    break  # leaving the stream closes the connection
        return "".join(said)

    # --- telling -----------------------------------------------------------------------------------------------------

    def _finish(self, compaction_id: str, plan: Plan, draft: Draft) -> None:
        self.log.publish(
            CompactionEnd(
                compaction_id=compaction_id,
                summary=draft.text,
                kept=plan.kept,
                also_kept=plan.also_kept,
                tokens_before=draft.before,
                tokens_after=draft.after,
                strategy=self._settings.strategy,
                note=draft.note,
            )
        )
        self._tell(draft.after)

    def tell_used(self) -> None:
        """Publish how full the window is, after the context was exchanged."""
        self._tell(self.used)

    def _tell(self, tokens: int) -> None:
        window = self._info.max_context_size
        usage = min(1.0, tokens / window)
        self.log.publish(StatusUpdate(context_usage=usage, context_tokens=tokens, max_context_tokens=window))

    def _fail(self, compaction_id: str, reason: str, *, cancelled: bool = False) -> None:
        self.why = reason
        self.log.publish(CompactionEnd(compaction_id=compaction_id, failed=True, cancelled=cancelled, error=reason))

    def _notify(self, text: str) -> None:
        self.log.publish(notice("compaction", "Compaction used a fallback", text, severity="warning"))


def _embedded(provider: Embeds, model: str) -> Similarity:
    def embed(texts: Sequence[str]) -> Awaitable[list[list[float]]]:
        return provider.embed(model, texts)

    return by_embeddings(embed)
