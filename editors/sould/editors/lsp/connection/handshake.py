"""`initialize` and the end of a connection: answered before sessions are loaded (D9)."""

from typing import Final

from sould.agents.base.rpc.connection import Reply
from sould.agents.base.rpc.errors import INVALID_REQUEST, RpcError
from sould.editors.lsp.connection.editor import EditorConnection
from sould.editors.lsp.connection.introduction import Json, read_introduction

DISPATCH: Final = "sould.editors.lsp.dispatch"
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
BASE_SCHEME: Final = "sould-base"
"""Of the URIs of files as their user accepted them."""


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
    return Reply(answer, lambda: client.connection.on_drain(lambda: client.services.load(DISPATCH)))


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
