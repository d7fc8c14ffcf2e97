"""Slash commands that `sould run` is given: what they say, and whether they did it."""

import pytest

from soultest.cliuser import User


@pytest.fixture
def user(next_user: User) -> User:
    next_user.scripted("text: ok")
    return next_user


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("/keep 99", "There is no hunk 99."),
        ("/reject nowhere.py", "Nothing is to be reviewed in `nowhere.py`."),
        ("/review 99", "Hunk 99 is not to be reviewed"),
        ("/mode bogus", "it takes plan, ask, review, full."),
        ("/rewind 99", "There is no checkpoint '99'"),
        ("/undo extra", "`/undo kept` also what you kept"),
        ("/redo extra", "`/redo` takes nothing behind it"),
        ("/redo", "There is nothing to redo"),
        ("/nonsense", "There is no command `/nonsense`."),
    ],
)
def test_a_command_that_fails_says_why_and_ends_with_exit_code_1(user: User, command: str, said: str) -> None:
    done = user.sould("run", command)
    assert (done.returncode, said in done.stdout) == (1, True), done
    result = user.result(command)
    assert (result["exit_code"], said in result["text"]) == (1, True), result


@pytest.mark.parametrize("command", ["/keep all", "/review", "/mode", "/agent", "/status"])
def test_a_command_that_has_nothing_to_do_or_only_shows_something_has_not_failed(user: User, command: str) -> None:
    done = user.sould("run", command)
    assert done.returncode == 0, done
    assert done.stdout


def test_commands_that_ask_no_model_need_none(newcomer: User) -> None:
    for command, said in (("/help", "/review"), ("/status", "- session: `"), ("/review", "Nothing is to be reviewed.")):
        done = newcomer.sould("run", command)
        assert (done.returncode, said in done.stdout) == (0, True), done
    asked = newcomer.sould("run", "hi")
    assert (asked.returncode, asked.stdout, "`sould login`" in asked.stderr) == (4, "", True), asked
