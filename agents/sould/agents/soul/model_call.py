"""Asking the model: one call, published as it streams.

Text, reasoning and media go out as they come. Tool calls get ids that are unique in the session. Nothing that
was shown is ever repeated: retries happen below, before the first visible part.
"""

import asyncio
import logging
import re
import secrets
import string
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack
from typing import Protocol, TypeAlias

from msgspec import Struct, field

from sould.agents.base.liveconfig import LiveConfig
from sould.agents.base.tasks import beside
from sould.agents.base.text import plural
from sould.agents.journal.context import Context
from sould.agents.journal.log import SessionLog
from sould.agents.llm.costs import Costs
from sould.agents.llm.provider import (
    ChatMessage,
    ChatProvider,
    ChatRequest,
    Delta,
    DeltaStream,
    Finish,
    ModelInfo,
    ProviderProtocolError,
    ThoughtLevel,
)
from sould.agents.llm.request_cache import GrowingBytes
from sould.agents.llm.retry import RetryNotice, RetryPolicy, stream_with_retry
from sould.agents.soul.choices import ChoiceReader
from sould.agents.soul.compaction.breakdown import ContextSize
from sould.agents.soul.stepcalls import StepCalls
from sould.agents.toolapi.toolset import MOST_TOOLS, Toolset
from sould.agents.wire.content import AudioPart, ImagePart, TextPart, ThinkPart, VideoPart, media_url
from sould.agents.wire.messages import Choice, StatusUpdate, StepRetry, SubagentEvent, ToolCall, ToolCallPart
from sould.agents.wire.notice import notice
from sould.agents.wire.stream import is_delta, piece

_LETTERS = string.ascii_letters + string.digits
_USABLE = re.compile(r"[A-Za-z0-9_-]{1,64}")
logger = logging.getLogger(__name__)
MAX_ANSWER_CHARS = 4 * 1024 * 1024
"""A message longer than this is a runaway stream."""
_TOLD_AFTER = (15, 60, 120, 240, 480, 720)
"""Seconds of silence after which the user is told what goes on."""
_CUT = frozenset({"length", "max_tokens"})
"""Reasons of servers to stop at the limit on an answer."""
Part: TypeAlias = Delta | Choice
"""Of an answer, as it is published."""


class UsageCounter(Struct, frozen=True):
    """Of one agent: tells people after every model call how full the window is and what was spent."""

    log: SessionLog
    costs: Costs
    size: ContextSize
    """What the context takes, for providers that do not report usage."""

    def count(self, info: ModelInfo, finish: Finish) -> None:
        """Publish the status after a model call."""
        self.costs.charge(info, finish)
        cost, usage = self.costs.total, finish.usage
        tokens = usage.total if usage is not None else self.size.used
        self.log.publish(
            StatusUpdate(
                context_usage=min(1.0, tokens / info.max_context_size),
                context_tokens=tokens,
                max_context_tokens=info.max_context_size,
                token_usage=usage,
                message_id=finish.message_id,
                cost=cost,
                currency=info.currency if cost is not None else None,
            )
        )


def usage_of(context: Context, info: ModelInfo, cost: float | None) -> StatusUpdate | None:
    """How full the model's window is and what the session has cost; None before a model has counted anything."""
    if not context.token_count:
        return None
    return StatusUpdate(
        context_tokens=context.token_count + context.pending_estimate,
        max_context_tokens=info.max_context_size,
        cost=cost,
        currency=info.currency if cost is not None else None,
    )


class CallIds(Struct):
    """Of one session, for all its agents; `log` is the session's own."""

    log: SessionLog
    _taken: set[str] | None = None

    def new(self) -> str:
        """One of ours: nine letters and digits, which every server takes; Mistral's take nothing else."""
        return "".join(secrets.choice(_LETTERS) for _ in range(9))

    def keep(self, given: str) -> str:
        """The id a script gives, if it can be one and is free; else one of ours."""
        if self._taken is None:
            self._taken = set(self._found())
        if not _USABLE.fullmatch(given) or given in self._taken:
            return self.new()
        self._taken.add(given)
        return given

    def _found(self) -> Iterator[str]:
        for record in self.log.replay():
            message: object = record.message
            while isinstance(message, SubagentEvent):
                message = message.event
            if isinstance(message, ToolCall):
                yield message.id


class Model(Struct, frozen=True):
    """What a step asks: chosen anew for each step, so that a changed option holds from the next one on."""

    provider: ChatProvider
    thought_level: ThoughtLevel | None


class ModelChoice(Protocol):
    """Which model a session has chosen, asked anew for each step."""

    def model(self) -> Model:
        """What the next step asks."""
        ...


class ModelCaller(Struct):
    """Builds the request from the session's context and publishes the answer."""

    log: SessionLog
    models: ModelChoice
    toolset: Toolset
    config: LiveConfig
    meter: UsageCounter
    session_id: str
    call_ids: CallIds
    sent: GrowingBytes[ChatMessage] = field(default_factory=GrowingBytes[ChatMessage])
    """What requests made of the conversation so far."""
    _told_left_out: tuple[str, ...] = ()

    @property
    def policy(self) -> RetryPolicy:
        """How often a call is tried, as configured now."""
        return RetryPolicy.of(self.config.now.loop_control)

    async def ask(self, n: int, calls: StepCalls, *, decides: bool = False) -> str | None:
        """Ask once, with retries while nothing was shown. Returns the provider's finish reason. `decides`: see `Turn`.

        Raises:
            ProviderError: the model could not answer; what it had said by then is published.
        """
        model = self.models.model()
        request = ChatRequest(
            system_prompt=self.log.context.system_prompt,
            messages=self.log.context.messages,
            tools=self.toolset.specs,
            thought_level=model.thought_level,
            session_id=self.session_id,
            sent=self.sent,
            left_out=self.log.context.left_out(model.provider.info.origin),
        )

        self._tell_of_tools()
        name, began = model.provider.info.model, time.monotonic()
        logger.debug(
            "asking the model %s: %s, %s",
            name,
            plural(len(request.messages), "message"),
            plural(len(request.tools), "tool"),
        )

        def publish_retry(notice: RetryNotice) -> None:
            logger.warning("%s; attempt %d follows", notice.message, notice.next_attempt)
            self.log.publish(
                StepRetry(
                    n=n,
                    next_attempt=notice.next_attempt,
                    max_attempts=notice.max_attempts,
                    wait_s=notice.wait_s,
                    error_type=notice.error_type,
                    status_code=notice.status_code,
                )
            )

        async with AsyncExitStack() as stack:
            asking = stream_with_retry(model.provider, request, self.policy, publish_retry)
            async with beside(self._tell_of_waiting(), "waiting"):
                stream = await stack.enter_async_context(asking)
            logger.debug("the model %s began to answer after %d ms", name, 1000 * (time.monotonic() - began))
            finish = await self._publish(_parted(stream) if decides else stream, calls, model.provider.info)
        if finish.handed_out:
            ids = {call.server_id: call.id for call in calls.all}
            self.log.publish(finish.handed_out.state(model.provider.info.origin, ids))
        if finish.reason in _CUT:
            calls.reached_limit()
        logger.debug("the model %s answered after %d ms: %s", name, 1000 * (time.monotonic() - began), finish.reason)
        self.meter.count(model.provider.info, finish)
        return finish.reason

    def _tell_of_tools(self) -> None:
        """Say once which tools do not fit beside the others."""
        left_out = self.toolset.over_limit
        if left_out and left_out != self._told_left_out:
            servers = ", ".join(dict.fromkeys(name.partition("__")[0] for name in left_out))
            body = f"Model servers take {MOST_TOOLS} tools in all: {len(left_out)} tools of {servers} were left out."
            self.log.publish(notice("mcp", "There are more tools than fit", body, severity="warning"))
        self._told_left_out = left_out

    async def _tell_of_waiting(self) -> None:
        """Say now and then that the model has not begun to answer."""
        waited = 0
        for until in _TOLD_AFTER:
            await asyncio.sleep(until - waited)
            waited = until
            body = f"{waited} s so far. The model may still be reading the prompt."
            self.log.publish(notice("waiting", "No answer yet", body))

    async def _publish(self, stream: AsyncIterable[Sequence[Part]], calls: StepCalls, model: ModelInfo) -> Finish:
        publish = self.log.publish
        room = MAX_ANSWER_CHARS
        async for batch in stream:
            for delta, pieces in runs(batch):
                match delta:
                    case TextPart():
                        room -= len(delta.text)
                        calls.shown()
                        publish(delta, pieces)
                    case Choice():
                        publish(delta)
                    case ThinkPart():
                        room -= len(delta.think)
                        calls.shown()
                        publish(delta, pieces)
                    case ImagePart() | AudioPart() | VideoPart():
                        room -= len(media_url(delta) or "")
                        calls.shown()
                        publish(delta)
                    case ToolCallPart():
                        room -= len(delta.arguments_part or "")
                        calls.extend(delta)
                    case ToolCall():
                        room -= len(delta.function.arguments or "")
                        call_id = self.call_ids.keep(delta.id) if model.scripted else self.call_ids.new()
                        calls.open(delta, call_id, self.toolset.preview(delta.function.name), model.model)
                    case Finish():
                        return delta
                if room < 0:
                    raise ProviderProtocolError(
                        f"The model sent more than {MAX_ANSWER_CHARS // 1024**2} MiB in one message; it was stopped.",
                        kind="malformed",
                    )
        raise ProviderProtocolError("The model's answer ended without a finish.", kind="malformed")


async def _parted(stream: DeltaStream) -> AsyncIterator[Sequence[Part]]:
    """The stream with the choices in its text as messages of their own."""
    reader = ChoiceReader()
    async for batch in stream:
        parted: list[Part] = []
        for delta in batch:
            parted += reader.read(delta.text) if isinstance(delta, TextPart) else (*reader.close(), delta)
        yield parted


def runs(batch: Sequence[Part]) -> Iterator[tuple[Part, tuple[str, ...]]]:
    """What of a batch is published at once: neighbours in one text or thought as one, with the text of each."""
    first: TextPart | ThinkPart | None = None
    texts: list[str] = []
    for delta in batch:
        if not isinstance(delta, TextPart | ThinkPart) or not is_delta(delta):
            if first is not None:
                yield _joined(first, texts)
                first = None
            yield delta, ()
        elif type(delta) is type(first):
            texts.append(piece(delta))
        else:
            if first is not None:
                yield _joined(first, texts)
            first, texts = delta, [piece(delta)]
    if first is not None:
        yield _joined(first, texts)


def _joined(first: TextPart | ThinkPart, texts: Sequence[str]) -> tuple[TextPart | ThinkPart, tuple[str, ...]]:
    if len(texts) == 1:
        return first, ()
    text = "".join(texts)
    return (TextPart(text=text) if isinstance(first, TextPart) else ThinkPart(think=text)), tuple(texts)
