"""`sould loop` and `sould run --max-ralph-iterations`, through the real daemon."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from soultest.cliuser import User
from soultest.daemon import until
from soultest.terminal import terminal
from soultest.world import SOULD

SLEEP = "tool_call: " + json.dumps(
    {"id": "1", "name": "Shell", "arguments": json.dumps({"command": "sleep 600", "timeout": 300})}
)


@pytest.fixture
def user(newcomer: User) -> User:
    newcomer.daemon.start()
    return newcomer


def loops(user: User) -> list[dict[str, Any]]:
    files = Path(user.daemon.paths.state, "loops").glob("*.json")
    return [json.loads(path.read_text()) for path in files]


def standing(user: User, status: str, completed: int) -> bool:
    return [(loop["status"], loop["completed"]) for loop in loops(user)] == [(status, completed)]


def test_run_repeats_its_prompt_and_list_shows_the_loop(user: User) -> None:
    user.scripted("text: begun", "text: more <choice>CONTINUE</choice>", "text: done <choice>STOP</choice>")
    done = user.sould("run", "--max-ralph-iterations", "5", "tidy up")
    assert done.returncode == 0, done.stderr
    listed = user.sould("loop", "list")
    assert "finished" in listed.stdout
    assert "3/6" in listed.stdout
    assert "tidy up" in listed.stdout


def test_zero_runs_once(user: User) -> None:
    user.scripted("text: only once")
    done = user.sould("run", "--max-ralph-iterations", "0", "tidy up")
    assert (done.returncode, done.stdout) == (0, "only once\n"), done.stderr
    assert loops(user) == []


def test_a_paused_loop_is_resumed_from_the_command_line(user: User) -> None:
    user.scripted("text: begun", "text: which? <choice>PAUSE</choice>", "text: done <choice>STOP</choice>")
    user.sould("run", "--max-ralph-iterations", "5", "tidy up")
    session = loops(user)[0]["session_id"]
    unnamed = user.sould("loop", "stop", cwd=user.home)  # a loop of another project is named by its id
    assert unnamed.returncode == 1
    assert "name one of these" in unnamed.stderr
    assert f"{session}  paused (which?)" in unnamed.stdout
    assert user.sould("loop", "stop", session[:20], cwd=user.home).stdout.startswith("Stopped.")
    assert "stopped (cancelled)" in user.sould("loop", "list", cwd=user.home).stdout
    done = user.sould("loop", "resume", session[:20], cwd=user.home)
    assert done.returncode == 0, done.stderr
    assert standing(user, "finished", 3)


def test_a_loop_goes_on_in_a_new_session(user: User) -> None:
    user.scripted("text: begun", "text: which? <choice>PAUSE</choice>")
    user.sould("run", "--max-ralph-iterations", "5", "tidy up")
    before = loops(user)[0]["session_id"]
    user.scripted("text: done <choice>STOP</choice>")
    done = user.sould("loop", "resume", "--new-session", before[:24])
    assert done.returncode == 0, done.stderr
    assert standing(user, "finished", 3)
    assert loops(user)[0]["session_id"] != before


def test_a_running_loop_is_stopped_and_keeps_its_progress(user: User) -> None:
    user.scripted("text: begun", SLEEP)
    command = [SOULD, "run", "--yes", "--max-ralph-iterations", "5", "tidy up"]
    with subprocess.Popen(command, env=user.environment, cwd=user.project, stdout=-3, stderr=-3) as running:
        until(lambda: standing(user, "running", 1))
        done = user.sould("loop", "stop")
        assert running.wait(20) == 130
    assert done.returncode == 0, done.stderr
    until(lambda: standing(user, "stopped", 1))


def test_a_loop_survives_the_kill_of_the_daemon(user: User) -> None:
    user.scripted("text: begun", SLEEP)
    command = [SOULD, "run", "--yes", "--max-ralph-iterations", "5", "tidy up"]
    with subprocess.Popen(command, env=user.environment, cwd=user.project, stdout=-3, stderr=-3) as running:
        until(lambda: standing(user, "running", 1))
        running.kill()
    pid = user.daemon.world.daemon()
    os.kill(pid, signal.SIGKILL)
    until(lambda: user.daemon.world.daemon() != pid)
    assert "waiting for" in user.sould("loop", "list").stdout
    user.scripted("text: done <choice>STOP</choice>")
    done = user.sould("loop", "resume")
    assert done.returncode == 0, done.stderr
    assert standing(user, "finished", 2)


def test_a_used_up_budget_is_asked_about_at_the_terminal(user: User) -> None:
    usage = "\nusage: input_other=60 output=10"
    user.scripted(
        f"text: 1{usage}", f"text: 2 <choice>CONTINUE</choice>{usage}", f"text: 3 <choice>CONTINUE</choice>{usage}"
    )
    with terminal(user, "run", "/loop unlimited --tokens 50 sweep") as screen:
        screen.read_until("[1] Continue  [2] Stop  [3] Or allow another amount, such as 200k  [n] Dismiss")
        assert "The loop has used up its budget: 70 of 50 tokens. Continue?" in screen.seen
        assert "Allow as much again: 50 more tokens." in screen.seen
        assert "May I?" not in screen.seen
        screen.type("3")
        screen.read_until("such as 200k: ")
        screen.type("plenty")
        screen.read_until("'plenty' is not an amount.")
        screen.read_until("[3] Or allow another amount")
        screen.type("3 lots")
        screen.read_until("'lots' is not an amount.")
        screen.read_until("[3] Or allow another amount")
        screen.type("3 more")
        screen.read_until("stop now, then `/loop resume --tokens 200k`.")
        screen.read_until("[1] Continue  [2] Stop  [n] Dismiss")
        screen.type("1")
        screen.read_until("140 of 120 tokens")
        screen.type("3 10")  # the words in the line of their number
        screen.read_until("210 of 150 tokens")
        screen.type("2")
        assert screen.wait() == 0
    assert standing(user, "paused", 3)


def test_what_there_is_not_is_said(user: User) -> None:
    assert "There are no loops." in user.sould("loop", "list").stdout
    nothing = user.sould("loop", "resume")
    assert nothing.returncode == 1
    assert "no unfinished loop in this directory" in nothing.stderr
