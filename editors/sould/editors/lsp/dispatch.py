"""The one table from method name to handler. Handlers see typed parameters; names, kinds and codes stay here.

Loaded when the first editor has its answer to `initialize` (D9).
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from sould.agents.base.errors import SouldError
from sould.agents.base.rpc.connection import described
from sould.agents.base.rpc.errors import RpcError
from sould.agents.clients.frontend import editor, inbox, review
from sould.agents.clients.frontend.routes import Call, Dispatcher, Route
from sould.editors.lsp import commands, types
from sould.editors.lsp.client import REQUEST_FAILED, LspClient
from sould.editors.lsp.documents import sync
from sould.editors.lsp.protocol import read, written
from sould.editors.lsp.review import actions, lenses

Json = dict[str, Any]
ParamsT = TypeVar("ParamsT")


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
    "textDocument/codeLens": route(types.DocumentParams, lenses.show),
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
