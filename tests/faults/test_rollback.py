"""F68: a rollback that the daemon does not survive is finished by the next one, and is itself undoable."""

import json
import subprocess
from pathlib import Path

import pytest

from soultest.cliuser import User
from soultest.daemon import Sould, until
from soultest.world import SOULD

FILES = 100
"""The catalogue's number; enough that the kill lands in the middle."""


@pytest.fixture
def user(sould: Sould) -> User:
    sould.environment["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
    return User(sould)


def write(path: Path, text: str) -> str:
    arguments = json.dumps({"path": str(path), "content": text})
    return "tool_call: " + json.dumps({"id": path.name, "name": "WriteFile", "arguments": arguments})


def state(user: User) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in user.project.iterdir() if path.is_file()}


def test_f68_a_rollback_cut_off_by_kill_is_finished_when_the_session_is_opened(user: User) -> None:
    targets = [user.project / f"{number:02}.txt" for number in range(FILES)]
    for target in targets[::2]:
        target.write_bytes(f"before {target.name}\r\n".encode())
    (user.project / "mine.txt").write_text("mine")
    before = state(user)
    user.scripted("\n".join(write(target, "agent\n") for target in targets), "text: Written.")
    session = user.result("write them", "--mode", "full")["session_id"]
    after = state(user)
    assert len(after) == FILES + 1

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
