"""Retries of one model call: only while nothing of it was shown, and never silently.

It decides whether and when to ask again; it knows no server and publishes nothing. What has been shown is never
repeated: once the first part has come, an error is an error.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Self

from msgspec import Struct

from sould.agents.base.config import LoopControl
from sould.agents.llm.provider import ChatProvider, ChatRequest, Delta, DeltaStream, EmptyAnswerError, ProviderError

_FAR = 366 * 86_400.0


class RetryPolicy(Struct, frozen=True):
    """How often and how patiently. Seconds; `total_s` bounds all attempts and our own waits, not waits the server asked for."""

    attempts: int = 3
    first_wait_s: float = 0.3
    max_wait_s: float = 8.0
    jitter_s: float = 0.5
    total_s: float = 45.0
    retry_after_max_s: float = 60.0

    @classmethod
    def of(cls, limits: LoopControl) -> Self:
        """The configured policy."""
        return cls(
            attempts=limits.max_retries_per_step,
            first_wait_s=limits.retry_first_wait_s,
            max_wait_s=limits.retry_max_wait_s,
            jitter_s=limits.retry_jitter_s,
            total_s=limits.retry_total_s,
            retry_after_max_s=limits.retry_after_max_s,
        )


class RetryNotice(Struct, frozen=True):
    """Said before each wait. `next_attempt` counts from 2; `error_type` is the error's class name."""

    next_attempt: int
    max_attempts: int
    wait_s: float
    error_type: str
    status_code: int | None
    message: str


@asynccontextmanager
async def stream_with_retry(
    provider: ChatProvider, request: ChatRequest, policy: RetryPolicy, on_retry: Callable[[RetryNotice], None]
) -> AsyncGenerator[DeltaStream, None]:
    """Ask until the first part arrives, then hand over that stream. Leaving the context closes the connection.

    Raises:
        ProviderError: not retryable, attempts or time used up, or a wait longer than the policy allows was asked for.
    """
    async with AsyncExitStack() as stack:
        first, rest = await _first_batch(provider, request, policy, on_retry, stack)
        yield _joined(first, rest)


async def _first_batch(
    provider: ChatProvider,
    request: ChatRequest,
    policy: RetryPolicy,
    on_retry: Callable[[RetryNotice], None],
    stack: AsyncExitStack,
) -> tuple[list[Delta], DeltaStream]:
    clock = asyncio.get_running_loop().time
    began = clock()
    empties = 0
    for attempt in range(1, policy.attempts + 1):
        try:
            async with AsyncExitStack() as opened:
                stream = await opened.enter_async_context(provider.stream(request))
                first = await anext(stream)
                stack.push_async_exit(opened.pop_all())
                return first, stream
        except ProviderError as error:
            empties += isinstance(error, EmptyAnswerError)
            wait = _wait(error, attempt, policy, clock() - began) if empties < 2 else None
            if wait is None:
                raise
            asked = error.retry_after is not None
            on_retry(_notice(error, attempt, policy, wait))
        await asyncio.sleep(wait)
        if asked:
            began += wait
    raise AssertionError("the last attempt returns or raises")


def _wait(error: ProviderError, attempt: int, policy: RetryPolicy, spent: float) -> float | None:
    """Seconds until the next attempt, None when there is none.

    Raises:
        ProviderError: the server asks for a longer wait than is reasonable; says until when.
    """
    asked = error.retry_after
    if asked is not None and asked > policy.retry_after_max_s:
        said = f"{error.message} {_reset_sentence(asked)}"
        raise type(error)(said, kind=error.kind, status=error.status, retry_after=asked) from error
    if not error.retryable or attempt >= policy.attempts:
        return None
    if asked is not None:
        return asked
    wait = min(policy.first_wait_s * 2 ** (attempt - 1) + random.uniform(0, policy.jitter_s), policy.max_wait_s)
    return wait if spent + wait <= policy.total_s else None


def _reset_sentence(seconds: float) -> str:
    until = datetime.now(UTC).astimezone() + timedelta(seconds=min(seconds, _FAR))
    return f"The server asks to wait until {until:%Y-%m-%d %H:%M %Z} ({seconds:.0f} s)."


def _notice(error: ProviderError, attempt: int, policy: RetryPolicy, wait: float) -> RetryNotice:
    return RetryNotice(
        next_attempt=attempt + 1,
        max_attempts=policy.attempts,
        wait_s=round(wait, 3),
        error_type=type(error).__name__,
        status_code=error.status,
        message=error.message,
    )


async def _joined(first: list[Delta], rest: DeltaStream) -> DeltaStream:
    yield first
    async for batch in rest:
        yield batch
