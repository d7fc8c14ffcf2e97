"""Going on with an editor whose daemon died or was restarted (D11): it must not notice, but for what was on its way."""

import logging

from sould.agents.base.errors import SouldError
from sould.agents.clients.connections import ConnectionRecord
from sould.agents.clients.frontend.resuming import answer_what_died, follow_again
from sould.editors.lsp.client import REQUEST_FAILED, LspClient
from sould.editors.lsp.connection.introduction import read_introduction

logger = logging.getLogger(__name__)

CONTENT_MODIFIED = -32801
"""What is asked about a document is asked again by editors, without a word to their users."""


async def go_on(client: LspClient, resume: ConnectionRecord) -> None:
    """Take up a connection whose daemon died: end its cut message, answer what died with it, take its documents up again."""
    connection = client.connection
    if resume.cut and resume.owed:
        connection.write(b" " * resume.owed)
    for request_id in resume.asked:
        connection.withdraw(request_id)
    if resume.initialize:
        client.introduce(read_introduction(resume.initialize), resume.initialize)
    answer_what_died(client, ((each, _code(each.method)) for each in resume.unanswered))
    await client.documents.take_up(client.services.memory.handed, unsure=resume.unsure)
    for session_id, remembered in resume.sessions.items():
        try:
            await client.sessions.go_on(session_id, remembered)
        except SouldError as error:
            logger.warning("session %s could not be taken up again: %s", session_id, error)
    await follow_again(client, resume)


def _code(method: str) -> int:
    return CONTENT_MODIFIED if method.startswith("textDocument/") else REQUEST_FAILED
