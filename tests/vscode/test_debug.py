"""Debugging for agents: VS Code's own debugger for Node, at a program of the project."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from soultest.toolresults import results
from soultest.workbench import Workbench
from soultest.world import World, call

pytestmark = [pytest.mark.vscode, pytest.mark.timeout(400)]

Open = Callable[[], Workbench]

SUM = """function sum(list) {
  let total = 0;
  for (const each of list) {
    total += each;
  }
  return total;
}
console.log("the sum is", sum([1, 2, 3]));
"""
LAUNCH = {
    "version": "0.2.0",
    "configurations": [
        {
            "name": "Sum",
            "type": "node",
            "request": "launch",
            "program": "${workspaceFolder}/sum.js",
            "console": "integratedTerminal",
        }
    ],
}


def lay_out(project: Path) -> None:
    (project / "sum.js").write_text(SUM)
    (project / "notes.txt").write_text("a note\n")
    (project / ".vscode").mkdir()
    (project / ".vscode" / "launch.json").write_text(json.dumps(LAUNCH))


def begun(world: World, open_window: Open) -> Workbench:
    """A window whose user types in their notes."""
    world.start()
    window = open_window()
    window.open("notes.txt")
    window.palette("Show Changes of Agents")
    window.show_sould()
    expect(window.page.locator(".pane-body", has_text="Nothing is pending")).to_be_visible()
    window.editor.locator(".view-lines").click()
    return window


def test_an_agent_debugs_a_program_and_the_user_types_on(world: World, open_window: Open) -> None:
    lay_out(world.project)
    steps = [
        {"action": "breakpoint", "file": "sum.js", "line": 4, "condition": "each > 1"},
        {"action": "start", "configuration": "Sum"},
        {"action": "eval", "expression": "total + each"},
        {"action": "eval", "expression": "nowhere.at"},
        {"action": "step", "step": "over"},
        {"action": "stack", "frame": 1},
        {"action": "breakpoint", "file": "sum.js", "line": 4, "remove": True},
        {"action": "step", "step": "continue"},
    ]
    calls = [call("debug", f"d{number}", **given) for number, given in enumerate(steps)]
    world.script([*calls, "text: Done."])
    window = begun(world, open_window)
    before = window.focused()
    found = results(world)
    started, value, wrong, stepped, above, ended = (found[at].get("data", found[at]) for at in (1, 2, 3, 4, 5, 7))
    assert started["state"] == "stopped", found
    frame = started["frames"][0]
    assert (frame["file"], frame["line"]) == ("sum.js", 4)
    assert {"each": "2", "total": "1"}.items() <= {each["name"]: each["value"] for each in frame["variables"]}.items()
    assert value["value"] == "3"
    assert "nowhere is not defined" in wrong["error"]
    assert (stepped["state"], stepped["frames"][0]["line"]) == ("stopped", 3)
    assert above["frames"][1]["line"] == 8
    assert ended["state"] == "ended"
    assert "the sum is 6" in ended["output"]
    assert window.focused() == before
    expect(window.tab("notes.txt")).to_be_visible()
    expect(window.page.locator(".part.panel")).to_be_hidden()
    window.type("still here ")
    window.shows("still here")
