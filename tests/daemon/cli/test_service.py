"""`sould status|stop|restart|fsck` and doctor's view of a running daemon."""

import json
import os
import signal
import socket
import threading

from msgspec.structs import fields

from sould.daemon.methods import Status
from soultest.cliuser import User


def test_status_shows_the_daemon_and_its_clients(user: User) -> None:
    pid = user.daemon.start()
    editor = user.daemon.acp()
    text = user.sould("status").stdout
    assert f"pid {pid}" in text
    assert f"pid {editor.process.pid}" in text
    status = json.loads(user.sould("status", "--json").stdout)
    assert status["pid"] == pid
    assert status["memory"]["rss_bytes"] > 0


def test_stop_ends_the_daemon_before_it_returns(user: User) -> None:
    pid = user.daemon.start()
    done = user.sould("stop")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"Stopped (pid {pid}).\n"
    assert user.daemon.owner is None
    assert user.sould("status").returncode == 1


def test_restart_brings_another_process_and_keeps_the_editor(user: User) -> None:
    pid = user.daemon.start()
    editor = user.daemon.acp()
    done = user.sould("restart")
    assert done.returncode == 0, done.stderr
    assert user.daemon.pid != pid
    assert f"pid {user.daemon.pid}" in done.stdout
    assert editor.process.poll() is None


def test_restart_starts_a_daemon_that_was_not_running(user: User) -> None:
    done = user.sould("restart")
    assert "was not running" in done.stdout
    assert user.daemon.pid


def test_a_daemon_that_does_not_answer_is_ended_by_force_only(user: User) -> None:
    pid = user.daemon.start()
    os.kill(pid, signal.SIGSTOP)
    try:
        done = user.sould("stop", env={"SOULD_ANSWER_S": "0.3"})
        assert done.returncode == 1
        assert "--force" in done.stderr
        assert user.sould("restart", "--force", env={"SOULD_ANSWER_S": "0.3"}).returncode == 0
        assert user.daemon.pid != pid
    finally:
        if user.daemon.owner is not None and user.daemon.pid == pid:
            os.kill(pid, signal.SIGCONT)


def test_fsck_of_nothing_is_clean(user: User) -> None:
    done = user.sould("fsck")
    assert done.returncode == 0, done.stderr
    assert "clean" in done.stdout


def test_doctor_is_content_with_a_running_daemon(user: User) -> None:
    pid = user.daemon.start()
    found = user.finding("daemon")
    assert found["level"] == "ok"
    assert f"pid {pid}" in found["text"]


def test_doctor_names_a_daemon_of_another_version(user: User) -> None:
    user.runtime.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(user.runtime / "sock"))
        listener.listen()
        thread = threading.Thread(target=answer_as_old_daemon, args=(listener,))
        thread.start()
        found = user.finding("daemon")
        thread.join()
        (user.runtime / "sock").unlink()
    assert found["level"] == "warn"
    assert "running daemon is sould 0.0.9 (pid 4242)" in found["text"]
    assert "sould restart" in found["fix"]


def answer_as_old_daemon(listener: socket.socket) -> None:
    # what has a default came later than that daemon
    names = [each.name for each in fields(Status) if each.required]
    known: dict[str, object] = {
        **dict.fromkeys(names, ""),
        "version": "0.0.9",
        "protocol": [1, 1],
        "pid": 4242,
        "memory": {"rss_bytes": 1, "pss_bytes": 1},
        "connections": [],
        "sessions": [],
        "package_changed": False,
        "guard_pid": None,
    }
    numbers = ("uptime_s", "threads", "descriptors", "descriptor_limit", "running_turns", "idle_exit_s")
    status = known | dict.fromkeys(numbers, 5)
    connection, _ = listener.accept()
    with connection, connection.makefile("rwb") as file:
        while b"}" not in (line := file.readline()):
            assert line
        request = json.loads(line[line.index(b'{"jsonrpc"') :])
        file.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": status}).encode() + b"\n")
        file.flush()
