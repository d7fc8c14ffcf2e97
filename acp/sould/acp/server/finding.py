"""What a panel asks for: sessions by what was said, files by name, resources, what fills the window (docs/session-clients.md).

And what a session makes of its conversation: a code block put into a file, a commit message.
"""

import asyncio
import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec import to_builtins

from sould.acp.connection.client import AcpClient
from sould.acp.outbound import Json
from sould.acp.schema import (
    ApplyParams,
    BreakdownParams,
    CommitMessageParams,
    FindFilesParams,
    ResourcesParams,
    SearchParams,
)
from sould.acp.shapes import (
    Applied,
    CommitMessage,
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
from sould.agents.clients.review.params import PositionParams, RangeParams
from sould.agents.clients.review.reported import before
from sould.agents.files.review.lines import split
from sould.agents.sessions.operations.applying import NotAppliedError
from sould.agents.tools.editor.site import OtherAgent
from sould.agents.tools.lineends import dominant, with_line_ends
from sould.agents.tools.writefile import new_text

MOST_RESOURCES = 1000


async def find_sessions(client: AcpClient, params: SearchParams) -> Json:
    """Sessions with these words, last used first."""
    cwd = absolute(params.cwd, "cwd") if params.cwd is not None else None
    found = await (await client.host()).stored.search(
        params.query, cwd, params.limit, archived=params.archived, origins=params.origin or "attended"
    )
    shown = [
        FoundSession(
            each.info.id,
            str(each.info.cwd),
            each.info.title,
            iso_time(each.info.updated),
            each.info.archived,
            each.info.origin,
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
    found, partly = await (await client.host()).finder.find(place, params.query, params.limit)
    return to_builtins(FoundFiles([FoundFile(str(each.path), each.name) for each in found], partly))


async def context(client: AcpClient, params: BreakdownParams) -> Json:
    """What fills the model's window."""
    found = client.attached(params.session_id).session.context.breakdown
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


_FENCE = re.compile(r"\A```[a-z]*\n|\n```\Z")


async def apply(client: AcpClient, params: ApplyParams) -> Json:
    """Write it where what was seen is still there. What the client said of its buffers is known first."""
    session = client.attached(params.session_id).session
    await client.reports_taken()
    path, changed = await session.applying.apply(params.path, partial(_changed, params))
    return to_builtins(Applied("applied" if changed else "unchanged", str(path)))


async def commit_message(client: AcpClient, params: CommitMessageParams) -> Json:
    """By the session's model, without what some models put around a text."""
    await client.reports_taken()
    said = await client.attached(params.session_id).session.commit_message()
    return to_builtins(CommitMessage(_FENCE.sub("", said.strip()).strip()))


def _changed(params: ApplyParams, text: str | None) -> str:
    """A `Change`: with the line ends that the file has."""
    if params.range is None:
        _require(params, text or "")
        return new_text(text, params.text, "overwrite")
    start, stop = _places(params.range, text or "")
    old = text or ""
    _require(params, old[start:stop])
    return old[:start] + with_line_ends(params.text, dominant(old)) + old[stop:]


def _require(params: ApplyParams, found: str) -> None:
    if params.expected is not None and with_line_ends(found, "\n") != with_line_ends(params.expected, "\n"):
        raise NotAppliedError("Nothing was written: another text stands there by now. Look at it and apply again.")


def _places(given: RangeParams, text: str) -> tuple[int, int]:
    lines = split(text)
    start, stop = (_offset(each, lines) for each in (given.start, given.end))
    if start > stop:
        raise NotAppliedError("Nothing was written: the range ends before it begins.")
    return start, stop


def _offset(place: PositionParams, lines: Sequence[str]) -> int:
    """In characters; what is behind the end of a line, or of the text, is there."""
    above = sum(map(len, lines[: place.line]))
    return above + (len(before(lines[place.line], place.character, "utf-16")) if place.line < len(lines) else 0)
