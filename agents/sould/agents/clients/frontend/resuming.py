"""Going on with a client whose daemon died or was restarted (D11): what is the same in every protocol."""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from sould.agents.base.errors import SouldError
from sould.agents.base.rpc.errors import RpcError
from sould.agents.clients.connections import ConnectionRecord, Unanswered
from sould.agents.clients.frontend.connection import ClientConnection
from sould.agents.clients.frontend.editor import FORGOTTEN

logger = logging.getLogger(__name__)

DIED: Final = "sould was stopped before this was answered; nothing that was acknowledged is lost. Try again."


def answer_what_died(
    client: ClientConnection, requests: Iterable[tuple[Unanswered, int]], sentence: str = DIED
) -> None:
    """Requests that died with the last daemon get an error, each with its code."""
    for request, code in requests:
        logger.info("answering %s, which died with the last daemon", request.method)
        error = RpcError(code, sentence, {"kind": "interrupted", "details": sentence})
        client.connection.answer_error(request.id, error)


async def follow_again(client: ClientConnection, resume: ConnectionRecord) -> None:
    """Tell the client again what changes in what it followed, and have it say again what only the last daemon knew."""
    for root in resume.followed:
        await _follow(client, Path(root))
    if resume.inbox:
        (await client.inbox()).subscribe_again()
    if resume.serves_tools:
        client.connection.notify(FORGOTTEN, {})
    client.services.memory.remember()


async def _follow(client: ClientConnection, root: Path) -> None:
    try:
        async with (await client.projects()).of(root) as project:
            project.subscribe(again=True)
    except (SouldError, OSError) as error:
        logger.warning("the review of %s could not be followed again: %s", root, error)
