"""The prompts of one ACP client in one session: taken, steered, and answered when their turns end.

An answer leaves after the last update of its turn.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeAlias

from sould.acp.connection.dialogs import Dialogs
from sould.acp.content import user_input
from sould.acp.features import SIGN_IN, STOP_REASONS, Features
from sould.acp.outbound import Json
from sould.acp.projection.projection import UpdatesV1
from sould.acp.projection.status import turn_usage
from sould.acp.schema import ContentBlock
from sould.agents.base.rpc.connection import Connection
from sould.agents.base.rpc.errors import INTERNAL_ERROR, RpcError
from sould.agents.base.tasks import first_of
from sould.agents.sessions.pendingprompts import PendingPrompts
from sould.agents.sessions.port import SessionPort
from sould.agents.sessions.turns.queueing import Edited
from sould.agents.sessions.turns.turns import INTERRUPTED, Prompt
from sould.agents.wire import messages as wire
from sould.agents.wire.content import input_text, typed_text

AUTH_REQUIRED = -32000

AllShown: TypeAlias = Callable[[], Awaitable[None]]
"""Returns when the client was sent all that was said in the session."""


class AttachedPrompts:
    """Part of an `Attachment`, and ended with it."""

    def __init__(
        self,
        session: SessionPort,
        connection: Connection,
        client_id: str,
        features: Features,
        updates: UpdatesV1,
        dialogs: Dialogs,
        shown: AllShown,
        *,
        pending: PendingPrompts,
    ) -> None:
        """`pending`: those that wait for their answer."""
        self._session = session
        self._connection = connection
        self._client_id = client_id
        self._features = features
        self._updates = updates
        self._dialogs = dialogs
        self._shown: AllShown = shown
        self.pending = pending

    def ask(self, blocks: Sequence[ContentBlock]) -> Prompt:
        """Take a prompt, or the answer to what was asked in words, which is its turn's. Synchronous, so that a cancel finds it."""
        given = user_input(blocks)
        if self._dialogs.in_words.is_set() and self._session.turns.running:
            self._dialogs.say(typed_text(given) or input_text(given))
            prompt = self._session.turns.prompts[0]
        else:
            prompt = self._session.turns.prompt(given, self._client_id)
        self.pending.add(prompt)
        return prompt

    def steer(self, blocks: Sequence[ContentBlock]) -> bool:
        """More input for the running turn; False when none runs."""
        given = user_input(blocks)
        if not self._session.turns.steer(given):
            return False
        self._updates.expect_steer(given)
        return True

    def edit_waiting(self, prompt_id: str, blocks: Sequence[ContentBlock]) -> Edited:
        """Give a prompt that waits another content."""
        return self._session.queue.edit(prompt_id, user_input(blocks))

    async def answer(self, prompt: Prompt) -> Json:
        """The answer to a prompt, when its turn has ended and all of it was shown.

        For the client also a question asked in words ends it, because only then the user can type.
        """
        self.pending.add(prompt)
        try:
            end = await self._end_or_question(prompt)
            await self._shown()
        except asyncio.CancelledError:
            if not self._connection.gone:  # withdrawn by the client; a client that vanished leaves the turn running
                self._session.turns.cancel(self._client_id)
            raise
        finally:
            self.pending.discard(prompt)
        return self._result(end)

    def answer_again(self, turn_id: str) -> Coroutine[Any, Any, Json]:
        """The answer to a prompt that an earlier daemon left without one: its turn goes on (D16), has ended, or never began.

        Synchronous up to taking it, so that prompts stay in the order in which they came.
        """
        return self._answer_again(self.pending.take_up(turn_id, self._session.turns.resumed))

    async def _answer_again(self, prompt: Prompt) -> Json:
        try:
            if not prompt.resumes:
                prompt.settle(await self._session.end_of(prompt.turn_id))
            return await self.answer(prompt)
        finally:
            self.pending.discard(prompt)

    async def _end_or_question(self, prompt: Prompt) -> wire.TurnEnd:
        ended = await first_of(prompt.outcome(), self._asked_during(prompt))
        return ended if ended is not None else wire.TurnEnd(turn_id=prompt.turn_id)

    async def _asked_during(self, prompt: Prompt) -> None:
        """Prompts of this client that wait are not at an end with it."""
        await self._dialogs.in_words.wait()
        if prompt not in self._session.turns.prompts[:1]:
            await asyncio.get_running_loop().create_future()

    def _result(self, end: wire.TurnEnd) -> Json:
        """Being interrupted is no failure: the conversation says what happened, and the turn is over.

        A client that keeps to what is kept finds it there, as the end of the turn.
        """
        if end.stop_reason != "interrupted":
            return _prompt_result(end, signs_in=self._features.signs_in)
        told = end.error.message if end.error else INTERRUPTED
        if not self._features.sequence:
            self._connection.write(self._updates.aside(told, f"t{end.turn_id}"))
        meta = {"sould": {"kind": "interrupted", "details": told}}
        return {"stopReason": "cancelled", **turn_usage(end.usage), "_meta": meta}


def _prompt_result(end: wire.TurnEnd, *, signs_in: bool) -> Json:
    """The answer to `session/prompt`. A client that cannot be asked to sign in (`signs_in`) was told in the conversation what to do.

    Raises:
        RpcError: the turn failed; `data` says how (D17).
    """
    reason = STOP_REASONS.get(end.stop_reason)
    if reason is not None and end.error is None:
        failed: Json = {"_meta": {"sould": {"kind": "command_failed"}}} if end.failed else {}
        return {"stopReason": reason, **turn_usage(end.usage), **failed}
    error = end.error or wire.TurnError(kind="internal", message="The turn ended without a reason; see `sould logs`.")
    data: Json = {"kind": SIGN_IN.get(error.kind, error.kind), "details": error.message}
    if error.kind in SIGN_IN and not signs_in:
        return {"stopReason": "end_turn", **turn_usage(end.usage), "_meta": {"sould": data}}
    if error.status is not None:
        data["status"] = error.status
    if error.retry_after is not None:
        data["retryAfter"] = error.retry_after
    raise RpcError(AUTH_REQUIRED if error.kind in SIGN_IN else INTERNAL_ERROR, error.message, data)
