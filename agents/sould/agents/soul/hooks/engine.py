"""Fires the hooks of an event, all at once, and says whether one of them forbids it.

Hooks are commands of the user's configuration, of the project's where it is trusted, and clients that asked for an
event over Wire. One that fails, is too slow or has gone decides nothing. What runs is told in the stream.
"""

import asyncio
import json
import logging
import re
import secrets
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final, TypeAlias

import orjson
from msgspec import Struct, field
from pydantic import JsonValue

from sould.agents.base.config import Hook
from sould.agents.base.process.searching import SearchLimits, run_program
from sould.agents.journal.channel import RequestClosedError
from sould.agents.journal.log import SessionLog
from sould.agents.soul.hooks.command import MOST_REASON, HookDecision, HookRunner
from sould.agents.soul.hooks.events import EVENTS, Subscription
from sould.agents.toolapi.base import tool_error
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import HookRequest, HookResolved, HookResponse, HookTriggered, ToolReturn

logger = logging.getLogger(__name__)
LONGEST: Final = 1000
"""Characters of a matcher."""
SHORT: Final = 200
"""Characters of a target in which two repetitions are tried in no time."""
LIMITS: Final = SearchLimits(seconds=1, bytes=4096)
_PROGRAM: Final = "import json, re, sys; m, t = json.load(sys.stdin); sys.exit(0 if re.search(m, t) else 1)"
_OUTER = re.compile(r"\^?\(([^()]*)\)\$?")


async def fitting(matchers: Iterable[str], target: str, limits: SearchLimits = LIMITS) -> frozenset[str]:
    """Those that fit. One that cannot be read fits nothing; one that takes too long fits, so that its hook can judge."""
    return frozenset([matcher for matcher in dict.fromkeys(matchers) if await _fits(matcher, target, limits)])


def may_fit(matcher: str, target: str) -> bool:
    """Whether it fits, or would have to be tried for long."""
    return _is_readable(matcher) and (not _is_quick(matcher, target) or re.search(matcher, target) is not None)


async def _fits(matcher: str, target: str, limits: SearchLimits) -> bool:
    if not may_fit(matcher, target):
        return False
    if _is_quick(matcher, target):
        return True
    argv = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _PROGRAM]
    given = json.dumps((matcher, target)).encode()
    try:
        ran = await run_program(argv, cwd=Path("/"), environment={}, stdin=given, limits=limits)
    except OSError as error:
        logger.warning("the matcher %r of a hook was not tried, so its hook runs: %s", matcher[:80], error)
        return True
    if ran.timed_out:
        logger.warning("the matcher %r of a hook took too long, so its hook runs", matcher[:80])
    return ran.code != 1


def _is_readable(matcher: str) -> bool:
    try:
        if len(matcher) <= LONGEST:
            re.compile(matcher)
            return True
        problem: object = f"longer than {LONGEST} characters"
    except (re.error, RecursionError, OverflowError) as error:
        problem = error
    logger.warning("the matcher %r of a hook is not a valid regular expression: %s", matcher[:80], problem)
    return False


def _is_quick(matcher: str, target: str) -> bool:
    """Alternatives of plain characters with hardly a repetition; no groups, of which each can double the time."""
    outer = _OUTER.fullmatch(matcher)
    inner = outer[1] if outer else matcher
    if any(char in inner for char in "(){?"):
        return False
    most = 2 if len(target) <= SHORT else 0
    return all(part.count("*") + part.count("+") <= most for part in inner.split("|"))


MOST_TARGET: Final = 200
"""Characters of a target that are shown."""
MOST_TEXT: Final = 50_000
"""Characters of one text of an event that hooks are given."""
ConfiguredHooks: TypeAlias = Callable[[str], Sequence[Hook]]
"""The hooks that are commands: the user's, and those of a trusted project.

As they are configured now that this happens; those of other events, too.
"""


class Hooks(Struct):
    """The hooks of one session. `commands` is asked anew for every event, so that a changed configuration holds."""

    log: SessionLog
    runner: HookRunner
    session_id: str
    commands: ConfiguredHooks
    _subscriptions: dict[str, tuple[Subscription, ...]] = field(default_factory=dict[str, tuple[Subscription, ...]])
    _asking: dict[str, str] = field(default_factory=dict[str, str])
    """Requests without an answer, and the client that each waits for."""

    def subscribe(self, client_id: str, subscriptions: Sequence[Subscription]) -> None:
        """What a client wants to be asked about, in place of what it wanted before; unknown events are left out."""
        self._subscriptions[client_id] = tuple(each for each in subscriptions if each.event in EVENTS)

    def unsubscribe(self, client_id: str) -> None:
        """The client is gone; what it was being asked it allows."""
        self._subscriptions.pop(client_id, None)
        for request_id, asked in list(self._asking.items()):
            if asked == client_id:
                self.log.channel.resolve(HookResponse(request_id=request_id), client_id)

    def counts(self) -> Mapping[str, int]:
        """How many hooks each event has."""
        events = [hook.event for hook in self.commands("")]
        events += [each.event for several in self._subscriptions.values() for each in several]
        return {event: events.count(event) for event in EVENTS if event in events}

    def status_lines(self) -> Iterable[str]:
        """See `StatusSource`."""
        counts = self.counts()
        if counts:
            yield f"- hooks: {', '.join(f'{event} ({count})' for event, count in counts.items())}"

    def commanded(self, event: str, target: str) -> bool:
        """Whether a command may run on this event."""
        return any(hook.event == event and may_fit(hook.matcher, target) for hook in self.commands(event))

    async def fire(self, event: str, target: str, data: Mapping[str, JsonValue]) -> HookDecision:
        """Run every hook of `event` whose matcher fits `target`; the first that forbids gives the reason."""
        matchers = self._matchers(event)
        if not matchers:
            return HookDecision()
        content = {
            "hook_event_name": event,
            "session_id": self.session_id,
            "cwd": str(self.runner.cwd),
            **{key: _short(value) for key, value in data.items()},
        }
        chosen = await fitting(matchers, target)
        work = [*self._commands(event, chosen, content), *self._asked(event, target, chosen, content)]
        if not work:
            return HookDecision()
        self.log.publish(HookTriggered(event=event, target=target[:MOST_TARGET], hook_count=len(work)))
        began = time.monotonic()
        decision = _together(await asyncio.gather(*work))
        self.log.publish(
            HookResolved(
                event=event,
                target=target[:MOST_TARGET],
                action="block" if decision.blocked else "allow",
                reason=decision.reason,
                duration_ms=round((time.monotonic() - began) * 1000),
            )
        )
        return decision

    async def compaction(self, event: str, trigger: str, tokens: int) -> None:
        """Before or after the conversation is compacted; hooks are told, they cannot forbid it."""
        after = {"estimated_token_count": tokens} if event == "PostCompact" else {}  # the reference's name for it
        await self.fire(event, trigger, {"trigger": trigger, "token_count": tokens, **after})

    def _matchers(self, event: str) -> list[str]:
        subscriptions = (each for several in self._subscriptions.values() for each in several)
        return [each.matcher for each in (*self.commands(event), *subscriptions) if each.event == event]

    def _commands(
        self, event: str, matchers: frozenset[str], content: Mapping[str, JsonValue]
    ) -> Iterator[Awaitable[HookDecision]]:
        """The same command is run once, however often it is named."""
        chosen = {
            hook.command: hook for hook in self.commands(event) if hook.event == event and hook.matcher in matchers
        }
        given = orjson.dumps(content) if chosen else b""
        return (self._run(hook, given) for hook in chosen.values())

    async def _run(self, hook: Hook, given: bytes) -> HookDecision:
        decision = await self.runner.run(hook.command, given, hook.timeout)
        for message in decision.messages:
            self.log.publish(message)
        return decision

    def _asked(
        self, event: str, target: str, matchers: frozenset[str], content: dict[str, JsonValue]
    ) -> Iterator[Awaitable[HookDecision]]:
        for client_id, subscriptions in self._subscriptions.items():
            for each in subscriptions:
                if each.event == event and each.matcher in matchers:
                    request = HookRequest(
                        id=secrets.token_hex(6),
                        subscription_id=each.id,
                        event=event,
                        target=target[:MOST_TARGET],
                        input_data=content,
                        client_id=client_id,
                    )
                    yield self._ask(request, each.timeout)

    async def _ask(self, request: HookRequest, timeout: float) -> HookDecision:
        self._asking[request.id] = request.client_id
        try:
            async with asyncio.timeout(timeout):
                response = await self.log.channel.request(request)
        except TimeoutError:
            return HookDecision(reason=f"The editor did not answer within {timeout:g} s.")
        except RequestClosedError:
            return HookDecision()
        finally:
            del self._asking[request.id]
        if not isinstance(response, HookResponse) or response.action == "allow":
            return HookDecision()
        return HookDecision(blocked=True, reason=response.reason[:MOST_REASON] or "A hook blocked it.")


def _together(said: Sequence[HookDecision]) -> HookDecision:
    """The first that forbids, else the first that failed, else nothing."""
    blocking = (each for each in said if each.blocked)
    failed = (each for each in said if each.reason)
    return next(blocking, None) or next(failed, None) or HookDecision()


def _short(value: JsonValue) -> JsonValue:
    return value[:MOST_TEXT] if isinstance(value, str) else value


async def with_hooks(
    hooks: Hooks | None,
    name: str,
    arguments: Mapping[str, JsonValue],
    call_id: str,
    run: Callable[[], Awaitable[ToolReturn]],
    seen: Callable[[], AbstractAsyncContextManager[None]],
) -> ToolReturn:
    """Run the call unless a hook forbids it. What a hook says afterwards is added for the model; the result stays.

    `seen` surrounds hooks that are commands, and nothing else: between them the call may wait for a person.
    """
    if hooks is None:
        return await run()
    event: dict[str, JsonValue] = {"tool_name": name, "tool_input": dict(arguments), "tool_call_id": call_id}

    async def fire(kind: str, **more: JsonValue) -> HookDecision:
        if not hooks.commanded(kind, name):
            return await hooks.fire(kind, name, {**event, **more})
        async with seen():
            return await hooks.fire(kind, name, {**event, **more})

    before = await fire("PreToolUse")
    if before.blocked:
        return tool_error(f"A hook blocked this call, so it did not run: {before.reason}", brief="Blocked by a hook")
    result = await run()
    if result.extras and result.extras.get("rejected"):
        return result
    if result.is_error:
        after = await fire("PostToolUseFailure", error=result.message or _text(result))
    else:
        after = await fire("PostToolUse", tool_output=_text(result))
    if after.blocked:
        return result.model_copy(update={"message": f"{result.message}\nA hook says: {after.reason}".strip()})
    return result


def _text(result: ToolReturn) -> str:
    if isinstance(result.output, str):
        return result.output
    return "\n".join(part.text for part in result.output if isinstance(part, TextPart))
