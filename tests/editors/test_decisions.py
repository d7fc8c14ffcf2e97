"""One list of what a decision comes to, whatever client it is made in: Neovim, Emacs, VS Code, the dialogue at a terminal."""

import json
import os
import signal
from collections.abc import Callable, Generator
from contextlib import ExitStack

import pytest

from soultest.daemon import until
from soultest.editors.deciding import Deciding, deciding, in_vscode
from soultest.editors.plugin import INSTALLED, NEW, OLD, rewrite
from soultest.screen import PATIENCE
from soultest.workbench import new_world
from soultest.world import SOULD, World, call

pytestmark = [pytest.mark.timeout(300)]

AREA = [1, 2, 3]
ALL = [*AREA, 4]
"""The last one is in another file, which no bulk decision is about."""
TYPED = "  # mine"
REJECTED = NEW.replace("return width", "return w")
"""Without the third hunk."""

CLIENTS = [
    *(pytest.param(name, marks=pytest.mark.editors) for name in ("nvim-0.10", "nvim-0.12", "emacs-28", "emacs-30")),
    pytest.param("terminal", marks=pytest.mark.editors),
    pytest.param("vscode", marks=pytest.mark.vscode),
]


@pytest.fixture
def world() -> Generator[World]:
    with new_world() as made:
        made.environment["PATH"] = os.pathsep.join(
            [str(SOULD.parent), str(INSTALLED / "bin"), made.environment["PATH"]]
        )
        (made.project / "area.py").write_text(OLD)
        write, *end = rewrite()
        made.script([write, call("WriteFile", "z", path="zoo.py", content="ape = 1\n"), *end])
        yield made


@pytest.fixture
def settings() -> dict[str, object]:
    """Of VS Code: it stays where its user decided, whatever else waits in other files."""
    return {"sould.revealNext": False}


@pytest.fixture(params=CLIENTS)
def client(world: World, request: pytest.FixtureRequest) -> Generator[Callable[[], Deciding]]:
    """Opens each client in turn."""
    name = str(request.param)
    with ExitStack() as stack:
        if name == "vscode":
            open_window = request.getfixturevalue("open_window")
            yield lambda: in_vscode(world, open_window)
        else:
            yield lambda: stack.enter_context(deciding(world, name))


def left(world: World, *numbers: int) -> None:
    """Wait until these hunks wait for a decision."""

    def pending() -> list[int]:
        listed = json.loads(world.sould("review", "list", "--json").stdout)
        return sorted(hunk["id"] for file in listed["files"] for hunk in file["hunks"])

    until(lambda: pending() == [*numbers], PATIENCE, f"the hunks {numbers}")


def test_a_hunk_that_its_user_changed_meanwhile_is_looked_at_again(
    world: World, client: Callable[[], Deciding]
) -> None:
    user = client()
    user.look(3)
    user.types(7, TYPED)
    user.reject(3)
    user.choose("drop")
    user.shows(REJECTED)
    left(world, 1, 2, 4)


def test_what_becomes_of_ones_words_is_a_choice(world: World, client: Callable[[], Deciding]) -> None:
    user = client()
    user.look(3)
    user.types(7, TYPED)
    user.reject(3)
    user.choose("mine")
    user.shows(NEW.replace("    return width * h\n", f"    return w * h\n    return width * h{TYPED}\n"))
    left(world, 1, 2, 4)


def test_one_undo_takes_back_all_of_a_decision(world: World, client: Callable[[], Deciding]) -> None:
    user = client()
    user.keep_file()
    left(world, 4)
    user.undo()
    left(world, *ALL)
    user.shows(NEW)


def test_all_of_a_file_is_rejected_and_comes_back_at_once(world: World, client: Callable[[], Deciding]) -> None:
    user = client()
    user.reject_file()
    user.shows(OLD)
    left(world, 4)
    user.undo()
    user.shows(NEW)
    left(world, *ALL)


def test_an_undo_that_is_refused_can_be_done_later(world: World, client: Callable[[], Deciding]) -> None:
    user = client()
    user.reject(3)
    user.shows(REJECTED)
    left(world, 1, 2, 4)
    user.types(7, TYPED)
    user.undo()
    user.says("cannot be put back")
    user.takes_typed_back(TYPED)
    user.undo()
    user.shows(NEW)
    left(world, *ALL)


def test_a_daemon_that_is_gone_takes_no_decision_with_it(world: World, client: Callable[[], Deciding]) -> None:
    user = client()
    user.keep(1)
    left(world, 2, 3, 4)
    os.kill(world.daemon(), signal.SIGKILL)
    user.reject(3)
    user.shows(REJECTED)
    left(world, 2, 4)


def test_a_daemon_that_is_silent_keeps_nobody_from_typing_and_decides_later(
    world: World, client: Callable[[], Deciding]
) -> None:
    user = client()
    user.look(3)
    daemon = world.daemon()
    os.kill(daemon, signal.SIGSTOP)
    try:
        user.reject(3)
        user.types(11, TYPED)
    finally:
        os.kill(daemon, signal.SIGCONT)
    user.shows(REJECTED.replace("'area'\n", f"'area'{TYPED}\n"))
    left(world, 1, 2, 4)
