"""What the editor's user chose, after `initialize`: told by the editor, or asked for; what is shown follows it at once."""

from typing import Any, cast

from sould.agents.base.rpc.errors import ConnectionGoneError, RpcError
from sould.editors.lsp import types
from sould.editors.lsp.client import LspClient
from sould.editors.lsp.connection.introduction import read_settings
from sould.editors.lsp.protocol import written

SECTION = "sould"


async def ask(client: LspClient) -> None:
    """Ask the editor, if it can be asked."""
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
        await take(client, cast("dict[str, Any]", found))


async def take(client: LspClient, raw: dict[str, Any]) -> None:
    """The user chose these; what is not named is as before."""
    if client.editor is None:
        return
    before = client.editor.settings
    after = read_settings(raw, before)
    if after != before:
        client.choose(after)
        client.news.renew()
