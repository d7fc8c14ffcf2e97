"""Toad, the terminal client, as README starts it. `make test-editors` installs it."""

import os
import re
import shutil
import signal
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from soultest.screen import Screen, screen
from soultest.world import SOULD, World, call

pytestmark = [pytest.mark.editors, pytest.mark.timeout(300)]

HOUSE = Path(__file__).parents[2]
INSTALLED = HOUSE / ".editors"
(COMMAND,) = re.findall(r"^toad acp .*$", (HOUSE / "README.md").read_text(), re.MULTILINE)


@pytest.fixture
def world() -> Generator[World]:
    missing = INSTALLED / "missing" / "toad"
    if missing.exists():
        pytest.skip(missing.read_text().strip())
    root = Path(tempfile.mkdtemp(prefix="sould-editor-"))
    made = World(root)
    made.environment["PATH"] = os.pathsep.join([str(SOULD.parent), str(INSTALLED / "bin"), made.environment["PATH"]])
    (made.project / "hello.txt").write_text("Helo, world!\n")
    yield made
    made.close()
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def toad(world: World) -> Generator[Screen]:
    edit = call("StrReplaceFile", "e", path="hello.txt", edit={"old": "Helo", "new": "Hello"})
    world.script([f"text: I shall look.\n{edit}", "text: It is mended.", "text: Counting.\nwait: 600", "text: Again."])
    with screen(world, COMMAND, world.project) as shown:
        shown.wait("sould connected", "How can I help you today?")
        yield shown


def ask(toad: Screen, words: str) -> None:
    toad.type(words)
    toad.wait(words)
    toad.press("Enter")


def test_an_edit_is_shown_asked_about_and_made_and_an_interruption_is_no_failure(world: World, toad: Screen) -> None:
    """One start for both, because it takes seconds."""
    ask(toad, "Mend the greeting.")
    asked = toad.wait("Approval request", "Allow once", "Reject", "Helo, world!", "Hello, world!")
    assert "hello.txt" in asked
    assert (world.project / "hello.txt").read_text() == "Helo, world!\n"
    toad.press("Enter")
    toad.wait("It is mended.")
    assert (world.project / "hello.txt").read_text() == "Hello, world!\n"

    ask(toad, "Now count.")
    toad.wait("Counting.")
    os.kill(world.daemon(), signal.SIGKILL)
    seen = toad.wait("sould was stopped in the middle of this turn")
    assert "failed to run" not in seen
    ask(toad, "Go on.")
    toad.wait("I shall look.")  # the script begins anew with the new daemon
