"""The one table from method name to handler, what the editor tells, and going on with an editor whose daemon died.

Handlers see typed parameters; names, kinds and codes stay here. Loaded when the first editor has its answer to `initialize` (D9).
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from sould.agents.base.errors import SouldError
from sould.agents.base.rpc.connection import described
from sould.agents.base.rpc.errors import INVALID_PARAMS, ConnectionGoneError, RpcError
from sould.agents.clients.connections import ConnectionRecord
from sould.agents.clients.frontend import editor, inbox, review
from sould.agents.clients.frontend.resuming import answer_what_died, follow_again
from sould.agents.clients.frontend.routes import Call, Dispatcher, Route
from sould.agents.clients.params import parsed
from sould.agents.clients.review.params import ReportParams
from sould.editors.lsp import actions, commands, hunks, types
from sould.editors.lsp.attachment import PREFIX
from sould.editors.lsp.client import REQUEST_FAILED, LspClient
from sould.editors.lsp.introduction import read_introduction, read_settings
from sould.editors.lsp.types import read, written

SECTION = "sould"
Json = dict[str, Any]
ParamsT = TypeVar("ParamsT")
CONTENT_MODIFIED = -32801
"""What is asked about a document is asked again by editors, without a word to their users."""
logger = logging.getLogger(__name__)


async def opened(client: LspClient, params: types.DidOpenParams) -> None:
    """The editor shows a document."""
    await client.documents.opened(params.text_document)


async def changed(client: LspClient, params: types.DidChangeParams) -> None:
    """The text of a document is another one."""
    await client.documents.changed(params)


async def not_understood(client: LspClient, raw: dict[str, Any]) -> None:
    """A change of a document that is none as the protocol has it: what the document holds is not known any more."""
    document = raw.get("textDocument")
    uri = cast("dict[str, Any]", document).get("uri") if isinstance(document, dict) else None
    if isinstance(uri, str):
        await client.documents.lose(uri)


async def saved(client: LspClient, params: types.DidSaveParams) -> None:
    """A document is on disk as it is."""
    await client.documents.saved(params.text_document.uri, params.text)


async def closed(client: LspClient, params: types.DocumentParams) -> None:
    """The editor shows a document no more."""
    await client.documents.closed(params.text_document.uri)


async def initialized(client: LspClient, raw: dict[str, Any]) -> None:
    """The handshake is over: the user's settings can be asked for."""
    await _ask(client)


async def configured(client: LspClient, params: types.DidChangeConfigurationParams) -> None:
    """The user chose other settings. An editor that does not say which is asked."""
    if isinstance(params.settings, dict):
        await _take(client, cast("dict[str, Any]", params.settings))
    else:
        await _ask(client)


async def folders_changed(client: LspClient, params: types.DidChangeFoldersParams) -> None:
    """The window has other roots."""
    gone = {folder.uri for folder in params.event.removed}
    client.change_folders(gone, [folder.uri for folder in params.event.added])


async def cancelled(client: LspClient, params: types.ProgressCancelParams) -> None:
    """The user does not want a turn to go on."""
    client.sessions.cancel_turn(str(params.token).removeprefix(PREFIX))


async def report(client: LspClient, raw: dict[str, Any]) -> Any:
    """Where the user looks; documents are told as the protocol has it."""
    params = parsed(ReportParams, raw)
    if params.event != "focus":
        data = {"kind": "invalid_params", "field": "event"}
        raise RpcError(
            INVALID_PARAMS, "event must be focus: documents are told by textDocument/didOpen and so on.", data
        )
    return await review.report(client, params)


async def _ask(client: LspClient) -> None:
    """Ask the editor for its user's settings, if it can be asked."""
    if client.editor is None or not client.can.has_settings:
        return
    # eglot before Emacs 30 fails where no scope is named
    item = types.ConfigurationItem(SECTION, next(iter(client.editor.folders), None))
    try:
        answer: Any = await client.connection.request(
            "workspace/configuration", written(types.ConfigurationParams([item]))
        )
    except (RpcError, ConnectionGoneError):
        return
    found: Any = cast("list[Any]", answer)[0] if isinstance(answer, list) and answer else None
    if isinstance(found, dict):
        await _take(client, cast("dict[str, Any]", found))


async def _take(client: LspClient, raw: dict[str, Any]) -> None:
    """The user chose these; what is not named is as before. What is shown follows at once."""
    if client.editor is None:
        return
    before = client.editor.settings
    after = read_settings(raw, before)
    if after != before:
        client.choose(after)
        client.news.renew()


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
    "initialized": Route(initialized, request=False, notification=True),
    "textDocument/didOpen": told(types.DidOpenParams, opened),
    "textDocument/didChange": told(types.DidChangeParams, changed, wrong=not_understood),
    "textDocument/didSave": told(types.DidSaveParams, saved),
    "textDocument/didClose": told(types.DocumentParams, closed),
    "workspace/didChangeConfiguration": told(types.DidChangeConfigurationParams, configured),
    "workspace/didChangeWorkspaceFolders": told(types.DidChangeFoldersParams, folders_changed),
    "textDocument/codeLens": route(types.DocumentParams, hunks.lenses),
    "textDocument/codeAction": route(types.CodeActionParams, actions.show),
    "workspace/textDocumentContent": route(types.ContentParams, _accepted),
    "window/workDoneProgress/cancel": told(types.ProgressCancelParams, cancelled),
    "workspace/executeCommand": route(types.ExecuteCommandParams, commands.execute),
    **review.METHODS,
    **inbox.METHODS,
    **editor.METHODS,
    review.REPORT: Route(report, notification=True),
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
