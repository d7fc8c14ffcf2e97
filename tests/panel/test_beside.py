"""What stands beside a conversation: background tasks, comments on the plan, the review, what is exported, which session is shown."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import expect

from soultest.bench.mcp import configure, entry
from soultest.daemon import until
from soultest.panelpage import PATIENCE
from soultest.world import World, call

from .conftest import Open

pytestmark = [pytest.mark.panel, pytest.mark.timeout(300)]


def test_a_background_task_is_listed_read_and_stopped(world: World, open_panel: Open) -> None:
    os.mkfifo(world.project / "gate")
    command = "echo listening; cat gate"
    begin = call("Shell", "s1", command=command, run_in_background=True, description="the server")
    world.script([begin, "text: It runs.", "text: It was stopped."])
    panel = open_panel(380)
    panel.send("Start it")
    panel.shows("It runs.")
    tasks = panel.page.get_by_role("region", name="Background tasks")
    tasks.get_by_role("button", name=re.compile("1 running")).press("Enter")
    tasks.get_by_role("button", name="Output of the server").click()
    expect(tasks.get_by_label("What the server printed")).to_contain_text("listening")
    panel.page.reload()
    tasks.get_by_role("button", name=re.compile("1 running")).click()
    tasks.get_by_role("button", name="Stop the server").press("Enter")
    expect(tasks.get_by_role("listitem")).to_contain_text("stopped")
    expect(tasks.get_by_role("button", name="Stop the server")).to_have_count(0)


def test_a_comment_on_a_step_of_the_plan_reaches_the_running_turn(world: World, open_panel: Open) -> None:
    gate = world.project / "gate"
    os.mkfifo(gate)
    todos = [{"title": "Look", "status": "done"}, {"title": "Change it", "status": "in_progress"}]
    wait = call("Shell", "s1", command="cat gate")
    world.script([call("SetTodoList", "t1", todos=todos), wait, "text: As you say."])
    panel = open_panel(380)
    panel.send("Go")
    plan = panel.page.get_by_role("region", name="Plan")
    plan.get_by_role("button", name=re.compile("^Plan")).click()
    plan.get_by_role("button", name="Comment on step 2").press("Enter")
    expect(plan.get_by_role("textbox")).to_be_focused()
    panel.page.keyboard.type("not in the tests")
    panel.page.keyboard.press("Enter")
    panel.shows(re.compile(r"About step 2 of your plan \(in progress\):\s+> Change it\s+not in the tests"))
    gate.write_text("go\n")
    panel.shows("As you say.")


def test_what_a_turn_changed_is_reviewed_from_its_last_line(world: World, open_panel: Open) -> None:
    (world.project / "a.txt").write_text("one\ntwo\nthree\nfour\nfive\nsix\nseven\n")
    changed = "ONE\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n"
    world.script([call("WriteFile", "w1", path="a.txt", content=changed), "text: Done."])
    panel = open_panel(380)
    panel.send("Change it")
    panel.shows("Done.")
    panel.conversation.get_by_role("button", name=re.compile("2 hunks")).press("Enter")
    review = panel.page.get_by_role("main")
    review.get_by_role("button", name="Reject line 1 of a.txt").press("Enter")
    expect(review.get_by_role("button", name=re.compile("^Keep line"))).to_have_count(1)
    review.get_by_role("button", name="Keep line 7 of a.txt").press("Enter")
    expect(review.get_by_text("Nothing of this session is left to review.")).to_be_visible()
    assert (world.project / "a.txt").read_text() == changed.replace("ONE", "one")


def test_what_is_pending_stands_above_the_composer_and_is_kept_or_rejected_at_once(
    world: World, open_panel: Open
) -> None:
    for name in ("a.txt", "b.txt"):
        (world.project / name).write_text("one\ntwo\n")
    write = [call("WriteFile", f"w{name}", path=f"{name}.txt", content="ONE\ntwo\nthree\n") for name in "ab"]
    world.script([*write, "text: Done.", call("WriteFile", "w3", path="c.txt", content="new\n"), "text: More."])
    panel = open_panel(300)
    panel.send("Change them")
    panel.shows("Done.")
    changes = panel.page.get_by_role("region", name="Changes to review")
    changes.get_by_role("button", name=re.compile(r"2 files \+4 .2")).press("Enter")
    expect(changes.get_by_role("listitem")).to_have_text(
        [re.compile(r"a\.txt\s*\+2 .1"), re.compile(r"b\.txt\s*\+2 .1")]
    )
    changes.get_by_role("button", name="Keep All").press("Enter")
    expect(changes).to_have_count(0)
    panel.send("And another")
    panel.shows("More.")
    changes.get_by_role("button", name="Reject All").press("Enter")
    expect(changes).to_have_count(0)
    assert not (world.project / "c.txt").exists()
    assert (world.project / "a.txt").read_text() == "ONE\ntwo\nthree\n"


def test_a_conversation_is_exported_to_a_file(world: World, open_panel: Open, tmp_path: Path) -> None:
    world.script(["text: The answer."])
    panel = open_panel()
    panel.send("A question")
    panel.shows("The answer.")
    panel.idle()
    panel.page.get_by_role("button", name="More", exact=True).press("Enter")
    panel.page.keyboard.press("ArrowDown")
    with panel.page.expect_download() as download:
        panel.page.keyboard.press("Enter")
    assert download.value.suggested_filename == "A-question.md"
    download.value.save_as(tmp_path / "saved.md")
    assert "The answer." in (tmp_path / "saved.md").read_text()


def test_a_panel_that_remembers_nothing_shows_the_session_that_waits(world: World, open_panel: Open) -> None:
    world.script([call("Shell", "s1", command="touch made"), "text: Done."])
    one = open_panel()
    one.send("The one that waits")
    expect(one.question).to_be_visible()
    one.page.get_by_role("button", name="New session").last.click()
    one.send("The last one")
    one.choose(1)
    one.shows("The last one", "Done.")
    one.idle()
    (world.project / "made").unlink()
    two = open_panel(380)
    two.choose(1)
    two.shows("The one that waits", "Done.")
    two.idle()
    until((world.project / "made").exists, PATIENCE, "the command")
    two.page.get_by_role("button", name="New session").last.click()
    two.page.reload()
    expect(two.composer).to_be_visible()
    expect(two.page.get_by_role("heading", name="New session")).to_be_visible()
    expect(two.page.get_by_text("Go on with")).to_be_visible()
    expect(two.conversation).to_have_count(0)


def test_the_list_of_sessions_says_on_which_branch_each_works_and_finds_it_by_that(
    world: World, open_panel: Open
) -> None:
    world.script(["text: Done."])
    panel = open_panel(380)
    panel.send("Mend the fence")
    panel.shows("Done.")
    panel.idle()
    subprocess.run(["git", "-C", str(world.project), "checkout", "-q", "-b", "feature/fences"], check=True)
    panel.page.get_by_title("All sessions").click()
    row = panel.page.get_by_role("main").get_by_role("listitem").filter(has_text="Mend the fence")
    expect(row).to_contain_text("branch feature/fences")
    search = panel.page.get_by_role("searchbox", name="Search sessions")
    search.fill("feature fence")
    expect(row).to_be_visible()
    search.fill("elsewhere")
    expect(row).to_have_count(0)
    search.fill("")
    row.get_by_role("button", name="Rename Mend the fence").press("Enter")
    panel.page.get_by_role("textbox", name="New title of Mend the fence").fill("Fences")
    panel.page.keyboard.press("Enter")
    expect(panel.page.get_by_role("button", name="Rename Fences")).to_be_visible()


def test_hunks_conversations_and_resources_are_mentioned_and_shown_as_they_are_sent(
    world: World, open_panel: Open
) -> None:
    (world.project / "a.txt").write_text("one\ntwo\n")
    configure(world.root / "config" / "sould" / "mcp.json", {"docs": entry("rich")})
    world.script([call("WriteFile", "w1", path="a.txt", content="ONE\ntwo\n"), "text: Changed.", "text: Read."])
    panel = open_panel(380)
    panel.send("The first of them")
    panel.shows("Changed.")
    panel.idle()
    chips = panel.page.get_by_role("list", name="Sent with the message").get_by_role("listitem")
    for typed, option, name, sent in (
        ("hunk", "hunk a.txt:1", "a.txt:1", "-one\n+ONE"),
        ("guid", "guide", "docs: guide", "docs://"),
    ):
        panel.composer.press_sequentially(f" @{typed}")
        expect(panel.page.get_by_role("option").filter(has_text=option)).to_be_visible()
        panel.page.keyboard.press("Enter")
        chip = chips.filter(has_text=name)
        expect(chip).to_have_attribute("title", re.compile(re.escape(sent)))
    panel.page.get_by_role("button", name="New session").last.click()
    panel.composer.press_sequentially("as in @first")
    expect(panel.page.get_by_role("option", name="The first of them")).to_be_visible()
    panel.page.keyboard.press("Enter")
    expect(chips).to_have_attribute("title", re.compile("Changed."))
    panel.composer.press("Enter")
    panel.shows("as in @The first of them")


def test_a_session_begins_in_a_worktree_of_its_own_and_the_list_says_on_which_branch(
    world: World, open_panel: Open
) -> None:
    (world.project / "a.txt").write_text("one\n")
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    for command in (["add", "."], [*identity, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *command], cwd=world.project, check=True)
    world.script(["text: Hello.", "text: Hello again."])
    panel = open_panel(380)
    panel.send("Hi")
    panel.shows("Hello.")
    panel.page.get_by_role("button", name="More", exact=True).press("Enter")
    panel.page.get_by_role("menuitem", name="New session in a worktree").click()
    heading = panel.page.get_by_role("heading", level=1)
    expect(heading).to_have_text("New session in a worktree")
    panel.page.reload()
    expect(heading).to_have_text("New session in a worktree")
    panel.send("Hi")
    panel.shows("Hello.")
    panel.send("/status")
    panel.shows(re.compile("worktree: work-1 of .*branch sould/work-1"))
    heading.click()
    project = panel.page.get_by_role("region", name="This project")
    expect(project.get_by_role("listitem").filter(has_text="sould/work-1")).to_have_count(1)
    expect(project.get_by_role("listitem")).to_have_count(2)
