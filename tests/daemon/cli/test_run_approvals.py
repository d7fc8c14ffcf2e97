"""What `sould run` says of a call that needs an approval, or of a question, where nobody can answer."""

import sys

import pytest

from soultest.bench import call
from soultest.bench.mcp import SERVER, configure
from soultest.cliuser import User


def test_who_runs_with_yes_is_not_told_to_run_with_yes(user: User) -> None:
    user.scripted(call("WriteFile", path=".git/config", content="x"))
    message = user.result("--yes", "go")["error"]["message"]
    assert "needs your approval" in message
    assert "--yes" not in message


def test_who_meets_a_secret_is_told_why_it_is_asked_and_of_no_mode_that_would_help(user: User) -> None:
    (user.project / ".env").write_text("KEY=1\n")
    user.scripted(call("ReadFile", path=".env"))
    message = user.result("--mode", "review", "go")["error"]["message"]
    assert "holds secrets" in message
    assert "--yes" not in message


def test_a_call_that_is_repeated_too_often_says_that_this_is_why_it_is_asked(user: User) -> None:
    user.scripted(*[call("Glob", pattern="*.none")] * 20)
    message = user.result("go")["error"]["message"]
    assert "the same call brought the same result each time" in message
    assert "--yes" in message


@pytest.mark.parametrize(("tool", "asks"), [("ask", "Which colour?"), ("form", "Tell us."), ("visit", "Pay there.")])
def test_a_question_of_an_mcp_server_ends_the_run_and_nothing_of_it_waits(user: User, tool: str, asks: str) -> None:
    configure(user.config / "mcp.json", {"box": {"command": sys.executable, "args": [SERVER, "rich"]}})
    user.scripted(call(f"box__{tool}"), "text: gone on")
    asked = user.result("--yes", "go")
    assert (asked["exit_code"], asked["text"]) == (3, "")
    assert asks in asked["error"]["message"]
    assert f"Continue at a terminal or in an editor, with session {asked['session_id']}" in asked["error"]["message"]
    after = user.result("--session", asked["session_id"], "go on")
    assert (after["exit_code"], after["text"]) == (0, "gone on")
