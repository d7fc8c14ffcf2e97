"""`sould run` at a terminal: the answer as people read it, and what Ctrl-C says of a question."""

import re

from soultest.bench import call
from soultest.cliuser import User
from soultest.terminal import terminal


def test_ctrl_c_while_a_question_waits_says_what_waited(user: User) -> None:
    user.scripted(call("Shell", command="touch x"), "text: never")
    with terminal(user, "run", "--mode", "ask", "do it") as screen:
        screen.expect("Allow once")
        screen.interrupt()
        screen.expect("Cancelled. It waited for your answer: touch x")
        assert screen.wait() == 130


def test_a_long_command_is_shown_whole_above_what_can_be_answered(user: User) -> None:
    lines = [f"echo {number} > {number}.txt" for number in range(119)]
    lines.insert(60, f"echo {'a' * 300}; touch hidden")
    user.scripted(call("Shell", command="\n".join(lines)), "text: Done.")
    with terminal(user, "run", "--mode", "ask", "do it", size=(24, 40)) as screen:
        screen.expect("Allow once")
        question = screen.seen[screen.seen.index("May I run this?") :].replace("\r", "").split("\n")
        assert [line.strip() for line in question[1:121]] == lines
        assert question[121] == "  (end of the command, 120 lines)"
        screen.type("n")
        assert screen.wait() == 0


MARKDOWN = (
    "Some **bold** and `code`.",
    "",
    "- one",
    "- two",
    "",
    "```sh",
    "echo hi",
    "",
    "echo ho",
    "```",
    "",
    "The [end](https://x.invalid).",
)


def test_an_answer_in_markdown_is_rendered_at_a_terminal_and_nowhere_else(user: User) -> None:
    said = "\n".join(f"line: {line}" for line in MARKDOWN)
    user.scripted(said, said)
    with terminal(user, "run", "go", env={"TERM": "xterm-256color"}) as screen:
        screen.expect("continue: ")
        assert screen.wait() == 0
    plain = re.sub(r"\x1b\[[\d;]*m", "", screen.seen).replace("\r", "")
    assert "\x1b[1mbold\x1b[0m" in screen.seen
    for shown in (
        "Some bold and code.\n",
        " • one\n • two\n",
        "echo hi\n\n echo ho\n",
        "The end (https://x.invalid).\n",
    ):
        assert shown in plain, plain
    assert user.sould("run", "go").stdout.splitlines() == [*MARKDOWN]
