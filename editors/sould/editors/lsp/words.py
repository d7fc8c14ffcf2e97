"""What the editor's user is told and asked in the editor's own way: messages, and questions with buttons."""

import asyncio
import os
from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias, cast

from lsprotocol import types

from sould.agents.base.rpc.errors import METHOD_NOT_FOUND, ConnectionGoneError, RpcError
from sould.editors.lsp.connection import EditorConnection
from sould.editors.lsp.protocol import written

Importance: TypeAlias = Literal["error", "warning", "info"]
_TYPES: dict[Importance, types.MessageType] = {
    "error": types.MessageType.Error,
    "warning": types.MessageType.Warning,
    "info": types.MessageType.Info,
}
NO_BUTTONS = (
    "This editor has no buttons for an answer: `sould review` in a terminal asks about hunks, "
    "and `sould status` says how to answer agents."
)
WITHDRAWN: Final = "_sould/message/withdrawn"
"""Of a question with a token: somebody else answered it, or nobody has to."""
LONGEST: int = 2_000
"""Characters of a message."""


def tell(client: EditorConnection, importance: Importance, sentence: str) -> None:
    """Show a message."""
    client.lsp.window_show_message(types.ShowMessageParams(_TYPES[importance], shortened(sentence)))


async def ask(client: EditorConnection, importance: Importance, question: str, answers: Sequence[str]) -> str | None:
    """Which of the answers the user chose; None: none of them, or the editor cannot ask, and the question was told with who can."""
    actions = [types.MessageActionItem(title) for title in answers]
    token = os.urandom(8).hex() if client.can.withdraws else ""
    params = written(types.ShowMessageRequestParams(_TYPES[importance], shortened(question), actions))
    if token:
        params["token"] = token  # ours: what it is told with that nobody needs the answer any more
    try:
        answer: Any = await client.connection.request(types.WINDOW_SHOW_MESSAGE_REQUEST, params)
    except RpcError as error:
        if error.code == METHOD_NOT_FOUND:
            tell(client, importance, f"{question}\n{NO_BUTTONS}")
        return None
    except ConnectionGoneError:
        return None
    except asyncio.CancelledError:
        if token:
            client.connection.notify(WITHDRAWN, {"token": token})
        raise
    title = cast("dict[str, Any]", answer).get("title") if isinstance(answer, dict) else None
    return title if isinstance(title, str) and title in answers else None


async def show_document(client: EditorConnection, uri: str, place: types.Position | None = None) -> bool:
    """Show a document without taking the focus. False: the editor does not."""
    selection = types.Range(place, place) if place is not None else None
    params = types.ShowDocumentParams(uri, external=False, take_focus=False, selection=selection)
    if not client.can.shows_documents:
        return False
    try:
        answer = await client.lsp.window_show_document_async(params)
    except (RpcError, ConnectionGoneError):
        return False
    return answer.success


def shortened(text: str) -> str:
    """So that it fits into a message."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def sentence(words: str) -> str:
    """With a capital letter and a full stop."""
    return f"{words[:1].upper()}{words[1:]}" + ("" if words.endswith((".", "?", "!")) else ".")
