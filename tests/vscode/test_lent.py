"""sould's editor tools for VS Code's own agents: as tools of VS Code, and as an MCP server, where the setting says so."""

import json
import re
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import TimeoutError as NotThere
from playwright.sync_api import expect

from soultest.daemon import until
from soultest.otherextension import package
from soultest.workbench import A_MOMENT, PATIENCE, Workbench, install
from soultest.world import World

pytestmark = [pytest.mark.vscode, pytest.mark.timeout(400)]

Open = Callable[[], Workbench]
Json = dict[str, Any]

AREA = "export function area(w: number, h: number): number {\n  return w * h;\n}\n\nexport const garden = area(3, 4);\n"
PLACE = {"symbol": "area", "lineText": "export function"}


@pytest.fixture(scope="session")
def extensions() -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="sould-vsix-") as root:
        yield install(Path(root), package(Path(root)))


def begun(world: World, open_window: Open) -> Workbench:
    (world.project / "area.ts").write_text(AREA)
    (world.project / "tsconfig.json").write_text('{"compilerOptions": {"strict": true, "noEmit": true}}\n')
    world.script(["text: Done."])
    world.start()
    window = open_window()
    expect(window.status("sould")).to_be_visible()
    return window


def called(world: World, window: Workbench, tool: str, **given: object) -> Json:
    """What came of a call by an agent of VS Code's."""
    answer = world.root / "called.json"
    answer.unlink(missing_ok=True)
    (world.root / "call.json").write_text(json.dumps({"tool": tool, "input": given}))
    window.palette("sould-test: Call")
    until(answer.exists, PATIENCE, "the answer")
    said: Json = json.loads(answer.read_text())
    return said


@pytest.mark.parametrize("settings", [{"sould.offerEditorTools": "tools"}])
def test_agents_of_vs_code_call_them_as_tools_of_vs_code(world: World, open_window: Open) -> None:
    window = begun(world, open_window)
    window.open("area.ts")
    said = called(world, window, "sould_references", file="area.ts", anchor=PLACE)
    assert "sould_rename" in said["tools"]
    assert json.loads(said["text"])["total"] == 1, said
    wrong = called(world, window, "sould_references", file="nowhere.ts", anchor=PLACE)
    assert "not_found" in wrong["error"]


def test_they_are_not_offered_where_nobody_has_said_so(world: World, open_window: Open) -> None:
    window = begun(world, open_window)
    said = called(world, window, "sould_symbols", file="area.ts")
    assert "offerEditorTools" in said["error"]


def in_list_of_servers(window: Workbench, action: str) -> None:
    """Choose an action for our server in VS Code's list of MCP servers."""
    window.palette("MCP: List Servers")
    window.page.locator(".quick-input-list .monaco-list-row", has_text="sould editor tools").click()
    window.page.locator(".quick-input-list .monaco-list-row", has_text=action).click()


def found_log(window: Workbench) -> bool:
    """Ask VS Code for the server's log unless it is shown, and say whether it was: VS Code may not know of it yet."""
    log = window.page.locator(".output-view .view-lines", has_text=re.compile("Connection[ \u00a0]state"))
    try:
        log.wait_for(timeout=A_MOMENT)
    except NotThere:
        in_list_of_servers(window, "Show Output")
        return False
    return True


@pytest.mark.parametrize("settings", [{"sould.offerEditorTools": "mcp", "chat.disableAIFeatures": False}])
def test_the_mcp_server_is_in_the_list_of_vs_code_and_starts(world: World, open_window: Open) -> None:
    window = begun(world, open_window)
    in_list_of_servers(window, "Start Server")
    output = window.page.locator(".output-view .view-lines")
    expect(output).to_be_visible()
    until(lambda: found_log(window), PATIENCE, "the log of the server")
    expect(output).to_contain_text(re.compile("Connection[ \u00a0]state:[ \u00a0]Running"))
    expect(output).to_contain_text(re.compile("Discovered[ \u00a0][1-9][0-9]*[ \u00a0]tools"))
