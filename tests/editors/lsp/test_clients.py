"""pygls's own client with the capabilities of real editors: hunks are there, one is kept, one rejected."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities
from tests.editors.lsp.test_program import reviewed

from soultest.daemon import Sould
from soultest.world import SOULD

EDITORS = ("neovim@v0.6.1", "neovim@v0.7.0", "neovim@v0.11.0", "emacs@v29.1", "visual_studio_code@v1.65.2")


@asynccontextmanager
async def client_of(sould: Sould, editor: str) -> AsyncGenerator[LanguageClient]:
    """A client that says it can do what an editor can."""
    config = ClientServerConfig([str(SOULD), "lsp"], server_env=dict(sould.environment))
    client = cast("LanguageClient", await config.start())
    root = sould.workspace.as_uri()
    params = types.InitializeParams(
        capabilities=client_capabilities(editor),
        root_uri=root,
        workspace_folders=[types.WorkspaceFolder(root, "project")],
    )
    await client.initialize_session(params)
    yield client
    await client.shutdown_session()


def nothing(*_: Any) -> None:
    """Its lenses are asked for anyway."""


@pytest.mark.parametrize("editor", EDITORS)
async def test_hunks_are_kept_and_rejected_with_what_the_editor_can_do(sould: Sould, editor: str) -> None:
    reviewed(sould, "1\n2\n3\n4\n5\n", "one\n2\n3\n4\nfive\n")
    path = sould.workspace / "a.txt"
    async with client_of(sould, editor) as client:
        client.feature(types.WORKSPACE_CODE_LENS_REFRESH)(nothing)
        item = types.TextDocumentItem(path.as_uri(), "text", 1, path.read_text())
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        document = types.TextDocumentIdentifier(path.as_uri())
        lenses = await client.text_document_code_lens_async(types.CodeLensParams(document))
        assert lenses is not None
        assert [lens.range.start.line for lens in lenses] == [0, 0, 0, 4, 4, 4]
        for lens in (lenses[0], lenses[4]):
            assert lens.command is not None
            params = types.ExecuteCommandParams(lens.command.command, arguments=lens.command.arguments)
            await client.workspace_execute_command_async(params)
        place = types.Range(types.Position(0, 0), types.Position(0, 0))
        context = types.CodeActionContext(diagnostics=[])
        asked = types.CodeActionParams(document, place, context)
        assert list(await client.text_document_code_action_async(asked) or []) == []
    assert path.read_text() == "one\n2\n3\n4\n5\n"
