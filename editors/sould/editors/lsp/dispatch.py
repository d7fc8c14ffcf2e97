"""The one table from method name to handler. Handlers see typed parameters; names, kinds and codes stay here.

Loaded when the first editor has its answer to `initialize` (D9).
"""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from sould.agents.base.errors import SouldError
from sould.agents.base.rpc.connection import Reply, described
from sould.agents.base.rpc.errors import METHOD_NOT_FOUND, RpcError
from sould.agents.clients.editor.requests import METHODS as EDITOR
from sould.agents.clients.editor.requests import STATE
from sould.agents.clients.inbox.requests import METHODS as INBOX
from sould.agents.clients.review.methods import ClientCall
from sould.agents.clients.review.requests import METHODS, REPORT
from sould.editors.lsp import commands, types
from sould.editors.lsp.documents import accepted, sync
from sould.editors.lsp.peer import REQUEST_FAILED, Peer
from sould.editors.lsp.protocol import read, written
from sould.editors.lsp.review import actions, lenses

Json = dict[str, Any]
ParamsT = TypeVar("ParamsT")


class Call(Protocol):
    """Serves one method for one editor."""

    def __call__(self, peer: Peer, raw: Json, /) -> Awaitable[Any]:
        """The answer to `raw`."""
        ...


class Route(Struct, frozen=True):
    """How one method is served. `request`, `notification`: as what it is sent."""

    call: Call
    request: bool = True
    notification: bool = False


def route(params: type[ParamsT], handler: Callable[[Peer, ParamsT], Awaitable[Any]]) -> Route:
    """A request's handler with its parameters' type."""

    async def call(peer: Peer, raw: Json) -> Any:
        return written(await handler(peer, read(params, raw)))

    return Route(call)


async def _passed_over(peer: Peer, raw: Json) -> None:
    """What is no notification as the protocol has it changes nothing."""


def told(
    params: type[ParamsT], handler: Callable[[Peer, ParamsT], Awaitable[None]], *, wrong: Call = _passed_over
) -> Route:
    """A notification's handler with its parameters' type; `wrong`: what else comes of what is none."""

    async def call(peer: Peer, raw: Json) -> None:
        try:
            given = read(params, raw)
        except RpcError:
            await wrong(peer, raw)
            raise
        await handler(peer, given)

    return Route(call, request=False, notification=True)


def _shared(shared_call: ClientCall[Peer], *, notification: bool = False) -> Route:
    """A method that clients of every protocol have."""

    def call(peer: Peer, raw: Json) -> Awaitable[Any | Reply]:
        return shared_call(peer, raw)

    return Route(call, notification=notification)


ROUTES: dict[str, Route] = {
    "initialized": Route(sync.initialized, request=False, notification=True),
    "textDocument/didOpen": told(types.DidOpenParams, sync.opened),
    "textDocument/didChange": told(types.DidChangeParams, sync.changed, wrong=sync.not_understood),
    "textDocument/didSave": told(types.DidSaveParams, sync.saved),
    "textDocument/didClose": told(types.DocumentParams, sync.closed),
    "workspace/didChangeConfiguration": told(types.DidChangeConfigurationParams, sync.configured),
    "workspace/didChangeWorkspaceFolders": told(types.DidChangeFoldersParams, sync.folders_changed),
    "textDocument/codeLens": route(types.DocumentParams, lenses.show),
    "textDocument/codeAction": route(types.CodeActionParams, actions.show),
    "workspace/textDocumentContent": route(types.ContentParams, accepted.show),
    "window/workDoneProgress/cancel": told(types.ProgressCancelParams, sync.cancelled),
    "workspace/executeCommand": route(types.ExecuteCommandParams, commands.execute),
    **{name: _shared(call) for name, call in METHODS.items() if name != REPORT},
    **{name: _shared(call) for name, call in INBOX.items()},
    **{name: _shared(call, notification=name == STATE) for name, call in EDITOR.items()},
    REPORT: Route(sync.report, notification=True),
}


class Dispatcher:
    """The connection's handler: looks a method up and runs it for one editor."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def request(self, method: str, params: Json) -> Any:
        """The result. Raises RpcError."""
        found = ROUTES.get(method)
        if found is None or not found.request:
            raise RpcError(METHOD_NOT_FOUND, f"There is no method {method[:80]!r}.")
        try:
            return await found.call(self._peer, params)
        except SouldError as error:
            failed = described(error)
            raise RpcError(REQUEST_FAILED, failed.message, failed.data) from error

    async def notification(self, method: str, params: Json) -> None:
        """Act on what is a notification; everything else is ignored."""
        found = ROUTES.get(method)
        if found is not None and found.notification:
            await found.call(self._peer, params)
