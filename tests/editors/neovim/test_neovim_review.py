"""The plugin of editors/nvim in real Neovims at real terminals, beside a real daemon: the review."""

from pathlib import Path

import pytest

from soultest.daemon import until
from soultest.editors.plugin import (
    MARKS,
    NEW,
    OLD,
    ONE,
    THREE,
    TWO,
    change,
    edit,
    opened,
    rewrite,
    spot,
    wait_pending,
    wait_taken,
    wait_told,
)
from soultest.screen import PATIENCE
from soultest.world import World, call

pytestmark = [pytest.mark.editors, pytest.mark.timeout(300)]


def test_hunks_are_drawn_kept_rejected_and_taken_back(world: World, program: Path) -> None:
    world.script(rewrite())
    file = world.project / "area.py"
    with opened(world, program) as editor:
        change(world)
        wait_pending(editor, ONE, TWO, THREE)
        assert sorted(editor.lua(MARKS)) == [
            "1 line SouldAdd",
            "5 SouldAddWord width",
            "5 line SouldAdd",
            "5 removed def area(w, h):",
            "7 SouldAddWord width",
            "7 line SouldAdd",
            "7 removed return w * h",
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


def test_a_dot_keeps_or_rejects_the_next_hunk_as_well(world: World, program: Path) -> None:
    world.script(rewrite())
    with opened(world, program) as editor:
        change(world)
        wait_pending(editor, ONE, TWO, THREE)
        editor.keys("gg ak")
        wait_pending(editor, TWO, THREE)
        editor.keys("7G.")
        wait_pending(editor, TWO)
        editor.keys("5G ar")
        editor.shows(NEW.replace("area(width, h)", "area(w, h)"))
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


def test_a_hunk_that_is_rejected_right_behind_what_was_typed_in_it_is_asked_about(world: World, program: Path) -> None:
    world.script(rewrite())
    with opened(world, program) as editor:
        change(world)
        wait_pending(editor, ONE, TWO, THREE)
        editor.keys("7GA  # mine<Esc> ar")
        editor.choose("Take the lines away, my words too")
        editor.shows(NEW.replace("return width", "return w"))
        wait_pending(editor, ONE, TWO)


def test_an_undo_takes_back_all_of_a_decision_and_is_not_lost_when_it_is_refused(world: World, program: Path) -> None:
    world.script(rewrite())
    with opened(world, program) as editor:
        change(world)
        wait_pending(editor, ONE, TWO, THREE)
        editor.keys(":Sould keep all<CR>")
        wait_pending(editor)
        editor.keys(" au")
        wait_pending(editor, ONE, TWO, THREE)
        editor.keys("7G ar")
        editor.shows(NEW.replace("return width", "return w"))
        wait_pending(editor, ONE, TWO)
        editor.go(7)
        editor.append("  # mine")
        wait_taken(world, editor)
        editor.keys(" au")
        wait_told(editor, "hunk 3: ")
        editor.keys("u")
        editor.shows(NEW.replace("return width", "return w"))
        wait_taken(world, editor)
        editor.keys(" au")
        editor.shows(NEW)
        wait_pending(editor, ONE, TWO, THREE)
