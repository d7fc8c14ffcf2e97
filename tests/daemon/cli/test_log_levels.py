"""`SOULD_LOG`: how much the daemon writes into its log, and of whose sessions."""

import asyncio
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from soultest.cliuser import User
from soultest.daemon import until
from soultest.families.kinds import OpenAI
from soultest.families.server import FamilyServer, Said
from soultest.faulty import Editor
from soultest.world import SOULD, call

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


def test_an_answer_from_elsewhere_is_logged_with_the_session_that_asked(user: User) -> None:
    user.scripted(call("Shell", "c1", command="echo one > b.txt"), "text: Done.")
    user.daemon.environment |= DEBUG
    editor = Editor(user.daemon, user.daemon.acp(), answer="")
    editor.open()
    editor.begin("go", "turn")
    editor.wait(lambda message: message.get("method") == "session/request_permission")
    (asked,) = [line for line in debugged(user, editor.session) if "may it run command?" in line]
    found = re.search("request ([^ ]+) of call c1", asked)
    assert found
    assert user.sould("approve", found[1], env={"SOULD_LOG": ""}).returncode == 0
    editor.wait(lambda message: message.get("id") == "turn" and "method" not in message)
    assert any(f"request {found[1]} is answered: approve" in line for line in debugged(user, editor.session))


async def test_requests_to_a_model_s_server_are_logged_with_their_sizes_and_without_its_key(user: User) -> None:
    async with FamilyServer(OpenAI()) as server:
        server.say(Said("Hello."))
        user.configure(f"""
            default_model = "mine"
            [models.mine]
            provider = "here"
            model = "m"
            max_context_size = 32768
            [providers.here]
            type = "{server.family.type}"
            base_url = "{server.url}"
            api_key = "{SECRET}"
        """)
        done = await asyncio.to_thread(user.sould, "run", f"Say {SECRET}.", env=DEBUG)
        assert done.returncode == 0, done.stderr
    said = "\n".join(debugged(user))
    assert re.search(r"sending \d+ bytes to 127\.0\.0\.1", said)
    assert re.search(r"127\.0\.0\.1 answered with status 200 after \d+ ms", said)
    assert SECRET not in "".join(lines(user))
