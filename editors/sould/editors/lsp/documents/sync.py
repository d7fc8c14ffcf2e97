"""What the editor tells: documents, settings, roots, where its user looks. One line each over what keeps it."""

from typing import TYPE_CHECKING, Any, cast

from sould.agents.base.rpc.errors import INVALID_PARAMS, RpcError
from sould.agents.clients.params import parsed
from sould.agents.clients.review.params import ReportParams
from sould.agents.clients.review.requests import METHODS, REPORT
from sould.editors.lsp import types
from sould.editors.lsp.agents.progress import PREFIX
from sould.editors.lsp.connection import settings

if TYPE_CHECKING:
    from sould.editors.lsp.peer import Peer


async def opened(peer: "Peer", params: types.DidOpenParams) -> None:
    """The editor shows a document."""
    await peer.documents.opened(params.text_document)


async def changed(peer: "Peer", params: types.DidChangeParams) -> None:
    """The text of a document is another one."""
    await peer.documents.changed(params)


async def not_understood(peer: "Peer", raw: dict[str, Any]) -> None:
    """A change of a document that is none as the protocol has it: what the document holds is not known any more."""
    document = raw.get("textDocument")
    uri = cast("dict[str, Any]", document).get("uri") if isinstance(document, dict) else None
    if isinstance(uri, str):
        await peer.documents.lose(uri)


async def saved(peer: "Peer", params: types.DidSaveParams) -> None:
    """A document is on disk as it is."""
    await peer.documents.saved(params.text_document.uri, params.text)


async def closed(peer: "Peer", params: types.DocumentParams) -> None:
    """The editor shows a document no more."""
    await peer.documents.closed(params.text_document.uri)


async def initialized(peer: "Peer", raw: dict[str, Any]) -> None:
    """The handshake is over: the user's settings can be asked for."""
    await settings.ask(peer)


async def configured(peer: "Peer", params: types.DidChangeConfigurationParams) -> None:
    """The user chose other settings. An editor that does not say which is asked."""
    if isinstance(params.settings, dict):
        await settings.take(peer, cast("dict[str, Any]", params.settings))
    else:
        await settings.ask(peer)


async def folders_changed(peer: "Peer", params: types.DidChangeFoldersParams) -> None:
    """The window has other roots."""
    gone = {folder.uri for folder in params.event.removed}
    peer.change_folders(gone, [folder.uri for folder in params.event.added])


async def cancelled(peer: "Peer", params: types.ProgressCancelParams) -> None:
    """The user does not want a turn to go on."""
    peer.sessions.cancel_turn(str(params.token).removeprefix(PREFIX))


async def report(peer: "Peer", raw: dict[str, Any]) -> Any:
    """Where the user looks; documents are told as the protocol has it."""
    if parsed(ReportParams, raw).event != "focus":
        data = {"kind": "invalid_params", "field": "event"}
        raise RpcError(
            INVALID_PARAMS, "event must be focus: documents are told by textDocument/didOpen and so on.", data
        )
    return await METHODS[REPORT](peer, raw)
