"""What Helix has beyond the table of editors: hunks among its diagnostics."""

import re
from collections.abc import Callable

import pytest

from soultest.daemon import until
from soultest.editors.helix import Helix
from soultest.editors.scene import KINDS, Scene
from soultest.screen import PATIENCE

pytestmark = [pytest.mark.editors, pytest.mark.timeout(300)]
ONLY = [pytest.param(kind, id=kind.name) for kind in KINDS if kind.name == "hx"]


def at(editor: Helix, line: int) -> Callable[[], object]:
    """Press the keys of the next hunk, as a user does until the server has started; whether the cursor is on the line."""

    def gone() -> object:
        editor.keys("]", "d")
        return re.search(rf" {line}:\d+\s*$", editor.screen.text)

    return gone


@pytest.mark.parametrize("scene", ONLY, indirect=True)
def test_the_keys_for_diagnostics_go_from_hunk_to_hunk(scene: Scene) -> None:
    scene.agent()
    with scene.opened() as editor:
        assert isinstance(editor, Helix)
        editor.ready()
        until(at(editor, 2), PATIENCE, "the first hunk")
        until(at(editor, 6), PATIENCE, "the second hunk")
