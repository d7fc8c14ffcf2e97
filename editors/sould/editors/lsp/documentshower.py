"""What an editor does for editor tools without knowing us: it shows a document (`window/showDocument`). An `EditorClient`."""

import asyncio
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sould.agents.editortools.backends import Arguments, EditorResult, Where
from sould.agents.editortools.errors import EditorToolError
from sould.agents.editortools.results import Opened
from sould.agents.editortools.site import Site
from sould.agents.rpc.errors import ConnectionGoneError, RpcError
from sould.editors.lsp.places import roots_of

if TYPE_CHECKING:
    from sould.editors.lsp.peer import Peer

TOOLS: Final = frozenset({"editor_open"})
PATIENCE: Final = 15.0
"""Seconds it has."""


class DocumentShower:
    """Of one editor window. It joins with the first document, and is replaced when the editor says that it can do more."""

    def __init__(self, peer: "Peer") -> None:
        self._peer = peer
        self.id = peer.id
        self.name = peer.name

    def tools(self, site: Site) -> Collection[str]:
        """See `EditorBackend`."""
        has = any(site.root.is_relative_to(each) or each.is_relative_to(site.root) for each in roots_of(self._peer))
        return TOOLS if has else frozenset[str]()

    def has_open(self, path: Path) -> bool:
        """See `EditorClient`."""
        return path in self._peer.documents.open_files()

    async def call(self, tool: str, given: Arguments, where: Where) -> EditorResult:
        """See `EditorBackend`."""
        assert where.file is not None
        asked: dict[str, object] = {"uri": where.file.as_uri(), "takeFocus": bool(given.get("focus"))}
        if where.at is not None:
            start = {"line": where.at.line - 1, "character": where.at.column - 1}
            end = {"line": given["endLine"], "character": 0} if "endLine" in given else start
            asked["selection"] = {"start": start, "end": end}
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await self._peer.connection.request("window/showDocument", asked)
        except TimeoutError as error:
            raise EditorToolError("timeout", f"{self.name} did not answer in time.") from error
        except (ConnectionGoneError, RpcError) as error:
            raise EditorToolError("no_editor", f"{self.name} could not show it: {error}") from error
        shown = isinstance(answer, dict) and answer.get("success") is True  # pyright: ignore[reportUnknownMemberType] -- JSON
        return EditorResult(Opened(shown, self.name))
