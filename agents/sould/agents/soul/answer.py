"""Asking the model: one call, published as it streams.

Text, reasoning and media go out as they come. Tool calls get ids that are unique in the session (`callids`). Nothing that
was shown is ever repeated: retries happen below, before the first visible part.
"""

import logging
from typing import Protocol

from sould.agents.liveconfig import LiveConfig
from sould.agents.llm.provider import (
    ChatProvider,
    ChatRequest,
    DeltaStream,
    Finish,
    ProviderProtocolError,
    ThoughtLevel,
)
from sould.agents.llm.retry import RetryNotice, RetryPolicy, stream_with_retry
from sould.agents.sessionlog.log import SessionLog
from sould.agents.soul.callids import CallIds
from sould.agents.soul.calls import StepCalls
from sould.agents.soul.usage import Meter
from sould.agents.toolapi.toolset import Toolset
from sould.agents.values import dataclass
from sould.agents.wire.content import AudioPart, ImagePart, TextPart, ThinkPart, VideoPart, media_url
from sould.agents.wire.messages import StepRetry, ToolCall, ToolCallPart

logger = logging.getLogger(__name__)

MAX_ANSWER_CHARS = 4 * 1024 * 1024
"""A message longer than this is a runaway stream (F47)."""


@dataclass(frozen=True, slots=True)
class Model:
    """What a step asks: chosen anew for each step, so that a changed option holds from the next one on."""

    provider: ChatProvider
    thought_level: ThoughtLevel | None


class ModelChoice(Protocol):
    """Which model a session has chosen, asked anew for each step."""

    def model(self) -> Model:
        """What the next step asks."""
        ...


@dataclass(frozen=True, slots=True)
class ModelCaller:
    """Builds the request from the session's context and publishes the answer."""

    log: SessionLog
    models: ModelChoice
    toolset: Toolset
    config: LiveConfig
    meter: Meter
    session_id: str
    call_ids: CallIds

    @property
    def policy(self) -> RetryPolicy:
        """How often a call is tried, as configured now."""
        return RetryPolicy.of(self.config.now.loop_control)

    async def ask(self, n: int, calls: StepCalls) -> str | None:
        """Ask once, with retries while nothing was shown. Returns the provider's finish reason.

        Raises:
            ProviderError: the model could not answer; what it had said by then is published.
        """
        model = self.models.model()
        request = ChatRequest(
            system_prompt=self.log.context.system_prompt,
            messages=tuple(self.log.context.messages),
            tools=self.toolset.specs,
            thought_level=model.thought_level,
            session_id=self.session_id,
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

        async with stream_with_retry(model.provider, request, self.policy, publish_retry) as stream:
            finish = await self._publish(stream, calls, gives_ids=model.provider.info.gives_call_ids)
        self.meter.count(model.provider.info, finish)
        return finish.reason

    async def _publish(self, stream: DeltaStream, calls: StepCalls, *, gives_ids: bool) -> Finish:
        publish = self.log.publish
        room = MAX_ANSWER_CHARS
        async for batch in stream:
            for delta in batch:
                match delta:
                    case TextPart():
                        room -= len(delta.text)
                        calls.shown()
                        publish(delta)
                    case ThinkPart():
                        room -= len(delta.think)
                        calls.shown()
                        publish(delta)
                    case ImagePart() | AudioPart() | VideoPart():
                        room -= len(media_url(delta) or "")
                        calls.shown()
                        publish(delta)
                    case ToolCallPart():
                        room -= len(delta.arguments_part or "")
                        calls.extend(delta)
                    case ToolCall():
                        room -= len(delta.function.arguments or "")
                        call_id = self.call_ids.keep(delta.id) if gives_ids else self.call_ids.new()
                        calls.open(delta, call_id, self.toolset.preview(delta.function.name))
                    case Finish():
                        return delta
                if room < 0:
                    raise ProviderProtocolError(
                        f"The model sent more than {MAX_ANSWER_CHARS // 1024**2} MiB in one message; it was stopped.",
                        kind="malformed",
                    )
        raise ProviderProtocolError("The model's answer ended without a finish.", kind="malformed")
