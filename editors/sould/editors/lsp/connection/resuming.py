"""Going on with an editor whose daemon died or was restarted (D11): it must not notice, but for what was on its way."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from sould.agents.base.errors import SouldError
from sould.agents.base.rpc.errors import RpcError
from sould.agents.clients.connections import ConnectionRecord, Unanswered
from sould.agents.clients.editor.requests import FORGOTTEN
from sould.editors.lsp.connection.introduction import read_introduction
from sould.editors.lsp.peer import REQUEST_FAILED

if TYPE_CHECKING:
    from sould.editors.lsp.peer import Peer

logger = logging.getLogger(__name__)

CONTENT_MODIFIED = -32801
"""What is asked about a document is asked again by editors, without a word to their users."""


async def go_on(peer: "Peer", resume: ConnectionRecord) -> None:
    """Take up a connection whose daemon died: end its cut message, answer what died with it, take its documents up again."""
    connection = peer.connection
    if resume.cut and resume.owed:
        connection.write(b" " * resume.owed)
    for request_id in resume.asked:
        connection.withdraw(request_id)
    if resume.initialize:
        peer.introduce(read_introduction(resume.initialize), resume.initialize)
    for request in resume.unanswered:
        connection.answer_error(request.id, _died(request))
    await peer.documents.take_up(peer.services.memory.handed, unsure=resume.unsure)
    for session_id, remembered in resume.sessions.items():
        try:
            await peer.sessions.go_on(session_id, remembered)
        except SouldError as error:
            logger.warning("session %s could not be taken up again: %s", session_id, error)
    for root in resume.followed:
        await _follow(peer, Path(root))
    if resume.inbox:
        (await peer.inbox()).subscribe_again()
    if resume.serves_tools:
        connection.notify(FORGOTTEN, {})
    peer.remember()


async def _follow(peer: "Peer", root: Path) -> None:
    """Tell the editor again what changes in a project."""
    try:
        async with (await peer.projects()).of(root) as project:
            project.subscribe(again=True)
    except (SouldError, OSError) as error:
        logger.warning("the review of %s could not be followed again: %s", root, error)


def _died(request: Unanswered) -> RpcError:
    sentence = "sould was stopped before this was answered; nothing that was acknowledged is lost. Try again."
    logger.info("answering %s, which died with the last daemon", request.method)
    code = CONTENT_MODIFIED if request.method.startswith("textDocument/") else REQUEST_FAILED
    return RpcError(code, sentence, {"kind": "interrupted", "details": sentence})
