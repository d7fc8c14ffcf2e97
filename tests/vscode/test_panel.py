"""The agent panel in a real workbench: a turn from the prompt to the answer, and what must not end it."""

import os
import signal
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from soultest.chatpanel import ChatPanel, open_chat
from soultest.daemon import until
from soultest.workbench import PATIENCE, Workbench
from soultest.world import World, call, running

pytestmark = [pytest.mark.vscode, pytest.mark.timeout(400)]

Open = Callable[[], Workbench]

MAKING = call("Shell", "s", command="touch made && echo 'made it'")
DONE = "text: **All** done."


def begun(world: World, open_window: Open, *scripts: str) -> Workbench:
    """A window of a project with one file."""
    (world.project / "here.txt").write_text("here\n")
    world.script(scripts)
    world.start()
    return open_window()


def test_a_prompt_is_answered_in_the_panel_and_its_command_allowed_there(world: World, open_window: Open) -> None:
    window = begun(world, open_window, MAKING, DONE)
    panel = open_chat(window)
    panel.prompt("Make it")
    expect(panel.asked("Make it")).to_have_count(1)
    expect(panel.question).to_contain_text("touch made && echo 'made it'")
    marker = world.project / "made"
    assert not marker.exists()
    panel.approve()
    expect(panel.says("All done.").locator("strong", has_text="All")).to_be_visible()
    expect(panel.call("touch made")).to_have_count(1)
    assert marker.exists()
    expect(panel.question).to_have_count(0)
    expect(window.status("1 waiting")).to_have_count(0)


def test_a_window_that_is_loaded_again_in_the_middle_of_a_turn_goes_on_with_it(world: World, open_window: Open) -> None:
    window = begun(world, open_window, MAKING, DONE)
    panel = open_chat(window)
    panel.prompt("Make it")
    expect(panel.question).to_be_visible()
    [session] = (each.name for each in (world.root / "state" / "sould" / "sessions").iterdir())
    until(
        lambda: window.has_stored(session), PATIENCE, "the panel's state in the browser, which is some seconds behind"
    )
    window.page.reload()
    expect(window.page.locator(".monaco-workbench")).to_be_visible()
    panel = ChatPanel(window)
    expect(panel.asked("Make it")).to_have_count(1)
    panel.approve()
    expect(panel.says("All done.")).to_have_count(1)
    expect(panel.call("touch made")).to_have_count(1)
    assert (world.project / "made").exists()


def test_a_daemon_that_is_killed_in_the_middle_of_a_turn_costs_nothing_that_was_shown(
    world: World, open_window: Open
) -> None:
    window = begun(world, open_window, MAKING)
    panel = open_chat(window)
    panel.prompt("Make it")
    expect(panel.question).to_be_visible()
    world.script([DONE, "text: Still here."])  # what the next one's model says
    daemon = world.daemon()
    os.kill(daemon, signal.SIGKILL)
    until(lambda: not running(daemon), PATIENCE, "the end of the daemon")
    panel.prompt("Are you there?")
    expect(panel.page.get_by_text("1 queued")).to_be_visible()  # so the next daemon has asked again
    panel.approve()
    expect(panel.says("All done.")).to_be_visible()
    expect(panel.says("Still here.")).to_be_visible()
    expect(panel.asked("Make it")).to_have_count(1)
    assert (world.project / "made").exists()


def test_a_session_is_shown_by_two_windows_and_answered_in_either(world: World, open_window: Open) -> None:
    first = begun(world, open_window, MAKING, DONE)
    one = open_chat(first)
    one.prompt("Make it")
    expect(one.question).to_be_visible()
    two = open_chat(open_window())
    expect(two.asked("Make it")).to_have_count(1)
    two.approve()
    for panel in (one, two):
        expect(panel.says("All done.")).to_have_count(1)
        expect(panel.question).to_have_count(0)


def test_a_tab_shows_the_same_session_as_the_side_bar(world: World, open_window: Open) -> None:
    window = begun(world, open_window, "text: Hello from the agent.", MAKING, DONE)
    panel = open_chat(window)
    panel.prompt("Good morning")
    expect(panel.says("Hello from the agent.")).to_be_visible()
    window.palette("sould: Open Chat in an Editor Tab")
    tab = ChatPanel(window, 1)
    expect(tab.says("Hello from the agent.")).to_be_visible()
    tab.prompt("Make it")
    expect(panel.question).to_be_visible()
    tab.approve()
    for each in (panel, tab):
        expect(each.says("All done.")).to_have_count(1)
        expect(each.question).to_have_count(0)


def test_a_window_of_its_own_shows_the_same_session(world: World, open_window: Open) -> None:
    window = begun(world, open_window, "text: Hello from the agent.", MAKING, DONE)
    panel = open_chat(window)
    panel.prompt("Good morning")
    expect(panel.says("Hello from the agent.")).to_be_visible()
    with window.page.expect_popup() as opened:
        window.palette("sould: Open Chat in a New Window")
    own = ChatPanel(window, page=opened.value)
    expect(own.says("Hello from the agent.")).to_be_visible()
    own.prompt("Make it")
    expect(panel.question).to_be_visible()
    own.approve()
    for each in (panel, own):
        expect(each.says("All done.")).to_have_count(1)
        expect(each.question).to_have_count(0)


def test_what_is_selected_goes_with_the_prompt_and_is_not_sent_before(world: World, open_window: Open) -> None:
    window = begun(world, open_window, "text: I see it.")
    window.open("here.txt")
    window.key("Control+a")
    window.palette("sould: Ask About Selection")
    panel = ChatPanel(window)
    expect(panel.page.locator(".chip", has_text="here.txt:1")).to_be_visible()
    expect(panel.page.locator("article.user")).to_have_count(0)
    panel.prompt("What is it?")
    expect(panel.says("I see it.")).to_be_visible()


def test_a_block_of_code_is_applied_as_a_change_to_be_reviewed(world: World, open_window: Open) -> None:
    window = begun(world, open_window, "line: ```text\nline: there\nline: ```")
    window.open("here.txt")
    panel = open_chat(window)
    panel.prompt("Where?")
    button = panel.page.get_by_role("button", name="Apply text")
    button.click()
    expect(panel.page.get_by_text("Select what the code is to replace")).to_be_visible()
    window.editor.locator(".view-line").first.click()
    window.key("Control+a")
    button.click()
    window.shows("there")
    expect(window.lenses("Keep")).to_be_visible()
    window.palette("sould: Reject All Changes of File")
    window.shows("here")
