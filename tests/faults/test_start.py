"""Starting once, leaving without losing anybody, versions, pids, paths."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from sould.daemon.hello import PROTOCOL, VERSION
from sould.daemon.identity import Identity, send_signal, write_owner
from sould.daemon.methods import GetStatus, ListSessions, Ping
from sould.daemon.paths import MAX_DIRECTORY, Paths
from soultest.daemon import INITIALIZE, Sould, count, not_running, until

DAEMON = [sys.executable, "-P", "-c", "from sould.daemon.process.main import main; main()", "daemon"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("_round", range(count(20, 1)))
def test_many_bridges_at_once_start_one_daemon_and_are_all_served(sould: Sould, _round: int) -> None:
    bridges = [sould.bridge() for _ in range(count(50, 20))]
    for bridge in bridges:
        bridge.send(INITIALIZE)
    for bridge in bridges:
        assert "result" in bridge.answer(1, 30)
    assert sould.starts() == 1
    assert len(Path(sould.paths.starts).read_text().splitlines()) == 1


@pytest.mark.timeout(300)
def test_and_over_a_stale_socket(sould: Sould) -> None:
    sould.start()
    sould.kill9()
    bridges = [sould.bridge() for _ in range(count(50, 10))]
    for bridge in bridges:
        assert "result" in bridge.initialize(30)
    assert sould.starts() == 2


def test_the_second_daemon_started_by_hand_says_so_and_leaves(sould: Sould) -> None:
    for _ in range(count(100, 3)):
        pair = [
            subprocess.Popen(DAEMON, env=sould.environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        owner = until(lambda: sould.owner)
        second = next(each for each in pair if each.pid != owner.pid)
        first = next(each for each in pair if each.pid == owner.pid)
        _, said = second.communicate(timeout=20)
        assert second.returncode == 0
        assert "already running, pid " in said
        first.terminate()
        first.communicate(timeout=20)
        assert first.returncode == 0
        assert not os.path.lexists(sould.paths.socket)


def test_the_message_names_pid_and_version(sould: Sould) -> None:
    pid = sould.start()
    done = subprocess.run(DAEMON, env=sould.environment, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0
    assert f"already running, pid {pid}, version {VERSION}" in done.stderr


CONNECT = """
import random, sys, time
from sould.daemon.cli.running import RunningDaemon
from sould.daemon.methods import Ping
for _ in range(int(sys.argv[1])):
    with RunningDaemon.connect(start=True) as daemon:
        print(daemon.ask(Ping()).version)
    time.sleep(random.uniform(0, 0.06))
"""
"""Connects as a bridge does, again and again around the moment at which a daemon of `SOULD_IDLE_EXIT` 0.02 leaves."""


@pytest.mark.timeout(count(900, 60))
def test_nobody_is_lost_who_connects_while_the_daemon_leaves_idle(sould: Sould) -> None:
    rounds = count(300, 12)
    done = subprocess.run(
        [sys.executable, "-P", "-c", CONNECT, str(rounds)],
        env=sould.environment | {"SOULD_IDLE_EXIT": "0.02"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.split()) == (0, [VERSION] * rounds), done.stderr
    assert sould.starts() > 1, "it never left meanwhile"
    until(lambda: not_running(sould))
    assert not os.path.lexists(sould.paths.starts), "a clean end is no death"


def test_a_daemon_with_a_client_or_a_waiting_hello_does_not_leave(sould: Sould) -> None:
    bridge = sould.bridge(env={"SOULD_IDLE_EXIT": "0.05"})
    bridge.initialize()
    pid = sould.pid
    half = sould.raw()
    half.sendall(b"sould hello 000000")
    bridge.close_input()
    bridge.wait()
    half.sendall(b"00\n")  # an empty frame: refused, but the daemon was there to do it
    assert half.recv(10) == b""
    until(lambda: not_running(sould))
    assert Identity.of(pid) is None


def test_an_idle_older_daemon_makes_room_for_a_newer_client(sould: Sould) -> None:
    pid = sould.start()
    sock = sould.hello("acp", descriptors=(0, 1, 2), version="9.0.0")
    assert sock.recv(100) == b"", "hangs up without a word: the bridge attaches again and starts its own"
    until(lambda: not_running(sould))
    assert Identity.of(pid) is None


def test_a_client_without_a_common_protocol_is_told_and_waits_for_the_older_daemon_to_go(sould: Sould) -> None:
    pid = sould.start()
    sock = sould.hello("acp", descriptors=(0, 1, 2), version="9.0.0", protocol=(PROTOCOL[1] + 1, PROTOCOL[1] + 2))
    said = sock.recv(1000).decode()
    assert f"say sould {VERSION} (pid {pid}) is older than this client 9.0.0" in said
    assert "finishing 0 running turns, then restarting" in said
    assert sock.recv(100) == b""
    until(lambda: not_running(sould))


def test_a_newer_client_that_attaches_again_is_served_by_an_older_daemon_with_a_warning(sould: Sould) -> None:
    """Else two installations would replace each other for ever."""
    pid = sould.start()
    ours, theirs = socket.socketpair()
    sock = sould.hello(
        "acp", descriptors=(theirs.fileno(), theirs.fileno(), 2), version="9.0.0", more=[(b"reattach", b"1")]
    )
    theirs.close()
    assert b"to replace it run: sould restart" in sock.recv(1000)
    ours.settimeout(10)
    ours.sendall(json.dumps(INITIALIZE).encode() + b"\n")
    assert b'"id":1' in ours.recv(10000).replace(b": ", b":")
    ours.close()
    assert sould.pid == pid


def test_an_older_client_without_a_common_protocol_is_refused_with_both_ranges(sould_after: Sould) -> None:
    sock = sould_after.hello("acp", descriptors=(0, 1, 2), version="0.0.1", protocol=(0, 0))
    said = sock.recv(1000).decode()
    assert f"speaks protocol {PROTOCOL[0]}-{PROTOCOL[1]}" in said
    assert "this client 0.0.1 speaks 0-0" in said
    assert said.endswith("exit 1\n")


def test_an_older_client_with_a_common_protocol_is_served(sould_after: Sould) -> None:
    sock = sould_after.hello("control", version="0.0.1")
    sock.sendall(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert b'"version"' in sock.recv(1000)


def test_a_daemon_whose_files_changed_restarts_itself_when_idle_and_clients_notice_nothing(sould: Sould) -> None:
    """A copy of the package is what is replaced; the real one is left alone."""
    copies = _copy_package(sould)
    bridge = sould.bridge(env={"SOULD_SELF_CHECK": "0.05", "PYTHONDONTWRITEBYTECODE": "1"}, prefix=_run_copy(copies))
    bridge.initialize()
    old = sould.owner
    assert old is not None
    os.utime(copies / "daemon/sould/daemon/hello.py", (2_000_000_000, 2_000_000_000))
    until(lambda: not old.alive(), 20)
    assert bridge.request(2, "no/such/method")["id"] == 2
    assert sould.pid != old.pid
    assert "took over" in sould.log()
    assert bridge.process.poll() is None


def test_a_daemon_whose_files_are_gone_goes_on(sould: Sould) -> None:
    copies = _copy_package(sould)
    bridge = sould.bridge(env={"SOULD_SELF_CHECK": "0.05", "PYTHONDONTWRITEBYTECODE": "1"}, prefix=_run_copy(copies))
    bridge.initialize()
    pid = sould.pid
    with sould.control() as daemon:
        assert daemon.ask(Ping()).pid == pid
        daemon.ask(ListSessions())
        daemon.ask(GetStatus())  # what these need is loaded now
    shutil.rmtree(copies)
    until(lambda: "our own files are gone" in sould.log())
    with sould.control() as daemon:
        assert daemon.ask(Ping()).pid == pid
        assert daemon.ask(GetStatus()).package_changed


def _copy_package(sould: Sould) -> Path:
    """An installation of its own: a virtual environment with a copy of our code and everybody's libraries."""
    root = Path(__file__).parents[2]
    copies = sould.world.root / "copy"
    for name in ("acp", "agents", "daemon", "editors"):
        shutil.copytree(root / name, copies / name, ignore=shutil.ignore_patterns("__pycache__"))
    venv.create(copies / "venv", symlinks=True)
    site = next((copies / "venv" / "lib").glob("*/site-packages"))
    roots = [str(copies / name) for name in ("acp", "agents", "daemon", "editors")]
    (site / "copy.pth").write_text("\n".join([*roots, sysconfig.get_path("purelib")]))
    return copies


def _run_copy(copies: Path) -> list[str]:
    """The copy's `sould`, in front of the command line the support builds."""
    script = copies / "venv" / "bin" / "sould"
    body = (Path(__file__).parents[2] / "bin" / "sould").read_text().split("\n", 1)[1]
    script.write_text(f"#!{copies}/venv/bin/python\nimport sys; del sys.argv[1]\n{body}")
    script.chmod(0o755)
    return [str(script)]


def test_a_pid_that_was_used_again_is_never_signalled(sould: Sould) -> None:
    sould.start()
    sould.kill9()
    with subprocess.Popen(["sleep", "60"]) as innocent:
        lock = os.open(sould.paths.lock, os.O_RDWR)
        real = Identity.of(innocent.pid)
        assert real is not None
        stale = Identity(innocent.pid, real.start_ticks - 1, real.boot_id)
        write_owner(lock, stale, VERSION)
        os.close(lock)
        assert not stale.alive()
        assert not send_signal(stale, signal.SIGKILL)
        sould.acp()
        assert innocent.poll() is None
        assert send_signal(real, signal.SIGTERM)
        innocent.wait(5)


@pytest.mark.parametrize("place", ["long", "unset", "relative", "read-only", "missing", "spaces and 🦀"])
def test_bridge_and_daemon_find_the_same_short_enough_place(sould: Sould, place: str) -> None:
    environment = sould.environment
    root = sould.world.root
    del environment["XDG_STATE_HOME"]
    if place == "long":
        long = root / ("x" * 60) / ("y" * 60)
        long.mkdir(parents=True, mode=0o700)
        environment["XDG_RUNTIME_DIR"] = str(long)
    elif place == "unset":
        del environment["XDG_RUNTIME_DIR"]
    elif place == "relative":
        environment["XDG_RUNTIME_DIR"] = "run"
    elif place == "read-only":
        environment["XDG_RUNTIME_DIR"] = "/proc/self"
    elif place == "missing":
        environment["XDG_RUNTIME_DIR"] = str(root / "nowhere")
    else:
        home = root / place
        home.mkdir()
        environment["HOME"] = str(home)
        del environment["XDG_RUNTIME_DIR"]
    sould.paths = Paths(environment)
    assert sould.paths.runtime.startswith(environment["HOME"] + "/.local/state/sould/run")
    sould.bridge().initialize()
    assert os.path.exists(sould.paths.socket)
    with sould.control() as daemon:
        assert daemon.ask(GetStatus()).runtime_dir == sould.paths.runtime


def test_a_home_too_deep_for_a_socket_gets_a_hashed_name() -> None:
    paths = Paths({"HOME": "/home/" + "h" * 60})
    assert paths.runtime.startswith("/home/" + "h" * 60 + "/.sould-")
    assert len(paths.runtime) <= MAX_DIRECTORY
    assert paths.runtime == Paths({"HOME": "/home/" + "h" * 60}).runtime


def test_a_daemon_that_dies_again_and_again_is_not_started_for_ever(sould: Sould) -> None:
    env = {"SOULD_START_LIMIT": "3"}
    for _ in range(3):
        bridge = sould.bridge(env=env)
        bridge.initialize()
        bridge.kill()
        sould.kill9()
    bridge = sould.bridge(env=env)
    assert bridge.wait() == 1
    said = bridge.stderr()
    assert "ended unexpectedly 3 times" in said
    assert "sould doctor" in said


def test_no_daemon_is_started_where_that_is_forbidden(sould: Sould) -> None:
    bridge = sould.bridge(env={"SOULD_NO_SPAWN": "1"})
    assert bridge.wait() == 1
    assert "SOULD_NO_SPAWN" in bridge.stderr()
    assert sould.starts() == 0
