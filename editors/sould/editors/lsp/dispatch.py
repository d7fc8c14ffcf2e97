"""The one table from method name to handler, and going on with an editor whose daemon died.

Handlers see typed parameters; names, kinds and codes stay here. Loaded when the first editor has its answer to `initialize` (D9).
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from sould.agents.base.errors import SouldError
from sould.agents.base.rpc.connection import described
from sould.agents.base.rpc.errors import RpcError
from sould.agents.clients.connections import ConnectionRecord
from sould.agents.clients.frontend import editor, inbox, review
from sould.agents.clients.frontend.resuming import answer_what_died, follow_again
from sould.agents.clients.frontend.routes import Call, Dispatcher, Route
from sould.editors.lsp import actions, commands, hunks, sync, types
from sould.editors.lsp.client import REQUEST_FAILED, LspClient
from sould.editors.lsp.introduction import read_introduction
from sould.editors.lsp.types import read, written

Json = dict[str, Any]
ParamsT = TypeVar("ParamsT")
CONTENT_MODIFIED = -32801
"""What is asked about a document is asked again by editors, without a word to their users."""

logger = logging.getLogger(__name__)


def route(params: type[ParamsT], handler: Callable[[LspClient, ParamsT], Awaitable[Any]]) -> Route[LspClient]:
    """A request's handler with its parameters' type."""

    async def call(client: LspClient, raw: Json) -> Any:
        return written(await handler(client, read(params, raw)))

    return Route(call)


async def _passed_over(client: LspClient, raw: Json) -> None:
    """What is no notification as the protocol has it changes nothing."""


def told(
    params: type[ParamsT],
    handler: Callable[[LspClient, ParamsT], Awaitable[None]],
    *,
    wrong: Call[LspClient] = _passed_over,
) -> Route[LspClient]:
    """A notification's handler with its parameters' type; `wrong`: what else comes of what is none."""

    async def call(client: LspClient, raw: Json) -> None:
        try:
            given = read(params, raw)
        except RpcError:
            await wrong(client, raw)
            raise
        await handler(client, given)

    return Route(call, request=False, notification=True)


async def _accepted(client: LspClient, params: types.ContentParams) -> types.ContentResult:
    return await client.accepted.content(params)


ROUTES: dict[str, Route[LspClient]] = {
    "initialized": Route(sync.initialized, request=False, notification=True),
    "textDocument/didOpen": told(types.DidOpenParams, sync.opened),
    "textDocument/didChange": told(types.DidChangeParams, sync.changed, wrong=sync.not_understood),
    "textDocument/didSave": told(types.DidSaveParams, sync.saved),
    "textDocument/didClose": told(types.DocumentParams, sync.closed),
    "workspace/didChangeConfiguration": told(types.DidChangeConfigurationParams, sync.configured),
    "workspace/didChangeWorkspaceFolders": told(types.DidChangeFoldersParams, sync.folders_changed),
    "textDocument/codeLens": route(types.DocumentParams, hunks.lenses),
    "textDocument/codeAction": route(types.CodeActionParams, actions.show),
    "workspace/textDocumentContent": route(types.ContentParams, _accepted),
    "window/workDoneProgress/cancel": told(types.ProgressCancelParams, sync.cancelled),
    "workspace/executeCommand": route(types.ExecuteCommandParams, commands.execute),
    **review.METHODS,
    **inbox.METHODS,
    **editor.METHODS,
    review.REPORT: Route(sync.report, notification=True),
}


def dispatcher(client: LspClient) -> Dispatcher[LspClient]:
    """The connection's handler."""
    return Dispatcher(client, ROUTES, _refusal)


def _refusal(error: SouldError) -> RpcError:
    failed = described(error)
    return RpcError(REQUEST_FAILED, failed.message, failed.data)


async def go_on(client: LspClient, resume: ConnectionRecord) -> None:
    """Take up a connection whose daemon died (D11): end its cut message, answer what died with it, take its documents up again."""
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
