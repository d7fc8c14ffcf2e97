"""Before the first prompt: what the session will be is chosen where the prompt is written."""

import re

import pytest
from playwright.sync_api import Browser, expect

from soultest.panelpage import served, shown
from soultest.world import World

from .conftest import Open

pytestmark = [pytest.mark.panel, pytest.mark.timeout(300)]


def test_mode_and_commands_are_there_before_the_first_prompt(world: World, open_panel: Open) -> None:
    world.script(["text: Here."])
    panel = open_panel(300)
    panel.composer.focus()
    mode = panel.page.get_by_role("combobox", name="Mode", exact=True)
    expect(panel.page.get_by_role("combobox", name="Agent")).to_be_visible()
    mode.select_option("plan")
    panel.composer.press_sequentially("/stat")
    expect(panel.page.get_by_role("option", name=re.compile("status"))).to_be_visible()
    panel.page.keyboard.press("Escape")
    panel.send("Are you there?")
    panel.shows("Here.")
    expect(mode).to_have_value("plan")
    panel.page.get_by_title("All sessions").click()
    expect(panel.page.get_by_role("main").get_by_role("listitem")).to_have_count(1)


def test_the_folder_is_chosen_and_shown_where_there_are_several(world: World, browser: Browser) -> None:
    other = world.root / "other"
    other.mkdir()
    world.script(["text: Here."])
    world.start()
    with served(world, folders=[other]) as address, shown(browser, address, width=300) as panel:
        panel.composer.focus()
        panel.page.get_by_role("combobox", name="Folder").select_option("other")
        panel.send("Where are you?")
        panel.shows("Here.")
        expect(panel.page.get_by_role("banner")).to_contain_text("other")
        expect(panel.page.get_by_role("combobox", name="Folder")).to_have_count(0)
