"""Asking the fault-injecting model through the real provider, and what came of it."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from pydantic import SecretStr

from sould.agents.base.config import ModelTimeouts
from sould.agents.base.network.settings import NetworkSettings
from sould.agents.llm.openai import OpenAIClient, OpenAIProvider
from sould.agents.llm.provider import ChatMessage, ChatProvider, ChatRequest, Finish, ModelInfo, ProviderError
from sould.agents.llm.requests import RequestStyle
from sould.agents.llm.retry import RetryNotice, RetryPolicy, stream_with_retry
from sould.agents.llm.server import ProviderSettings
from sould.agents.wire.content import TextPart, ThinkPart
from sould.agents.wire.messages import ToolCall, ToolCallPart

KEY = "sk-canary-0123456789abcdef"
QUICK = RetryPolicy(first_wait_s=0.01, max_wait_s=0.03, jitter_s=0.01)
INFO = ModelInfo("m", "test-model", "p", 32_768, frozenset({"image_in", "thinking"}))


@dataclass
class Outcome:
    """What one model call came to."""

    shown: str = ""
    calls: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    finish: Finish | None = None
    error: ProviderError | None = None
    retries: list[RetryNotice] = field(default_factory=list[RetryNotice])


@asynccontextmanager
async def provider_for(
    url: str,
    *,
    key: str = KEY,
    timeouts: ModelTimeouts | None = None,
    headers: Mapping[str, SecretStr] | None = None,
    network: NetworkSettings | None = None,
    style: RequestStyle | None = None,
    info: ModelInfo = INFO,
) -> AsyncGenerator[OpenAIProvider, None]:
    """A real provider for a base URL, closed at the end."""
    settings = ProviderSettings(
        url, SecretStr(key), headers or {}, network or NetworkSettings(), timeouts or ModelTimeouts()
    )
    client = OpenAIClient(settings)
    try:
        yield OpenAIProvider(info, client, style or RequestStyle())
    finally:
        await client.aclose()


async def ask(
    provider: ChatProvider, text: str, policy: RetryPolicy = QUICK, request: ChatRequest | None = None
) -> Outcome:
    """Ask with retries, collecting everything; a provider error is kept, not raised."""
    outcome = Outcome()
    asked = request or ChatRequest("", (ChatMessage("user", (TextPart(text=text),)),))
    try:
        async with stream_with_retry(provider, asked, policy, outcome.retries.append) as stream:
            async for batch in stream:
                for delta in batch:
                    match delta:
                        case TextPart():
                            outcome.shown += delta.text
                        case ThinkPart():
                            outcome.shown += f"({delta.think})"
                        case ToolCall():
                            outcome.calls[delta.id] = [delta.function.name, delta.function.arguments or ""]
                        case ToolCallPart():
                            last = delta.tool_call_id or list(outcome.calls)[-1]
                            outcome.calls[last][1] += delta.arguments_part or ""
                        case Finish():
                            outcome.finish = delta
                        case _:
                            raise AssertionError(f"no server here sends media: {delta}")
    except ProviderError as error:
        outcome.error = error
    return outcome
