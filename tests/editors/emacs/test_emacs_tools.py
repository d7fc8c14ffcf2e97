"""What only Emacs knows, asked for by an agent, beside what its user does."""

import json
from typing import Any

import pytest

from soultest.daemon import until
from soultest.editors.emacs import Emacs
from soultest.screen import PATIENCE
from soultest.souldemacs import OpenEmacs
from soultest.world import World, call

pytestmark = [pytest.mark.editors, pytest.mark.timeout(300)]

AREA = '(defun my-area (w h)\n  "The area of W and H."\n  (* w h))\n'
USE = '(message "🎉 %s" (my-area 1 2))\n'
BUFFERS = "(vconcat (delq nil (mapcar (lambda (each) (and (buffer-file-name each) (buffer-name each))) (buffer-list))))"


def answers(world: World) -> list[Any]:
    """What the calls of one run of the agent came to, in the words that its model is told."""
    run = world.sould("run", "--mode", "review", "--output-format", "stream-json", "go")
    assert run.returncode == 0, run.stdout + run.stderr
    updates = [json.loads(line).get("update", {}) for line in run.stdout.splitlines()]
    ended = [each for each in updates if each.get("status") in {"completed", "failed"}]
    said = [each["rawOutput"]["output"] or each["content"][0]["content"]["text"] for each in ended]
    return [json.loads(each) if each.startswith("{") else each for each in said]


def by_emacs(answer: Any) -> Any:
    assert answer["meta"]["backend"] == "Emacs", answer
    return answer["data"]


def spot(emacs: Emacs) -> Any:
    return emacs.lisp("(list (buffer-name) (point) (length (window-list)))")


def test_a_definition_is_found_as_its_user_would_and_nothing_is_left_open(world: World, open_emacs: OpenEmacs) -> None:
    (world.project / "area.el").write_text(AREA)
    (world.project / "use.el").write_text(USE)
    (world.project / "notes.txt").write_text("one\n")
    used = {"file": "use.el", "anchor": {"symbol": "my-area"}}
    world.script(
        [
            call("definition", "d", **used),
            call("hover", "h", **used),
            call("diagnostics", "t", files=["notes.txt"]),
            "text: Seen.",
        ]
    )
    emacs = open_emacs("notes.txt", more=f'(load "{world.project}/area.el" nil t)')
    defined, hover, diagnostics = answers(world)
    (place,) = by_emacs(defined)["locations"]
    assert (place["file"], place["range"]["start"]["line"]) == ("area.el", 1)
    assert place["preview"].startswith("(defun my-area")
    assert "no language server" in hover
    assert "reports problems of notes.txt" in diagnostics
    assert emacs.lisp(BUFFERS) == ["notes.txt"]


def test_a_place_is_shown_beside_what_the_user_types_and_taken_to_when_they_asked(
    world: World, open_emacs: OpenEmacs
) -> None:
    (world.project / "notes.txt").write_text("one\n")
    (world.project / "long.txt").write_text("".join(f"line {number}\n" for number in range(1, 201)))
    there = {"file": "long.txt", "anchor": {"line": 150}}
    world.script(
        [call("editor_open", "o", **there), "text: Look."] + [call("editor_open", "f", focus=True, **there)] * 2
    )
    emacs = open_emacs("notes.txt")
    (shown,) = answers(world)
    assert by_emacs(shown)["opened"] is True
    emacs.screen.wait("line 150")
    assert spot(emacs)[:2] == ["notes.txt", 1]
    emacs.screen.type("mine ")
    until(lambda: emacs.buffer().startswith("mine one"), PATIENCE, "what was typed")
    emacs.screen.press("M-x")
    emacs.screen.wait("M-x")
    assert "in the middle of a command" in answers(world)[0]
    emacs.screen.press("C-g")
    until(lambda: emacs.lisp("(not (active-minibuffer-window))"), PATIENCE, "the command's end")


def test_its_user_is_taken_to_a_place_they_asked_for_and_gets_back(world: World, open_emacs: OpenEmacs) -> None:
    (world.project / "notes.txt").write_text("one\n")
    (world.project / "long.txt").write_text("".join(f"line {number}\n" for number in range(1, 201)))
    world.script([call("editor_open", "f", file="long.txt", anchor={"line": 150}, focus=True), "text: Look."])
    emacs = open_emacs("notes.txt")
    (taken,) = answers(world)
    assert by_emacs(taken)["opened"] is True
    assert emacs.lisp("(list (buffer-name) (line-number-at-pos))") == ["long.txt", 150]
    emacs.screen.press("M-,")
    until(lambda: emacs.lisp("(buffer-name)") == "notes.txt", PATIENCE, "the way back")
