"""Hooks around one tool call: asked before it runs, told how it went. Nothing here runs a tool by itself."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager

from pydantic import JsonValue

from sould.agents.soul.hooks.command import Decision
from sould.agents.soul.hooks.engine import Hooks
from sould.agents.toolapi.base import tool_error
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import ToolReturn


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

    async def fire(kind: str, **more: JsonValue) -> Decision:
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
