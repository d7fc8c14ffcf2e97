"""Behind the meter stands by what the model's window is filled, for the keyboard and for a narrow side bar, too."""

import re

import pytest
from playwright.sync_api import expect

from soultest.bench.mcp import configure, entry
from soultest.world import World, call

from .conftest import Open

pytestmark = [pytest.mark.panel, pytest.mark.timeout(300)]


def test_the_meter_opens_to_what_each_tool_and_server_takes(world: World, open_panel: Open) -> None:
    configure(world.root / "config" / "sould" / "mcp.json", {"docs": entry()})
    (world.project / "long.txt").write_text(("word " * 20 + "\n") * 400)
    read, total = call("ReadFile", "r1", path="long.txt"), call("docs__sum", "m1", a=1, b=2)
    world.script([read, total, "text: Read.", "text: Fine."])
    panel = open_panel(380)
    panel.send("Read it")
    panel.choose(1)
    panel.shows("Read.")
    panel.idle()
    meter = panel.page.get_by_role("button", name=re.compile("tokens of the model's window are used"))
    meter.press("Enter")
    parts = panel.page.get_by_role("dialog", name="What fills the model's window")
    expect(parts).to_be_focused()
    rows = parts.get_by_role("row")
    for at, name in ((rows.nth(1), "ReadFile"), (rows.filter(has_text="docs"), "docs (MCP server)")):
        expect(at.get_by_role("rowheader")).to_have_text(name)
        expect(at.get_by_role("cell").last).to_have_text("1")
    expect(rows.filter(has_text="Instructions")).to_be_visible()
    expect(parts.get_by_text("estimated from the texts")).to_be_visible()
    panel.page.keyboard.press("Escape")
    expect(parts).to_have_count(0)
    expect(meter).to_be_focused()
    panel.send("/context")
    panel.shows(re.compile("MCP server docs: [\\d,]+, of which its description"))
