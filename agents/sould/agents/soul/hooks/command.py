"""Runs one hook's command line: the event as JSON on its standard input, the decision from how it ends.

Fail-open: a hook that cannot be started, is too slow or fails otherwise decides nothing. It runs under the guard and in
the session's environment, so that nothing it starts outlives it.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import orjson
from msgspec import Struct
from msgspec.structs import replace
from pydantic import ValidationError

from sould.agents.base.environment import Environment
from sould.agents.base.process.guard import CommandStartError, GuardedProcess, ProcessGuard
from sould.agents.base.workspace import CommandExit
from sould.agents.wire.messages import Custom

logger = logging.getLogger(__name__)

BLOCKS = 2
"""The exit code that forbids; standard error says why."""
MOST_OUTPUT = 64 * 1024
MOST_REASON = 2_000
MOST_COMPLAINT = 200
"""Characters of a failed hook's standard error that are shown."""


class HookDecision(Struct, frozen=True):
    """What hooks said. `reason` is for the model and for people; of one that failed it says how, and nothing is blocked."""

    blocked: bool = False
    reason: str = ""
    messages: tuple[Custom, ...] = ()
    """For clients that know them (D35)."""


class HookRunner(Struct, frozen=True):
    """Where commands run."""

    guard: ProcessGuard
    environment: Environment
    cwd: Path

    async def run(self, command: str, event: bytes, timeout: float) -> HookDecision:
        """Run the exact text of `command` with bash."""
        argv = [self.environment.shell, "--noprofile", "--norc", "-c", command]
        variables, umask = self.environment.variables, self.environment.umask
        try:
            process = await self.guard.start(
                argv, self.cwd, variables, timeout=timeout, stdin=True, errors=True, umask=umask
            )
        except CommandStartError as error:
            logger.warning("hook not started: %s", error)
            return HookDecision(reason=f"It could not be started: {error}")
        try:
            async with asyncio.TaskGroup() as streams:
                streams.create_task(_feed(process, event))
                said = streams.create_task(_read(process.output()))
                complained = streams.create_task(_read(process.errors()))
            ended = await process.wait()
        except BaseException:
            await process.kill()
            raise
        if ended.timed_out:
            logger.warning("a hook was stopped after %g s", timeout)
            return HookDecision(reason=f"It was stopped because it took longer than {timeout:g} s.")
        if ended.code == BLOCKS:
            return HookDecision(blocked=True, reason=_reason(complained.result()) or "A hook blocked it.")
        if ended.code != 0:
            logger.warning("a hook failed with exit code %s; it decides nothing", ended.code)
            return HookDecision(reason=_failure(ended, complained.result()))
        return replace(decision_in(said.result()), messages=messages_in(said.result()))


def decision_in(output: bytes) -> HookDecision:
    """The decision a hook printed as JSON; anything else allows."""
    try:
        document: object = orjson.loads(output)
    except orjson.JSONDecodeError:
        return HookDecision()
    said = cast("dict[str, Any]", document).get("hookSpecificOutput") if isinstance(document, dict) else None
    if not isinstance(said, dict):
        return HookDecision()
    specific = cast("dict[str, Any]", said)
    if specific.get("permissionDecision") != "deny":
        return HookDecision()
    return HookDecision(
        blocked=True, reason=str(specific.get("permissionDecisionReason") or "A hook blocked it.")[:MOST_REASON]
    )


def messages_in(output: bytes) -> tuple[Custom, ...]:
    """The messages of its own that a hook printed as JSON, under `custom`; one that is none is left out."""
    try:
        document: object = orjson.loads(output)
    except orjson.JSONDecodeError:
        return ()
    listed = cast("dict[str, Any]", document).get("custom") if isinstance(document, dict) else None
    found: list[Custom] = []
    for each in cast("list[Any]", listed) if isinstance(listed, list) else ():
        try:
            found.append(Custom.model_validate(each))
        except ValidationError:
            logger.warning("a hook printed a message that has no name of the form vendor/what")
    return tuple(found)


async def _feed(process: GuardedProcess, event: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):  # a hook need not listen
        await process.send(event)
    process.close_input()


async def _read(stream: AsyncGenerator[bytes, None]) -> bytes:
    """The beginning; the rest is taken and dropped, so that the hook does not wait at a full pipe."""
    kept = bytearray()
    async for data in stream:
        kept += data[: max(0, MOST_OUTPUT - len(kept))]
    return bytes(kept)


def _failure(ended: CommandExit, complained: bytes) -> str:
    how = f"exit code {ended.code}" if ended.code is not None else f"signal {ended.signal}"
    said = _reason(complained)[:MOST_COMPLAINT]
    return f"It ended with {how}: {said}" if said else f"It ended with {how}."


def _reason(data: bytes) -> str:
    return data.decode(errors="replace").strip()[:MOST_REASON]
