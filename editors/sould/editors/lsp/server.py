"""One LSP connection from its first byte to its last, also over a restart of the daemon.

`initialize`, `shutdown` and `exit` are answered with what this module imports. All else waits for pygls and what is registered
there, which is loaded meanwhile.
"""

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sould.agents.base.importing import load
from sould.agents.base.rpc.connection import Handler, Reply
from sould.agents.base.rpc.errors import INVALID_REQUEST, RpcError
from sould.agents.base.rpc.framing import HEADERS, ByteStream
from sould.agents.clients.connections import ConnectionServices
from sould.agents.clients.frontend.connection import LateHandler
from sould.editors.lsp.client import LspClient
from sould.editors.lsp.connection import CountedStream, EditorConnection
from sould.editors.lsp.introduction import BASE_SCHEME, Json, read_introduction

if TYPE_CHECKING:
    from sould.agents.clients.connections import ConnectionRecord

FEATURES: Final = "sould.editors.lsp.features"
"""What serves all other methods."""
REVIEW: Final = 1
"""The version of the methods below `_sould/review`."""
INBOX: Final = 1
"""The same of those below `_sould/inbox`."""
EDITOR: Final = 1
"""That of the methods below `_sould/editor`."""
COMMANDS: Final = tuple(
    f"sould.{name}"
    for name in (
        *(
            "keep",
            "reject",
            "keepFile",
            "rejectFile",
            "keepAll",
            "rejectAll",
            "undo",
            "next",
            "base",
            "why",
            "prompt",
            "steer",
            "cancel",
            "session",
            "answer",
            "fix",
            "explain",
            "edit",
        ),
    )
)
"""Of `workspace/executeCommand`."""


async def initialize(client: EditorConnection, raw: Json) -> Reply:
    """What we offer. When the answer has left, what all else needs is loaded."""
    if client.editor is not None:
        raise RpcError(INVALID_REQUEST, "The connection is initialised already.")
    said = read_introduction(raw)
    client.introduce(said, raw)
    answer = {
        "capabilities": _capabilities(client),
        "serverInfo": {"name": "sould", "version": client.services.version},
    }
    return Reply(answer, lambda: client.connection.on_drain(lambda: client.services.load(FEATURES)))


def _capabilities(client: EditorConnection) -> Json:
    can = client.can
    workspace: Json = {"workspaceFolders": {"supported": True, "changeNotifications": True}}
    if can.shows_content:
        workspace["textDocumentContent"] = {"schemes": [BASE_SCHEME]}
    kinds = {"codeActionKinds": ["quickfix", "refactor.rewrite"]}
    return {
        "positionEncoding": can.encoding,
        "textDocumentSync": {"openClose": True, "change": 2, "save": {"includeText": True}},
        "codeLensProvider": {"resolveProvider": False},
        "codeActionProvider": kinds if can.action_kinds else True,
        "executeCommandProvider": {"commands": list(COMMANDS), "workDoneProgress": False},
        "workspace": workspace,
        "experimental": {
            "sould": {"version": client.services.version, "review": REVIEW, "inbox": INBOX, "editor": EDITOR}
        },
    }


async def serve_lsp(stream: ByteStream, services: ConnectionServices) -> None:
    """Serve one editor window until it is gone. What an earlier daemon left goes on (D11)."""
    counted = CountedStream(stream)
    client = LspClient(services, counted)
    await client.serve(counted, Methods(client), dialect=HEADERS, go_on=partial(_go_on, client))


class Methods:
    """The connection's handler: the handshake at once, everything else by pygls, in the order in which it came."""

    def __init__(self, client: LspClient) -> None:
        self._client = client
        self._late = LateHandler(partial(_handler, client), partial(initialize, client))

    async def request(self, method: str, params: Json) -> Any:
        """See `Handler`."""
        if method != "initialize":
            self._client.require_initialized()
            if method == "shutdown":
                self._client.announce_end()
                return None
            if self._client.leaving:
                raise RpcError(INVALID_REQUEST, "The connection ends: `shutdown` was sent.")
        return await self._late.request(method, params)

    async def notification(self, method: str, params: Json) -> None:
        """See `Handler`. What comes before the handshake is dropped, as the protocol has it, but for the end."""
        if method == "exit":
            await self._client.end()
        elif self._client.editor is not None and not self._client.leaving:
            try:
                await self._late.notification(method, params)
            except RpcError:
                if method == "textDocument/didChange":
                    await self._client.documents.not_understood(params)
                raise


async def _handler(client: LspClient) -> Handler:
    await load(FEATURES)
    from sould.editors.lsp.features import handler  # noqa: PLC0415 -- initialize is answered without it

    return handler(client)


async def _go_on(client: LspClient, resume: "ConnectionRecord") -> None:
    await load(FEATURES)
    from sould.editors.lsp.features import go_on  # noqa: PLC0415 -- as above

    await go_on(client, resume)
