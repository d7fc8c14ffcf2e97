"""An editor beside the real daemon: `sould acp` as a process, spoken to by the raw ACP client, its wire judged at the end."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from soultest.acpclient import ALLOW_ONCE, FULL, AcpClient, Json, Policy, ProcessStream
from soultest.world import SOULD, World


@asynccontextmanager
async def client_of(
    world: World,
    *,
    capabilities: Json | None = None,
    meta: Json | None = None,
    permissions: Policy = ALLOW_ONCE,
    **more: Any,
) -> AsyncGenerator[AcpClient]:
    """An initialized client without a session. `meta` is what it says to us alone. A daemon is there before."""
    if not world.daemon():
        world.start()
    stream = await ProcessStream.start(str(SOULD), "acp", cwd=world.project, environment=world.environment)
    async with AcpClient(stream, permissions=permissions, **more) as client:
        said = FULL if capabilities is None else capabilities
        own: Json = {"_meta": {**said.get("_meta", {}), "sould": meta}} if meta else {}
        await client.initialize(said | own)
        yield client
    client.check()


@asynccontextmanager
async def editor(
    world: World, project: Path | None = None, *, model: str = "", mode: str = "", agent: str = "", **options: Any
) -> AsyncGenerator[tuple[AcpClient, str]]:
    """A client (see `client_of` for its options) and its new session, in the world's project unless another is given."""
    async with client_of(world, **options) as client:
        session = await client.new_session(project or world.project)
        for option, value in (("agent", agent), ("model", model), ("mode", mode)):
            if value:
                await client.request("session/set_config_option", sessionId=session, configId=option, value=value)
        yield client, session


async def said(client: AcpClient, session: str, prompt: str) -> str:
    """What a command answers."""
    before = len(client.text(session))
    assert (await client.prompt(session, prompt))["stopReason"] == "end_turn"
    return client.text(session)[before:]


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
