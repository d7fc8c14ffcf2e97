"""What a panel looks for: sessions by what was said, files by name, resources, what fills the window (docs/session-clients.md)."""

import asyncio
import os
from pathlib import Path

from msgspec import to_builtins

from sould.acp.connection.client import AcpClient
from sould.acp.outbound import Json
from sould.acp.schema import BreakdownParams, FindFilesParams, ResourcesParams, SearchParams
from sould.acp.shapes import (
    ContextBreakdown,
    FoundFile,
    FoundFiles,
    FoundSession,
    FoundSessions,
    MentionedResource,
    SessionResources,
    ToolTokens,
)
from sould.agents.base.rpc.errors import INVALID_PARAMS, RpcError
from sould.agents.base.text import iso_time
from sould.agents.clients.params import absolute
from sould.agents.tools.editor.site import OtherAgent

MOST_RESOURCES = 1000


async def find_sessions(client: AcpClient, params: SearchParams) -> Json:
    """Sessions with these words, last used first."""
    cwd = absolute(params.cwd, "cwd") if params.cwd is not None else None
    found = await (await client.host()).search(params.query, cwd, params.limit, archived=params.archived)
    shown = [
        FoundSession(
            each.info.id,
            str(each.info.cwd),
            each.info.title,
            iso_time(each.info.updated),
            each.info.archived,
            each.snippet,
        )
        for each in found
    ]
    return to_builtins(FoundSessions(shown))


async def find_files(client: AcpClient, params: FindFilesParams) -> Json:
    """Files and directories with these letters, the best first."""
    directory = Path(await asyncio.to_thread(os.path.realpath, absolute(params.cwd, "cwd")))
    if not await asyncio.to_thread(directory.is_dir):
        raise RpcError(INVALID_PARAMS, f"There is no directory {params.cwd[:200]!r}.")
    process = client.services.client
    place = OtherAgent(client.name, directory, process.environment, process.umask)
    found = await (await client.host()).finder.find(place, params.query, params.limit)
    return to_builtins(FoundFiles([FoundFile(str(each.path), each.name) for each in found.files], found.partial))


async def context(client: AcpClient, params: BreakdownParams) -> Json:
    """What fills the model's window."""
    found = client.attached(params.session_id).session.breakdown
    tools = [ToolTokens(each.name, each.server, each.calls, each.described, each.used) for each in found.tools]
    parts = found.instructions, found.asked, found.answered
    return to_builtins(ContextBreakdown(found.used, found.window, found.counted, *parts, tools))


async def resources(client: AcpClient, params: ResourcesParams) -> Json:
    """What the session's MCP servers offer for being mentioned."""
    found = [
        MentionedResource(server, each.uri, each.name, each.description)
        for server, offered in client.attached(params.session_id).session.resources.items()
        for each in offered
    ]
    return to_builtins(SessionResources(found[:MOST_RESOURCES], len(found) > MOST_RESOURCES))
