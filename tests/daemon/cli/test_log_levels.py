"""`SOULD_LOG`: how much the daemon writes into its log, and of whose sessions."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from soultest.cliuser import User
from soultest.daemon import until
from soultest.world import SOULD

DEBUG = {"SOULD_LOG": "debug"}
SECRET = "swordfish"
COMMAND = (
    f'tool_call: {{"id": "c1", "name": "Shell", "arguments": "{{\\"command\\": \\"echo {SECRET}; cat a.txt\\"}}"}}'
)


@pytest.fixture
def user(newcomer: User) -> User:
    (newcomer.project / "a.txt").write_text(f"The password is {SECRET}.\n")
    return newcomer


def worked(user: User, env: dict[str, str] | None = None) -> str:
    """A session in which a command has run."""
    user.scripted(f"{COMMAND}\nusage: input_other=10 output=5", f"text: It is {SECRET}.")
    given = {"KIMI_API_KEY": SECRET} | (env or {})
    return str(user.result("--yes", f"What is it? I guess {SECRET}.", env=given)["session_id"])


def lines(user: User) -> list[str]:
    return Path(user.daemon.paths.log).read_text().splitlines()


def debugged(user: User, session: str = "") -> list[str]:
    return [line for line in lines(user) if " DEBUG " in line and f"[{session}" in line]


def test_a_client_has_its_own_sessions_logged_in_detail(user: User) -> None:
    quiet, told = worked(user), worked(user, DEBUG)
    said = "\n".join(debugged(user, told))
    for words in (
        *("a turn begins", "asking the model scripted", "counted 10 tokens in", "of Shell begins", "is done"),
        *("the turn ends: finished", "step 2 begins"),
    ):
        assert words in said
    assert not debugged(user, quiet)
    assert len(debugged(user)) > len(debugged(user, told))  # what its client asked
    assert any("the peer asks 'session/prompt'" in line for line in debugged(user))
    assert not debugged(user, worked(user))


def test_a_client_that_starts_the_daemon_speaks_for_itself_alone(user: User) -> None:
    told = worked(user, DEBUG)
    other = worked(user)
    assert debugged(user, told)
    assert not debugged(user, other)


def test_the_whole_daemon_logs_in_detail_when_it_is_told_to(user: User) -> None:
    command = [str(SOULD), "daemon"]
    environment = user.environment | DEBUG
    with subprocess.Popen(command, env=environment, cwd=user.project, stderr=subprocess.DEVNULL) as daemon:
        try:
            until(lambda: user.daemon.owner is not None and os.path.exists(user.daemon.paths.socket))
            assert debugged(user, worked(user))
        finally:
            daemon.send_signal(signal.SIGTERM)


def test_nothing_that_was_said_read_or_run_is_logged(user: User) -> None:
    worked(user, DEBUG)
    assert debugged(user)
    said = "\n".join(lines(user))
    for text in (SECRET, "a.txt", "What is it"):
        assert text not in said


def test_a_level_that_there_is_not_is_named_once(user: User) -> None:
    for _ in range(2):
        assert not debugged(user, worked(user, {"SOULD_LOG": "verbose"}))
    (named,) = [line for line in lines(user) if "SOULD_LOG" in line]
    assert "WARNING" in named
    assert "'verbose' is no level and changes nothing; there are: debug, info, warning, error" in named
