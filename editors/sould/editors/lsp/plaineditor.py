"""What an editor does for editor tools without knowing us: it said what it has open, and shows a document. An `EditorClient`.

What its language servers know it tells nobody, and it cannot be asked to save.
"""

import asyncio
from collections.abc import Collection
from pathlib import Path
from typing import ClassVar, Final

from sould.agents.base.rpc.errors import ConnectionGoneError, RpcError
from sould.agents.tools.editor.backends import Arguments, EditorResult, Where
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.results import Editor, Opened, OpenFile, State
from sould.agents.tools.editor.site import Site
from sould.editors.lsp.connection import EditorConnection
from sould.editors.lsp.opened import Documents, roots_of

TOOLS: Final = frozenset({"editor_state", "editor_open"})
PATIENCE: Final = 15.0
"""Seconds it has."""
MOST_OPEN: Final = 500
"""Files that are named."""


class PlainEditor:
    """Of one editor window. It joins with the first document, and is replaced when the editor says that it can do more."""

    only_points: ClassVar[bool] = False
    """See `EditorClient`."""

    def __init__(self, client: EditorConnection, documents: Documents) -> None:
        self._client = client
        self._documents = documents
        self.id = client.id
        self.name = client.name
        self._tools = TOOLS if client.can.shows_documents else TOOLS - {"editor_open"}

    def tools(self, site: Site) -> Collection[str]:
        """See `EditorBackend`."""
        has = any(site.root.is_relative_to(each) or each.is_relative_to(site.root) for each in roots_of(self._client))
        return self._tools if has else frozenset[str]()

    def has_open(self, path: Path) -> bool:
        """See `EditorClient`."""
        return path in self._documents.open_files()

    async def call(self, tool: str, given: Arguments, where: Where) -> EditorResult:
        """See `EditorBackend`."""
        if tool == "editor_state":
            return EditorResult(await self._state(given))
        return EditorResult(await self._open(given, where))

    async def _state(self, given: Arguments) -> State:
        """What it reported; editors do not report which file is before their user."""
        await self._client.reports_taken()
        reports = self._client.known_reports
        opened: list[OpenFile] = []
        for path in list(self._documents.open_files())[:MOST_OPEN]:
            file = reports.reported(path) if reports is not None else None
            opened.append(OpenFile(str(path), file is not None and file.dirty))
        app = Editor(self.id, self.name, tuple(map(str, roots_of(self._client))))
        return State(shared=True, editors=(app,), open=tuple(opened) if "open" in given.get("include", ()) else ())

    async def _open(self, given: Arguments, where: Where) -> Opened:
        assert where.file is not None
        asked: dict[str, object] = {"uri": where.file.as_uri(), "takeFocus": bool(given.get("focus"))}
        if where.at is not None:
            start = {"line": where.at.line - 1, "character": where.at.column - 1}
            end = {"line": given["endLine"], "character": 0} if "endLine" in given else start
            asked["selection"] = {"start": start, "end": end}
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await self._client.connection.request("window/showDocument", asked)
        except TimeoutError as error:
            raise EditorToolError("timeout", f"{self.name} did not answer in time.") from error
        except (ConnectionGoneError, RpcError) as error:
            raise EditorToolError("no_editor", f"{self.name} could not show it: {error}") from error
        shown = isinstance(answer, dict) and answer.get("success") is True  # pyright: ignore[reportUnknownMemberType] -- JSON
        return Opened(shown, self.name)
