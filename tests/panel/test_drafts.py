"""What a person wrote in the panel and what was not sent: it is there again whatever became of the turn or the view."""

import os
import re

import pytest
from playwright.sync_api import expect

from soultest.world import World, call

from .conftest import Open

pytestmark = [pytest.mark.panel, pytest.mark.timeout(300)]


def test_arrow_up_brings_back_what_was_said_before(world: World, open_panel: Open) -> None:
    world.script(["text: First.", "text: Second."])
    panel = open_panel()
    for words, answer in (("one", "First."), ("two", "Second.")):
        panel.send(words)
        panel.shows(answer)
        panel.idle()
    panel.composer.press("ArrowUp")
    expect(panel.composer).to_have_value("two")
    panel.composer.press("ArrowUp")
    expect(panel.composer).to_have_value("one")
    panel.composer.press("ArrowUp")
    expect(panel.composer).to_have_value("one")
    panel.composer.fill("my own")
    panel.composer.press("ArrowUp")
    expect(panel.composer).to_have_value("my own")


def test_a_stop_brings_back_what_was_queued_and_a_draft_outlives_other_views(world: World, open_panel: Open) -> None:
    os.mkfifo(world.project / "gate")
    world.script([call("Shell", "s1", command="echo begun; cat gate"), "text: Later."])
    panel = open_panel()
    panel.send("Run it")
    expect(panel.card(re.compile("cat gate: running"))).to_be_visible()
    queue = panel.page.get_by_role("region", name="Queued messages")
    for number, words in enumerate(("one", "two"), 1):
        panel.send(words)
        expect(queue.get_by_role("listitem")).to_have_count(number)
    panel.composer.fill("three")
    panel.page.evaluate(
        """() => {
            const data = new DataTransfer();
            data.setData("text/uri-list", "file:///shop/a.ts");
            document.querySelector(".composer").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
        }"""
    )
    attached = panel.page.get_by_role("list", name="Sent with the message")
    expect(attached).to_contain_text("a.ts")
    queue.get_by_role("listitem").nth(1).get_by_role("button", name="Change").click()
    queue.get_by_role("textbox").fill("two, changed")
    panel.page.get_by_role("button", name="Stop", exact=True).click()
    panel.idle()
    expect(queue).to_have_count(0)
    expect(panel.composer).to_have_value(re.compile("one\n\ntwo\n\nthree"))
    expect(panel.composer).to_have_value(re.compile("two, changed"))
    panel.page.get_by_role("button", name="Timeline: go back to an earlier point").click()
    expect(panel.composer).to_have_count(0)
    panel.page.get_by_title("Back to the conversation").click()
    expect(panel.composer).to_have_value(re.compile("one\n\ntwo\n\nthree"))
    expect(attached).to_contain_text("a.ts")
