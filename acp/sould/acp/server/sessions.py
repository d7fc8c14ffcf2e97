"""The life of sessions: new, load, resume, fork, list, status, delete, close, set_title, archive; import, and pages of a transcript.

Updates of a session follow the answer that introduces it; only `session/load` sends the history, and how the session
stands, before it answers (the conformance kit's ACP-LOAD-002).
"""

import asyncio
import time
from pathlib import Path

from msgspec import to_builtins

from sould.acp.connection.attachment import Attachment
from sould.acp.connection.client import NOT_FOUND, AcpClient
from sould.acp.connection.mcp_servers import servers_of
from sould.acp.connection.openings import opening_of
from sould.acp.features import features_of
from sould.acp.outbound import Json
from sould.acp.projection.status import session_state
from sould.acp.projection.transcript import TranscriptPart
from sould.acp.schema import (
    ArchiveParams,
    ImportParams,
    ImportsParams,
    ListSessionsParams,
    OpeningParams,
    SessionParams,
    StoredOpeningParams,
    TitleParams,
    TranscriptParams,
)
from sould.acp.shapes import Imported, KeptConversations, KeptElsewhere
from sould.agents.base.errors import SessionNotFoundError
from sould.agents.base.rpc.connection import Reply
from sould.agents.base.rpc.errors import INVALID_PARAMS, RpcError
from sould.agents.base.text import iso_time
from sould.agents.clients.params import absolute
from sould.agents.journal.channel import Record
from sould.agents.journal.pages import Page
from sould.agents.sessions.hostport import HostPort
from sould.agents.sessions.store.imported.finding import kept_for
from sould.agents.sessions.storedsessions import ListedSession, SessionPages
from sould.agents.sessions.worktrees.worktrees import Worktree


async def new(client: AcpClient, params: OpeningParams) -> Reply:
    """Begin a session. A client that can sign in its user is told first when that is needed."""
    opening = opening_of(client, params)
    host = await client.host()
    if client.capabilities.terminal_sign_in:
        await host.require_model(opening)
    session = await host.new(opening)
    attachment = client.attach(session, servers_of(opening))
    return Reply({"sessionId": session.id, **_state(host, attachment)}, attachment.begin)


async def load(client: AcpClient, params: StoredOpeningParams) -> Reply:
    """Open a session and replay its whole conversation before answering."""
    host = await client.host()
    attachment = await _opened(client, params)
    try:
        await attachment.show_history()
    except BaseException:  # withdrawn by the client: what is half shown is not shown
        client.detach(params.session_id)
        await host.detach(params.session_id, client.id)
        raise
    return Reply(_state(host, attachment), lambda: attachment.begin(introduce=False))


async def resume(client: AcpClient, params: StoredOpeningParams) -> Reply:
    """Open a session without its history; what is running is shown as it is.

    To a client that is told places it may be shown already, by another surface of it: that one loses nothing.
    """
    host, shown = await client.host(), client.attachments.get(params.session_id)
    if shown is not None and shown.shared and not params.mcp_servers:
        session = await host.open(params.session_id, opening_of(client, params))
        if session == shown.session:
            return Reply(_state(host, shown), shown.introduce)
    attachment = await _opened(client, params)
    await attachment.look_back()
    return Reply(_state(host, attachment), lambda: attachment.begin(open_calls=True))


async def fork(client: AcpClient, params: StoredOpeningParams) -> Reply:
    """A new session that begins with what another one has said."""
    opening = opening_of(client, params)
    host = await client.host()
    session = await host.fork(params.session_id, opening)
    attachment = client.attach(session, servers_of(opening), forked=True)
    return Reply({"sessionId": session.id, **_state(host, attachment)}, attachment.begin)


async def list_sessions(client: AcpClient, params: ListSessionsParams) -> Json:
    """One page, most recently used first."""
    cwd = absolute(params.cwd, "cwd") if params.cwd is not None else None
    host = await client.host()
    archived = params.archived or ("include" if params.own.archived else "exclude")
    origins = params.own.origin or "attended"
    page = await host.stored.list(cwd, params.cursor, archived=archived, origins=origins)
    rows = await host.stored.with_branches(page.items)
    worktrees = await asyncio.to_thread(host.worktrees.known.around_each, {info.cwd for info in page.items})
    shown = (_row(row, worktrees.get(row.info.cwd)) for row in rows)
    answer: Json = {"sessions": list(shown)}
    if page.next_cursor is not None:
        answer["nextCursor"] = page.next_cursor
    if page.left_out:
        answer["_meta"] = {"sould": {"leftOut": page.left_out}}
    return answer


async def delete(client: AcpClient, params: SessionParams) -> Json:
    """Remove a session; one that does not exist is deleted already."""
    host = await client.host()
    client.detach(params.session_id)
    try:
        await host.stored.delete(params.session_id)
    except SessionNotFoundError:
        return {}
    return {}


async def close(client: AcpClient, params: SessionParams) -> Json:
    """Stop showing a session; its work is cancelled only when nobody else shows it (D12)."""
    client.attached(params.session_id)
    host = await client.host()
    try:
        await host.close(params.session_id, client.id)
    finally:
        client.detach(params.session_id)
    return {}


async def set_title(client: AcpClient, params: TitleParams) -> Json:
    """Give a session, open or not, a title."""
    title = " ".join(params.title.split())[:200]
    if not title:
        raise RpcError(INVALID_PARAMS, "The title is empty.")
    info = (await client.host()).stored.rename(params.session_id, title)
    return {"title": info.title}


async def set_archived(client: AcpClient, params: ArchiveParams) -> Json:
    """Take a session, open or not, out of the lists, or back into them."""
    info = (await client.host()).stored.archive(params.session_id, archived=params.archived)
    return {"archived": info.archived}


async def archive(client: AcpClient, params: SessionParams) -> Json:
    """Archive a session and stop showing it, as `close` does; one that held nothing is gone with that."""
    host = await client.host()
    host.stored.archive(params.session_id)
    try:
        await host.close(params.session_id, client.id)
    finally:
        client.detach(params.session_id)
    return {}


async def unarchive(client: AcpClient, params: SessionParams) -> Json:
    """End an archive; nothing is opened."""
    (await client.host()).stored.archive(params.session_id, archived=False)
    return {}


async def status(client: AcpClient, params: SessionParams) -> Json:
    """Whether a session is in memory, for whomever; whether a turn runs, and what waits for a person. Opens nothing."""
    host = await client.host()
    live = host.live(params.session_id)
    if live is None:
        try:
            host.stored.pages(params.session_id)
        except SessionNotFoundError as error:
            data = {"kind": error.kind, "details": error.message, "sessionId": params.session_id}
            raise RpcError(NOT_FOUND, error.message, data) from error
    waiting = sum(each.session.id == params.session_id for each in await host.inbox.all())
    own = {"running": live is not None and live.turns.running, "waiting": waiting}
    return {"status": "open" if live is not None else "saved", "_meta": {"sould": own}}


async def export(client: AcpClient, params: SessionParams) -> Json:
    """The conversation of a session, open or not, as Markdown."""
    return {"text": await (await client.host()).stored.markdown(params.session_id)}


async def _opened(client: AcpClient, params: StoredOpeningParams) -> Attachment:
    """The session, shown in this client. What opening it has to say of this client's wishes, this client is told, too."""
    opening, host = opening_of(client, params), await client.host()
    live = host.live(params.session_id)
    before = live.position if live is not None else None
    return client.attach(await host.open(params.session_id, opening), servers_of(opening), before)


def _state(host: HostPort, attachment: Attachment) -> Json:
    """With where it works, where that is a worktree of its own.

    Nothing is waited for: what a session says between its attachment and the answer that introduces it would be lost. Files are
    read, small ones, only for a session that is in a worktree.
    """
    cwd = attachment.session.info.cwd
    worktree = host.worktrees.known.around(cwd)
    own = attachment.place
    if worktree is not None:
        own["worktree"] = _worktree(worktree)
        own["cwd"] = str(cwd)
    return {**session_state(attachment.session.options.all()), **({"_meta": {"sould": own}} if own else {})}


def _worktree(worktree: Worktree) -> Json:
    return {"name": worktree.name, "branch": worktree.branch, "repository": str(worktree.repository)}


def _row(row: ListedSession, worktree: Worktree | None) -> Json:
    info = row.info
    shown: Json = {
        "sessionId": info.id,
        "cwd": str(info.cwd),
        "updatedAt": iso_time(info.updated),
        "archived": info.archived,
    }
    if info.additional:
        shown["additionalDirectories"] = [str(Path(path)) for path in info.additional]
    if info.title:
        shown["title"] = info.title
    said = {"archived": info.archived, "branch": row.branch, "origin": info.origin}
    own: Json = {key: value for key, value in said.items() if value}
    if worktree is not None:
        own["worktree"] = _worktree(worktree)
    if own:
        shown["_meta"] = {"sould": own}
    return shown


async def imports(client: AcpClient, params: ImportsParams) -> Json:
    """What can be imported for a directory."""
    opening = opening_of(client, OpeningParams(cwd=params.cwd))
    found = await asyncio.to_thread(kept_for, opening.cwd, opening.environment)
    kept = (KeptElsewhere(each.agent, str(each.path), each.title, iso_time(each.updated)) for each in found)
    return to_builtins(KeptConversations(tuple(kept)))


async def import_session(client: AcpClient, params: ImportParams) -> Json:
    """A new session, which waits on disk for whoever opens it."""
    host, opening = await client.host(), opening_of(client, OpeningParams(cwd=params.cwd))
    session, found = await host.import_session(opening, absolute(params.path, "path"), params.agent)
    await host.detach(session.id, "")
    return to_builtins(Imported(session.id, found.agent, len(found.said), dict(found.skipped)))


SLICE = 0.001
"""Seconds of reading between two looks at the rest of the daemon."""


async def transcript(client: AcpClient, params: TranscriptParams) -> Json:
    """A page of it. From the last look at the journal to the answer nothing is awaited."""
    host = await client.host()
    pages = host.stored.pages(params.session_id)
    page = await pages.find(params.before, params.limit)
    part = TranscriptPart(params.session_id, str(pages.info.cwd), features_of(client.capabilities, client.info))
    if not page.stop:
        for record in await pages.plan(page):
            part.recall(record)
    last = await _read(pages, page, part, None)
    while (shown := _shown_in(client, params.session_id)) is not None and not (pages.live and shown.follower.at_rest):
        await shown.follower.shown()
        pages = host.stored.pages(params.session_id)  # it may have been opened meanwhile
        last = await _read(pages, page, part, last)
    if shown is not None:
        part.add_output(shown.updates.calls.printed(part.running))
    return {"updates": part.shown(), "before": page.before, "sequence": pages.position(last).number}


def _shown_in(client: AcpClient, session_id: str) -> Attachment | None:
    shown = client.attachments.get(session_id)
    return None if shown is None or shown.session.closed else shown


async def _read(pages: SessionPages, page: Page, part: TranscriptPart, last: Record | None) -> Record | None:
    """Go on from `last` as far as the page goes, and as its calls take; the last record of it, or behind it."""
    pause = time.monotonic() + SLICE
    for record in pages.records(page, last.after if last is not None else None):
        if page.stop and record.seq >= page.stop:
            part.end()
            if not part.running:
                return last
        part.take(record)
        last = record
        if time.monotonic() > pause:
            await asyncio.sleep(0)
            pause = time.monotonic() + SLICE
    return last
