"""Going on with a client whose daemon died or was restarted (D11): what it had asked, and the sessions it showed."""

import logging
from pathlib import Path

from sould.acp.client.client_mcp_servers import servers_of, unpack
from sould.acp.connection.openings import opening_of
from sould.acp.connection.peer import Peer
from sould.acp.introduction import read_introduction
from sould.acp.outbound import Json
from sould.acp.schema import OpeningParams
from sould.agents.base.errors import SouldError
from sould.agents.base.rpc.errors import INTERNAL_ERROR, RpcError
from sould.agents.base.rpc.messages import Request
from sould.agents.clients.connections import AttachedSession, ConnectionRecord, Unanswered
from sould.agents.clients.editor.requests import FORGOTTEN
from sould.agents.wire.stream import Cursor

logger = logging.getLogger(__name__)


async def go_on(peer: Peer, resume: ConnectionRecord) -> None:
    """Take up a connection whose daemon died: end its cut line, answer what died with it, show what was missed."""
    connection = peer.connection
    if resume.cut:
        connection.write(b"\n")
    for request_id in resume.asked:
        connection.withdraw(request_id, "asked again, because sould was restarted")
    if resume.initialize:
        peer.introduce(read_introduction(resume.initialize), resume.initialize)
    for request in resume.unanswered:
        if request.method != "session/prompt":
            connection.answer_error(request.id, _died(request))
    brought = unpack(peer.services.memory.handed)
    for session_id, attached in resume.sessions.items():
        try:
            await _reattach(peer, session_id, attached, brought.get(session_id, []))
        except (SouldError, RpcError) as error:
            logger.warning("session %s could not be shown again: %s", session_id, error)
    _answer_prompts(peer, resume)
    for root in resume.followed:
        await _follow(peer, Path(root))
    if resume.inbox:
        (await peer.inbox()).subscribe_again()
    if resume.serves_tools:
        connection.notify(FORGOTTEN, {})
    if resume.reported:
        connection.notify("_sould/review/forgotten", {})
    peer.remember()


async def _follow(peer: Peer, root: Path) -> None:
    """Tell the client again what changes in a project."""
    try:
        async with (await peer.projects()).of(root) as project:
            project.subscribe(again=True)
    except (SouldError, OSError) as error:
        logger.warning("the review of %s could not be followed again: %s", root, error)


def _answer_prompts(peer: Peer, resume: ConnectionRecord) -> None:
    """Each prompt gets the end of its own turn; that of a session which cannot be shown again gets an error."""
    for request in resume.unanswered:
        if request.method != "session/prompt":
            continue
        attachment = peer.attachments.get(request.session_id)
        if attachment is None:
            peer.connection.answer_error(request.id, _died(request))
            continue
        asked = Request(request.id, request.method, {"sessionId": request.session_id})
        peer.connection.adopt(asked, attachment.answer_again(request.turn_id))


async def _reattach(peer: Peer, session_id: str, attached: AttachedSession, brought: list[Json]) -> None:
    served: list[Json] = [{"type": "acp", "name": name, "serverId": server_id} for name, server_id in attached.served]
    params = OpeningParams.model_validate(
        {"cwd": attached.cwd, "additionalDirectories": list(attached.additional), "mcpServers": served + brought}
    )
    opening = opening_of(peer, params)
    session = await (await peer.host()).open(session_id, opening)
    handed = {server["name"] for server in brought}
    servers = servers_of(opening, (name for name in attached.brought if name not in handed))
    attachment = peer.attach(session, servers)
    await attachment.catch_up(Cursor(attached.seq, attached.offset))
    attachment.begin_again()
    session.miss_servers(servers.missed)


def _died(request: Unanswered) -> RpcError:
    sentence = "sould was stopped before this was answered; nothing that was acknowledged is lost. Try again."
    if request.method == "session/prompt":  # it may have run commands: doing it again is for the user to decide
        sentence = (
            "sould was stopped, and this session cannot be shown again; see `sould logs`. What was shown is kept."
        )
    logger.info("answering %s, which died with the last daemon", request.method)
    return RpcError(INTERNAL_ERROR, sentence, {"kind": "interrupted", "details": sentence})
