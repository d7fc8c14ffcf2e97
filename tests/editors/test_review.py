"""The table of editors without a plugin of ours: what their users do about hunks, and what their buffers, screens and files show.

Each test runs in each editor of `soultest.editors.scene.KINDS`. Where an editor cannot do a thing, its driver's `without` says why, and the
test asserts what it does instead.
"""

import os
import signal

import pytest

from soultest.daemon import until
from soultest.editors.scene import AFTER, BEFORE, Scene
from soultest.screen import PATIENCE

pytestmark = pytest.mark.timeout(300)

KEEP, REJECT = "Keep hunk", "Reject hunk"
AREA_REJECTED = AFTER.replace("abs(w * h)", "w * h")
MINE = AFTER.replace("abs(w * h)", "abs(w * h)  # mine")
HERE = AFTER.replace("name():", "name():  # here")
HERE_REJECTED = HERE.replace("abs(w * h)", "w * h")


def left(scene: Scene, *lines: int) -> None:
    """Wait until these are the hunks that wait."""
    until(lambda: scene.pending() == list(lines), PATIENCE, f"hunks at {lines}")


def test_hunks_appear_and_one_is_kept_and_one_is_rejected(scene: Scene) -> None:
    scene.agent()
    with scene.opened() as editor:
        editor.ready()
        editor.shows(AFTER)
        if "lenses" not in editor.without:
            until(lambda: editor.lenses().count("Keep") == 2, PATIENCE, "lenses above both hunks")
        editor.go(2)
        editor.act(KEEP)
        left(scene, 6)
        editor.go(6)
        editor.act(REJECT)
        editor.holds(scene.file, AFTER.replace("Area", "area"))
        editor.renew()
        editor.shows(AFTER.replace("Area", "area"))
        assert not editor.unsaved()
    left(scene)


def test_words_in_a_line_of_the_agent_are_asked_about_before_it_is_rejected(scene: Scene) -> None:
    scene.agent()
    with scene.opened() as editor:
        editor.ready()
        editor.go(2)
        editor.append("  # mine")
        editor.shows(MINE)
        editor.act(REJECT)
        editor.choose("Keep my lines")
        result = BEFORE.replace('area"', 'Area"').replace("w * h\n", "w * h\n    return abs(w * h)  # mine\n")
        editor.shows(result)
        assert editor.unsaved()
        assert scene.file.read_text() == AFTER
        editor.save()
        editor.holds(scene.file, result)


def test_undo_in_the_editor_takes_a_reject_back(scene: Scene) -> None:
    scene.agent()
    with scene.opened() as editor:
        editor.ready()
        editor.go(5)
        editor.append("  # here")
        editor.shows(HERE)
        editor.go(2)
        editor.act(REJECT)
        editor.shows(HERE_REJECTED)
        left(scene, 6)
        editor.undo()
        editor.shows(HERE)
        left(scene, 2, 6)


def test_what_a_formatter_does_while_saving_is_no_change_of_the_users(scene: Scene) -> None:
    scene.agent(text=AFTER.replace("abs(w * h)", "abs(w * h)   "))
    with scene.opened(formats=True) as editor:
        editor.ready()
        editor.go(5)
        editor.append("  # here  ")
        editor.save()
        editor.holds(scene.file, HERE)
        left(scene, 2, 6)
        editor.go(2)
        editor.act(REJECT)
        editor.holds(scene.file, HERE_REJECTED)
        editor.renew()
        editor.shows(HERE_REJECTED)
        left(scene, 6)


def test_two_editors_show_one_file_and_the_unsaved_one_stays_unsaved(scene: Scene) -> None:
    scene.agent()
    with scene.opened("one") as one, scene.opened("two") as two:
        for editor in (one, two):
            editor.ready()
            editor.shows(AFTER)
        two.go(5)
        two.append("  # here")
        two.shows(HERE)
        until(lambda: scene.knows("# here"), PATIENCE, "a report of what was typed")
        one.go(2)
        one.act(REJECT)
        two.shows(HERE_REJECTED)
        assert two.unsaved()
        assert scene.file.read_text() == AFTER
        two.save()
        two.holds(scene.file, HERE_REJECTED)
        one.renew()
        one.shows(HERE_REJECTED)
        assert not one.unsaved()
        left(scene, 6)


def test_an_editor_that_is_killed_takes_only_its_unsaved_text_with_it(scene: Scene) -> None:
    scene.agent()
    with scene.opened("one") as editor:
        editor.ready()
        editor.go(5)
        editor.append("  # here")
        editor.shows(HERE)
        until(lambda: scene.knows("# here"), PATIENCE, "a report of what was typed")
        editor.kill()
    left(scene, 2, 6)
    assert scene.file.read_text() == AFTER
    with scene.opened("two") as editor:
        editor.ready()
        editor.go(2)
        editor.act(REJECT)
        editor.holds(scene.file, AREA_REJECTED)


def test_a_daemon_that_is_killed_in_a_turn_is_not_noticed(scene: Scene) -> None:
    scene.agent("text: Counting.\nwait: 600")
    with scene.opened() as editor:
        editor.ready()
        editor.shows(AFTER)
        with scene.counting():
            os.kill(scene.world.daemon(), signal.SIGKILL)
        editor.go(2)
        editor.act(REJECT)
        editor.holds(scene.file, AREA_REJECTED)
        editor.renew()
        editor.shows(AREA_REJECTED)
        left(scene, 6)
        editor.go(5)
        editor.append("  # here")
        editor.save()
        editor.holds(scene.file, HERE_REJECTED)
