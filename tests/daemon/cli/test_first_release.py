"""sould 0.1 beside this one: what its command line asks of our daemon, and what ours asks of its daemon."""

import json
import os
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from sould.daemon.hello import HEADER, VERSION
from soultest.cliuser import User
from soultest.daemon import not_running, until

PING: dict[str, Any] = {
    "version": "0.1.0",
    "protocol": [1, 1],
    "pid": 4242,
    "start_ticks": 1,
    "boot_id": "b",
    "uptime_s": 5.0,
    "of_agent": False,
}
WAITING: dict[str, Any] = {
    "id": "3fa9c2d1",
    "session": "01",
    "kind": "approval",
    "title": "run it",
    "who": "",
    "lines": ["$ ls"],
    "more": 0,
    "scope": "ls",
    "changed": False,
    "lasting": [],
    "questions": [],
    "form": {},
}
SESSION: dict[str, Any] = {
    "id": "01",
    "title": "an old one",
    "cwd": "/w",
    "running": True,
    "queued": 0,
    "pending": 1,
    "mode": "ask",
    "model": "m",
    "looping": False,
    "waiting": [WAITING],
    "prompts": [],
}
STATUS: dict[str, Any] = {
    "version": "0.1.0",
    "protocol": [1, 1],
    "pid": 4242,
    "uptime_s": 5.0,
    "threads": 5,
    "descriptors": 9,
    "memory": {"rss_bytes": 1, "pss_bytes": 1},
    "descriptor_limit": 1024,
    "connections": [],
    "sessions": [SESSION],
    "running_turns": 1,
    "guard_pid": None,
    "draining": "",
    "package_changed": False,
    "idle_exit_s": 300.0,
    "runtime_dir": "/r",
    "state_dir": "/s",
    "log_file": "/l",
    "mcp": [],
    "language_servers": [],
    "loops": [],
    "config_file": "",
    "projects": [],
    "counts": {"running": 1, "waiting": 1, "hunks": 0},
    "repairs": {},
}


@contextmanager
def first_release(user: User, turns: int) -> Generator[list[str]]:
    """A daemon of 0.1 in which so many turns run, as far as its socket tells; what it was asked."""
    user.runtime.mkdir(mode=0o700, exist_ok=True)
    asked: list[str] = []
    with socket.socket(socket.AF_UNIX) as listener:
        path = str(user.runtime / "sock")
        listener.bind(path)
        listener.listen()
        thread = threading.Thread(target=_serve, args=(listener, path, turns, asked))
        thread.start()
        try:
            yield asked
        finally:
            if os.path.exists(path) and thread.is_alive():
                with socket.socket(socket.AF_UNIX) as last:
                    last.connect(path)
            thread.join()


def _serve(listener: socket.socket, path: str, turns: int, asked: list[str]) -> None:
    leaving = False
    while not leaving:
        connection, _ = listener.accept()
        with connection, connection.makefile("rwb") as file:
            head = file.read(HEADER)
            if not head:
                return
            file.read(int(head.split()[-1], 16))
            while line := file.readline():
                request = json.loads(line)
                asked.append(request["method"])
                answer = _answer(request["method"], turns)
                leaving = request["method"] in ("stop", "restart") or answer.get("result", {}).get("leaving") is True
                if leaving:
                    os.unlink(path)
                    listener.close()
                file.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}).encode() + b"\n")
                file.flush()
                if leaving:
                    break


def _answer(method: str, turns: int) -> dict[str, Any]:
    leaving: dict[str, Any] = {"pid": 4242, "running_turns": turns, "turns": []}
    known: dict[str, dict[str, Any]] = {
        "ping": PING,
        "status": STATUS,
        "stop": leaving,
        "restart": leaving,
        "shutdown_if_idle": {"leaving": turns == 0, "running_turns": turns, "version": "0.1.0", "pid": 4242},
    }
    if method in known:
        return {"result": known[method]}
    return {"error": {"code": -32601, "message": f"There is no control method {method!r} in sould 0.1.0."}}


def test_an_idle_daemon_of_the_first_release_makes_room_for_whatever_is_asked(user: User) -> None:
    with first_release(user, turns=0) as asked:
        done = user.sould("sessions", "list", "--all")
    assert done.returncode == 0, done.stderr
    assert "No sessions" in done.stderr
    assert asked == ["_sould/daemon/sessions/list", "shutdown_if_idle"]
    assert user.daemon.pid


def test_a_daemon_of_the_first_release_at_work_is_left_alone_and_the_way_on_is_said(user: User) -> None:
    with first_release(user, turns=2):
        done = user.sould("sessions", "list", "--all")
        again = user.sould("worktree", "list")
    assert done.returncode == again.returncode == 1
    for said in (done.stderr, again.stderr):
        assert "sould 0.1.0 (pid 4242) is still running, with 2 running turns" in said
        assert "sould restart --force" in said


def test_a_daemon_of_the_first_release_shows_its_status_and_is_replaced(user: User) -> None:
    with first_release(user, turns=0) as asked:
        status = user.sould("status")
        assert "sould 0.1.0, pid 4242" in status.stdout
        assert "an old one" in status.stdout
        assert "waits for you" in status.stdout
        assert user.sould("status", "--line").stdout == ""
        assert user.sould("trust", "--yes").returncode == 0, "it says who asks"
        restarted = user.sould("restart")
    assert f"sould {VERSION} is running" in restarted.stdout
    assert asked[-1] == "restart"


def test_a_daemon_of_the_first_release_is_stopped(user: User) -> None:
    with first_release(user, turns=0):
        done = user.sould("stop")
    assert done.stdout == "Stopped (pid 4242).\n"


@pytest.mark.parametrize("method", ["stop", "restart", "shutdown_if_idle"])
def test_our_daemon_does_what_a_command_line_of_the_first_release_says(user: User, method: str) -> None:
    sould = user.daemon
    pid = sould.start()
    with sould.hello() as sock, sock.makefile("rwb") as lines:
        answers = {name: _asked(lines, name) for name in ("ping", "status", method)}
        assert answers["ping"].keys() == PING.keys()
        assert answers["ping"]["pid"] == pid
        assert STATUS.keys() <= answers["status"].keys()
        assert answers[method]["pid"] == pid
        assert answers[method]["running_turns"] == 0
        if method == "shutdown_if_idle":
            assert (answers[method]["leaving"], answers[method]["version"]) == (True, VERSION)
        assert not lines.read(), "it hangs up last"
    if method == "restart":
        until(lambda: sould.owner is not None and sould.pid != pid)
    else:
        until(lambda: not_running(sould))


def _asked(lines: Any, method: str) -> dict[str, Any]:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"force": False}}
    lines.write(json.dumps(request).encode() + b"\n")
    lines.flush()
    return json.loads(lines.readline())["result"]
