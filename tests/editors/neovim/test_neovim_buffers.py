"""The plugin of editors/nvim in buffers that are large, wide, protected, shown twice or read again."""

from pathlib import Path

import pytest

from soultest.daemon import until
from soultest.editors.neovim import Neovim
from soultest.editors.plugin import (
    MARKS,
    NEW,
    OLD,
    ONE,
    THREE,
    TWO,
    change,
    opened,
    pending,
    rewrite,
    spot,
    told,
    wait_pending,
    wait_told,
)
from soultest.screen import PATIENCE
from soultest.world import World, call

pytestmark = [pytest.mark.editors, pytest.mark.timeout(300)]

MANY = 100
LONG = 'x = "' + "word " * 1200 + '"\n'
WIDE = f"# 面積\n\tdef 面積(幅, 高):\n\t\treturn 幅 * 高  # é 👩\n\n{LONG}end\r\nlast"
WIDER = WIDE.replace("幅 * 高", "幅 / 高").replace('word word "', 'word WORD "').replace("last", "LAST")


SIGNS = """
local found, namespace = {}, vim.api.nvim_get_namespaces().sould_hunks
for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })) do
  if mark[4].sign_text then
    table.insert(found, ("%d %s"):format(mark[2] + 1, mark[4].sign_hl_group))
  end
end
return found
"""
"""The signs of lines."""


def wait_many(editor: Neovim, count: int) -> None:
    def counted() -> bool:
        return len(pending(editor)) == count

    until(counted, PATIENCE, f"{count} hunks")


def test_a_hundred_hunks_are_rejected_undone_and_walked_by_a_macro(world: World, program: Path) -> None:
    old = [f"line {number}\n" for number in range(50 * MANY)]
    new = [f"changed {n}\nadded {n}\n" if n % 50 == 0 else line for n, line in enumerate(old)]
    (world.project / "area.py").write_text("".join(old))
    world.script(rewrite("".join(new)))
    with opened(world, program) as editor:
        change(world)
        wait_many(editor, MANY)
        assert 0 < len(editor.lua(SIGNS)) < MANY, "what is far out of sight is not drawn"
        editor.keys("G")
        until(lambda: editor.lua(SIGNS)[-1].startswith("5051 "), PATIENCE, "the last hunk drawn")
        editor.keys(":Sould reject all<CR>")
        editor.shows("".join(old))
        editor.undo()
        editor.shows("".join(new))
        wait_many(editor, MANY)
        editor.keys("<C-r>")
        editor.shows("".join(old))
        wait_many(editor, 0)
        editor.undo()
        wait_many(editor, MANY)
        editor.keys("ggqa]h arq")
        wait_many(editor, MANY - 1)
        editor.keys("5@a")
        wait_many(editor, MANY - 6)


def test_wide_characters_tabs_long_lines_and_missing_ends_come_back_as_they_were(world: World, program: Path) -> None:
    file = world.project / "area.py"
    file.write_bytes(WIDE.encode())
    world.script(rewrite(WIDER))
    with opened(world, program) as editor:
        change(world)
        wait_pending(editor, [1, 3, 4], [2, 5, 6], [3, 7, 8])
        drawn = editor.lua(MARKS)
        assert {"3 SouldAddWord /", "5 SouldAddWord WORD", "3 removed return 幅 * 高  # é 👩"} < set(drawn)
        for key in ("3G", "5G", "G"):
            editor.keys(f"{key} ar")
        until(lambda: file.read_bytes() == WIDE.encode(), PATIENCE, "the bytes of before")


@pytest.mark.parametrize("option", ["readonly", "nomodifiable"])
def test_a_buffer_that_is_protected_from_its_user_takes_the_edit_and_stays_protected(
    world: World, program: Path, option: str
) -> None:
    world.script(rewrite())
    with opened(world, program, more=f'vim.cmd("autocmd BufReadPost *.py setlocal {option}")') as editor:
        change(world)
        wait_pending(editor, ONE, TWO, THREE)
        editor.holds(world.project / "area.py", NEW)
        assert not editor.unsaved()
        assert editor.lua("return { vim.bo.readonly, vim.bo.modifiable }") == [
            option == "readonly",
            option == "readonly",
        ]
        assert "W10" not in told(editor)


def test_two_windows_on_a_buffer_and_reading_it_again_keep_the_hunks(world: World, program: Path) -> None:
    world.script(rewrite())
    with opened(world, program) as editor:
        change(world)
        wait_pending(editor, ONE, TWO, THREE)
        editor.keys("7G:split<CR>gg")
        until(lambda: spot(editor)[0][1] == 1, PATIENCE, "the first line")
        editor.keys("]h ar")
        wait_told(editor, "Rejected hunk 2")
        wait_pending(editor, ONE, THREE)
        assert editor.lua("return vim.fn.line('.', vim.fn.win_getid(2))") == 7
        editor.keys(":only<CR>:edit!<CR>")
        until(lambda: editor.lua("return #vim.api.nvim_list_wins()") == 1, PATIENCE, "one window")
        wait_pending(editor, ONE, THREE)
        editor.keys(":edit other.py<CR>:edit area.py<CR>")
        wait_pending(editor, ONE, THREE)
        editor.keys(":bdelete<CR>:edit area.py<CR>")
        wait_pending(editor, ONE, THREE)


def test_reading_a_file_again_draws_each_hunk_once(world: World, program: Path) -> None:
    world.script(rewrite())
    with opened(world, program) as editor:
        change(world)
        wait_pending(editor, ONE, TWO, THREE)
        drawn = sorted(editor.lua(MARKS))
        for again in (":edit<CR>", ":edit!<CR>", ":edit other.py<CR>:edit area.py<CR>"):
            editor.keys(again)
            wait_pending(editor, ONE, TWO, THREE)
            until(lambda: sorted(editor.lua(MARKS)) == drawn, PATIENCE, f"the same marks after {again}")
        assert editor.lua(SIGNS) == ["1 SouldSignAdd", "5 SouldSignChange", "7 SouldSignChange"]


def test_the_keys_go_through_all_files_and_counts_are_taken(world: World, program: Path) -> None:
    (world.project / "b.txt").write_text("b\n")
    write = call("WriteFile", "b", path="b.txt", content="c\n")
    world.script([f"{rewrite()[0]}\n{write}", "text: Done."])
    with opened(world, program) as editor:

        def reached(keys: str, name: str, line: int) -> None:
            editor.keys(keys)
            place = [name, line]
            until(lambda: editor.lua("return { vim.fn.bufname(), vim.fn.line('.') }") == place, PATIENCE, f"{place}")

        change(world)
        wait_pending(editor, ONE, TWO, THREE)
        editor.screen.wait("3/4 to review")  # the other file is told of, too
        reached("2]h", "area.py", 7)
        reached("]h", "b.txt", 1)
        reached("[h", "area.py", 7)
        wait_pending(editor, ONE, TWO, THREE)
        reached("2[h", "area.py", 1)
        reached("[h", "b.txt", 1)
        reached("<C-o>", "area.py", 1)


def test_comments_stand_behind_their_lines_until_they_are_sent(world: World, program: Path) -> None:
    world.script([*rewrite(), "text: I shall name it."])
    with opened(world, program) as editor:
        change(world)
        wait_pending(editor, ONE, TWO, THREE)
        editor.keys(":5Sould comment<CR>why this name<CR>")
        editor.screen.wait("def area(width, h): #2 ", "why this name")
        editor.keys(":7,8Sould comment both lines<CR>")

        def text() -> str:
            """Without the command line below it, where what is typed stands."""
            return "\n".join(editor.screen.lines[:20])

        until(lambda: "both lines" in text(), PATIENCE, "a comment")
        editor.keys(":Sould comments<CR>")
        wait_told(editor, "the comments are sent")
        until(lambda: "both lines" not in text(), PATIENCE, "no comments")


def test_a_file_is_shown_beside_what_was_accepted_last(world: World, program: Path) -> None:
    world.script(rewrite())
    with opened(world, program) as editor:
        change(world)
        wait_pending(editor, ONE, TWO, THREE)
        window = spot(editor)[2]
        editor.keys(":Sould diff<CR>")
        until(lambda: spot(editor)[3] == 2, PATIENCE, "a second window")
        beside = "return table.concat(vim.api.nvim_buf_get_lines(vim.fn.winbufnr(1), 0, -1, true), '\\n') .. '\\n'"
        assert editor.lua(beside) == OLD
        assert spot(editor)[2] == window
