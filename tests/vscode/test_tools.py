"""What only VS Code knows, asked for by an agent: its TypeScript service, its problems, its window."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from soultest.workbench import Workbench
from soultest.world import World, call

pytestmark = [pytest.mark.vscode, pytest.mark.timeout(400)]

Open = Callable[[], Workbench]

AREA = "export function area(w: number, h: number): number {\n  return w * h;\n}\n\nconst wrong: string = area(1, 2);\n"
USE = 'import { area } from "./area";\n\nexport const garden = area(3, 4);\nexport const house = area(5, 6);\n'
PLACE = {"symbol": "area", "lineText": "export function"}


def project(world: World) -> Path:
    (world.project / "area.ts").write_text(AREA)
    (world.project / "use.ts").write_text(USE)
    (world.project / "tsconfig.json").write_text('{"compilerOptions": {"strict": true, "noEmit": true}}\n')
    (world.project / "notes.txt").write_text("".join(f"note {number}\n" for number in range(1, 61)))
    return world.project


def ready(window: Workbench) -> None:
    """Connected, and the TypeScript service knows the file."""
    window.open("area.ts")
    expect(window.page.locator(".squiggly-error").first).to_be_visible()
    window.show_sould()
    window.page.locator(".pane-body a.monaco-button", has_text="Show Changes of Agents").click()
    expect(window.page.locator(".pane-body", has_text="Nothing is pending")).to_be_visible()


def test_references_and_rename_come_from_the_typescript_service(world: World, open_window: Open) -> None:
    project(world)
    rename = call("rename", "r", file="area.ts", anchor=PLACE, newName="surface")
    world.script([call("references", "u", file="area.ts", anchor=PLACE), rename, "text: Done."])
    world.start()
    window = open_window()
    ready(window)
    run = world.sould("run", "--mode", "review", "--output-format", "stream-json", "call it surface")
    assert run.returncode == 0, run.stdout + run.stderr
    told = run.stdout.replace("\\", "")
    assert '"total":4' in told.replace(" ", ""), re.findall(r"total.{400}", told)  # once here; an import and two there
    expect(window.lenses("Keep")).to_have_count(2)
    window.shows("export function surface(")
    assert "garden = surface(3, 4)" in (world.project / "use.ts").read_text()
    expect(window.tree("use.ts")).to_be_visible()
    window.page.locator(".tab.active", has_text="area.ts").wait_for()


def test_open_in_the_editor_shows_a_place_and_leaves_the_focus(world: World, open_window: Open) -> None:
    project(world)
    world.script([call("editor_open", "o", file="notes.txt", anchor={"line": 50}), "text: Look."])
    world.start()
    window = open_window()
    ready(window)
    window.editor.locator(".view-lines").click()
    before = window.focused()
    run = world.sould("run", "--mode", "review", "show me the fiftieth note")
    assert run.returncode == 0, run.stdout + run.stderr
    expect(window.page.locator(".view-line", has_text=re.compile("note[ \u00a0]50"))).to_be_visible()
    assert window.focused() == before
    window.type("// still here")
    window.shows("// still here")
    assert subprocess.run(["git", "-C", str(world.project), "diff"], capture_output=True, check=True).stdout == b""
