"""Files as their user accepted them, as documents of a scheme of ours: what hunks are compared with."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from sould.agents.reviewclients.projects import resolve
from sould.agents.rpc.errors import INVALID_PARAMS, RpcError
from sould.editors.lsp import types
from sould.editors.lsp.handshake import BASE_SCHEME
from sould.editors.lsp.places import Place, place_of
from sould.editors.lsp.words import show_document, tell

if TYPE_CHECKING:
    from sould.editors.lsp.peer import Peer


async def show(peer: "Peer", params: types.ContentParams) -> types.ContentResult:
    """The text of one. Raises RpcError: it is none of ours, or not under review."""
    parts = urlsplit(params.uri)
    path = unquote(parts.path)
    if parts.scheme != BASE_SCHEME or not path.startswith("/") or "\0" in path:
        data = {"kind": "invalid_params", "field": "uri"}
        raise RpcError(INVALID_PARAMS, f"uri must be one of {BASE_SCHEME}, not {params.uri[:200]!r}.", data)
    [resolved] = await asyncio.to_thread(resolve, [Path(path)])
    async with (await peer.projects()).of(resolved) as project:
        text = await project.port.base(resolved)
    if text is None:
        data = {"kind": "invalid_params", "field": "uri"}
        raise RpcError(INVALID_PARAMS, f"{path} is not under review, or no text.", data)
    return types.ContentResult(text)


async def open_base(peer: "Peer", given: Place) -> dict[str, Any]:
    """Show a file as it was accepted, where the editor shows such documents; its URI."""
    uri = f"{BASE_SCHEME}://{quote(str(place_of(peer, given)))}"
    if not (peer.can.shows_content and await show_document(peer, uri)):
        tell(peer, "info", "This editor does not show documents of language servers.")
    return {"uri": uri}
