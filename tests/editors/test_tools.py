"""Every editor tool by everyone who serves it: each row of the table in docs/editors.md, asked by a real MCP client."""

import asyncio
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

from sould.agents.tools.editor.catalogue import CATALOGUE
from sould.agents.tools.editor.site import ON_DISK
from soultest.acpclient import ProcessStream
from soultest.clients import NODE
from soultest.daemon import until
from soultest.editormcp import serving_http
from soultest.editors.emacs import Emacs, emacs
from soultest.editors.neovim import neovim
from soultest.editors.plugin import SETTINGS, installed, spot
from soultest.lspclient import FULL, LspClient
from soultest.screen import PATIENCE
from soultest.souldemacs import HOUSE, connected, settings
from soultest.toolscene import ASKS, BASEDPYRIGHT, JEDI, SHOWN, Ask, Json, lay_out
from soultest.world import SOULD, World

pytestmark = [pytest.mark.timeout(300)]

MODULES: Final = HOUSE / "tests" / "clients" / "node_modules"
SERVER: Final = MODULES / ".bin" / "typescript-language-server"
PAGE: Final = (HOUSE / "docs" / "editors.md").read_text(encoding="utf-8")


def documented(column: str) -> frozenset[str]:
    """The tools that the page says somebody serves."""
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.splitlines() if line.startswith("|")]
    head = next(row for row in table if row[0] == "tool")
    named = [row for row in table if row[0].strip("`") in CATALOGUE]
    return frozenset(row[0].strip("`") for row in named if row[head.index(column)] == "yes")


EGLOT: Final = f"""
(require 'eglot)
(setq eglot-server-programs '((js-mode . ("{SERVER}" "--stdio"))))
(add-hook 'js-mode-hook #'eglot-ensure)
"""
STARTED: Final = f"""
vim.api.nvim_create_autocmd("FileType", {{
  pattern = "javascript",
  callback = function(event)
    vim.lsp.start({{ name = "ts", cmd = {{ "{SERVER}", "--stdio" }}, root_dir = vim.fn.getcwd() }}, {{ bufnr = event.buf }})
  end,
}})
"""


@asynccontextmanager
async def in_neovim(world: World, version: str) -> AsyncGenerator[None]:
    program = installed(f"nvim-{version}")
    with neovim(world, program, SETTINGS + STARTED, world.project / SHOWN) as editor:
        ready = f"""
        local there, lsp = pcall(require, "sould.lsp")
        return there and lsp.connected("{world.project}") and #vim.lsp.get_clients({{ bufnr = 0, name = "ts" }}) > 0
        """
        until(lambda: editor.lua(ready), PATIENCE, "the language server")
        editor.keys(":vsplit<CR>2G")
        until(lambda: editor.lua("return vim.fn.winnr('$') == 2 and vim.fn.line('.') == 2"), PATIENCE, "two windows")
        before = spot(editor)
        yield
        assert spot(editor) == before, "the user is where they were"


@asynccontextmanager
async def in_emacs(world: World, version: str) -> AsyncGenerator[None]:
    program = installed(f"emacs-{version}")
    with emacs(world, program, settings() + EGLOT, world.project / SHOWN) as editor:
        connected(editor)
        until(lambda: editor.lisp("(and (eglot-managed-p) t)"), PATIENCE, "the language server")
        before = _spot(editor)
        yield
        assert _spot(editor) == before, "the user is where they were"


def _spot(editor: Emacs) -> object:
    return editor.lisp("(list (buffer-name) (point) (buffer-name (window-buffer (selected-window))))")


@asynccontextmanager
async def in_plain_editor(world: World) -> AsyncGenerator[None]:
    """An editor that speaks LSP, with the file open and nothing else said."""
    stream = await ProcessStream.start(str(SOULD), "lsp", cwd=world.project, environment=world.environment)
    async with LspClient(stream) as client:
        await client.initialize(FULL, world.project, clientInfo={"name": "Kate", "version": "1"})
        uri = client.open(world.project / SHOWN)
        await client.request("textDocument/codeLens", textDocument={"uri": uri})
        yield


@asynccontextmanager
async def in_no_editor(world: World) -> AsyncGenerator[None]:
    yield


@asynccontextmanager
async def in_the_daemon(world: World, name: str = "typescript-language-server") -> AsyncGenerator[None]:
    """What it runs is shown, and only once somebody has asked."""
    assert json.loads(world.sould("status", "--json").stdout)["language_servers"] == []
    yield
    (server,) = json.loads(world.sould("status", "--json").stdout)["language_servers"]
    assert (server["name"], server["root"]) == (name, str(world.project))
    assert server["memory_bytes"] > 1_000_000
    assert name in world.sould("status").stdout.partition("Language servers")[2]


@dataclass(frozen=True)
class Row:
    """One who serves tools. `by`: what answers call it; `column`: where the page says what it has."""

    name: str
    by: str
    column: str
    opened: Callable[[World], AbstractAsyncContextManager[None]]
    config: str = "[languageservers]\nenabled = false\n"
    asks: Mapping[str, Ask] = field(default_factory=lambda: ASKS)


def _row(row: Row, *marks: pytest.MarkDecorator) -> Any:
    return pytest.param(row, id=row.name, marks=[*marks, pytest.mark.node])


def _emacs(version: str) -> Row:
    return Row(f"emacs-{version}", "Emacs", "by Emacs, our package", lambda world: in_emacs(world, version))


DAEMON: Final = "by sould's language servers"
ROWS: Final = [
    _row(Row("neovim", "Neovim", "by Neovim, our plugin", lambda world: in_neovim(world, "0.12")), pytest.mark.editors),
    _row(_emacs("28"), pytest.mark.editors),
    _row(_emacs("30"), pytest.mark.editors),
    _row(Row("plain-lsp", "Kate", "by an LSP editor without a plugin", in_plain_editor)),
    _row(Row("typescript-language-server", "language server", DAEMON, in_the_daemon, "")),
    _row(
        Row(
            "basedpyright",
            "language server",
            DAEMON,
            lambda world: in_the_daemon(world, "basedpyright"),
            "",
            BASEDPYRIGHT,
        )
    ),
    _row(
        Row(
            "jedi-language-server",
            "language server",
            DAEMON,
            lambda world: in_the_daemon(world, "jedi-language-server"),
            '[languageservers.commands]\npython = ["jedi-language-server"]\n',
            JEDI,
        )
    ),
    _row(Row("disk", "disk", "by no editor", in_no_editor)),
]


@pytest.fixture
def world() -> Generator[World]:
    root = Path(tempfile.mkdtemp(prefix="sould-tools-"))
    made = World(root)
    made.environment["PATH"] = os.pathsep.join([str(SOULD.parent), str(NODE.parent), made.environment["PATH"]])
    subprocess.run(["git", "init", "-q", str(made.project)], check=True)
    lay_out(made.project, MODULES)
    yield made
    made.close()
    shutil.rmtree(root, ignore_errors=True)


async def asked(client: Client[Any], tool: str, arguments: Json) -> Json:
    """What a call came to; a server that is still at work is asked again."""
    async with asyncio.timeout(PATIENCE):
        while True:
            answer = await client.call_tool(tool, arguments, raise_on_error=False)
            said = answer.structured_content or {}
            if said.get("error", {}).get("code") != "busy":
                return {**said, "text": str(answer.content[0]) if answer.is_error else ""}


async def offered(client: Client[Any], tools: frozenset[str]) -> None:
    """Wait until these are the tools that there are."""
    found = frozenset[str]()
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            while found != tools:
                found = frozenset(tool.name for tool in await client.list_tools())
    assert found == tools


@pytest.mark.parametrize("row", ROWS)
async def test_each_tool_does_what_it_says(world: World, row: Row, subtests: pytest.Subtests) -> None:
    serves = documented(row.column)
    assert serves
    world.script(["text: Shared."] * 2, more=row.config)
    world.start()
    for said in (["run", "/editor-context on"], ["trust"]):
        assert world.sould(*said).returncode == 0
    transport = StdioTransport(
        str(SOULD), ["editor-mcp"], env=world.environment, cwd=str(world.project), keep_alive=False
    )
    async with row.opened(world), Client(transport) as client:
        await offered(client, serves | ON_DISK)
        for tool in CATALOGUE:
            if tool in serves | ON_DISK:
                with subtests.test(tool=tool):
                    await asked_and_seen(
                        client, world.project, row.asks[tool], tool, row.by if tool in serves else "disk"
                    )


async def test_over_http_it_is_the_same(world: World, subtests: pytest.Subtests) -> None:
    world.script([], more=ROWS[-1].values[0].config)
    world.start()
    async with (
        serving_http(world) as said,
        Client(StreamableHttpTransport(said["url"], headers=said["headers"])) as client,
    ):
        await offered(client, ON_DISK)
        for tool in CATALOGUE:
            if tool in ON_DISK:
                with subtests.test(tool=tool):
                    await asked_and_seen(client, world.project, ASKS[tool], tool, "disk")


async def asked_and_seen(client: Client[Any], project: Path, ask: Ask, tool: str, by: str) -> None:
    """Call a tool, and look at what came of it."""
    answer = await asked(client, tool, ask.arguments)
    assert not answer["text"], answer
    assert ask.sees(answer["data"]) == ask.expected
    assert answer["meta"]["backend"] == by
    for name, text in ask.after.items():
        assert (project / name).read_text(encoding="utf-8").expandtabs(4) == text
