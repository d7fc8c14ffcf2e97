"""Files as their user accepted them, as documents of a scheme of ours: what hunks are compared with.

The editor is told to ask again for those it was given last when they are others.
"""

import asyncio
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from lsprotocol import types

from sould.agents.base.rpc.errors import INVALID_PARAMS, ConnectionGoneError, RpcError
from sould.agents.clients.review.projects import resolve
from sould.agents.files.projects.port import ProjectPort
from sould.editors.lsp.connection import EditorConnection
from sould.editors.lsp.introduction import BASE_SCHEME
from sould.editors.lsp.opened import Documents, Place, place_of
from sould.editors.lsp.protocol import server
from sould.editors.lsp.words import show_document, tell

MOST_SHOWN: Final = 20
"""That the editor is told of when they change; it does not say which it still shows."""
TOGETHER: Final = 0.02
"""Seconds within which changes are told as one."""


class _Shown:
    """One that the editor was given, followed until `end`."""

    def __init__(self, client: EditorConnection, documents: Documents, path: Path, uri: str, port: ProjectPort) -> None:
        self._client, self._documents = client, documents
        self._path, self._uri, self._port = path, uri, port
        self._text = ""
        self._comparing = False
        self._stack = ExitStack()

    def follow(self, text: str, held: ExitStack) -> None:
        """It was given with this text. `held`: what is given up with it."""
        self._text = text
        self._stack.push(held)
        self._stack.enter_context(self._port.following(self._note))

    def end(self) -> None:
        """The editor is not told of it any more."""
        self._stack.close()

    async def renew(self) -> str:
        """Its text now; what is under review no more was accepted as it is."""
        base = await self._port.review.base(str(self._path))
        self._text = base if base is not None else await self._documents.text(self._path)
        return self._text

    def _note(self, path: str) -> None:
        if path == str(self._path) and not self._comparing and not self._client.connection.gone:
            self._comparing = True
            self._client.connection.spawn(self._compare(), "refresh accepted text")

    async def _compare(self) -> None:
        await asyncio.sleep(TOGETHER)
        self._comparing = False
        before = self._text
        if await self.renew() == before:
            return
        params = types.TextDocumentContentRefreshParams(self._uri)
        with suppress(RpcError, ConnectionGoneError):
            await self._client.lsp.workspace_text_document_content_refresh_async(params)


class AcceptedTexts:
    """Those that one editor window was given."""

    def __init__(self, client: EditorConnection, documents: Documents) -> None:
        self._client = client
        self._documents = documents
        self._shown: dict[Path, _Shown] = {}
        """The one given last at the end."""

    async def content(self, uri: str) -> str:
        """The text of one. Raises RpcError: it is none of ours, or not under review."""
        parts = urlsplit(uri)
        path = unquote(parts.path)
        if parts.scheme != BASE_SCHEME or not path.startswith("/") or "\0" in path:
            data = {"kind": "invalid_params", "field": "uri"}
            raise RpcError(INVALID_PARAMS, f"uri must be one of {BASE_SCHEME}, not {uri[:200]!r}.", data)
        [resolved] = await asyncio.to_thread(resolve, [Path(path)])
        text = await self._given(resolved, uri)
        if text is None:
            data = {"kind": "invalid_params", "field": "uri"}
            raise RpcError(INVALID_PARAMS, f"{path} is not under review, or no text.", data)
        return text

    async def _given(self, path: Path, uri: str) -> str | None:
        """The text of one; None: it is not under review, or no text."""
        known = self._shown.pop(path, None)
        if known is not None:
            self._shown[path] = known
            return await known.renew()
        project = await (await self._client.projects()).hold(path)
        with ExitStack() as held:
            held.callback(project.end_use)
            text = await project.port.review.base(str(path))
            if text is not None:
                if (meanwhile := self._shown.pop(path, None)) is not None:
                    meanwhile.end()
                self._shown[path] = _Shown(self._client, self._documents, path, uri, project.port)
                self._shown[path].follow(text, held.pop_all())
        while len(self._shown) > MOST_SHOWN:
            self._shown.pop(next(iter(self._shown))).end()
        return text

    def end(self) -> None:
        """The editor is gone."""
        for known in self._shown.values():
            known.end()
        self._shown.clear()


@server.command("sould.base")
async def open_base(client: EditorConnection, given: Place) -> dict[str, Any]:
    """Show a file as it was accepted, where the editor shows such documents; its URI."""
    uri = f"{BASE_SCHEME}://{quote(str(place_of(client, given)))}"
    if not (client.can.shows_content and await show_document(client, uri)):
        tell(client, "info", "This editor does not show documents of language servers.")
    return {"uri": uri}
