"""A rollback that the daemon does not survive is finished by the next one, and is itself undoable."""

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from soultest.cliuser import User
from soultest.daemon import Sould, until
from soultest.world import SOULD

MADE = 1000 if os.environ.get("SOULD_FAULTS") == "full" else 100
"""Files that the command makes."""
FILES = 100
"""The catalogue's number; enough that the kill lands in the middle."""


@pytest.fixture
def user(sould: Sould) -> User:
    sould.environment["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
    return User(sould)


def write(path: Path, text: str) -> str:
    arguments = json.dumps({"path": str(path), "content": text})
    return "tool_call: " + json.dumps({"id": path.name, "name": "WriteFile", "arguments": arguments})


def state(user: User) -> dict[str, tuple[int, bytes]]:
    """What there is: modes, contents, and where links lead."""
    return {str(path.relative_to(user.project)): content(path) for path in user.project.rglob("*")}


def content(path: Path) -> tuple[int, bytes]:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return mode, os.fsencode(os.readlink(path))
    return mode, path.read_bytes() if stat.S_ISREG(mode) else b""


def test_a_rollback_cut_off_by_kill_is_finished_when_the_session_is_opened(user: User) -> None:
    targets = [user.project / f"{number:02}.txt" for number in range(FILES)]
    for target in targets[::2]:
        target.write_bytes(f"before {target.name}\r\n".encode())
    (user.project / "mine.txt").write_text("mine")
    for number in range(10):
        (user.project / f"gone{number}").write_bytes(b"\0binary")
    (user.project / "link").symlink_to("mine.txt")
    before = state(user)
    command = (
        f"mkdir made; for n in $(seq {MADE}); do echo $n > made/$n; done; rm gone?; chmod 700 mine.txt; ln -sfn made link; "
        "for n in 1 3 5 7 9; do mv 0$n.txt moved$n; done"
    )
    shell = "tool_call: " + json.dumps({"id": "s", "name": "Shell", "arguments": json.dumps({"command": command})})
    user.scripted("\n".join(write(target, "agent\n") for target in targets), shell, "text: Written.")
    session = user.result("write them", "--mode", "full")["session_id"]
    after = state(user)
    assert len([path for path in after if path.startswith("made/")]) == MADE

    undoing = subprocess.Popen(
        [SOULD, "run", "--session", session, "/undo"],
        cwd=user.project,
        env=user.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with undoing:
        until(lambda: targets[0].read_bytes().startswith(b"before"))
        user.daemon.kill9()
        undoing.kill()

    assert user.sould("run", "--session", session, "/rewind").returncode == 0
    assert state(user) == before
    assert user.sould("run", "--session", session, "/redo").returncode == 0
    assert state(user) == after
    talk = user.sould("sessions", "show", session).stdout
    assert "sould was stopped in the middle of `/undo`, which is finished now" in talk
