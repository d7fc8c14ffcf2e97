"""Neovim with the plugin of editors/nvim, set up as its page says, and what its users see of a file under review."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from soultest.daemon import until
from soultest.editors.neovim import Neovim, neovim
from soultest.screen import PATIENCE
from soultest.world import World, call

HOUSE = Path(__file__).parents[4]
INSTALLED = HOUSE / ".editors"
PLUGIN = HOUSE / "editors" / "nvim"

(BLOCK,) = re.findall(r"```lua\n(.*?)```", (HOUSE / "docs" / "editors" / "neovim.md").read_text(), re.DOTALL)
SETTINGS = f"""
vim.g.mapleader = " "
vim.o.termguicolors = true
vim.o.statusline = "%f %m %{{v:lua.require'sould'.statusline()}}"
{BLOCK.replace("~/src/sould/editors/nvim", str(PLUGIN))}
"""
"""What the page says, and a status line."""
OLD = "# areas\n\n\ndef area(w, h):\n    # the product\n    return w * h\n\n\ndef name():\n    return 'area'\n"
NEW = "import math\n" + OLD.replace("area(w, h)", "area(width, h)").replace("return w *", "return width *")
ONE, TWO, THREE = [1, 1, 2], [2, 5, 6], [3, 7, 8]
"""The hunks of it: number, first line, the line behind the last one."""

MARKS = """
local found = {}
local namespace = vim.api.nvim_create_namespace("sould_hunks")
for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })) do
  local details = mark[4]
  local function add(kind, text)
    table.insert(found, ("%d %s %s"):format(mark[2] + 1, kind, text))
  end
  if details.hl_eol then
    add("line", details.hl_group)
  elseif details.hl_group then
    local text = vim.api.nvim_buf_get_text(0, mark[2], mark[3], details.end_row or mark[2], details.end_col, {})
    add(details.hl_group, text[1])
  end
  for _, line in ipairs(details.virt_lines or {}) do
    local text = {}
    for _, chunk in ipairs(line) do table.insert(text, chunk[1]) end
    add("removed", vim.trim(table.concat(text)))
  end
end
return found
"""
"""What is drawn, by line; marks of one place come in any order."""

SPOT = "return { vim.fn.getpos('.'), vim.fn.mode(), vim.api.nvim_get_current_win(), vim.fn.winnr('$') }"


def installed(name: str) -> Path:
    """A Neovim that `make test-editors` has installed; the test is skipped without it."""
    found = INSTALLED / "bin" / name
    if not found.exists():
        pytest.skip(f"{name} is not installed: make test-editors")
    return found


@contextmanager
def opened(world: World, program: Path, name: str = "nvim", more: str = "") -> Generator[Neovim]:
    """An editor with the file of the project before it, connected."""
    with neovim(world, program, SETTINGS + more, world.project / "area.py", name) as editor:
        connected = f"local there, lsp = pcall(require, 'sould.lsp') return there and lsp.connected('{world.project}')"
        until(lambda: editor.lua(connected), PATIENCE, "a connection")
        yield editor


def change(world: World) -> None:
    """The agent changes the file, in the mode that leaves all to the review."""
    world.sould("run", "--mode", "review", "go")


def pending(editor: Neovim) -> list[list[int]]:
    """The hunks of the buffer: each its number, its first line and the line behind its last one, from 1."""
    return editor.lua(
        "return vim.tbl_map(function(p) return { p.hunk.id, p.start + 1, p.stop + 1 } end, require('sould.review.draw').places(0))"
    )


def wait_pending(editor: Neovim, *hunks: list[int]) -> None:
    """Wait until these are the hunks of the buffer."""
    until(lambda: pending(editor) == [*hunks], PATIENCE, f"{hunks}")


def told(editor: Neovim) -> str:
    """All messages so far."""
    return str(editor.lua("return vim.fn.execute('messages')"))


def wait_told(editor: Neovim, words: str) -> None:
    """Wait for a message."""
    until(lambda: words in told(editor), PATIENCE, f"the message {words!r}; there are {told(editor)!r}")


def rewrite(text: str = NEW) -> list[str]:
    """The agent writes the file anew: a script of two steps."""
    return [call("WriteFile", "w", path="area.py", content=text), "text: Done."]


def edit() -> list[str]:
    """The same as `rewrite`, beside what the user types."""
    edits = [
        {"old": "# areas", "new": "import math\n# areas"},
        {"old": "area(w, h)", "new": "area(width, h)"},
        {"old": "return w *", "new": "return width *"},
    ]
    return [call("StrReplaceFile", "s", path="area.py", edit=edits), "text: Done."]


def wait_taken(world: World, editor: Neovim) -> None:
    """What was typed is known to the agent: what is asked behind it is answered."""
    editor.lua("vim.lsp.buf_request_sync(0, '_sould/review/list', { cwd = ... }, 60000)", str(world.project))


def spot(editor: Neovim) -> Any:
    """The place of the cursor, the mode, the window and how many there are."""
    return editor.lua(SPOT)
