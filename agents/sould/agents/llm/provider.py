"""The provider interface: one model, asked once per step, answering as a stream of Wire parts.

Providers never retry, never execute anything and never see Wire beyond content and tool calls.

ProviderError
├── ProviderConnectionError   nothing or half an answer arrived (reset, DNS, proxy, cut stream)
├── ProviderTimeoutError      connect, first byte or progress took too long
├── ProviderStatusError       the server answered with an error status
├── ProviderProtocolError     the bytes are not the API (HTML page, malformed event)
├── EmptyAnswerError          a well-formed answer without text or calls
└── ScriptExhaustedError      the scripted model has no more scripts
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from sould.agents.base.config import Capability
from sould.agents.base.errors import SouldError
from sould.agents.llm.request_cache import GrowingBytes
from sould.agents.llm.serverstate import HandedOut
from sould.agents.wire.content import AudioPart, ContentPart, ImagePart, TextPart, ThinkPart, VideoPart
from sould.agents.wire.messages import ServerState, TokenUsage, ToolCall, ToolCallPart

ThoughtLevel: TypeAlias = Literal["off", "low", "medium", "high"]


class ModelInfo(Struct, frozen=True):
    """What is known of a model. Prices are per million tokens in `currency`; None: unknown, never 0."""

    key: str
    model: str
    provider: str
    max_context_size: int
    capabilities: frozenset[Capability] = frozenset()
    display_name: str = ""
    input_price: float | None = None
    cached_input_price: float | None = None
    output_price: float | None = None
    currency: str = "USD"
    setting: str = ""
    """Where the configuration names it; "" for one that was found."""
    server: str = ""
    """Its server's address as configured; "" where it has none."""
    origin: str = ""
    """The server and the model: what they hand out goes back to them alone."""
    scripted: bool = False
    """It says what a script holds: its calls keep its ids where they are unique (servers' ids are not used), and it is
    asked nothing but what the conversation asks."""


class ChatMessage(Struct, frozen=True):
    """One message of the model's context. `tool_calls` only with role assistant, `tool_call_id` only with role tool."""

    role: Literal["user", "assistant", "tool"]
    content: tuple[ContentPart, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    state: ServerState | None = None
    """What a server handed out with this answer."""


class ToolSpec(Struct, frozen=True):
    """A tool as the model sees it; `parameters` is a JSON Schema object. Byte-stable within a session (prompt caching)."""

    name: str
    description: str
    parameters: dict[str, Any]


class ChatRequest(Struct, frozen=True):
    """One model call."""

    system_prompt: str
    messages: Sequence[ChatMessage]
    tools: Sequence[ToolSpec] = ()
    thought_level: ThoughtLevel | None = None
    session_id: str = ""
    sent: GrowingBytes[ChatMessage] | None = None
    """What earlier requests of this conversation made of its messages; given by who has the conversation."""
    left_out: frozenset[str] = frozenset()
    """Digests of media that the model's server refused; a word stands in their place."""


class Finish(Struct, frozen=True):
    """The last item of every stream that ended well. `reason` is the provider's (`stop`, `length`, `tool_calls`, `content_filter` …)."""

    reason: str | None
    usage: TokenUsage | None = None
    message_id: str | None = None
    handed_out: HandedOut | None = None
    """What the server wants back with this answer."""


Delta: TypeAlias = TextPart | ThinkPart | ImagePart | AudioPart | VideoPart | ToolCall | ToolCallPart | Finish
DeltaStream: TypeAlias = AsyncGenerator[list[Delta], None]
"""An answer as it comes, in batches: each is what one read of the connection completed, in order, never empty and nothing
in it joined. So a slow model gives batches of one, and a fast one as many as came while nobody looked; what is done with
a batch (publishing, writing) can be done once for all of it. `Finish` is the last of the last batch."""


class ChatProvider(Protocol):
    """One configured model."""

    @property
    def info(self) -> ModelInfo:
        """The model behind this provider."""
        ...

    def stream(self, request: ChatRequest) -> AbstractAsyncContextManager[DeltaStream]:
        """Ask once. Leaving the context closes the connection; cancellation is the task's.

        Order: any mix of content parts; each `ToolCall` before its `ToolCallPart`s (ids unique within the
        answer, otherwise as the server sent them: reused in later answers); exactly one `Finish` last. A stream that ends otherwise raises.

        Raises:
            ProviderError: on entering the context or while iterating.
        """
        ...


@runtime_checkable
class Embeds(Protocol):
    """A provider whose server can also tell how alike texts are."""

    async def embed(self, model: str, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text. Raises ProviderError."""
        ...


class ProviderError(SouldError):
    """Base. `message` is one sentence for people, free of keys; `retryable`: the same request may succeed later."""

    def __init__(
        self,
        message: str,
        retryable: bool = False,
        kind: str = "provider",
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        """`retry_after`: the seconds the server asked us to wait."""
        super().__init__(message)
        self.retryable = retryable
        self.kind = kind
        self.status = status
        self.retry_after = retry_after


class ProviderConnectionError(ProviderError):
    """Nothing or half an answer arrived."""


class ProviderTimeoutError(ProviderError):
    """Connecting, the first byte or progress took too long."""


class ProviderStatusError(ProviderError):
    """The server answered with an error status. `said` is all of its words, without secrets, for those who judge it."""

    def __init__(self, message: str, *, said: str = "", **more: Any) -> None:
        super().__init__(message, **more)
        self.said = said

    def with_remedy(self, sentence: str) -> "ProviderStatusError":
        """The same, with what to do about it."""
        more = {name: getattr(self, name) for name in ("retryable", "kind", "status", "retry_after", "said")}
        return ProviderStatusError(f"{self.message.rstrip('.')}. {sentence}", **more)


class ProviderProtocolError(ProviderError):
    """The bytes are not the API we speak."""


class EmptyAnswerError(ProviderError):
    """A well-formed answer without text and without calls."""


class ScriptExhaustedError(ProviderError):
    """The scripted model has no script left."""
