"""What the editor's user chose, after `initialize`: told by the editor, or asked for; what is shown follows it at once."""

from typing import TYPE_CHECKING, Any, cast

from sould.agents.base.rpc.errors import ConnectionGoneError, RpcError
from sould.editors.lsp import types
from sould.editors.lsp.connection.introduction import read_settings
from sould.editors.lsp.protocol import written

if TYPE_CHECKING:
    from sould.editors.lsp.peer import Peer

SECTION = "sould"


async def ask(peer: "Peer") -> None:
    """Ask the editor, if it can be asked."""
    if peer.editor is None or not peer.can.has_settings:
        return
    # eglot before Emacs 30 fails where no scope is named
    item = types.ConfigurationItem(SECTION, next(iter(peer.editor.folders), None))
    try:
        answer: Any = await peer.connection.request(
            "workspace/configuration", written(types.ConfigurationParams([item]))
        )
    except (RpcError, ConnectionGoneError):
        return
    found: Any = cast("list[Any]", answer)[0] if isinstance(answer, list) and answer else None
    if isinstance(found, dict):
        await take(peer, cast("dict[str, Any]", found))


async def take(peer: "Peer", raw: dict[str, Any]) -> None:
    """The user chose these; what is not named is as before."""
    if peer.editor is None:
        return
    before = peer.editor.settings
    after = read_settings(raw, before)
    if after != before:
        peer.choose(after)
        peer.news.renew()
