"""A question on the side is asked while a turn runs, answered beside the conversation, and shown as no part of it."""

import os
import re

import pytest
from playwright.sync_api import expect

from soultest.world import World, call

from .conftest import Open

pytestmark = [pytest.mark.panel, pytest.mark.timeout(300)]


def test_a_question_on_the_side_is_a_card_of_its_own_and_folded_history_later(world: World, open_panel: Open) -> None:
    gate = world.project / "gate"
    os.mkfifo(gate)
    world.script([call("Shell", "s1", command="cat gate"), "text: Because of one.", "text: Done."])
    panel = open_panel(380)
    panel.send("Run it")
    expect(panel.card(re.compile("cat gate: running"))).to_be_visible()
    panel.composer.fill("why is it slow?")
    panel.page.get_by_role("button", name="Add to the message").press("Enter")
    panel.page.keyboard.press("ArrowDown")
    panel.page.keyboard.press("Enter")
    expect(panel.composer).to_have_value("/btw why is it slow?")
    expect(panel.composer).to_be_focused()
    panel.page.keyboard.press("Enter")
    aside = panel.conversation.get_by_role("complementary", name="Asked on the side: why is it slow?")
    expect(aside.get_by_text("Because of one.")).to_be_visible()
    expect(aside.get_by_text("the agent does not remember it")).to_be_visible()
    expect(panel.conversation).to_have_attribute("aria-busy", "true")
    gate.write_text("go\n")
    panel.shows("Done.")
    panel.idle()
    panel.page.reload()
    panel.shows("Done.")
    expect(aside.get_by_text("Because of one.")).to_have_count(0)
    aside.get_by_role("button", name="On the side: why is it slow?").press("Enter")
    expect(aside.get_by_text("Because of one.")).to_be_visible()
    expect(panel.conversation.get_by_role("heading", name=re.compile("^Turn"))).to_have_count(1)


def test_a_question_on_the_side_leaves_no_turn_behind(world: World, open_panel: Open) -> None:
    world.script(["text: Hello.", "text: On the side."])
    panel = open_panel(380)
    panel.send("Hello")
    panel.shows("Hello.")
    panel.idle()
    panel.send("/btw and this?")
    panel.shows("On the side.")
    panel.idle()
    expect(panel.page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
