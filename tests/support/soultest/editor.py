"""An editor beside the real daemon: `sould acp` as a process, spoken to by the raw ACP client, its wire judged at the end."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from soultest.acpclient import ALLOW_ONCE, FULL, AcpClient, Json, Policy, ProcessStream
from soultest.world import SOULD, World


@asynccontextmanager
async def editor(
    world: World, *, permissions: Policy = ALLOW_ONCE, mode: str = "", model: str = "", agent: str = "", **options: Any
) -> AsyncGenerator[tuple[AcpClient, str]]:
    """A client that can do everything, and its new session in the world's project."""
    stream = await ProcessStream.start(str(SOULD), "acp", cwd=world.project, environment=world.environment)
    async with AcpClient(stream, permissions=permissions, **options) as client:
        await client.initialize(FULL)
        session = await client.new_session(world.project)
        for option, value in (("mode", mode), ("model", model), ("agent", agent)):
            if value:
                await client.request("session/set_config_option", sessionId=session, configId=option, value=value)
        yield client, session
    client.check()


def calls(client: AcpClient) -> list[Json]:
    """The tool calls as the editor shows them now, in the order they were announced."""
    shown: dict[tuple[str, str], Json] = {}
    for message in client.messages:
        update: Json = message["params"]["update"] if message.get("method") == "session/update" else {}
        if update.get("sessionUpdate") in ("tool_call", "tool_call_update"):
            key = (str(message["params"]["sessionId"]), str(update["toolCallId"]))
            shown[key] = shown.get(key, {}) | update
    return list(shown.values())


def titled(client: AcpClient, title: str, *, last: bool = False) -> Json:
    """The one call with that title, or the last of several."""
    found = [call for call in calls(client) if call["title"] == title]
    assert len(found) == 1 or (found and last), [call["title"] for call in calls(client)]
    return found[-1]
