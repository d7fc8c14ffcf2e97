"""What Helix has beyond the table of editors: hunks among its diagnostics."""

import re
from collections.abc import Callable

import pytest

from soultest.daemon import until
from soultest.editors.helix import Helix
from soultest.editors.scene import KINDS, Scene
from soultest.screen import PATIENCE

pytestmark = [pytest.mark.editors, pytest.mark.timeout(300)]
A_MOMENT = 2.0
"""Seconds in which a user sees where keys lead."""
ONLY = [pytest.param(kind, id=kind.name) for kind in KINDS if kind.name == "hx"]


def leads(editor: Helix, start: int, line: int) -> Callable[[], bool]:
    """From a line, press the keys of the next hunk, as a user does until the server has started; whether they lead to the line.

    Each try begins on the same line: pressed twice, the keys would lead past it.
    """

    def led() -> bool:
        editor.go(start)
        editor.keys("]", "d")
        try:
            until(lambda: re.search(rf" {line}:\d+\s*$", editor.screen.text), A_MOMENT)
        except AssertionError:
            return False
        return True

    return led


@pytest.mark.parametrize("scene", ONLY, indirect=True)
def test_the_keys_for_diagnostics_go_from_hunk_to_hunk(scene: Scene) -> None:
    scene.agent()
    with scene.opened() as editor:
        assert isinstance(editor, Helix)
        editor.ready()
        until(leads(editor, 1, 2), PATIENCE, "the first hunk")
        until(leads(editor, 2, 6), PATIENCE, "the second hunk")
