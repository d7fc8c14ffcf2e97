"""What the editor tells: documents, roots, where its user looks, a line each over what keeps it; and what its user chose."""

from typing import Any, cast

from sould.agents.base.rpc.errors import INVALID_PARAMS, ConnectionGoneError, RpcError
from sould.agents.clients.frontend import review
from sould.agents.clients.params import parsed
from sould.agents.clients.review.params import ReportParams
from sould.editors.lsp import types
from sould.editors.lsp.attachment import PREFIX
from sould.editors.lsp.client import LspClient
from sould.editors.lsp.introduction import read_settings
from sould.editors.lsp.types import written

SECTION = "sould"


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
