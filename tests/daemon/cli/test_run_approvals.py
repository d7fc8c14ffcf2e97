"""What `sould run` says of a call that needs an approval where nobody can give it."""

from soultest.bench import call
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
    assert "the model repeats this call" in message
    assert "--yes" in message
