"""What waits for a person, in a real workbench: seen in every project, answered once."""

import json
import re
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect

from soultest.daemon import until
from soultest.workbench import PATIENCE, Workbench
from soultest.world import SOULD, World, call

pytestmark = [pytest.mark.vscode, pytest.mark.timeout(400)]

Open = Callable[[], Workbench]


@contextmanager
def asking(world: World, *scripts: str) -> Generator[Path]:
    """An agent of another editor, in another project, that asks before it goes on; nobody answers there."""
    elsewhere = world.root / "elsewhere"
    elsewhere.mkdir()
    world.script(scripts)
    world.start()
    pipe = subprocess.PIPE
    with subprocess.Popen([SOULD, "acp"], env=world.environment, stdin=pipe, stdout=pipe, text=True) as client:
        assert client.stdin is not None
        assert client.stdout is not None

        def say(number: int, method: str, **params: object) -> None:
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            print(json.dumps(message), file=client.stdin, flush=True)

        say(1, "initialize", protocolVersion=1)
        say(2, "session/new", cwd=str(elsewhere), mcpServers=[])
        answers = map(json.loads, client.stdout)
        session = next(each["result"]["sessionId"] for each in answers if each.get("id") == 2)
        say(3, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Do it"}])
        next(each for each in answers if each.get("method") == "session/request_permission")
        yield elsewhere
        assert next(each for each in answers if each.get("id") == 3)["result"]["stopReason"] == "end_turn"
        client.stdin.close()


def connected(window: Workbench) -> None:
    """Nothing has been changed here, so the user says that it is to begin."""
    window.show_sould()
    window.page.locator(".pane-body a.monaco-button", has_text="Show Changes of Agents").click()


def test_an_approval_of_another_project_is_given_where_the_user_works(world: World, open_window: Open) -> None:
    (world.project / "here.txt").write_text("here\n")
    with asking(world, call("Shell", "s", command="touch made && echo 'made it'"), "text: Done.") as elsewhere:
        marker = elsewhere / "made"
        window = open_window()
        connected(window)
        expect(window.status("1 waiting")).to_be_visible()
        assert not marker.exists()
        expect(window.tree("touch made && echo 'made it'").last).to_be_visible()
        window.status("1 waiting").click()
        window.page.locator(".quick-input-list .monaco-list-row").first.click()
        until(marker.exists, PATIENCE, "the command")
        expect(window.status("1 waiting")).to_have_count(0)


def test_a_question_is_answered_from_its_notification_while_its_user_is_elsewhere(
    world: World, open_window: Open
) -> None:
    (world.project / "here.txt").write_text("here\n")
    with asking(world, call("Shell", "s", command="touch made && echo 'made it'"), "text: Done.") as elsewhere:
        window = open_window()
        window.leave()
        connected(window)
        toast = window.toast("sould waits for you")
        expect(toast.get_by_role("link", name="Show", exact=True)).to_be_visible()
        toast.get_by_role("link", name="Answer", exact=True).click()
        window.page.locator(".quick-input-list .monaco-list-row").first.click()
        until((elsewhere / "made").exists, PATIENCE, "the command")
        expect(toast).to_have_count(0)


def test_a_long_command_is_allowed_once_its_end_was_in_sight(world: World, open_window: Open) -> None:
    (world.project / "here.txt").write_text("here\n")
    command = "\n".join(["touch made", *(f"echo {number}" for number in range(120)), "echo 'the end'"])
    with asking(world, call("Shell", "s", command=command), "text: Done.") as elsewhere:
        marker = elsewhere / "made"
        window = open_window()
        connected(window)
        window.status("1 waiting").click()
        answers = window.page.locator(".quick-input-list .monaco-list-row")
        expect(answers.first).to_contain_text("Reject")
        window.shows("touch made")
        assert not marker.exists()
        window.page.locator(".editor-instance .view-line", has_text="echo 15").first.click()
        window.key("Control+End")
        window.shows("echo 119")
        expect(answers.first).to_contain_text("Allow once")
        answers.first.click()
        until(marker.exists, PATIENCE, "the command")


def test_what_is_answered_elsewhere_is_gone_here(world: World, open_window: Open) -> None:
    (world.project / "here.txt").write_text("here\n")
    with asking(world, call("WriteFile", "w", path="new.txt", content="new\n"), "text: Done."):
        window = open_window()
        connected(window)
        expect(window.status("1 waiting")).to_be_visible()
        window.tree(re.compile("new.txt")).last.click()
        expect(window.page.locator(".tab.active", has_text="new.txt")).to_be_visible()
        window.shows("new")
        (item,) = json.loads(world.sould("inbox", "--json").stdout)["items"]
        assert world.sould("approve", item["id"]).returncode == 0
        expect(window.status("1 waiting")).to_have_count(0)
        expect(window.page.locator(".pane-body", has_text="No agent waits for you")).to_be_visible()
    assert (world.root / "elsewhere" / "new.txt").read_text() == "new\n"


def test_a_proposed_file_is_allowed_as_its_user_has_changed_it(world: World, open_window: Open) -> None:
    (world.project / "here.txt").write_text("here\n")
    with asking(world, call("WriteFile", "w", path="new.txt", content="one\ntwo\n"), "text: Done.") as elsewhere:
        window = open_window()
        connected(window)
        window.tree(re.compile("new.txt")).last.click()
        expect(window.page.locator(".tab.active", has_text="new.txt")).to_be_visible()
        window.page.locator(".editor.modified .view-lines").click()
        window.key("Control+End")
        window.type("three, mine")
        expect(window.page.locator(".editor.modified .view-line", has_text="mine")).to_be_visible()
        assert not (elsewhere / "new.txt").exists()
        window.page.locator('.editor-actions a.action-label[aria-label^="Approve as It Stands Here"]').click()
        expect(window.status("1 waiting")).to_have_count(0)
        expect(window.page.locator(".tab", has_text="new.txt")).to_have_count(0)
    assert (elsewhere / "new.txt").read_text() == "one\ntwo\nthree, mine"
    [context] = (world.root / "state" / "sould" / "sessions").glob("*/context.jsonl")
    told = context.read_text()
    assert "the user changed it before allowing it" in told
    assert "+three, mine" in told
