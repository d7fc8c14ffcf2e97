"""The review in Emacs when the file under it is renamed, has CR LF, is seen in part only, and when the agent is told about a hunk."""

import os

import pytest

from soultest.daemon import until
from soultest.editors.emacs import Emacs
from soultest.screen import PATIENCE
from soultest.souldemacs import OpenEmacs, hunks
from soultest.world import World, call

pytestmark = [pytest.mark.editors, pytest.mark.timeout(300)]

BEFORE = "one\ntwo\nthree\nfour\nfive\n"
AFTER = "1\ntwo\nthree\nfour\n5\n"


def agent(world: World, before: str, after: str, *more: str) -> None:
    """Have an agent change the file."""
    (world.project / "notes.txt").write_bytes(before.encode())
    world.script([call("WriteFile", "w", path="notes.txt", content=after), "text: Done.", *more])
    world.start()
    said = world.sould("run", "--mode", "full", "change it")
    assert said.returncode == 0, said.stderr


def lines_of(emacs: Emacs) -> list[int]:
    return [hunk["line"] for hunk in hunks(emacs)]


def press(emacs: Emacs, *keys: str) -> None:
    emacs.screen.press("C-c", ",", *keys)


def test_a_file_with_cr_lf_stays_one(world: World, open_emacs: OpenEmacs) -> None:
    path = world.project / "notes.txt"
    agent(world, BEFORE.replace("\n", "\r\n"), AFTER.replace("\n", "\r\n"))
    emacs = open_emacs("notes.txt")
    until(lambda: lines_of(emacs) == [1, 5], PATIENCE, "two hunks")
    emacs.shows(AFTER)
    emacs.go(3)
    emacs.append("!")
    emacs.go(1)
    press(emacs, "r")
    mine = AFTER.replace("1\n", "one\n").replace("three", "three!")
    emacs.shows(mine)
    emacs.save()
    until(lambda: path.read_bytes() == mine.replace("\n", "\r\n").encode(), PATIENCE, "CR LF on disk")
    until(lambda: lines_of(emacs) == [5], PATIENCE, "one hunk")
    emacs.go(5)
    press(emacs, "r")
    until(lambda: path.read_bytes().endswith(b"four\r\nfive\r\n"), PATIENCE, "the rejected line on disk")


def test_no_hunk_of_another_file_is_drawn_when_the_file_gets_another_name(world: World, open_emacs: OpenEmacs) -> None:
    agent(world, BEFORE, AFTER)
    emacs = open_emacs("notes.txt")
    until(lambda: lines_of(emacs) == [1, 5], PATIENCE, "two hunks")
    other = world.project / "other.txt"
    os.rename(world.project / "notes.txt", other)
    emacs.lisp(f'(progn (set-visited-file-name "{other}" t t) nil)')
    until(lambda: lines_of(emacs) == [], PATIENCE, "no hunks")
    emacs.go(3)
    emacs.append("!")
    emacs.save()
    emacs.holds(other, AFTER.replace("three", "three!"))
    assert lines_of(emacs) == []


def test_a_part_of_a_buffer_is_reviewed_as_the_whole(world: World, open_emacs: OpenEmacs) -> None:
    agent(world, BEFORE, AFTER)
    emacs = open_emacs("notes.txt")
    until(lambda: lines_of(emacs) == [1, 5], PATIENCE, "two hunks")
    emacs.go(5)
    emacs.lisp("(progn (narrow-to-region (line-beginning-position) (line-end-position)) nil)")
    press(emacs, "r")
    emacs.holds(world.project / "notes.txt", AFTER.replace("5\n", "five\n"))
    emacs.lisp("(progn (widen) nil)")
    emacs.shows(AFTER.replace("5\n", "five\n"))
    until(lambda: lines_of(emacs) == [1], PATIENCE, "one hunk")


def test_comments_on_hunks_go_to_the_agent_in_one_message(world: World, open_emacs: OpenEmacs) -> None:
    (world.project / "notes.txt").write_text(BEFORE)
    world.script(
        [
            *(call("WriteFile", "w", path="notes.txt", content=AFTER), "text: Done."),
            *(call("StrReplaceFile", "e", path="notes.txt", edit={"old": "1\n", "new": "I\n"}), "text: Better now."),
        ]
    )
    emacs = open_emacs("notes.txt")
    press(emacs, "a")
    emacs.screen.wait("Ask:")
    emacs.screen.type("digits, please")
    emacs.screen.press("Enter")
    until(lambda: lines_of(emacs) == [1, 5], PATIENCE, "two hunks")
    until(lambda: "working" not in emacs.screen.text, PATIENCE, "the end of the turn")
    for line, words in ((1, "in Roman, please"), (3, "what is this?")):
        emacs.go(line)
        press(emacs, "m")
        emacs.screen.wait("Comment for the agent:")
        emacs.screen.type(words)
        emacs.screen.press("Enter")
        emacs.screen.wait("Noted.")
    press(emacs, "M")
    emacs.screen.wait("The comments are sent")
    emacs.shows(AFTER.replace("1\n", "I\n"))
    until(lambda: "Better now." in emacs.buffer_named("*sould: project*"), PATIENCE, "the agent's words")
    chat = emacs.buffer_named("*sould: project*")
    assert "in Roman, please" in chat
    assert "what is this?" in chat
