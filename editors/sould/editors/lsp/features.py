"""What the editor tells of its documents, folders and settings, and going on with an editor whose daemon died.

What it asks for is registered where it is served. Loaded when the first editor has its answer to `initialize` (D9).
"""

import logging
from typing import Any, Final, cast

from lsprotocol import types

from sould.agents.base.errors import SouldError
from sould.agents.base.rpc.connection import Handler
from sould.agents.base.rpc.errors import INVALID_PARAMS, ConnectionGoneError, RpcError
from sould.agents.clients.connections import ConnectionRecord
from sould.agents.clients.frontend import editor, inbox, review
from sould.agents.clients.frontend.resuming import answer_what_died, follow_again
from sould.agents.clients.params import parsed
from sould.agents.clients.review.params import ReportParams
from sould.editors.lsp import actions, commands, hunks
from sould.editors.lsp.attachment import PREFIX
from sould.editors.lsp.client import LspClient
from sould.editors.lsp.introduction import read_introduction, read_settings
from sould.editors.lsp.protocol import REQUEST_FAILED, EditorProtocol, server

SECTION: Final = "sould"
CONTENT_MODIFIED: Final = -32801
"""What is asked about a document is asked again by editors, without a word to their users."""
SERVED_ELSEWHERE: Final = (actions, commands, hunks)
"""Imported for what they register."""
logger = logging.getLogger(__name__)

for _methods in (review.METHODS, inbox.METHODS, editor.METHODS):
    for _method, _route in _methods.items():
        if _method != review.REPORT:
            server.feature(_method)(_route.call)


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
async def opened(client: LspClient, params: types.DidOpenTextDocumentParams) -> None:
    """The editor shows a document."""
    await client.documents.opened(params.text_document)


@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
async def changed(client: LspClient, params: types.DidChangeTextDocumentParams) -> None:
    """The text of a document is another one."""
    await client.documents.changed(params)


@server.feature(types.TEXT_DOCUMENT_DID_SAVE)
async def saved(client: LspClient, params: types.DidSaveTextDocumentParams) -> None:
    """A document is on disk as it is."""
    await client.documents.saved(params.text_document.uri, params.text)


@server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
async def closed(client: LspClient, params: types.DidCloseTextDocumentParams) -> None:
    """The editor shows a document no more."""
    await client.documents.closed(params.text_document.uri)


@server.feature(types.INITIALIZED)
async def initialized(client: LspClient, params: types.InitializedParams) -> None:
    """The handshake is over: the user's settings can be asked for."""
    await _ask(client)


@server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
async def configured(client: LspClient, params: types.DidChangeConfigurationParams) -> None:
    """The user chose other settings. An editor that does not say which is asked."""
    if isinstance(params.settings, dict):
        await _take(client, cast("dict[str, Any]", params.settings))
    else:
        await _ask(client)


@server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
async def folders_changed(client: LspClient, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """The window has other roots."""
    gone = {folder.uri for folder in params.event.removed}
    client.change_folders(gone, [folder.uri for folder in params.event.added])


@server.feature(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
async def cancelled(client: LspClient, params: types.WorkDoneProgressCancelParams) -> None:
    """The user does not want a turn to go on."""
    client.sessions.cancel_turn(str(params.token).removeprefix(PREFIX))


@server.feature(types.WORKSPACE_TEXT_DOCUMENT_CONTENT)
async def accepted_text(client: LspClient, params: types.TextDocumentContentParams) -> types.TextDocumentContentResult:
    """A file as its user accepted it."""
    return types.TextDocumentContentResult(await client.accepted.content(params.uri))


@server.feature(review.REPORT)
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
    item = types.ConfigurationItem(next(iter(client.editor.folders), None), SECTION)
    try:
        answer = await client.lsp.workspace_configuration_async(types.ConfigurationParams([item]))
    except (RpcError, ConnectionGoneError):
        return
    found = answer[0] if answer else None
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


def handler(client: LspClient) -> Handler:
    """The connection's handler."""
    protocol = client.lsp.protocol
    assert isinstance(protocol, EditorProtocol)
    return protocol


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
