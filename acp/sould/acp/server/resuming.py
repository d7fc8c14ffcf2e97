"""Going on with a client whose daemon died or was restarted (D11): what it had asked, and the sessions it showed."""

import logging

from sould.acp.connection.client import PROMPT, AcpClient
from sould.acp.connection.handing import Handed, unpack
from sould.acp.connection.mcp_servers import servers_of
from sould.acp.connection.openings import reopening_of
from sould.acp.introduction import read_introduction
from sould.acp.outbound import Json
from sould.acp.schema import OpeningParams
from sould.agents.base.errors import SouldError
from sould.agents.base.rpc.errors import INTERNAL_ERROR, RpcError
from sould.agents.base.rpc.messages import Request
from sould.agents.clients.connections import AttachedSession, ConnectionRecord
from sould.agents.clients.frontend.resuming import answer_what_died, follow_again
from sould.agents.wire.stream import Cursor

logger = logging.getLogger(__name__)

LOST = "sould was stopped, and this session cannot be shown again; see `sould logs`. What was shown is kept."
"""To a prompt: it may have run commands, so doing it again is for the user to decide."""


async def go_on(client: AcpClient, resume: ConnectionRecord) -> None:
    """Take up a connection whose daemon died: end its cut line, answer what died with it, show what was missed."""
    connection = client.connection
    if resume.cut:
        connection.write(b"\n")
    for request_id in resume.asked:
        connection.withdraw(request_id, "asked again, because sould was restarted")
    if resume.initialize:
        client.introduce(read_introduction(resume.initialize), resume.initialize)
    answer_what_died(client, ((each, INTERNAL_ERROR) for each in resume.unanswered if each.method != PROMPT))
    brought = unpack(client.services.memory.handed)
    given = brought.given.get("")
    client.give(given, unknown=resume.gives_models and given is None)
    for session_id, attached in resume.sessions.items():
        try:
            await _reattach(client, session_id, attached, brought)
        except (SouldError, RpcError) as error:
            logger.warning("session %s could not be shown again: %s", session_id, error)
    _answer_prompts(client, resume)
    if resume.reported:
        connection.notify("_sould/review/forgotten", {})
    await follow_again(client, resume)


def _answer_prompts(client: AcpClient, resume: ConnectionRecord) -> None:
    """Each prompt gets the end of its own turn; that of a session which cannot be shown again gets an error."""
    for request in resume.unanswered:
        if request.method != PROMPT:
            continue
        attachment = client.attachments.get(request.session_id)
        if attachment is None:
            answer_what_died(client, [(request, INTERNAL_ERROR)], LOST)
            continue
        asked = Request(request.id, request.method, {"sessionId": request.session_id})
        client.connection.adopt(asked, attachment.prompts.answer_again(request.turn_id))


async def _reattach(client: AcpClient, session_id: str, attached: AttachedSession, handed: Handed) -> None:
    brought = handed.mcp.get(session_id, [])
    served: list[Json] = [{"type": "acp", "name": name, "serverId": server_id} for name, server_id in attached.served]
    params = OpeningParams.model_validate(
        {"cwd": attached.cwd, "additionalDirectories": list(attached.additional), "mcpServers": served + brought}
    )
    opening = reopening_of(client, params, handed.given.get(session_id))
    session = await (await client.host()).open(session_id, opening)
    names = {server["name"] for server in brought}
    servers = servers_of(opening, (name for name in attached.brought if name not in names))
    attachment = client.attach(session, servers)
    await attachment.catch_up(Cursor(attached.seq, attached.offset))
    attachment.begin_again()
    session.miss_servers(servers.missed)
