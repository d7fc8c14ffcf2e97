"""`sould setup shell`: completion in the user's own shell."""

import os
import pwd
import subprocess
from pathlib import Path

import pytest

from soultest.cliuser import User
from soultest.world import SOULD

FILES = {"bash": ".bashrc", "zsh": ".zshrc", "fish": "config/fish/completions/sould.fish"}
COMPLETED = 'COMP_WORDS=(sould "$1") COMP_CWORD=1; _sould_load || _sould_completion sould; echo "${COMPREPLY[@]}"'


def in_bash(user: User, script: str, *arguments: str) -> str:
    """What an interactive bash of the user's says."""
    environment = user.environment | {"PATH": os.pathsep.join([str(SOULD.parent), user.environment["PATH"]])}
    words = ["bash", "-ic", script, "bash", *arguments]
    ended = subprocess.run(
        words,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
        check=False,
    )
    return ended.stdout


def setup(user: User, shell: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    path = os.pathsep.join([str(SOULD.parent), user.environment["PATH"]])
    return user.sould("setup", "shell", *arguments, env={"SHELL": f"/bin/{shell}", "PATH": path})


def test_bash_completes_commands_and_keeps_what_the_user_has(user: User) -> None:
    (user.home / ".bashrc").write_text("alias mine='echo kept'")
    assert setup(user, "bash").returncode == 0
    assert in_bash(user, COMPLETED, "setu").split() == ["setup"]
    assert "kept" in in_bash(user, "alias mine")
    checked = setup(user, "bash", "--check")
    assert (checked.returncode, "answers" in checked.stdout) == (0, True), checked.stderr


def test_bash_that_loads_no_completion_fails_the_check(user: User) -> None:
    assert setup(user, "bash").returncode == 0
    path = user.home / ".bashrc"
    path.write_text(f"return\n{path.read_text()}")
    assert "does not load sould" in setup(user, "bash", "--check").stderr


@pytest.mark.parametrize("shell", FILES)
@pytest.mark.parametrize("before", ["", "mine", "# mine\n\n", None])
def test_it_is_added_once_and_undo_gives_the_bytes_that_were_there(user: User, shell: str, before: str | None) -> None:
    path: Path = user.home / FILES[shell]
    path.parent.mkdir(parents=True, exist_ok=True)
    if before is not None:
        path.write_text(before)
    assert setup(user, shell).returncode == 0
    added = path.read_text()
    assert "already" in setup(user, shell).stdout
    assert path.read_text() == added
    assert f"_SOULD_COMPLETE={shell}_source" in added
    assert setup(user, shell, "--undo").returncode == 0
    assert (path.read_text() if path.exists() else None) == before


def test_without_a_variable_it_is_the_login_shell(user: User) -> None:
    shell = Path(pwd.getpwuid(os.geteuid()).pw_shell).name
    tried = user.sould("setup", "shell", "--dry-run", env={"SHELL": ""})
    said = f"_SOULD_COMPLETE={shell}_source" if shell in FILES else f"your shell is {shell}"
    assert said in tried.stdout + tried.stderr


def test_a_shell_without_completion_is_named(user: User) -> None:
    refused = setup(user, "tcsh")
    assert (refused.returncode, "your shell is tcsh" in refused.stderr) == (1, True)
