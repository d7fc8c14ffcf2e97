"""Talking to agents in Emacs: prompts, the chat, questions and the inbox, as their user sees them."""

import os
import signal

import pytest

from soultest.daemon import until
from soultest.editors.emacs import Emacs
from soultest.screen import PATIENCE
from soultest.souldemacs import OpenEmacs, hunks
from soultest.terminal import terminal
from soultest.world import World, call

pytestmark = [pytest.mark.editors, pytest.mark.timeout(300)]

TEXT = "one\ntwo\nthree\n"
EDIT = call("StrReplaceFile", "e", path="notes.txt", edit={"old": "two", "new": "2"})
MAKE = call("Shell", "s", command="touch made.txt")


@pytest.fixture(autouse=True)
def notes(world: World) -> None:
    """The file that everything here is about."""
    (world.project / "notes.txt").write_text(TEXT)


def ask(emacs: Emacs, words: str) -> None:
    """Prompt from the file's buffer."""
    emacs.screen.press("C-c", ",", "a")
    emacs.screen.wait("Ask:")
    emacs.screen.type(words)
    emacs.screen.press("Enter")


def test_a_prompt_is_answered_beside_the_file_and_its_edit_is_a_hunk(world: World, open_emacs: OpenEmacs) -> None:
    world.script([f"think: Hm.\ntext: I shall **mend** it.\n{EDIT}", "text: It is `mended`."])
    emacs = open_emacs("notes.txt")
    ask(emacs, "mend two")
    emacs.screen.wait("> mend two", "Hm.", "I shall **mend** it.", "* Edit notes.txt", "It is `mended`.")
    assert emacs.lisp("(buffer-name)") == "notes.txt"
    emacs.shows(TEXT.replace("two", "2"))
    emacs.screen.wait("-two", "+2", "sould:1")
    assert hunks(emacs) == [{"line": 2, "removed": "two\n", "added": "2\n"}]
    until(lambda: "working" not in emacs.screen.text, PATIENCE, "the end of the turn")
    faces = (
        '(with-current-buffer "*sould: project*" (goto-char (point-min)) (search-forward "mend**") (font-lock-ensure)'
    )
    assert emacs.lisp(f"{faces} (get-text-property (- (point) 3) 'face))") == "bold"


def test_a_question_is_answered_in_the_chat(world: World, open_emacs: OpenEmacs) -> None:
    world.script([MAKE, "text: Made.", MAKE, "text: Not made."])
    emacs = open_emacs("notes.txt")
    ask(emacs, "make it")
    emacs.screen.wait("? touch made.txt", "[Allow once]", "[Reject]", "?1", "sould asks: touch made.txt")
    assert emacs.lisp("(buffer-name)") == "notes.txt"
    emacs.screen.press("C-c", ",", "c")
    until(lambda: emacs.lisp("(buffer-name)") == "*sould: project*", PATIENCE, "the chat")
    emacs.screen.press("C-c", "C-y")
    emacs.screen.wait("Allow once", "Made.")
    assert (world.project / "made.txt").exists()
    (world.project / "made.txt").unlink()

    emacs.screen.type("once more")
    emacs.screen.press("Enter")
    until(lambda: "[Reject]" in emacs.screen.text, PATIENCE, "the second question")
    emacs.screen.press("C-c", "C-n")
    emacs.screen.wait("Tell the agent why")
    emacs.screen.type("it is there")
    emacs.screen.press("Enter")
    emacs.screen.wait("Reject: it is there", "Not made.")
    assert not (world.project / "made.txt").exists()
    assert "[Reject]" not in emacs.buffer()


def test_the_key_that_allows_chooses_no_answer_to_a_question(world: World, open_emacs: OpenEmacs) -> None:
    world.script([QUESTIONS, "text: So be it."])
    emacs = open_emacs("notes.txt")
    ask(emacs, "choose")
    emacs.screen.wait("[red]", "[blue]")
    emacs.screen.press("C-c", ",", "c")
    until(lambda: emacs.lisp("(buffer-name)") == "*sould: project*", PATIENCE, "the chat")
    emacs.screen.press("C-c", "C-y")
    emacs.screen.wait("This is a question: choose one of its answers", "[red]")


def test_what_an_agent_is_told_of_this_emacs_is_asked_about_and_shown(world: World, open_emacs: OpenEmacs) -> None:
    state = call("editor_state", "t", include=["open"])
    world.script([state, "text: One.", state, "text: Two."])
    emacs = open_emacs("notes.txt")
    ask(emacs, "look")
    emacs.screen.wait("Share what you have open in the editor", "[Allow once]")
    emacs.screen.press("C-c", ",", "c")
    until(lambda: emacs.lisp("(buffer-name)") == "*sould: project*", PATIENCE, "the chat")
    emacs.screen.press("C-c", "C-y")
    emacs.screen.wait("One.")
    assert "Shared with the agent: 1 open file" in emacs.buffer()
    emacs.screen.type("/editor-context off")
    emacs.screen.press("Enter")
    until(lambda: "working" not in emacs.screen.text, PATIENCE, "the end of the turn")
    emacs.screen.type("look again")
    emacs.screen.press("Enter")
    emacs.screen.wait("Two.")
    assert emacs.buffer().count("Shared with the agent") == 1


def test_a_button_answers_and_what_is_typed_meanwhile_stays(world: World, open_emacs: OpenEmacs) -> None:
    world.script([MAKE, "text: Made."])
    emacs = open_emacs("notes.txt")
    emacs.screen.press("C-c", ",", "c")
    emacs.screen.wait("RET sends")
    emacs.screen.type("make it")
    emacs.screen.press("Enter")
    emacs.screen.wait("[Allow once]")
    emacs.screen.type("next thought")
    emacs.screen.press("M-<", "Tab", "Enter")
    emacs.screen.wait("Made.", "> next thought")
    assert (world.project / "made.txt").exists()


def test_the_inbox_has_what_any_session_asks_and_takes_words(world: World, open_emacs: OpenEmacs) -> None:
    world.script([MAKE, "text: Not made."])
    one, other = open_emacs("notes.txt"), open_emacs("notes.txt", name="other")
    ask(one, "make it")
    one.screen.wait("[Allow once]")
    other.screen.press("C-c", ",", "i")
    other.screen.wait("Run a command", "$ touch made.txt")
    other.screen.press("r")
    other.screen.wait("Tell the agent why")
    other.screen.type("tomorrow")
    other.screen.press("Enter")
    other.screen.wait("Nothing waits for you.")
    one.screen.wait("rejected: tomorrow", "Not made.")
    assert not (world.project / "made.txt").exists()


QUESTIONS = call(
    "AskUserQuestion",
    "q",
    questions=[
        {"question": "Which colour?", "options": [{"label": "red", "description": "warm"}, {"label": "blue"}]},
        {
            "question": "Which tools?",
            "options": [{"label": "saw"}, {"label": "axe"}, {"label": "file"}],
            "multi_select": True,
        },
    ],
)


def test_the_inbox_is_told_what_comes_and_takes_several_choices(world: World, open_emacs: OpenEmacs) -> None:
    world.script([QUESTIONS, "text: So be it."])
    one, other = open_emacs("notes.txt"), open_emacs("notes.txt", name="other")
    other.screen.press("C-c", ",", "i")
    other.screen.wait("Nothing waits for you.")
    ask(one, "choose")
    other.screen.wait("Which colour?", "1. red: warm", "Which tools?", "3. file")
    other.screen.press("Enter")
    other.screen.wait("Which colour? ")
    other.screen.type("blue")
    other.screen.press("Enter")
    other.screen.wait("Which tools? (several with ;)")
    other.screen.type("saw; file")
    other.screen.press("Enter")
    other.screen.wait("Nothing waits for you.")
    one.screen.wait("So be it.")
    until(lambda: "saw, file" in one.buffer_named("*sould: project*"), PATIENCE, "the answer in the chat")


def test_a_question_is_dismissed_in_the_inbox_and_the_agent_goes_on(world: World, open_emacs: OpenEmacs) -> None:
    world.script([QUESTIONS, "text: I decide."])
    emacs = open_emacs("notes.txt")
    ask(emacs, "choose")
    emacs.screen.press("C-c", ",", "i")
    emacs.screen.wait("Which tools?")
    emacs.screen.press("a")
    emacs.screen.wait("This is a question")
    emacs.screen.press("d")
    emacs.screen.wait("Go on without an answer?")
    emacs.screen.press("y")
    emacs.screen.wait("Nothing waits for you.")
    until(lambda: "I decide." in emacs.buffer_named("*sould: project*"), PATIENCE, "the agent's words")


def test_what_is_said_while_the_agent_works_reaches_it_with_its_next_step(world: World, open_emacs: OpenEmacs) -> None:
    world.script([MAKE, "text: Not made.", "text: Then."])
    emacs = open_emacs("notes.txt")
    ask(emacs, "make it")
    emacs.screen.wait("[Allow once]")
    emacs.screen.press("C-c", ",", "t")
    emacs.screen.wait("Say:")
    emacs.screen.type("and be quick")
    emacs.screen.press("Enter")
    emacs.screen.wait("Said; the agent has it with its next step")
    emacs.screen.wait("> and be quick")
    emacs.screen.press("C-c", ",", "c")
    until(lambda: emacs.lisp("(buffer-name)") == "*sould: project*", PATIENCE, "the chat")
    emacs.screen.press("C-c", "C-y")
    emacs.screen.wait("Not made.")
    until(lambda: "working" not in emacs.screen.text, PATIENCE, "the end of the turn")
    emacs.screen.press("C-c", "C-t")
    emacs.screen.wait("Say:")
    emacs.screen.type("too late")
    emacs.screen.press("Enter")
    emacs.screen.wait("The agent does nothing at present, so it was asked", "> too late", "Then.")


def test_the_inbox_approves(world: World, open_emacs: OpenEmacs) -> None:
    world.script([MAKE, "text: Made."])
    emacs = open_emacs("notes.txt")
    ask(emacs, "make it")
    emacs.screen.wait("[Allow once]")
    emacs.screen.press("C-c", ",", "i")
    emacs.screen.wait("$ touch made.txt")
    emacs.screen.press("a")
    emacs.screen.wait("Nothing waits for you.")
    until((world.project / "made.txt").exists, PATIENCE, "the file")


def test_a_turn_is_stopped_and_one_that_a_killed_daemon_cut_off_says_so(world: World, open_emacs: OpenEmacs) -> None:
    world.script(["text: Counting.\nwait: 600"] * 3)
    emacs = open_emacs("notes.txt")
    ask(emacs, "count")
    emacs.screen.wait("Counting.", "working")
    emacs.screen.press("C-c", ",", "x")
    emacs.screen.wait("Stopped.")
    until(lambda: "working" not in emacs.screen.text, PATIENCE, "the end of the turn")
    ask(emacs, "count again")
    until(lambda: emacs.screen.text.count("Counting.") == 2, PATIENCE, "the second turn")
    os.kill(world.daemon(), signal.SIGKILL)
    emacs.screen.wait("sould was stopped in the middle of this turn")
    ask(emacs, "and again")
    until(lambda: emacs.screen.text.count("Counting.") == 3, PATIENCE, "a turn with the next daemon")


def test_an_older_session_is_shown_again(world: World, open_emacs: OpenEmacs) -> None:
    world.script(["text: The answer is 42."] * 3)
    world.start()
    emacs = open_emacs("notes.txt")
    assert world.sould("run", "a script's").returncode == 0
    emacs.command("sould-switch-session")
    emacs.screen.wait("There is no other session of this project")
    with terminal(world, "run", "what is it?") as asked:
        assert asked.wait() == 0
    emacs.command("sould-switch-session")
    emacs.screen.wait("Session:")
    emacs.screen.press("Tab", "Enter")
    emacs.screen.wait("> what is it?", "The answer is 42.")


def test_the_menu_has_everything_and_takes_keys(world: World, open_emacs: OpenEmacs) -> None:
    world.script([EDIT, "text: Done."])
    emacs = open_emacs("notes.txt")
    ask(emacs, "mend two")
    emacs.screen.wait("sould:1")
    emacs.go(2)
    emacs.screen.press("C-c", ",", "s")
    emacs.screen.wait("1 hunk pending", "keep this file", "inbox", "say something while it works")
    emacs.screen.press("r")
    emacs.shows(TEXT)


def test_a_mode_is_chosen_and_holds_for_the_next_prompt(world: World, open_emacs: OpenEmacs) -> None:
    world.script([EDIT, "text: Done."])
    emacs = open_emacs("notes.txt")
    emacs.command("sould-set-mode")
    emacs.screen.wait("Mode (default Review mode)")
    emacs.screen.type("Ask mode")
    emacs.screen.press("Enter")
    emacs.screen.wait("Mode: Ask mode")
    ask(emacs, "mend two")
    emacs.screen.wait("[Allow once]")
    assert (world.project / "notes.txt").read_text() == TEXT


TWO_MODELS = """
[models.other]
provider = "script"
model = "other"
max_context_size = 100000
"""


def test_another_model_is_chosen(world: World, open_emacs: OpenEmacs) -> None:
    world.script(["text: Hello."], TWO_MODELS)
    emacs = open_emacs("notes.txt")
    emacs.command("sould-set-model")
    emacs.screen.wait("Model (default")
    emacs.screen.type("other")
    emacs.screen.press("Enter")
    emacs.screen.wait("Model: other")
    emacs.command("sould-set-model")
    emacs.screen.wait("Model (default other)")


def test_a_daemon_that_does_not_answer_gives_the_keys_back(world: World, open_emacs: OpenEmacs) -> None:
    world.script([MAKE, "text: Made."])
    emacs = open_emacs("notes.txt", more="(setq sould-timeout 2)")
    emacs.screen.press("C-c", ",", "i")
    emacs.screen.wait("Nothing waits for you.")
    daemon = world.daemon()
    os.kill(daemon, signal.SIGSTOP)
    try:
        emacs.command("sould-chat")
        emacs.screen.wait("No answer from sould")
        # A connection that was cut is begun again by a timer, which must not wait either.
        connection = "(sould-project-rpc (car sould-project-all))"
        emacs.lisp(f"(progn (delete-process (sould-rpc-process {connection})) nil)")
        until(lambda: emacs.lisp(f"(and (sould-rpc-live-p {connection}) t)"), PATIENCE, "the next connection")
        emacs.screen.press("C-x", "b")
        emacs.screen.wait("Switch to buffer")
        emacs.screen.type("notes.txt")
        emacs.screen.press("Enter")
        emacs.screen.type("mine ")
        until(lambda: emacs.buffer().startswith("mine one"), PATIENCE, "what was typed")
    finally:
        os.kill(daemon, signal.SIGCONT)
    ask(emacs, "make it")
    emacs.screen.wait("[Allow once]")


def test_the_chat_recalls_what_was_said(world: World, open_emacs: OpenEmacs) -> None:
    world.script(["text: One.", "text: Two.", "text: Three."])
    emacs = open_emacs("notes.txt")
    ask(emacs, "say one")
    emacs.screen.wait("One.")
    emacs.screen.press("C-c", ",", "c")
    until(lambda: emacs.lisp("(buffer-name)") == "*sould: project*", PATIENCE, "the chat")
    emacs.screen.type("say two")
    emacs.screen.press("Enter")
    emacs.screen.wait("Two.")
    emacs.screen.type("a draft")
    emacs.screen.press("M-p", "M-p")
    until(lambda: emacs.buffer().endswith("> say one"), PATIENCE, "the first message")
    emacs.screen.press("M-p")
    emacs.screen.wait("Nothing was said before this")
    emacs.screen.press("M-n", "M-n")
    until(lambda: emacs.buffer().endswith("> a draft"), PATIENCE, "the draft")
    emacs.screen.press("M-p", "Enter")
    emacs.screen.wait("Three.")
    assert emacs.buffer().count("> say two") == 2


def test_a_question_of_another_session_is_counted_from_the_start(world: World, open_emacs: OpenEmacs) -> None:
    world.script([MAKE, "text: Not made."])
    one, other = open_emacs("notes.txt"), open_emacs("notes.txt", name="other")
    assert "?1" not in other.screen.text
    ask(one, "make it")
    other.screen.wait("sould ?1")
    assert not other.lisp('(get-process "sould acp")')
    one.screen.press("C-c", ",", "x")
    until(lambda: "?1" not in other.screen.text, PATIENCE, "nothing that waits")


LONG = call(
    "Shell", "l", command="\n".join(["touch made.txt", *(f"true {number}" for number in range(1, 80)), "true end"])
)


def test_a_long_command_is_asked_about_whole_and_allowed_when_both_its_ends_were_seen(
    world: World, open_emacs: OpenEmacs
) -> None:
    world.script([LONG, "text: Made.", LONG, "text: Again."])
    emacs = open_emacs("notes.txt")
    emacs.screen.press("C-c", ",", "c")
    emacs.screen.wait("RET sends")
    emacs.screen.type("make it")
    emacs.screen.press("Enter")
    emacs.screen.wait("true end", "[Allow once]")
    asked = emacs.buffer()
    assert all(f"true {number}\n" in asked for number in range(1, 80))
    emacs.screen.press("C-c", "C-y")
    emacs.screen.wait("? touch made.txt", "read it to its end, then allow it")
    assert not (world.project / "made.txt").exists()
    emacs.screen.press("M->")
    emacs.screen.wait("[Allow once]")
    emacs.screen.press("C-c", "C-y")
    emacs.screen.wait("Made.")
    assert (world.project / "made.txt").exists()
    (world.project / "made.txt").unlink()

    emacs.screen.type("once more")
    emacs.screen.press("Enter")
    until(lambda: emacs.lisp("(length sould-inbox--items)") == 1, PATIENCE, "the second question")
    emacs.screen.press("C-c", ",", "i")
    emacs.screen.wait("$ touch made.txt", "$ true 20")
    emacs.screen.press("a")
    emacs.screen.wait("It goes on below")
    emacs.screen.press("M->", "C-p", "C-p", "C-p")
    emacs.screen.wait("$ true end")
    emacs.screen.press("a")
    emacs.screen.wait("Nothing waits for you.")
    until((world.project / "made.txt").exists, PATIENCE, "the file")


def test_what_prints_nothing_has_a_mark_in_a_question(world: World, open_emacs: OpenEmacs) -> None:
    options = [{"label": "red\u202e", "description": "w\u200barm"}, {"label": "blue\r"}]
    world.script([call("AskUserQuestion", "q", questions=[{"question": "Which?", "options": options}]), "text: So."])
    emacs = open_emacs("notes.txt")
    ask(emacs, "choose")
    emacs.screen.wait("[red\\u202e]", "w\\u200barm", "[blue")
    emacs.screen.press("C-c", ",", "i")
    emacs.screen.wait("1. red\\u202e: w\\u200barm")
