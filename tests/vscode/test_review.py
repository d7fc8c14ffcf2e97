"""Review in a real workbench: what a user of VS Code sees and does, and what becomes of their files."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from soultest.daemon import until
from soultest.workbench import PATIENCE, Workbench
from soultest.world import World, call

pytestmark = [pytest.mark.vscode, pytest.mark.timeout(400)]

Open = Callable[[], Workbench]

OLD = "".join(f"line {number}\n" for number in range(1, 41))
NEW = (
    OLD.replace("line 5\n", "line five\n")
    .replace("line 15\n", "line 15\nadded one\nadded two\n")
    .replace("line 25\nline 26\n", "")
)
"""Three hunks: a line changed, two added, two removed."""


@pytest.fixture
def changed(world: World) -> World:
    """An agent has changed a file of the project."""
    return change(world)


def change(world: World, *more: str, new: str = NEW) -> World:
    (world.project / "list.txt").write_text(OLD)
    world.script([call("WriteFile", "w1", path="list.txt", content=new), "text: Done.", *more])
    world.start()
    run = world.sould("run", "--mode", "review", "five, please")
    assert run.returncode == 0, run.stderr
    return world


def text(world: World, name: str = "list.txt") -> str:
    return (world.project / name).read_text()


def pending(world: World) -> int:
    listed = json.loads(world.sould("review", "list", "--json").stdout)
    return sum(len(file["hunks"]) for file in listed["files"])


def wait_text(world: World, wanted: str) -> None:
    until(lambda: text(world) == wanted, PATIENCE, f"the file's text to be {wanted!r}")


def wait_pending(world: World, count: int) -> None:
    until(lambda: pending(world) == count, PATIENCE, f"{count} pending")


def test_hunks_appear_are_kept_and_rejected_where_the_user_reads(changed: World, open_window: Open) -> None:
    window = open_window()
    window.open("list.txt")
    expect(window.lenses("Keep")).to_have_count(3)
    expect(window.lenses(re.compile(r"1 of 3 · .1 · \+1$"))).to_be_visible()
    expect(window.status("3 to review")).to_be_visible()
    window.lenses("Keep").first.click()
    expect(window.lenses("Keep")).to_have_count(2)
    assert text(changed) == NEW
    window.lenses("Reject").last.click()
    expect(window.lenses("Keep")).to_have_count(1)
    wait_text(changed, NEW.replace("line 24\n", "line 24\nline 25\nline 26\n"))
    assert pending(changed) == 1


def test_what_the_user_typed_in_a_change_stays_when_it_is_rejected(changed: World, open_window: Open) -> None:
    window = open_window()
    window.open("list.txt")
    expect(window.lenses("Keep")).to_have_count(3)
    window.go(1)
    window.type(", mine")
    window.go(16)
    window.type("\nmy own line")
    window.shows("line 1, mine", "my own line")
    window.lenses("Reject").nth(1).click()
    expect(window.lenses("Keep")).to_have_count(2)
    expect(window.line("added two")).to_have_count(0)
    window.shows("line 1, mine", "my own line")
    assert text(changed) == NEW  # it was unsaved before, so nobody saves it but its user
    window.key("Control+s")
    wanted = NEW.replace("line 1\n", "line 1, mine\n").replace("added one\nadded two\n", "my own line\n")
    wait_text(changed, wanted)


OFFSETS = """() => {
  const top = (node) => Math.round(node.getBoundingClientRect().top);
  const tops = (nodes) => nodes.map(top).sort((a, b) => a - b);
  window.offsets = [];
  const look = () => {
    const words = tops([...document.querySelectorAll('.codelens-decoration[monaco-visible-content-widget="true"]')]);
    const lines = tops([...document.querySelectorAll(".view-line")].filter((line) => /five|added.one|line.27/.test(line.textContent)));
    const now = lines.map((line, at) => line - words[at]).join(" ");
    if (words.length === lines.length && window.offsets.at(-1) !== now) {
      window.offsets.push(now);
    }
    requestAnimationFrame(look);
  };
  look();
}"""
"""How far the words of each change are above its line, in every frame that has them."""


def test_words_above_changes_stay_there_while_their_user_types(changed: World, open_window: Open) -> None:
    def starts() -> list[int]:
        [listed] = json.loads(changed.sould("review", "list", "--json").stdout)["files"]
        return [hunk["start"] for hunk in listed["hunks"]]

    window = open_window()
    window.open("list.txt")
    expect(window.lenses("Keep")).to_have_count(3)
    window.go(1)
    window.page.evaluate(OFFSETS)
    for typed in range(1, 4):
        drawn = window.lenses("Keep").last.element_handle()
        window.type("\n")
        window.page.wait_for_function("(word) => !word.isConnected", arg=drawn)
        until(
            lambda typed=typed: starts() == [4 + typed, 15 + typed, 26 + typed], PATIENCE, "what was typed to be known"
        )
    # On a busy machine VS Code may paint the lines before the words: once for each key, and never again with sould's answer.
    window.page.wait_for_function("offsets.at(-1) === offsets[0]")
    offsets = window.page.evaluate("offsets")
    assert offsets.count(offsets[0]) <= 1 + 3


def test_words_of_the_user_in_a_rejected_line_are_asked_about(changed: World, open_window: Open) -> None:
    window = open_window()
    window.open("list.txt")
    expect(window.lenses("Keep")).to_have_count(3)
    window.go(5)
    window.type(" (mine)")
    window.shows("line five (mine)")
    window.lenses("Reject").first.click()
    row = window.page.locator(".quick-input-list .monaco-list-row", has_text="Drop My Words")
    row.click()
    expect(window.lenses("Keep")).to_have_count(2)
    window.shows("line 5")
    window.key("Control+z")
    window.shows("line five (mine)")


def test_an_agent_writes_into_the_unsaved_text_of_the_user(world: World, open_window: Open) -> None:
    edit = call("StrReplaceFile", "w2", path="list.txt", edit={"old": "line 30", "new": "line thirty"})
    change(world, edit, "text: Done again.")
    window = open_window()
    window.open("list.txt")
    expect(window.lenses("Keep")).to_have_count(3)
    window.go(1)
    window.type(", mine")
    expect(window.page.locator(".tab.active.dirty")).to_be_visible()
    run = world.sould("run", "--continue", "--mode", "review", "thirty, please")
    assert run.returncode == 0, run.stderr
    window.shows("line 1, mine", "line thirty")
    expect(window.lenses("Keep")).to_have_count(4)
    expect(window.page.locator(".tab.active.dirty")).to_be_visible()
    assert text(world) == NEW


def test_changes_are_painted_on_their_lines_after_a_command_changed_the_file(world: World, open_window: Open) -> None:
    change(world, call("Shell", "s1", command="sed -i '1i first\\nsecond' list.txt"), "text: Done again.")
    window = open_window()
    window.open("list.txt")
    wanted = ["line five", "added one", "added two", "line 27"]
    until(lambda: window.painted() == wanted, PATIENCE, "the changes to be painted")
    run = world.sould("run", "--continue", "--mode", "full", "two lines above, please")
    assert run.returncode == 0, run.stderr
    expect(window.lenses("Keep")).to_have_count(4)
    wanted = ["first", "second", *wanted]
    until(lambda: window.painted() == wanted, PATIENCE, f"the changes to be painted again, not {window.painted()}")


def test_keys_go_from_change_to_change_and_decide(changed: World, open_window: Open) -> None:
    window = open_window()
    window.open("list.txt")
    expect(window.lenses("Keep")).to_have_count(3)
    window.go(10)
    window.key("Alt+j")
    expect(window.status("Ln 16, Col 1")).to_be_visible()
    window.type("> ")
    window.shows("> added one")  # the cursor is at the next change, and the focus stayed in the text
    window.key("Alt+k")
    expect(window.status("Ln 5, Col 1")).to_be_visible()
    window.palette("Keep Change")
    expect(window.lenses("Keep")).to_have_count(2)
    expect(window.status("Ln 16, Col 1")).to_be_visible()  # where the next one is
    assert "textarea" in window.focused() or "native-edit-context" in window.focused()


def test_a_killed_daemon_comes_back_with_the_same_changes(changed: World, open_window: Open) -> None:
    window = open_window()
    window.open("list.txt")
    expect(window.lenses("Keep")).to_have_count(3)
    window.lenses("Keep").first.click()
    expect(window.lenses("Keep")).to_have_count(2)
    os.kill(changed.daemon(), signal.SIGKILL)
    window.go(1)
    window.type(", mine")
    wait_pending(changed, 2)
    window.lenses("Reject").first.click()
    expect(window.lenses("Keep")).to_have_count(1)
    window.shows("line 1, mine")
    expect(window.line("added one")).to_have_count(0)


def test_the_peek_shows_what_was_there_and_its_icons_decide(changed: World, open_window: Open) -> None:
    window = open_window()
    window.open("list.txt")
    expect(window.lenses("Keep")).to_have_count(3)
    expect(window.page.locator(".dirty-diff-glyph").first).to_be_visible()  # before, VS Code has no peek to show
    window.lenses("1 of 3").click()
    peek = window.page.locator(".peekview-widget")
    expect(peek.locator(".original .view-line", has_text="5").first).to_be_visible()
    peek.locator('a.action-label[aria-label^="Reject Change"]').click()
    # VS Code may go to the next change, which leaves no room for both
    expect(window.status("2 to review")).to_be_visible()
    wait_text(changed, NEW.replace("line five", "line 5"))


def test_all_changes_are_in_one_diff_and_are_decided_there(world: World, open_window: Open) -> None:
    (world.project / "other.txt").write_text("one\ntwo\n")
    write = call("WriteFile", "w0", path="other.txt", content="one\n2\n")
    (world.project / "list.txt").write_text(OLD)
    world.script([write + "\n" + call("WriteFile", "w1", path="list.txt", content=NEW), "text: Done."])
    world.start()
    assert world.sould("run", "--mode", "review", "go").returncode == 0
    window = open_window()
    window.status("4 to review").click()
    expect(window.page.locator(".multiDiffEntry")).to_have_count(2)
    window.page.locator(".multiDiffEntry .editor.modified .view-line", has_text="five").click()
    window.palette("Keep Change")
    wait_pending(world, 3)
    window.page.locator('.editor-actions a.action-label[aria-label^="Reject All Changes"]').click()
    wait_pending(world, 0)
    assert text(world) == OLD.replace("line 5\n", "line five\n")
    assert text(world, "other.txt") == "one\ntwo\n"


def test_what_is_no_text_is_decided_as_a_whole(world: World, open_window: Open) -> None:
    picture = world.project / "picture.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    git = ["git", "-C", str(world.project), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "A picture"], check=True)
    world.script([call("Shell", "s1", command="printf '\\0more' >> picture.png"), "text: Done."])
    world.start()
    assert world.sould("run", "--mode", "full", "go").returncode == 0
    window = open_window()
    window.show_sould()
    window.tree("other contents").click()
    expect(window.tab("picture.png")).to_be_visible()
    window.page.locator('.editor-actions a.action-label[aria-label^="Reject All Changes of File"]').click()
    expect(window.tree("other contents")).to_have_count(0)
    assert picture.read_bytes() == b"\x89PNG\r\n\x1a\n\0\0"


def test_a_file_that_was_renamed_is_one_row_under_both_names(world: World, open_window: Open) -> None:
    (world.project / "old.txt").write_text(OLD)
    edit = call("StrReplaceFile", "w1", path="old.txt", edit={"old": "line 30", "new": "line thirty"})
    world.script([edit, call("Shell", "s1", command="mv old.txt new.txt"), "text: Done."])
    world.start()
    assert world.sould("run", "--mode", "full", "go").returncode == 0
    window = open_window()
    window.show_sould()
    expect(window.tree(re.compile(r"\.txt"))).to_have_count(2)
    expect(window.tree("old.txt → new.txt")).to_be_visible()
    expect(window.tree("renamed from old.txt")).to_be_visible()
    window.status("2 to review").click()
    shown = window.page.locator(".multiDiffEntry")
    expect(shown).to_have_count(1)
    expect(shown).to_contain_text("old.txt")
    expect(shown.locator(".original .view-line", has_text="30")).to_be_visible()
    window.page.locator('.editor-actions a.action-label[aria-label^="Reject All Changes"]').click()
    wait_pending(world, 0)
    assert text(world, "old.txt") == OLD


def test_a_new_file_that_is_rejected_leaves_no_tab(world: World, open_window: Open) -> None:
    (world.project / "list.txt").write_text(OLD)
    world.script([call("WriteFile", "w1", path="made.txt", content="made\n"), "text: Done."])
    world.start()
    assert world.sould("run", "--mode", "review", "go").returncode == 0
    window = open_window()
    window.open("made.txt")
    window.lenses("Reject").click()
    expect(window.page.locator(".tab", has_text="made.txt")).to_have_count(0)
    assert not (world.project / "made.txt").exists()


def test_comments_are_sent_to_the_agent_as_one(world: World, open_window: Open) -> None:
    change(world, "text: I see.")
    window = open_window()
    window.open("list.txt")
    expect(window.lenses("Comment")).to_have_count(3)
    window.go(5)
    box = window.page.locator(".review-widget .monaco-editor.focused")
    # VS Code has to learn first that the cursor is on a change
    until(lambda: window.key("Alt+m") or box.count(), PATIENCE, "the comment to have the focus")
    window.type("Why not six?")
    expect(window.page.locator(".tab.active.dirty")).to_have_count(0)
    window.key("Control+Enter")
    expect(window.status("Ln 5, Col 1")).to_be_visible()  # back in the text it is about
    window.palette("Send Comments to the Agent")
    session = json.loads(world.sould("sessions", "list", "--json").stdout)["id"]
    export = until(lambda: "Why not six?" in (it := world.sould("sessions", "show", session).stdout) and it, PATIENCE)
    assert "line five" in export


def test_a_comment_that_is_being_written_outlives_its_change(world: World, open_window: Open) -> None:
    change(world, "text: I see.")
    window = open_window()
    window.open("list.txt")
    window.lenses("Comment").first.click()
    expect(window.page.locator(".review-widget .monaco-editor.focused")).to_be_visible()
    window.type("Why not six?")
    world.sould("review", "keep", "1")
    wait_pending(world, 2)
    box = window.page.locator(".review-widget")
    expect(box).to_contain_text("decided")
    expect(box).to_contain_text("Why not six?")
    box.locator("a.monaco-button", has_text="Add Comment").click()
    expect(window.page.locator(".review-widget", has_text="a comment on these lines")).to_have_count(0)
    window.palette("Send Comments to the Agent")
    session = json.loads(world.sould("sessions", "list", "--json").stdout)["id"]
    sent = until(lambda: "Why not six?" in (it := world.sould("sessions", "show", session).stdout) and it, PATIENCE)
    assert "line five" in sent


def test_what_is_decided_elsewhere_goes_here(changed: World, open_window: Open) -> None:
    window = open_window()
    window.open("list.txt")
    expect(window.lenses("Keep")).to_have_count(3)
    window.show_sould()
    expect(window.tree("5: line five")).to_be_visible()
    changed.sould("review", "reject", "1")
    expect(window.tree("5: line five")).to_have_count(0)
    expect(window.lenses("Keep")).to_have_count(2)
    window.shows("line 5")


def test_two_windows_show_one_review(changed: World, open_window: Open) -> None:
    first, second = open_window(), open_window()
    for window in (first, second):
        window.open("list.txt")
        expect(window.lenses("Keep")).to_have_count(3)
    first.lenses("Keep").first.click()
    expect(second.lenses("Keep")).to_have_count(2)
    second.lenses("Reject").last.click()
    expect(first.lenses("Keep")).to_have_count(1)
    first.shows("line 25")
    first.page.reload()
    expect(first.lenses("Keep")).to_have_count(1)


def test_it_works_beside_git_and_a_formatter_on_save(changed: World, open_window: Open) -> None:
    subprocess.run(["git", "-C", str(changed.project), "add", "list.txt"], check=True)
    window = open_window()
    window.open("list.txt")
    expect(window.status("to review")).to_have_count(0)  # what is staged is accepted
    assert pending(changed) == 0


def test_what_was_rejected_can_be_read_copied_and_brought_back(changed: World, open_window: Open) -> None:
    window = open_window()
    window.open("list.txt")
    expect(window.lenses("Keep")).to_have_count(3)
    window.lenses("Reject").nth(1).click()
    wait_pending(changed, 2)
    row = window.page.locator(".quick-input-list .monaco-list-row", has_text="added one")
    window.palette("sould: Show Rejected Changes")
    expect(row).to_contain_text("list.txt:16")
    window.key("Enter")
    window.shows("added one", "added two")
    expect(window.tab("list.txt")).to_be_visible()
    window.palette("sould: Show Rejected Changes")
    row.hover()
    row.locator('a.action-label[aria-label="Copy"]').click()
    expect(window.status("copied")).to_be_visible()
    assert window.page.evaluate("navigator.clipboard.readText()") == "added one\nadded two\n"
    window.palette("sould: Show Rejected Changes")
    row.hover()
    row.locator('a.action-label[aria-label="Bring Back"]').click()
    wait_text(changed, NEW)
    wait_pending(changed, 3)
