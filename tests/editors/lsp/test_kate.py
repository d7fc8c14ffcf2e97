"""The block of Kate's page, read as Kate does, and its program told what Kate 22.12.3 says: it answers no question and takes no edit."""

import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.editors.lsp.test_program import reviewed

from soultest.acpclient import ProcessStream
from soultest.daemon import Sould
from soultest.editors.scene import block
from soultest.lspclient import LspClient
from soultest.world import SOULD

Json = dict[str, Any]
MODE = "Python"
"""The name that Kate's highlighting has for such a file."""
CAN: Json = {
    "textDocument": {
        "codeAction": {
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "refactor", "source"]}}
        },
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "publishDiagnostics": {"relatedInformation": True},
        "selectionRange": {"dynamicRegistration": False},
        "synchronization": {"didSave": True},
    },
    "window": {"workDoneProgress": True},
}
"""What Kate says it can; tokens and symbols of languages are left out."""
QUESTION = "window/showMessageRequest"


class Kate(LspClient):
    """It answers requests that it does not know with their name."""

    def _answer(self, message: Json) -> None:
        if message["method"] in (QUESTION, "workspace/codeLens/refresh"):
            refused = {"code": -32601, "message": message["method"]}
            self.send({"error": refused, "id": message["id"], "jsonrpc": "2.0"})
        else:
            super()._answer(message)


def server() -> list[str]:
    """The command line of the server for the mode, as Kate finds it."""
    [found] = [
        each
        for each in json.loads(block("kate.md", "json"))["servers"].values()
        if re.search(each["highlightingModeRegex"], MODE)
    ]
    assert found["root"] == ""  # the root is then the project's directory
    return found["command"]


@asynccontextmanager
async def kate(sould: Sould) -> AsyncGenerator[tuple[Kate, str, Path]]:
    """Kate with the file; its URI and its path."""
    reviewed(sould, "1\n2\n3\n4\n5\n", "one\ntwo\n3\n4\nfive\n")
    [program, *arguments] = server()
    assert program == SOULD.name
    stream = await ProcessStream.start(str(SOULD), *arguments, cwd=sould.workspace, environment=sould.environment)
    async with Kate(stream) as client:
        root = sould.workspace
        await client.request(
            "initialize", {"capabilities": CAN, "processId": 1, "rootPath": str(root), "rootUri": root.as_uri()}
        )
        client.notify("initialized")
        path = root / "a.txt"
        yield client, client.open(path), path
        client.check()


async def menu(client: Kate, uri: str, line: int) -> dict[str, Json]:
    """What `Alt-Enter` shows on a line, counted from 0: Kate asks about the line with its end."""
    at = {"start": {"line": line, "character": 0}, "end": {"line": line + 1, "character": 0}}
    asked: Json = {"context": {"diagnostics": []}, "range": at, "textDocument": {"uri": uri}}
    return {each["title"]: each for each in await client.request("textDocument/codeAction", asked)}


async def test_one_hunk_is_kept_and_one_rejected_from_the_menu(sould: Sould) -> None:
    async with kate(sould) as (client, uri, path):
        assert [title for title in await menu(client, uri, 3) if "hunk" in title] == []
        await client.press((await menu(client, uri, 4))["Reject hunk 2/2"])
        assert path.read_text() == "one\ntwo\n3\n4\n5\n"
        await client.press((await menu(client, uri, 1))["Keep hunk 1/1"])
        assert "Nothing is to be reviewed" in sould.cli("review", "list").stdout


async def test_unsaved_text_is_left_alone_until_it_is_saved(sould: Sould) -> None:
    async with kate(sould) as (client, uri, path):
        client.type(uri, "3\n", "three\n")
        await client.press((await menu(client, uri, 4))["Reject hunk 2/2"])
        told = await client.wait_told("window/showMessage")
        assert "save it and try again" in told["message"]
        client.save(uri, path)
        await client.press((await menu(client, uri, 4))["Reject hunk 2/2"])
        assert path.read_text() == "one\ntwo\nthree\n4\n5\n"


async def test_a_question_that_kate_cannot_put_is_told_with_where_it_can_be_answered(sould: Sould) -> None:
    async with kate(sould) as (client, uri, path):
        client.type(uri, "five", "five, mine")
        client.save(uri, path)
        await client.press((await menu(client, uri, 4))["Reject hunk 2/2"])
        told = await client.wait_told("window/showMessage")
        assert "What becomes of these lines?" in told["message"]
        assert "`sould review` in a terminal" in told["message"]
        assert path.read_text() == "one\ntwo\n3\n4\nfive, mine\n"
