"""The plugin of editors/nvim in real Neovims at real terminals, beside a real daemon: review, chat, inbox."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from soultest.daemon import until
from soultest.editors.neovim import Neovim, neovim
from soultest.screen import PATIENCE
from soultest.world import SOULD, World, call

pytestmark = [pytest.mark.editors, pytest.mark.timeout(300)]

HOUSE = Path(__file__).parents[2]
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
"""What is drawn, by line, in the order of extmarks."""

SPOT = "return { vim.fn.getpos('.'), vim.fn.mode(), vim.api.nvim_get_current_win(), vim.fn.winnr('$') }"


@pytest.fixture
def world() -> Generator[World]:
    root = Path(tempfile.mkdtemp(prefix="sould-nvim-"))
    made = World(root)
    made.environment["PATH"] = os.pathsep.join([str(SOULD.parent), made.environment["PATH"]])
    subprocess.run(["git", "init", "-q", str(made.project)], check=True)
    (made.project / "area.py").write_text(OLD)
    yield made
    made.close()
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(params=["nvim-0.10", "nvim-0.12"])
def program(request: pytest.FixtureRequest) -> Path:
    return installed(str(request.param))


def installed(name: str) -> Path:
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


def pending(editor: Neovim) -> object:
    """The hunks of the buffer: each its number, its first line and the line behind its last one, from 1."""
    return editor.lua(
        "return vim.tbl_map(function(p) return { p.hunk.id, p.start + 1, p.stop + 1 } end, require('sould.review.draw').places(0))"
    )


def wait_pending(editor: Neovim, *hunks: list[int]) -> None:
    until(lambda: pending(editor) == [*hunks], PATIENCE, f"{hunks}")


def told(editor: Neovim) -> str:
    return str(editor.lua("return vim.fn.execute('messages')"))


def wait_told(editor: Neovim, words: str) -> None:
    until(lambda: words in told(editor), PATIENCE, f"the message {words!r}; there are {told(editor)!r}")


def rewrite(text: str = NEW) -> list[str]:
    return [call("WriteFile", "w", path="area.py", content=text), "text: Done."]


def edit() -> list[str]:
    """The same as `rewrite`, beside what the user types."""
    edits = [
        {"old": "# areas", "new": "import math\n# areas"},
        {"old": "area(w, h)", "new": "area(width, h)"},
        {"old": "return w *", "new": "return width *"},
    ]
    return [call("StrReplaceFile", "s", path="area.py", edit=edits), "text: Done."]


def test_hunks_are_drawn_kept_rejected_and_taken_back(world: World, program: Path) -> None:
    world.script(rewrite())
    file = world.project / "area.py"
    with opened(world, program) as editor:
        change(world)
        wait_pending(editor, ONE, TWO, THREE)
        assert editor.lua(MARKS) == [
            "1 line SouldAdd",
            "5 line SouldAdd",
            "5 removed def area(w, h):",
            "5 SouldAddWord width",
            "7 line SouldAdd",
            "7 removed return w * h",
            "7 SouldAddWord width",
        ]
        editor.screen.wait("import math #1", "def area(w, h): ", "sould: 3/3 to review")
        editor.keys("]h ak")
        wait_told(editor, "Kept hunk 2")
        wait_pending(editor, ONE, THREE)
        editor.keys("]h ar")
        editor.shows(NEW.replace("return width", "return w"))
        editor.holds(file, NEW.replace("return width", "return w"))
        wait_pending(editor, ONE)
        assert not editor.unsaved()
        editor.keys(" au")
        editor.shows(NEW)
        wait_pending(editor, ONE, THREE)
        editor.keys(":Sould reject all<CR>")
        editor.shows(OLD.replace("area(w, h)", "area(width, h)"))
        wait_pending(editor)


def test_words_typed_into_a_hunk_are_asked_about_when_it_is_rejected(world: World, program: Path) -> None:
    world.script(rewrite())
    with opened(world, program) as editor:
        change(world)
        wait_pending(editor, ONE, TWO, THREE)
        editor.go(7)
        editor.append("  # mine")
        editor.screen.wait("#3 edited by you")
        editor.keys(" ar")
        editor.choose("Leave the lines as I changed them")
        wait_pending(editor, ONE, TWO)
        editor.shows(NEW.replace("    return width * h\n", "    return w * h\n    return width * h  # mine\n"))


def test_an_undo_in_the_editor_brings_a_rejected_hunk_back(world: World, program: Path) -> None:
    world.script(rewrite())
    with opened(world, program) as editor:
        change(world)
        wait_pending(editor, ONE, TWO, THREE)
        editor.keys("7G ar")
        editor.shows(NEW.replace("return width", "return w"))
        wait_pending(editor, ONE, TWO)
        editor.undo()
        editor.shows(NEW)
        wait_pending(editor, ONE, TWO, THREE)
        editor.undo()
        editor.shows(OLD)
        wait_pending(editor)


def test_a_formatter_that_runs_on_save_is_no_obstacle(world: World, program: Path) -> None:
    world.script(rewrite(NEW.replace("width * h", "width  *  h")))
    formatter = "vim.cmd([[autocmd BufWritePre *.py silent! keeppatterns %s/  \\*  / * /e]])"
    with opened(world, program, more=formatter) as editor:
        change(world)
        editor.shows(NEW)
        editor.holds(world.project / "area.py", NEW)
        wait_pending(editor, ONE, TWO, THREE)
        editor.keys(":Sould reject all<CR>")
        editor.holds(world.project / "area.py", OLD)


def test_two_editors_show_the_same_and_each_is_told_of_the_other(world: World, program: Path) -> None:
    world.script(rewrite())
    with opened(world, program) as one, opened(world, program, "other") as other:
        change(world)
        for editor in (one, other):
            wait_pending(editor, ONE, TWO, THREE)
        one.keys("5G ak")
        other.screen.wait("#2 kept by")
        for editor in (one, other):
            wait_pending(editor, ONE, THREE)
        other.keys("7G ar")
        for editor in (one, other):
            wait_pending(editor, ONE)
            editor.shows(NEW.replace("return width", "return w"))


def test_nothing_moves_while_the_user_types(world: World, program: Path) -> None:
    """Hunks appear, are kept and rejected elsewhere, and a session asks: cursor, mode and windows stay, and undo is the user's."""
    world.script(edit())
    with opened(world, program) as editor:
        editor.keys("10GA  # ty")
        until(lambda: "# ty" in editor.buffer(), PATIENCE, "what is typed")
        wait_taken(world, editor)
        _, mode, *windows = before = spot(editor)
        change(world)
        wait_pending(editor, ONE, TWO, THREE)
        line, column = before[0][1:3]
        assert spot(editor) == [[0, line + 1, column, 0], mode, *windows]
        editor.keys("pi")
        world.sould("review", "keep", "2")
        world.sould("review", "reject", "1")
        wait_pending(editor, [3, 6, 7])
        assert spot(editor) == [[0, line, column + 2, 0], "i", *windows]
        editor.keys("ng")
        typed = (
            OLD.replace("area(w", "area(width")
            .replace("return w ", "return width ")
            .replace("'area'\n", "'area'  # typing\n")
        )
        editor.shows(typed)
        editor.keys("<Esc>u")
        editor.shows(typed.replace("typing", "typi"))
        editor.keys("<C-r>")
        editor.shows(typed)


def wait_taken(world: World, editor: Neovim) -> None:
    """What was typed is known to the agent: what is asked behind it is answered."""
    editor.lua("vim.lsp.buf_request_sync(0, '_sould/review/list', { cwd = ... }, 60000)", str(world.project))


def spot(editor: Neovim) -> Any:
    """The place of the cursor, the mode, the window and how many there are."""
    return editor.lua(SPOT)


def test_a_file_that_is_not_shown_and_folds_are_left_as_they_are(world: World, program: Path) -> None:
    world.script(rewrite())
    with opened(world, program) as editor:
        editor.keys(":set hidden<CR>:enew<CR>")
        until(lambda: editor.lua("return vim.fn.bufname()") == "", PATIENCE, "another buffer")
        change(world)
        until(lambda: (world.project / "area.py").read_text() == NEW, PATIENCE, "the change")
        assert spot(editor)[0] == [0, 1, 1, 0]
        editor.keys(":bprevious<CR>")
        wait_pending(editor, ONE, TWO, THREE)
        editor.keys(":set foldmethod=manual<CR>:10,11fold<CR>:Sould reject 1<CR>")
        wait_pending(editor, [2, 4, 5], [3, 6, 7])
        assert editor.lua("return vim.fn.foldclosed(10)") == 9


def test_operators_and_the_text_object_take_a_part_of_a_hunk(world: World, program: Path) -> None:
    world.script(rewrite(OLD.replace("    return w", "    one()\n    two()\n    three()\n    return w")))
    with opened(world, program) as editor:
        change(world)
        wait_pending(editor, [1, 6, 9])
        editor.keys("7Gyih")
        until(
            lambda: editor.lua("return vim.fn.getreg('0')") == "    one()\n    two()\n    three()\n", PATIENCE, "a copy"
        )
        editor.keys("7GV ar")
        editor.shows(OLD.replace("    return w", "    one()\n    three()\n    return w"))
        wait_pending(editor, [1, 6, 7], [3, 7, 8])
        editor.keys("6G aKj")
        wait_pending(editor)


def test_the_quickfix_list_renews_itself_and_takes_decisions(world: World, program: Path) -> None:
    world.script([call("WriteFile", "n", path="new.txt", content="new\n"), *rewrite()])
    with opened(world, program) as editor:
        change(world)
        wait_pending(editor, [2, 1, 2], [3, 5, 6], [4, 7, 8])
        editor.keys(":Sould hunks<CR>")
        editor.screen.wait("area.py|1", "#2 +1 -0 import math", "#1 +1 -0 new")
        editor.keys("2G:Sould keep<CR>")
        until(lambda: editor.lua("return #vim.fn.getqflist()") == 3, PATIENCE, "a shorter list")
        assert editor.lua("return vim.bo.buftype") == "quickfix"


def test_an_editor_that_is_killed_with_unsaved_text_loses_no_hunk(world: World, program: Path) -> None:
    world.script(rewrite())
    with opened(world, program) as editor:
        change(world)
        wait_pending(editor, ONE, TWO, THREE)
        editor.go(11)
        editor.append("  # unsaved")
        until(editor.unsaved, PATIENCE, "unsaved text")
        editor.kill()
    with opened(world, program, "again") as editor:
        wait_pending(editor, ONE, TWO, THREE)
        editor.keys("7G ar")
        editor.holds(world.project / "area.py", NEW.replace("return width", "return w"))


def test_a_daemon_that_is_killed_in_the_middle_of_a_turn_is_no_fault(world: World, program: Path) -> None:
    world.script([rewrite()[0], "text: Counting.\nwait: 600"])
    with opened(world, program) as editor:
        editor.keys(":Sould mode review<CR>:Sould prompt go<CR>:Sould chat<CR>")
        editor.screen.wait("Counting.", "working")
        os.kill(world.daemon(), signal.SIGKILL)
        editor.screen.wait("sould was stopped in the middle of this turn")
        editor.keys("<Esc>:only | edit area.py<CR>")
        wait_pending(editor, ONE, TWO, THREE)
        editor.keys("7G ar")
        editor.holds(world.project / "area.py", NEW.replace("return width", "return w"))
        assert "rror" not in told(editor)


def test_a_chat_streams_folds_its_cards_and_takes_answers(world: World, program: Path) -> None:
    steps = [f"text: I shall look.\n{call('ReadFile', 'r', path='area.py')}", *rewrite(), "text: Again."]
    world.script(steps)
    with opened(world, program) as editor:
        editor.keys(":Sould chat<CR>:Sould mode ask<CR>")
        editor.screen.wait("[ask]")
        editor.keys("imend it<C-s>")
        seen = editor.screen.wait(
            "I shall look.", "? Write area.py", "+import math", "1. Allow once", "3. Reject", "1 waiting"
        )
        assert "Read area.py" in seen
        assert "9 def name" not in seen
        assert editor.lua("return vim.fn.mode()") == "i"
        assert (world.project / "area.py").read_text() == OLD
        editor.keys("<Esc>:Sould answer 1<CR>")
        editor.screen.wait("Write area.py: Allow once", "Done.")
        editor.holds(world.project / "area.py", NEW)
        editor.keys(":Sould prompt more<CR>")
        editor.screen.wait("Again.")


def test_a_question_is_answered_in_the_inbox_with_words_for_the_agent(world: World, program: Path) -> None:
    world.script([rewrite()[0], "text: I see."])
    with opened(world, program) as editor:
        editor.keys(":Sould mode ask<CR>:Sould prompt change it<CR>")
        editor.screen.wait("1 waiting")
        editor.keys(":Sould inbox<CR>")
        editor.screen.wait("## Edit file", "change it", "1. Allow once")
        editor.keys("/Edit file<CR>:Sould answer 3 not now<CR>")
        editor.screen.wait("Nothing waits for an answer.")
        editor.keys(":q<CR>:Sould chat<CR>")
        editor.screen.wait("I see.")
        assert (world.project / "area.py").read_text() == OLD


def test_no_key_is_taken_unasked(world: World, program: Path) -> None:
    world.script([])
    names = '{ "]h", "[h", "ih", " ak", " ar", " aK", " aR", " au", " aq", " ac", " ai", "<C-s>", "<CR>", "<Esc>" }'
    asked = f"""
        local taken = {{}}
        for _, key in ipairs({names}) do
          for _, mode in ipairs({{ "n", "x", "o", "i" }}) do
            if vim.fn.maparg(key, mode):find("Sould") then table.insert(taken, mode .. key) end
          end
        end
        return taken
    """
    with opened(world, program, more='require("sould").setup()') as editor:
        pass
    none = SETTINGS.replace("{ keys = true }", "")
    with neovim(world, program, none, world.project / "area.py", "none") as editor:
        editor.keys(":Sould chat<CR>")
        editor.screen.wait(":Sould send")
        assert editor.lua(asked) in ([], {})


def test_checkhealth_says_what_is_there(world: World, program: Path) -> None:
    world.script([])
    with opened(world, program) as editor:
        editor.keys(":checkhealth sould<CR>")
        until(lambda: "it speaks LSP" in editor.buffer(), PATIENCE, "the report")
        assert "connected, 0 hunks" in editor.buffer()
        assert "ERROR" not in editor.buffer()


def test_the_help_is_found_and_its_tags_are_those_of_the_file(world: World, program: Path) -> None:
    world.script([])
    shutil.copytree(PLUGIN / "doc", world.root / "doc")
    with opened(world, program) as editor:
        editor.keys(f":helptags {world.root}/doc<CR>:help sould-keys<CR>")
        editor.screen.wait("4. KEYS", "next hunk")
    assert (world.root / "doc" / "tags").read_text() == (PLUGIN / "doc" / "tags").read_text()


def test_a_long_message_does_not_wait_for_enter(world: World, program: Path) -> None:
    world.script([])
    with opened(world, program) as editor:
        editor.lua("require('sould.message').say(('long '):rep(100))")
        wait_told(editor, "long long")
        editor.keys("ihere")
        until(lambda: editor.buffer().startswith("here"), PATIENCE, "what is typed")


def test_without_the_program_there_is_one_message(world: World, program: Path) -> None:
    world.script([])
    missing = SETTINGS.replace("{ keys = true }", '{ command = "/nowhere/sould" }')
    with neovim(world, program, missing, world.project / "area.py") as editor:
        wait_told(editor, "/nowhere/sould is not there")
        editor.keys(":edit other.py<CR>:Sould next<CR>")
        wait_told(editor, "nothing to review")
        assert told(editor).count("is not there") == 1


def test_an_old_neovim_has_the_language_server_alone(world: World) -> None:
    world.script(rewrite())
    with neovim(world, installed("nvim-0.7"), SETTINGS, world.project / "area.py") as editor:
        editor.ready()
        change(world)
        editor.shows(NEW)
        until(lambda: "Reject" in editor.lenses(), PATIENCE, "code lenses")
        editor.keys("7G:Sould reject<CR>")
        editor.holds(world.project / "area.py", NEW.replace("return width", "return w"))
        editor.shows(NEW.replace("return width", "return w"))
        editor.keys(":Sould undo<CR>")
        editor.holds(world.project / "area.py", NEW)
        editor.shows(NEW)
        editor.keys("gg:Sould next<CR>")
        until(lambda: editor.lua("return vim.fn.line('.')") == 5, PATIENCE, "the next hunk")
        assert "E5108" not in told(editor)


def test_a_connection_that_ends_is_made_again(world: World, program: Path) -> None:
    world.script(rewrite())
    with opened(world, program) as editor:
        change(world)
        wait_pending(editor, ONE, TWO, THREE)
        editor.lua("for _, client in ipairs(vim.lsp.get_clients({ name = 'sould' })) do client.rpc.terminate() end")
        editor.screen.wait("sould: reconnecting")
        editor.screen.wait("sould: 3/3 to review")
        editor.keys("7G ar")
        wait_pending(editor, ONE, TWO)
        editor.shows(NEW.replace("return width", "return w"))
