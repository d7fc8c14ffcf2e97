"""The plugin of editors/nvim where it begins: settings, keys, health, help, old versions, no program, lost connections."""

import shutil
from pathlib import Path

import pytest

from soultest.daemon import until
from soultest.editors.neovim import neovim
from soultest.editors.plugin import (
    NEW,
    ONE,
    PLUGIN,
    SETTINGS,
    THREE,
    TWO,
    change,
    installed,
    opened,
    rewrite,
    told,
    wait_pending,
    wait_told,
)
from soultest.screen import PATIENCE
from soultest.world import World

pytestmark = [pytest.mark.editors, pytest.mark.timeout(300)]


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
        assert "Press ENTER" not in editor.screen.wait("long long")  # who asks Neovim itself gives it an Enter
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
    world.script([*rewrite(), "text: Names say more.", "text: It multiplies."])
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
        editor.keys(":Sould why<CR>")
        wait_told(editor, "Names say more.")
        editor.keys(":7Sould explain<CR>")
        wait_told(editor, "It multiplies.")
        editor.keys(":Sould fix<CR>")
        wait_told(editor, "nothing is reported here")
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
