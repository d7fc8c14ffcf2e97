"""pytest-lsp's client as an editor that does the least that the protocol asks: text, its own undo, edits, and questions.

It runs in a loop of its own, so that a test speaks to it as to every other editor.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from cattrs import Converter
from lsprotocol import types
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

from soultest.daemon import until
from soultest.editors.driving import Editor
from soultest.screen import PATIENCE
from soultest.world import SOULD, World

T = TypeVar("T")


class PytestLsp(Editor):
    """All of its state belongs to its loop's thread."""

    def __init__(self, world: World, file: Path, loop: asyncio.AbstractEventLoop, *, formats: bool) -> None:
        self._world, self._file, self._loop, self._formats = world, file, loop, formats
        self._client: LanguageClient = self._do(self._made())
        self._saved = self._text = file.read_text()
        self._steps: list[str] = []
        self._version, self._line = 1, 0
        self._asked: tuple[list[types.MessageActionItem], Future[types.MessageActionItem]] | None = None

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    def _call(self, work: Callable[[], T]) -> T:
        async def called() -> T:
            return work()

        return self._do(called())

    async def _made(self) -> LanguageClient:
        client = make_test_lsp_client()
        _read_actions(client.protocol._converter)  # pyright: ignore[reportPrivateUsage] -- it has no public name
        # partial: the library sets attributes of handlers, which methods have none of
        client.feature(types.WORKSPACE_APPLY_EDIT)(partial(self._edited))
        client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)(partial(self._ask))
        client.feature(types.WORKSPACE_CODE_LENS_REFRESH)(_nothing)
        start = cast("Callable[..., Coroutine[Any, Any, None]]", client.start_io)  # pyright: ignore[reportUnknownMemberType] -- the library says less
        await start(str(SOULD), "lsp", env=self._world.environment, cwd=str(self._world.project))
        return client

    # --- what the server asks ---------------------------------------------------------------------------------------

    def _edited(self, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        [document] = list(params.edit.document_changes or ())
        assert isinstance(document, types.TextDocumentEdit)
        if document.text_document.version not in (None, self._version):
            return types.ApplyWorkspaceEditResult(applied=False)
        text = self._text
        for edit in sorted(document.edits, key=lambda each: (each.range.start.line, each.range.start.character))[::-1]:
            assert not isinstance(edit, types.SnippetTextEdit)
            start, end = (_offset(self._text, place) for place in (edit.range.start, edit.range.end))
            text = text[:start] + edit.new_text + text[end:]
        self._type(text)
        return types.ApplyWorkspaceEditResult(applied=True)

    async def _ask(self, params: types.ShowMessageRequestParams) -> types.MessageActionItem:
        answer: Future[types.MessageActionItem] = Future()
        self._asked = list(params.actions or ()), answer
        return await asyncio.wrap_future(answer)

    # --- what the user does -----------------------------------------------------------------------------------------

    def _become(self, text: str) -> None:
        self._text, self._version = text, self._version + 1
        document = types.VersionedTextDocumentIdentifier(self._version, self._file.as_uri())
        change = types.TextDocumentContentChangeWholeDocument(text)
        self._client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def _type(self, text: str) -> None:
        self._steps.append(self._text)
        self._become(text)

    def ready(self) -> None:
        async def opened() -> None:
            folder = types.WorkspaceFolder(self._world.project.as_uri(), "project")
            can = client_capabilities("visual-studio-code")
            await self._client.initialize_session(types.InitializeParams(can, workspace_folders=[folder]))
            document = types.TextDocumentItem(self._file.as_uri(), "python", self._version, self._text)
            self._client.text_document_did_open(types.DidOpenTextDocumentParams(document))

        self._do(opened())

    def buffer(self) -> str:
        def now() -> str:
            disk = self._file.read_text()
            if self._text == self._saved != disk:  # a clean buffer follows its file
                self._saved = disk
                self._become(disk)
            return self._text

        return self._call(now)

    def unsaved(self) -> bool:
        return self._call(lambda: self._text != self._saved)

    def go(self, line: int) -> None:
        self._line = line - 1

    def append(self, text: str) -> None:
        def typed() -> None:
            lines = self._text.split("\n")
            lines[self._line] += text
            self._type("\n".join(lines))

        self._call(typed)

    def undo(self) -> None:
        self._call(lambda: self._become(self._steps.pop()))

    def save(self) -> None:
        def saved() -> None:
            trimmed = "\n".join(line.rstrip() for line in self._text.split("\n"))
            if self._formats and trimmed != self._text:
                self._type(trimmed)
            self._file.write_text(self._text)
            self._saved = self._text
            document = types.TextDocumentIdentifier(self._file.as_uri())
            self._client.text_document_did_save(types.DidSaveTextDocumentParams(document))

        self._call(saved)

    async def _actions(self) -> list[types.CodeAction | types.Command]:
        here = types.Range(types.Position(self._line, 0), types.Position(self._line, 0))
        document = types.TextDocumentIdentifier(self._file.as_uri())
        params = types.CodeActionParams(document, here, types.CodeActionContext([]))
        return list(await self._client.text_document_code_action_async(params) or ())

    def offered(self) -> list[str]:
        return [action.title for action in self._do(self._actions())]

    def lenses(self) -> list[str]:
        params = types.CodeLensParams(types.TextDocumentIdentifier(self._file.as_uri()))
        lenses = self._do(self._client.text_document_code_lens_async(params)) or ()
        return [lens.command.title for lens in lenses if lens.command]

    def act(self, title: str) -> None:
        async def chosen() -> bool:
            for action in await self._actions():
                command = action if isinstance(action, types.Command) else action.command
                if action.title.startswith(title) and command is not None:
                    params = types.ExecuteCommandParams(command.command, command.arguments)
                    self._client.workspace_execute_command(params)
                    return True
            return False

        until(lambda: self._do(chosen()), PATIENCE, f"the action {title}")

    def choose(self, title: str) -> None:
        until(lambda: self._asked, PATIENCE, "a question")
        assert self._asked is not None
        (actions, answer), self._asked = self._asked, None
        answer.set_result(next(each for each in actions if each.title == title))

    def kill(self) -> None:
        """The server's pipes close, as when an editor is gone."""
        self._do(self._gone())

    async def _gone(self) -> None:
        server = self._client._server  # pyright: ignore[reportPrivateUsage] -- the library has no way to vanish
        assert server is not None
        assert server.stdin is not None
        server.stdin.close()
        await self._client.stop()

    async def leave(self) -> None:
        """End the session as an editor does that is closed, unless it was killed."""
        if not self._client.stopped:
            await self._client.shutdown_session()
            await self._client.stop()


def _read_actions(converter: Converter) -> None:
    """The library takes every action that runs a command for that command."""

    def action(raw: dict[str, Any], _: object) -> types.Command | types.CodeAction:
        return converter.structure(raw, types.Command if isinstance(raw.get("command"), str) else types.CodeAction)

    converter.register_structure_hook(types.Command | types.CodeAction, action)


def _nothing(params: None) -> None:
    """Lenses are asked for when they are looked at."""


def _offset(text: str, place: types.Position) -> int:
    return sum(len(line) for line in text.splitlines(keepends=True)[: place.line]) + place.character


@contextmanager
def pytestlsp(world: World, file: Path, formats: bool) -> Generator[PytestLsp]:
    """The client with that file, until the block is left."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        editor = PytestLsp(world, file, loop, formats=formats)
        yield editor
        asyncio.run_coroutine_threadsafe(editor.leave(), loop).result(PATIENCE)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
