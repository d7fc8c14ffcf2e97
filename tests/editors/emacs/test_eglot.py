"""sould in plain eglot, beyond the table of editors: its settings, files with CR LF, buffers of which a part is shown, questions."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from soultest.daemon import until
from soultest.editors.emacs import Emacs, emacs
from soultest.editors.scene import block
from soultest.screen import PATIENCE
from soultest.souldemacs import HOUSE
from soultest.world import World, call

pytestmark = [pytest.mark.editors, pytest.mark.timeout(300)]

BEFORE = b"def area(w, h):\n    return w * h\n\n\ndef name():\n    return 'area'\n"
AFTER = BEFORE.replace(b"w * h\n", b"abs(w * h)\n").replace(b"'area'", b"'Area'")
HINTS = "(vconcat (mapcar (lambda (each) (flymake-diagnostic-text each)) (flymake-diagnostics)))"


def settings() -> str:
    """The block about eglot in the page about LSP."""
    page = (HOUSE / "docs" / "lsp.md").read_text()
    (found,) = re.findall(r"^```elisp\n(\(setq-default.*?)^```", page, re.MULTILINE | re.DOTALL)
    return found


@pytest.fixture
def agent(world: World) -> Callable[..., None]:
    """Has an agent change the file."""

    def change(before: bytes, after: bytes) -> None:
        path = world.project / "area.py"
        path.write_bytes(before)
        world.script([call("WriteFile", "w", path="area.py", content=after.decode()), "text: Done."])
        world.start()
        assert world.sould("run", "--mode", "review", "improve it").returncode == 0
        assert path.read_bytes() == after

    return change


def pending(world: World) -> list[int]:
    """The lines at which hunks begin, as another client sees them."""
    listed = json.loads(world.sould("review", "list", "--json").stdout)["files"]
    return [hunk["start"] + 1 for file in listed for hunk in file["hunks"]]


@pytest.mark.parametrize("how", ["eglot-workspace-configuration", "initializationOptions"])
def test_its_settings_hold(world: World, emacs_program: Path, agent: Callable[..., None], how: str) -> None:
    agent(BEFORE, AFTER)
    more = settings()
    if how == "initializationOptions":
        more = """(setcdr (assq 'prog-mode eglot-server-programs)
                          '("sould" "lsp" :initializationOptions (:sould (:hints t))))"""
    with emacs(world, emacs_program, block("lsp.md", "elisp") + more, world.project / "area.py") as editor:
        editor.ready()
        until(lambda: len(editor.lisp(HINTS)) == 2, PATIENCE, "hints")
        assert sorted(hint[-len("hunk 1/2") :] for hint in editor.lisp(HINTS)) == ["hunk 1/2", "hunk 2/2"]
        if how == "eglot-workspace-configuration":
            editor.lisp(
                """(progn (setq-default eglot-workspace-configuration '(:sould (:hints :json-false)))
                          (eglot-signal-didChangeConfiguration (eglot-current-server)))"""
            )
            until(lambda: editor.lisp(HINTS) == [], PATIENCE, "no hints")


def reject(editor: Emacs, line: int) -> None:
    editor.go(line)
    editor.act("Reject hunk")


def test_a_file_with_cr_lf_is_reviewed_without_a_carriage_return_in_its_buffer(
    world: World, emacs_program: Path, agent: Callable[..., None]
) -> None:
    before, after = BEFORE.replace(b"\n", b"\r\n"), AFTER.replace(b"\n", b"\r\n")
    agent(before, after)
    path = world.project / "area.py"
    with emacs(world, emacs_program, block("lsp.md", "elisp"), path) as editor:
        editor.ready()
        editor.shows(AFTER.decode())
        reject(editor, 2)
        until(lambda: path.read_bytes() == after.replace(b"abs(w * h)", b"w * h"), PATIENCE, "the file as it was")
        editor.shows(AFTER.decode().replace("abs(w * h)", "w * h"))
        editor.go(5)
        editor.append("  # here")
        reject(editor, 6)
        mine = BEFORE.decode().replace("name():", "name():  # here")
        editor.shows(mine)
        assert editor.unsaved()
        until(lambda: pending(world) == [], PATIENCE, "nothing to review")
        editor.save()
        until(lambda: path.read_bytes() == mine.encode().replace(b"\n", b"\r\n"), PATIENCE, "CR LF on disk")


def test_a_buffer_that_is_narrowed_when_it_is_saved_is_known_whole(
    world: World, emacs_program: Path, agent: Callable[..., None]
) -> None:
    agent(BEFORE, AFTER)
    path = world.project / "area.py"
    with emacs(world, emacs_program, block("lsp.md", "elisp"), path) as editor:
        editor.ready()
        editor.go(5)
        editor.append("  # here")
        editor.lisp("(progn (narrow-to-region (line-beginning-position) (line-end-position)) nil)")
        editor.save()
        editor.lisp("(progn (widen) nil)")
        editor.append("!")
        editor.go(2)
        editor.act("Reject hunk")
        rejected = AFTER.decode().replace("abs(w * h)", "w * h").replace("name():", "name():  # here!")
        editor.shows(rejected)
        until(lambda: pending(world) == [6], PATIENCE, "one hunk")
