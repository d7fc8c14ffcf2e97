"""Side questions (`/btw`): answered from the conversation as it stands, also while a turn runs, and never part of it.

The model may use no tool, gets at most two tries, and forgets the question and its answer at once; people see both.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from msgspec import Struct, field

from sould.agents.journal.log import SessionLog
from sould.agents.llm.provider import ChatMessage, ChatRequest, Finish, ProviderError
from sould.agents.llm.retry import stream_with_retry
from sould.agents.sessions.turns.turns import Prompt
from sould.agents.soul.model_call import ModelCaller
from sould.agents.soul.soul import NO_MODEL
from sould.agents.wire.content import TextPart, UserInput, attached_text, typed_text
from sould.agents.wire.messages import BtwBegin, BtwEnd, FunctionCall, StopReason, ToolCall, ToolCallPart, TurnEnd

logger = logging.getLogger(__name__)

PREFIX = "/btw"
TRIES = 2
NOTE = (
    "<system>The user asks a question on the side. Answer it briefly from what you know and what is above. Use no tools, "
    "and do not go on with the task: it is not interrupted.</system>\n\n"
)
MOST_CHARS = 20_000
"""Of an answer; no more of it is read."""
MOST_CALLS = 20
"""That one answer may try; as above."""
DENIED = "Tools cannot be used in a side question. Answer from what you know."


class SideQuestions(Struct):
    """The side questions of one session; `serve` owns their tasks."""

    log: SessionLog
    caller: ModelCaller | None
    """The session's own agent's."""
    _running: dict[asyncio.Task[BtwEnd], Prompt] = field(default_factory=dict["asyncio.Task[BtwEnd]", Prompt])
    _early: list[tuple[Prompt, str]] = field(default_factory=list[tuple[Prompt, str]])
    """Asked before `serving`."""
    _group: asyncio.TaskGroup | None = None
    _ended: bool = False

    @property
    def running(self) -> bool:
        """Some question waits for its answer."""
        return bool(self._running or self._early)

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None, None]:
        """Questions are answered within; what still runs at its end is cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            for prompt, question in self._early:
                self._begin(group, prompt, question)
            self._early.clear()
            try:
                yield
            finally:
                self._ended = True
                self.cancel(None)

    def take(self, user_input: UserInput, client_id: str) -> Prompt | None:
        """See `ImmediateCommand`: begin to answer, if this is a side question."""
        command, _, typed = typed_text(user_input).strip().partition(" ")
        if command != PREFIX or not typed.strip() or self._ended:
            return None
        prompt = Prompt(user_input, client_id, command=True)
        question = f"{typed.strip()}\n{attached_text(user_input)}".strip()
        if self._group is None:
            self._early.append((prompt, question))
        else:
            self._begin(self._group, prompt, question)
        return prompt

    def cancel(self, client_id: str | None) -> None:
        """Give up the questions of one client, of everybody for None."""
        for task, prompt in self._running.items():
            if client_id in (None, prompt.client_id):
                task.cancel()
        for entry in [entry for entry in self._early if client_id in (None, entry[0].client_id)]:
            self._early.remove(entry)
            entry[0].settle(TurnEnd(turn_id=entry[0].turn_id, stop_reason="cancelled"))

    def _begin(self, group: asyncio.TaskGroup, prompt: Prompt, question: str) -> None:
        aside = secrets.token_hex(6)
        self.log.publish(BtwBegin(id=aside, question=question, client_id=prompt.client_id))
        task = group.create_task(self._settled(aside, question))
        self._running[task] = prompt
        task.add_done_callback(lambda _: self._end(task, aside))

    def _end(self, task: "asyncio.Task[BtwEnd]", aside: str) -> None:
        """Also for a task that was cancelled before it began."""
        prompt = self._running.pop(task)
        reason: StopReason = "cancelled" if task.cancelled() else "finished"
        self.log.publish(BtwEnd(id=aside, error="The question was cancelled.") if task.cancelled() else task.result())
        prompt.settle(TurnEnd(turn_id=prompt.turn_id, stop_reason=reason))

    async def _settled(self, aside: str, question: str) -> BtwEnd:
        try:
            return BtwEnd(id=aside, response=await self.answer(question))
        except ProviderError as error:
            return BtwEnd(id=aside, error=error.message)
        except Exception:  # like a turn: a bug of ours ends the question, not the session
            logger.exception("side question failed")
            return BtwEnd(id=aside, error="sould hit a bug in this question; see `sould logs`.")

    async def answer(self, question: str) -> str:
        """The answer to a question; nobody is shown it here.

        Raises:
            ProviderError: the model did not answer.
        """
        if self.caller is None:
            raise ProviderError(NO_MODEL)
        messages = [*self.log.context.messages, ChatMessage("user", (TextPart(text=NOTE + question),))]
        for _ in range(TRIES):
            text, calls = await self._once(self.caller, messages)
            if text.strip():
                return text
            messages.append(ChatMessage("assistant", (), calls))
            messages += [ChatMessage("tool", (TextPart(text=DENIED),), tool_call_id=call.id) for call in calls]
        raise ProviderError("The model tried to use tools instead of answering; ask again, or ask in a turn.")

    async def _once(self, caller: ModelCaller, messages: list[ChatMessage]) -> tuple[str, tuple[ToolCall, ...]]:
        model = caller.models.model()
        # the same tools as in a turn, although none runs: a changed request could not be taken from the server's cache
        request = ChatRequest(
            self.log.context.system_prompt,
            tuple(messages),
            caller.toolset.specs,
            model.thought_level,
            caller.session_id,
            caller.sent,
            self.log.context.left_out(model.provider.info.origin),
        )
        text: list[str] = []
        room = MOST_CHARS
        calls: list[ToolCall] = []
        async with stream_with_retry(model.provider, request, caller.policy, lambda _: None) as stream:
            async for batch in stream:
                for delta in batch:
                    match delta:
                        case TextPart():
                            text.append(delta.text[: max(0, room)])
                            room -= len(delta.text)
                        case ToolCall():
                            function = FunctionCall(name=delta.function.name, arguments="{}")
                            calls.append(ToolCall(id=f"aside_{secrets.token_hex(6)}", function=function))
                        case Finish():
                            caller.meter.costs.charge(model.provider.info, delta)
                        case ToolCallPart() | _:
                            continue
                if room < 0 or len(calls) > MOST_CALLS:
                    break  # leaving the stream closes the connection
        return f"{''.join(text)}{' …' if room < 0 else ''}", tuple(calls[:MOST_CALLS])
