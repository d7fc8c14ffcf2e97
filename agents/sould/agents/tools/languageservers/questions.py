"""What is asked of one language server for one call of an editor tool, and how long it is waited for."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sould.agents.base.lsp import PositionEncoding
from sould.agents.base.rpc.errors import RpcError
from sould.agents.base.workspace import TextFile, WorkspaceError
from sould.agents.tools.editor.backends import Arguments, EditorResult, Where
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.results import Locations, Nothing, Problem, Symbols
from sould.agents.tools.languageservers import answers, shapes
from sould.agents.tools.languageservers.answers import AnswerTexts, Text, Wanted, encoding_of
from sould.agents.tools.languageservers.server import LanguageServer, ServerBusyError, ServerGoneError

LARGEST: Final = 4 * 1024 * 1024
"""Characters of a file that is shown."""
AGAIN: Final = 0.2
"""Seconds until a question is put again."""
MOST_SHOWN_AGAIN: Final = 50
"""Unsaved files that a server is shown because of a rename."""
_DEFINITIONS: Final = {
    "definition": "textDocument/definition",
    "declaration": "textDocument/declaration",
    "type": "textDocument/typeDefinition",
    "implementation": "textDocument/implementation",
}
_CANCELLED: Final = frozenset({-32801, -32802})
"""The text changed under its question, or it had something better to do: to be asked again."""


class ServerQuestions:
    """Of one call to one server that is up. `until`: when it is waited for no longer (seconds of the loop)."""

    def __init__(self, server: LanguageServer, where: Where, until: float) -> None:
        self._server = server
        self._where = where
        self._until = until
        self.name = server.launch.name
        self._encoding: PositionEncoding = encoding_of(server.can.encoding)

    async def shown(self, path: Path) -> TextFile:
        """Show a file as it is now.

        Raises:
            WorkspaceError: it may not be read, or is no text.
        """
        known = self._where.text
        file = known if known is not None and known.path == path else await self._where.reader.read_text(path)
        if len(file.text) > LARGEST:
            raise EditorToolError("not_supported", f"{path} is too large for a language server.")
        self._server.show(file)
        return file

    def texts(self, *known: TextFile) -> AnswerTexts:
        """Of an answer; `known` are those that are shown."""
        return AnswerTexts(self._where.reader, self._encoding, known)

    async def ask(self, method: str, params: Mapping[str, Any], *, hurry: bool = False) -> Any:
        """Its answer. `hurry`: see `LanguageServer.ask`.

        Raises:
            EditorToolError: it has none.
        """
        if not self._server.can.does(method):
            raise EditorToolError("not_supported", f"{self.name} cannot do that.")
        while True:
            left = self._until - asyncio.get_running_loop().time()
            try:
                return await self._server.ask(method, params, max(0.1, left), hurry=hurry)
            except RpcError as error:
                if error.code not in _CANCELLED or left <= 0:
                    raise EditorToolError("failed", f"{self.name} refused: {error.message[:300]}") from error
                await asyncio.sleep(AGAIN)

    async def place(self) -> tuple[TextFile, dict[str, Any]]:
        """The file that the call is about, shown, and its place there."""
        file, at = self._where.file, self._where.at
        if file is None or at is None:
            raise EditorToolError("invalid", "The call names no place.")
        text = await self.shown(file)
        position = Text(text.text, self._encoding).to_server(at)
        return text, {"textDocument": {"uri": file.as_uri()}, "position": position}

    # --- the tools --------------------------------------------------------------------------------------------------

    async def definition(self, given: Arguments) -> EditorResult:
        """`definition`."""
        text, there = await self.place()
        raw = await self.ask(_DEFINITIONS[given.get("kind", "definition")], there)
        found = await answers.locations(raw, self.texts(text), bodies=bool(given.get("includeBody")))
        return EditorResult(Locations(found))

    async def references(self, given: Arguments) -> EditorResult:
        """`references`."""
        text, there = await self.place()
        declared = () if given.get("includeDeclaration") else await self._declared(there)
        context = {"includeDeclaration": declared is not None}
        raw = await self.ask("textDocument/references", {**there, "context": context})
        return EditorResult(await answers.references(raw, self.texts(text), given.get("limit", 100), declared))

    async def _declared(self, there: Mapping[str, Any]) -> object:
        """Where the symbol is defined; None: that is not known.

        Left to servers, some list it as a reference all the same, and basedpyright leaves out the place it was asked about.
        """
        try:
            return await self.ask("textDocument/definition", there)
        except EditorToolError:
            return None

    async def hover(self) -> EditorResult:
        """`hover`."""
        _, there = await self.place()
        return EditorResult(answers.hover(await self.ask("textDocument/hover", there)))

    async def rename(self, given: Arguments) -> EditorResult:
        """`rename`: the edits, for whoever writes them."""
        text, there = await self.place()
        params = {**there, "newName": given["newName"]}
        texts = self.texts(text)
        made = await answers.edits(await self.ask("textDocument/rename", params), texts)
        unseen = [file for each in made if (file := await texts.file(each.path)) is not None and self._unseen(file)]
        if unseen:
            for file in unseen[:MOST_SHOWN_AGAIN]:
                self._server.show(file)
            made = await answers.edits(await self.ask("textDocument/rename", params), texts)
        if not made:
            raise EditorToolError("not_found", f"{self.name} finds nothing to rename there.")
        return EditorResult(Nothing(), made)

    def _unseen(self, file: TextFile) -> bool:
        """The server read another text from the disk."""
        return file.unsaved and not self._server.documents.has(file)

    async def outline(self, given: Arguments, path: Path) -> EditorResult:
        """`symbols` of a file."""
        text = await self.shown(path)
        raw = await self.ask("textDocument/documentSymbol", {"textDocument": {"uri": path.as_uri()}})
        return EditorResult(Symbols(await answers.outline(path, raw, _wanted(given), self.texts(text))))

    async def find(self, given: Arguments) -> Symbols:
        """`symbols` of the project."""
        for path in self._server.newest(1):  # some know no project before they are shown a file of it
            await self.shown_if_readable(path)
        raw = await self.ask("workspace/symbol", {"query": given["query"]})
        return Symbols(await answers.elsewhere(raw, _wanted(given), self.texts()))

    async def shown_if_readable(self, path: Path) -> TextFile | None:
        """The same; None: it may not be read, or is no text."""
        try:
            return await self.shown(path)
        except (WorkspaceError, EditorToolError):
            return None

    def newest(self, most: int) -> Sequence[Path]:
        """The project's files of this language that changed last."""
        return self._server.newest(most)

    async def problems(self, paths: Iterable[Path], wait: float) -> tuple[list[Problem], bool]:
        """Those of files, and whether all of them are known; waiting so many seconds in all."""
        self._until = min(self._until, asyncio.get_running_loop().time() + wait)
        shown = [file for path in paths if (file := await self.shown_if_readable(path)) is not None]
        texts = self.texts(*shown)
        made: list[Problem] = []
        whole = True
        for file in shown:
            found, known = await self._problems_of(file)
            whole = whole and known
            made += await answers.problems(file.path, found, texts)
        return made, whole

    async def _problems_of(self, file: TextFile) -> tuple[tuple[shapes.LsDiagnostic, ...], bool]:
        left = self._until - asyncio.get_running_loop().time()
        provider = self._server.can.provides.get("diagnosticProvider")
        if not provider:
            return await self._server.problems.of(file.path, max(0.0, left))
        identifier = shapes.members(provider).get("identifier")
        named = {"identifier": identifier} if isinstance(identifier, str) else {}
        params = {"textDocument": {"uri": file.path.as_uri()}, **named}
        try:
            raw = await self.ask("textDocument/diagnostic", params, hurry=True)
        except (ServerBusyError, ServerGoneError):
            return (), False
        return tuple(shapes.each(shapes.LsDiagnostic, shapes.members(raw).get("items"), 500)), True


def _wanted(given: Arguments) -> Wanted:
    return Wanted(
        frozenset(given.get("kinds", ())),
        given.get("depth", 1),
        bool(given.get("includeBody")),
        given.get("limit", 1000),
    )
