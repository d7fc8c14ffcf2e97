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


def test_no_key_is_taken_unasked_but_in_buffers_of_our_own(world: World, program: Path) -> None:
    world.script(["text: Hello."])
    names = (
        '{ "]h", "[h", "ih", " ak", " ar", " aK", " aR", " au", " aq", " ac", " ai", "<C-s>", "<CR>", "<Esc>", "." }'
    )
    asked = f"""
        local taken = {{}}
        for _, key in ipairs({names}) do
          for _, mode in ipairs({{ "n", "x", "o", "i" }}) do
            if vim.fn.maparg(key, mode):find("Sould") then table.insert(taken, mode .. key) end
          end
        end
        return taken
    """
    none = SETTINGS.replace("{ keys = true }", "")
    with neovim(world, program, none, world.project / "area.py") as editor:
        editor.ready()
        assert editor.lua(asked) in ([], {})
        editor.keys(":Sould chat<CR>")
        editor.screen.wait(":Sould send")
        assert editor.lua(asked) == ["n<C-s>", "i<C-s>", "n<CR>"]
        editor.keys("ihi<C-s>")
        editor.screen.wait("Hello.")
        types = editor.lua(
            "return vim.tbl_map(function(w) return vim.bo[vim.fn.winbufnr(w)].filetype end, { 1, 2, 3 })"
        )
        assert sorted(types) == ["python", "sould_chat", "sould_prompt"]


def test_commands_mappings_and_colours_are_there_without_setup(world: World, program: Path) -> None:
    world.script(rewrite())
    change(world)
    bare = SETTINGS.replace('require("sould").setup({ keys = true })', "vim.keymap.set('n', 'gk', '<Plug>(SouldKeep)')")
    with neovim(world, program, bare, world.project / "area.py") as editor:
        coloured = "return vim.api.nvim_get_hl(0, { name = 'SouldAdd' }).bg ~= nil"
        until(lambda: editor.lua(coloured), PATIENCE, "colours")
        assert editor.lua("return #vim.lsp.get_clients()") == 0
        editor.keys(":Sould start<CR>")
        wait_pending(editor, ONE, TWO, THREE)
        editor.keys("7Ggk")
        wait_pending(editor, ONE, TWO)


def test_a_file_outside_of_projects_starts_nothing_unasked(world: World, program: Path) -> None:
    world.script([])
    stray = world.root / "stray" / "notes.txt"
    stray.parent.mkdir()
    stray.write_text("a note\n")
    projects = "return vim.tbl_map(function(each) return each.root end, require('sould.lsp').projects())"
    with opened(world, program) as editor:
        editor.keys(f":edit {stray}<CR>")
        until(lambda: editor.buffer() == "a note\n", PATIENCE, "the file")
        assert editor.lua(projects) == [str(world.project)]
        editor.keys(":Sould start<CR>")
        until(lambda: str(stray.parent) in editor.lua(projects), PATIENCE, "a connection")


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


def test_an_old_neovim_is_told_what_it_can_have_instead(world: World) -> None:
    world.script([])
    with neovim(world, installed("nvim-0.7"), SETTINGS, world.project / "area.py") as editor:
        wait_told(editor, "this plugin needs Neovim 0.10 or newer")
        assert editor.lua("return vim.fn.exists(':Sould')") == 0
        assert editor.lua("return require('sould').statusline()") == ""


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
