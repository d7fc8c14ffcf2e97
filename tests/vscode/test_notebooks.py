"""Notebooks run for agents in VS Code, with the kernel of another extension, and without one."""

import json
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from soultest.otherextension import package
from soultest.toolresults import results
from soultest.workbench import Workbench, install
from soultest.world import World, call

pytestmark = [pytest.mark.vscode, pytest.mark.timeout(400)]

Open = Callable[[], Workbench]
Json = dict[str, Any]


@pytest.fixture
def kernels() -> bool:
    """Whether there is one."""
    return True


@pytest.fixture
def extensions(kernels: bool) -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="sould-vsix-") as root:
        yield install(Path(root), *([package(Path(root))] if kernels else []))


def cell(identifier: str, source: str, kind: str = "code") -> Json:
    more: Json = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "id": identifier, "metadata": {}, "source": [source], **more}


def begun(world: World, open_window: Open, *calls: str) -> Workbench:
    """A window whose user types in their notes, and a notebook of four cells."""
    cells = [cell("first", "print('hello'); n = 6"), cell("title", "# Title", "markdown"), cell("second", "n * 7")]
    cells += [cell("wrong", "nowhere.at"), cell("drawn", "picture()")]
    book = {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    (world.project / "book.ipynb").write_text(json.dumps(book, indent=1) + "\n")
    (world.project / "notes.txt").write_text("a note\n")
    world.script([*calls, "text: Done."])
    world.start()
    window = open_window()
    window.open("notes.txt")
    window.palette("Show Changes of Agents")
    window.show_sould()
    expect(window.page.locator(".pane-body", has_text="Nothing is pending")).to_be_visible()
    window.editor.locator(".view-lines").click()
    return window


def test_cells_run_with_the_users_kernel_and_the_user_types_on(world: World, open_window: Open) -> None:
    wanted: list[Json] = [{"cells": ["first", "3"]}, {"cells": ["drawn"]}, {}]
    calls = [call("notebook_run", f"n{at}", file="book.ipynb", **given) for at, given in enumerate(wanted)]
    window = begun(world, open_window, *calls)
    before = window.focused()
    two, drawn, everything = results(world)
    first, second = two["data"]["cells"]
    assert first["outputs"] == [{"kind": "stream", "text": "hello\n"}, {"kind": "text/plain", "text": "6"}]
    assert (second["number"], second["executionCount"]) == (3, 2)
    assert second["outputs"] == [{"kind": "text/plain", "text": "42"}]
    assert (two["data"]["file"], two["data"]["total"]) == ("book.ipynb", 5)
    assert drawn["data"]["cells"][0]["outputs"] == [{"kind": "image/png"}]
    assert [each["id"] for each in everything["data"]["cells"]] == ["first", "second", "wrong"]
    assert "nowhere is not defined" in everything["data"]["cells"][-1]["outputs"][0]["text"]
    assert "did not run" in everything["meta"]["next"]
    assert window.focused() == before
    expect(window.tab("notes.txt")).to_be_visible()
    expect(window.page.locator(".tab", has_text="book.ipynb")).to_be_visible()
    assert "42" in (world.project / "book.ipynb").read_text()  # it was saved before, so it is again
    window.type("still here ")
    window.shows("still here")


@pytest.mark.parametrize("kernels", [False])
def test_without_a_kernel_the_agent_is_told_what_its_user_must_do(world: World, open_window: Open) -> None:
    window = begun(world, open_window, call("notebook_run", "n", file="book.ipynb"))
    before = window.focused()
    (told,) = results(world)
    assert "the user has to choose a kernel" in told["error"]
    assert window.focused() == before
    expect(window.page.locator(".quick-input-widget")).to_be_hidden()
