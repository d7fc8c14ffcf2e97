"""Handlers: conversations of other agents, found and imported (docs/session-clients.md)."""

from msgspec import to_builtins

from sould.acp.connection.client import AcpClient
from sould.acp.connection.openings import opening_of
from sould.acp.outbound import Json
from sould.acp.schema import ImportParams, ImportsParams, OpeningParams
from sould.acp.shapes import Imported, KeptConversations, KeptElsewhere
from sould.agents.base.text import iso_time
from sould.agents.clients.params import absolute


async def imports(client: AcpClient, params: ImportsParams) -> Json:
    """What can be imported for a directory."""
    found = await (await client.host()).kept_elsewhere(opening_of(client, OpeningParams(cwd=params.cwd)))
    kept = (KeptElsewhere(each.agent, str(each.path), each.title, iso_time(each.updated)) for each in found)
    return to_builtins(KeptConversations(tuple(kept)))


async def import_session(client: AcpClient, params: ImportParams) -> Json:
    """A new session, which waits on disk for whoever opens it."""
    host, opening = await client.host(), opening_of(client, OpeningParams(cwd=params.cwd))
    session, found = await host.import_session(opening, absolute(params.path, "path"), params.agent)
    await host.detach(session.id, "")
    return to_builtins(Imported(session.id, found.agent, len(found.said), dict(found.skipped)))
