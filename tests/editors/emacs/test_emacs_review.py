"""The review in Emacs, with the settings of its page: what its user sees, does and types, and what becomes of their files."""

import os
import signal
import subprocess
from collections.abc import Callable

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from mcp.types import Implementation

from soultest.daemon import until
from soultest.editors.emacs import Emacs
from soultest.screen import PATIENCE
from soultest.souldemacs import OpenEmacs, connected, hunks, wait_hunks
from soultest.world import SOULD, World, call

pytestmark = [pytest.mark.editors, pytest.mark.timeout(300)]

BEFORE = "def area(w, h):\n    return w * h\n\n\ndef ring(outer, inner):\n    # later\n    return area(outer, inner)\n"
AFTER = (
    "def area(w, h):\n    if w < 0:\n        raise ValueError\n    return w * h\n\n\n"
    "def ring(outer, inner):\n    return area(outer, outer) - area(inner, inner)\n"
)
FIRST = "    if w < 0:\n        raise ValueError\n"
SECOND_REJECTED = AFTER[: AFTER.index("    return area")] + BEFORE[BEFORE.index("    # later") :]


WRITE = call("WriteFile", "w", path="area.py", content=AFTER)


@pytest.fixture
def area(world: World) -> Callable[[], None]:
    """Has an agent change the file without a question. A test that wants something else done says so before the daemon starts."""
    (world.project / "area.py").write_text(BEFORE)
    world.script([WRITE, "text: Done."] * 3)

    def agent() -> None:
        said = world.sould("run", "--mode", "full", "mend it")
        assert said.returncode == 0, said.stderr

    return agent


@pytest.fixture
def emacs(area: Callable[[], None], open_emacs: OpenEmacs) -> Emacs:
    """Emacs with the file, in which the agent has left two hunks."""
    area()
    opened = open_emacs("area.py")
    wait_hunks(opened, 2)
    return opened


def press(emacs: Emacs, *keys: str) -> None:
    emacs.screen.press("C-c", ",", *keys)


def test_hunks_appear_while_point_and_focus_stay_and_one_is_kept_the_other_rejected(
    world: World, area: Callable[[], None], open_emacs: OpenEmacs
) -> None:
    emacs = open_emacs("area.py")
    emacs.go(5)
    where = "(list (buffer-name (window-buffer)) (line-number-at-pos) (current-column) (length (window-list)))"
    before = emacs.lisp(where)
    area()
    wait_hunks(emacs, 2)
    emacs.shows(AFTER)
    assert emacs.lisp("(list (buffer-name (window-buffer)) (length (window-list)))") == [before[0], before[3]]
    assert emacs.lisp("(buffer-substring (line-beginning-position) (line-end-position))") == "def ring(outer, inner):"
    assert not emacs.unsaved()
    assert hunks(emacs) == [
        {"line": 2, "removed": "", "added": FIRST},
        {
            "line": 8,
            "removed": "    # later\n    return area(outer, inner)\n",
            "added": "    return area(outer, outer) - area(inner, inner)\n",
        },
    ]
    shown = emacs.screen.lines
    top = next(place for place, line in enumerate(shown) if line.startswith("+    if w < 0:"))
    assert [line.rstrip() for line in shown[top - 1 : top + 10]] == [
        " def area(w, h):",
        "+    if w < 0:",
        "+        raise ValueError",
        "     return w * h",
        "",
        "",
        " def ring(outer, inner):",
        "-    # later",
        "-    return area(outer, inner)",
        "+    return area(outer, outer) - area(inner, inner)",
        "",
    ]
    emacs.screen.wait("sould:2")

    press(emacs, "p")
    until(lambda: emacs.lisp("(line-number-at-pos)") == 2, PATIENCE, "the first hunk")
    press(emacs, "k")
    emacs.screen.wait("Kept hunk 1 of area.py", "sould:1")
    press(emacs, "n")
    until(lambda: emacs.lisp("(line-number-at-pos)") == 8, PATIENCE, "the second hunk")
    press(emacs, "r")
    emacs.screen.wait("Rejected hunk 2 of area.py")
    emacs.shows(SECOND_REJECTED)
    emacs.holds(world.project / "area.py", SECOND_REJECTED)
    assert not emacs.unsaved()
    assert hunks(emacs) == []
    assert not any(line.startswith(("+", "-  ")) for line in emacs.screen.lines)


def test_undo_in_the_editor_brings_a_rejected_hunk_back(emacs: Emacs) -> None:
    emacs.go(2)
    press(emacs, "r")
    emacs.shows(AFTER.replace(FIRST, ""))
    wait_hunks(emacs, 1)
    emacs.undo()
    emacs.shows(AFTER)
    wait_hunks(emacs, 2)


def test_what_is_typed_in_a_line_of_a_hunk_is_asked_about_when_it_is_rejected(world: World, emacs: Emacs) -> None:
    emacs.go(3)
    emacs.append('("negative")')
    emacs.screen.wait('~ raise ValueError("negative")')
    press(emacs, "r")
    emacs.screen.wait("mine", "drop")
    emacs.screen.press("m")
    mine = AFTER.replace(FIRST, '        raise ValueError("negative")\n')
    emacs.shows(mine)
    assert emacs.unsaved()
    assert (world.project / "area.py").read_text() == AFTER
    wait_hunks(emacs, 1)


def test_a_line_typed_between_lines_of_a_hunk_stays(world: World, emacs: Emacs) -> None:
    emacs.go(2)
    emacs.append("")
    emacs.screen.press("C-j")
    emacs.screen.type("log(w)")
    emacs.screen.wait("~log(w)")
    emacs.save()
    press(emacs, "r")
    left = AFTER.replace(FIRST, "log(w)\n")
    emacs.shows(left)
    emacs.holds(world.project / "area.py", left)
    emacs.screen.wait("1 line of yours stayed")


def test_the_agent_writes_through_a_formatter_that_runs_on_save(
    world: World, area: Callable[[], None], open_emacs: OpenEmacs
) -> None:
    emacs = open_emacs(
        "area.py",
        more="(add-hook 'before-save-hook (lambda () (save-excursion (goto-char (point-min))"
        ' (while (search-forward "raise ValueError\\n" nil t) (replace-match "raise ValueError()\\n")))))',
    )
    area()
    formatted = AFTER.replace("raise ValueError\n", "raise ValueError()\n")
    emacs.shows(formatted)
    emacs.holds(world.project / "area.py", formatted)
    assert not emacs.unsaved()
    wait_hunks(emacs, 2)
    emacs.go(2)
    press(emacs, "r")
    emacs.holds(world.project / "area.py", AFTER.replace(FIRST, ""))


def test_unsaved_work_is_not_saved_for_the_agent(world: World, area: Callable[[], None], open_emacs: OpenEmacs) -> None:
    world.script([call("StrReplaceFile", "e", path="area.py", edit={"old": "    # later\n", "new": ""}), "text: Done."])
    emacs = open_emacs("area.py")
    emacs.screen.press("M->")
    emacs.screen.type("# mine")
    emacs.shows(BEFORE + "# mine")
    area()
    emacs.shows(BEFORE.replace("    # later\n", "") + "# mine")
    assert emacs.unsaved()
    assert (world.project / "area.py").read_text() == BEFORE
    wait_hunks(emacs, 1)
    emacs.undo()
    emacs.shows(BEFORE + "# mine")


def test_two_editors_on_one_file_agree(world: World, area: Callable[[], None], open_emacs: OpenEmacs) -> None:
    area()
    one, other = open_emacs("area.py"), open_emacs("area.py", name="other")
    wait_hunks(one, 2)
    wait_hunks(other, 2)
    one.go(2)
    press(one, "r")
    one.shows(AFTER.replace(FIRST, ""))
    other.shows(AFTER.replace(FIRST, ""))
    wait_hunks(other, 1)
    other.screen.wait("area.py: rejected by Emacs")
    assert not other.unsaved()


def test_an_editor_that_is_killed_leaves_the_review_to_the_next(
    world: World, emacs: Emacs, open_emacs: OpenEmacs
) -> None:
    emacs.screen.press("M->")
    emacs.screen.type("# not saved")
    emacs.shows(AFTER + "# not saved")
    emacs.kill()
    next_one = open_emacs("area.py", name="next")
    wait_hunks(next_one, 2)
    next_one.shows(AFTER)
    press(next_one, "R")
    next_one.screen.wait("Reject 2 hunks in area.py?")
    next_one.screen.press("y")
    next_one.holds(world.project / "area.py", BEFORE)
    press(next_one, "u")
    next_one.holds(world.project / "area.py", AFTER)
    wait_hunks(next_one, 2)


def test_a_connection_that_is_cut_is_begun_again(world: World, area: Callable[[], None], open_emacs: OpenEmacs) -> None:
    world.script([call("StrReplaceFile", "e", path="area.py", edit={"old": "    # later\n", "new": ""}), "text: Done."])
    emacs = open_emacs("area.py")
    cut = emacs.lisp("(process-id (sould-rpc-process (sould-project-rpc (sould-project-current))))")
    os.kill(cut, signal.SIGKILL)
    emacs.screen.press("M->")
    emacs.screen.type("# mine")
    connected(emacs)
    until(
        lambda: emacs.lisp("(process-id (sould-rpc-process (sould-project-rpc (sould-project-current))))") != cut,
        PATIENCE,
        "another connection",
    )
    connected(emacs)
    area()
    emacs.shows(BEFORE.replace("    # later\n", "") + "# mine")
    assert emacs.unsaved()
    wait_hunks(emacs, 1)


def test_a_daemon_that_is_killed_takes_no_hunk_with_it(world: World, emacs: Emacs) -> None:
    emacs.screen.press("M->")
    emacs.screen.type("# mine")
    emacs.shows(AFTER + "# mine")
    killed = world.daemon()
    os.kill(killed, signal.SIGKILL)
    until(lambda: world.daemon() not in (0, killed), PATIENCE, "the next daemon")
    emacs.go(2)
    press(emacs, "k")
    wait_hunks(emacs, 1)
    emacs.go(8)
    press(emacs, "r")
    emacs.shows(SECOND_REJECTED + "# mine")
    assert emacs.unsaved()


def test_the_review_buffer_is_a_diff_with_keys(world: World, area: Callable[[], None], open_emacs: OpenEmacs) -> None:
    area()
    (world.project / "notes.txt").write_text("one\n")
    emacs = open_emacs("notes.txt")
    until(lambda: emacs.lisp("(length (sould-project-hunks (sould-project-current)))") == 2, PATIENCE, "the review")
    press(emacs, "v")
    emacs.screen.wait("@@ -1,4 +1,6 @@ hunk 1", "+ if w < 0:", "@@ -5,3 +7,2 @@ hunk 2", "- # later")
    applied = subprocess.run(
        ["patch", "-R", "-p1", "-o", "-", "area.py"], cwd=world.project, input=emacs.buffer(), text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    assert applied.stdout == BEFORE
    emacs.screen.press("k")
    until(lambda: "hunk 1" not in emacs.buffer(), PATIENCE, "one hunk less")
    emacs.screen.press("u")
    until(lambda: "hunk 1" in emacs.buffer(), PATIENCE, "the hunk again")
    emacs.screen.press("M-<", "n", "n", "r")
    until(lambda: "hunk 2" not in emacs.buffer(), PATIENCE, "one hunk less")
    emacs.holds(world.project / "area.py", SECOND_REJECTED)
    emacs.screen.press("M-<", "n", "Enter")
    until(lambda: emacs.lisp("(buffer-name)") == "area.py", PATIENCE, "the file")
    assert emacs.lisp("(line-number-at-pos)") == 2


def test_a_command_that_changes_an_open_file_is_seen_in_its_buffer(
    world: World, area: Callable[[], None], open_emacs: OpenEmacs
) -> None:
    world.script([call("Shell", "s", command="sed -i '/later/d' area.py"), "text: Done."])
    emacs = open_emacs("area.py")
    emacs.go(7)
    area()
    emacs.shows(BEFORE.replace("    # later\n", ""))
    assert not emacs.unsaved()
    assert emacs.lisp("(line-number-at-pos)") == 6
    wait_hunks(emacs, 1)
    emacs.go(6)
    press(emacs, "r")
    emacs.holds(world.project / "area.py", BEFORE)


def test_a_new_file_goes_and_comes_back_with_its_buffer_open(
    world: World, area: Callable[[], None], open_emacs: OpenEmacs
) -> None:
    world.script([call("WriteFile", "n", path="new.py", content="x = 1\n"), "text: Done."])
    area()
    emacs = open_emacs("new.py")
    wait_hunks(emacs, 1)
    press(emacs, "r")
    emacs.screen.wait("Rejected hunk 1 of new.py; the agent's new file is gone")
    assert not (world.project / "new.py").exists()
    assert emacs.buffer() == "x = 1\n"
    press(emacs, "u")
    emacs.screen.wait("To be reviewed again: hunk 1")
    assert (world.project / "new.py").read_text() == "x = 1\n"
    wait_hunks(emacs, 1)


def test_what_an_agent_asks_to_write_is_shown_before_it_is_written(
    world: World, area: Callable[[], None], open_emacs: OpenEmacs
) -> None:
    edit = call("StrReplaceFile", "e", path="area.py", edit={"old": "    # later\n", "new": "    # sooner\n"})
    world.script([edit, "text: Done."])
    emacs = open_emacs("area.py")
    emacs.screen.press("C-c", ",", "c")
    emacs.screen.wait("RET sends")
    emacs.screen.type("/mode ask")
    emacs.screen.press("Enter")
    emacs.screen.type("mend it")
    emacs.screen.press("Enter")
    emacs.screen.wait("Allow once", "? # sooner", "# later")
    assert (world.project / "area.py").read_text() == BEFORE
    emacs.screen.press("C-c", "C-y")
    emacs.holds(world.project / "area.py", BEFORE.replace("later", "sooner"))
    until(lambda: "? # sooner" not in emacs.screen.text, PATIENCE, "the end of what was to come")


def test_only_the_keys_that_were_asked_for_are_taken(area: Callable[[], None], open_emacs: OpenEmacs) -> None:
    emacs = open_emacs("area.py")
    assert emacs.lisp("(length (cdr sould-mode-map))") == 0
    assert emacs.lisp("(where-is-internal 'sould-keep nil)") == [[3, 44, 107]]  # C-c , k


def test_an_undo_that_is_refused_is_still_there_when_it_can_be_done(emacs: Emacs) -> None:
    emacs.go(2)
    press(emacs, "k")
    wait_hunks(emacs, 1)
    emacs.go(8)
    press(emacs, "r")
    emacs.shows(SECOND_REJECTED)
    emacs.go(8)
    emacs.append("!")
    emacs.shows(SECOND_REJECTED.replace("# later", "# later!"))
    press(emacs, "u")
    until(
        lambda: "sould: " in emacs.lisp('(with-current-buffer "*Messages*" (buffer-string))'), PATIENCE, "the refusal"
    )
    assert hunks(emacs) == []
    emacs.screen.press("BSpace")
    emacs.shows(SECOND_REJECTED)
    press(emacs, "u")
    emacs.shows(AFTER)
    wait_hunks(emacs, 1)
    press(emacs, "u")
    wait_hunks(emacs, 2)


def test_keep_all_is_taken_back_as_one(emacs: Emacs) -> None:
    emacs.command("sould-keep-all")
    wait_hunks(emacs, 0)
    press(emacs, "u")
    wait_hunks(emacs, 2)


async def test_a_hunk_of_another_agent_is_shown_under_its_name(world: World, open_emacs: OpenEmacs) -> None:
    (world.project / "area.py").write_text(BEFORE)
    world.start()
    transport = StdioTransport(
        str(SOULD), ["editor-mcp"], env=dict(world.environment), cwd=str(world.project), keep_alive=False
    )
    async with Client(transport, client_info=Implementation(name="helper\u202e", version="1")) as client:
        read = await client.call_tool("doc_read", {"file": "area.py"})
        assert read.structured_content is not None
        digest = read.structured_content["data"]["hash"]
        edits = [{"oldText": "# later", "newText": "# sooner"}]
        await client.call_tool("doc_edit", {"edits": [{"file": "area.py", "expectedHash": digest, "hunks": edits}]})
    emacs = open_emacs("area.py")
    wait_hunks(emacs, 1)
    press(emacs, "n")
    emacs.screen.wait("Hunk 1 of 1 in this file, by helper")
    press(emacs, "v")
    emacs.screen.wait("hunk 1, by helper")


def test_decisions_that_wait_for_a_silent_daemon_are_carried_out_in_their_order(world: World, emacs: Emacs) -> None:
    emacs.lisp("(setq sould-timeout 1)")
    daemon = world.daemon()
    os.kill(daemon, signal.SIGSTOP)
    try:
        emacs.go(2)
        press(emacs, "k")
        emacs.screen.wait("No answer from sould")
        emacs.go(8)
        press(emacs, "r")
        press(emacs, "u")
        emacs.go(1)
        emacs.append("  # mine")
        assert emacs.buffer() == AFTER.replace("w, h):\n", "w, h):  # mine\n")
    finally:
        os.kill(daemon, signal.SIGCONT)
    emacs.screen.wait("To be reviewed again: hunk 2")
    until(lambda: [each["line"] for each in hunks(emacs)] == [8], PATIENCE, "the second hunk alone")
    emacs.shows(AFTER.replace("w, h):\n", "w, h):  # mine\n"))
    press(emacs, "u")
    emacs.screen.wait("To be reviewed again: hunk 1")
    wait_hunks(emacs, 2)


def test_what_is_typed_before_a_question_comes_does_not_answer_it(world: World, emacs: Emacs) -> None:
    emacs.go(3)
    emacs.append('("negative")')
    emacs.screen.wait('~ raise ValueError("negative")')
    daemon = world.daemon()
    os.kill(daemon, signal.SIGSTOP)
    try:
        press(emacs, "r")
        emacs.screen.press("M->")
        emacs.screen.type("# d")
        until(lambda: emacs.buffer().endswith("# d"), PATIENCE, "what was typed")
    finally:
        os.kill(daemon, signal.SIGCONT)
    emacs.screen.wait("hunk 1 waits for your choice: reject it again to make it")
    emacs.go(3)
    press(emacs, "r")
    emacs.screen.wait("mine", "drop")
    emacs.screen.press("d")
    emacs.shows(AFTER.replace(FIRST, "") + "# d")
