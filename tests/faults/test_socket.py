"""The socket, its directory, and who may use them."""

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sould.daemon.methods import Ping
from soultest.daemon import NOBODY, Sould, as_nobody, until

CONNECT = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(5)
s.connect(sys.argv[1])
try:
    s.sendall(b"sould hello 00000000\\n")
    print(repr(s.recv(100)))
except (BrokenPipeError, ConnectionResetError):
    print(repr(b""))
"""

LISTEN = """
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
s.listen()
print("listening", flush=True)
s.settimeout(10)
peer, _ = s.accept()
peer.settimeout(10)
got = b""
while data := peer.recv(1000):
    got += data
print(len(got), flush=True)
"""


def open_up(sould: Sould) -> None:
    """Undo every protection of the file system."""
    sould.world.root.chmod(0o755)
    (sould.world.root / "run").chmod(0o755)
    Path(sould.paths.runtime).chmod(0o755)
    Path(sould.paths.socket).chmod(0o777)


@pytest.mark.needs_root
def test_another_user_gets_no_byte_even_when_the_socket_was_opened_up(sould: Sould) -> None:
    pid = sould.start()
    open_up(sould)
    done = as_nobody(CONNECT, sould.paths.socket)
    Path(sould.paths.runtime).chmod(0o700)
    assert done.stdout.strip() == "b''", done.stderr
    assert until(lambda: sould.log().count(f"refused uid {NOBODY}")) == 1
    sould.assert_healthy(pid, sould.canary())


def other_owner(run: Path) -> str:
    run.mkdir(0o700)
    os.chown(run, NOBODY, NOBODY)
    return f"belongs to uid {NOBODY}"


def loose_mode(run: Path) -> str:
    run.mkdir(0o755)
    run.chmod(0o755)
    return f"run: chmod 700 {run}"


def link_to_mine(run: Path) -> str:
    target = run.with_name("mine")
    target.mkdir(0o700)
    run.symlink_to(target)
    return f"run: rm {run}"


def regular_file(run: Path) -> str:
    run.write_text("x")
    return f"run: mv {run}"


def loose_parent(run: Path) -> str:
    run.mkdir(0o700)
    run.parent.chmod(0o777)
    return f"run: chmod o-w {run.parent}"


@pytest.mark.parametrize(
    "spoil",
    [pytest.param(other_owner, marks=pytest.mark.needs_root), loose_mode, link_to_mine, regular_file, loose_parent],
)
@pytest.mark.parametrize("command", ["acp", "daemon"])
def test_a_runtime_directory_others_can_enter_is_refused_with_the_remedy(
    sould: Sould, spoil: Callable[[Path], str], command: str
) -> None:
    run = Path(sould.paths.runtime)
    advice = spoil(run)
    before = sorted(os.listdir(run)) if run.is_dir() else None
    code = "from sould.daemon.process.main import main; main()" if command == "daemon" else "import sould.__main__"
    program = [sys.executable, "-P", "-c", code, command]
    done = subprocess.run(
        program, env=sould.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20
    )
    assert done.returncode == 1
    assert str(run) in done.stderr or str(run.parent) in done.stderr
    assert advice in done.stderr
    assert done.stdout == ""
    assert (sorted(os.listdir(run)) if run.is_dir() else None) == before


@pytest.mark.needs_root
def test_a_foreign_server_at_our_path_gets_no_byte(sould: Sould) -> None:
    """The directory check refuses first; so the fake is given our directory's protections and only its uid is wrong."""
    run = Path(sould.paths.runtime)
    run.mkdir(0o777)
    sould.world.root.chmod(0o777)
    (sould.world.root / "run").chmod(0o777)
    run.chmod(0o777)
    listen = [
        "setpriv",
        f"--reuid={NOBODY}",
        f"--regid={NOBODY}",
        "--clear-groups",
        "/usr/bin/python3",
        "-I",
        "-S",
        "-c",
        LISTEN,
    ]
    with subprocess.Popen([*listen, sould.paths.socket], stdout=subprocess.PIPE, text=True) as fake:
        assert fake.stdout is not None
        assert fake.stdout.readline() == "listening\n"
        for place in (run, sould.world.root / "run", sould.world.root):
            place.chmod(0o700)
        bridge = sould.bridge()
        assert bridge.wait() == 1
        assert f"served by uid {NOBODY}" in bridge.stderr()
        assert fake.stdout.readline() == "0\n"


def socket_left(_: Sould) -> None:
    """`kill -9` leaves the socket: nothing more to do."""


def lock_names_the_dead(sould: Sould) -> None:
    Path(sould.paths.lock).write_text("999999 1 - 0.1.0\n")


def lock_names_init(sould: Sould) -> None:
    Path(sould.paths.lock).write_text("1 0 - 0.1.0\n")


def socket_is_a_file(sould: Sould) -> None:
    os.unlink(sould.paths.socket)
    Path(sould.paths.socket).write_text("")


@pytest.mark.parametrize("leave", [socket_left, lock_names_the_dead, lock_names_init, socket_is_a_file])
def test_whatever_a_dead_daemon_left_the_next_client_starts_one(sould: Sould, leave: Callable[[Sould], None]) -> None:
    dead = sould.start()
    sould.kill9()
    leave(sould)
    sould.acp()
    assert sould.pid != dead
    assert sould.starts() == 2


def test_a_starter_that_fell_asleep_cannot_take_the_socket_from_a_live_daemon(sould: Sould) -> None:
    """Only the holder of the lock publishes, and it looks again after it got the lock."""
    code = """
import os, sys
from sould.daemon import bridge, launch
from sould.daemon.paths import Paths
paths = Paths(os.environ)
assert bridge.try_connect(paths) is None
print("refused", flush=True)
sys.stdin.readline()
launch.start(paths)
print("connected", flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-P", "-c", code],
        env=sould.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as slow:
        assert slow.stdin is not None
        assert slow.stdout is not None
        assert slow.stdout.readline() == "refused\n"
        pid = sould.start()
        inode = os.stat(sould.paths.socket).st_ino
        slow.stdin.write("\n")
        slow.stdin.flush()
        assert slow.stdout.readline() == "connected\n"
    assert os.stat(sould.paths.socket).st_ino == inode
    assert sould.pid == pid
    assert sould.starts() == 1


def removed(sould: Sould) -> None:
    os.unlink(sould.paths.socket)


def taken_by_a_file(sould: Sould) -> None:
    other = sould.world.root / "file"
    other.write_text("mine")
    other.rename(sould.paths.socket)


def taken_by_a_socket(sould: Sould) -> None:
    other = sould.world.root / "socket"
    with socket.socket(socket.AF_UNIX) as missed_notifications:
        missed_notifications.bind(str(other))
    other.rename(sould.paths.socket)


def taken_by_a_link(sould: Sould) -> None:
    other = sould.world.root / "link"
    other.symlink_to("/nowhere/sock")
    other.rename(sould.paths.socket)


def without_lock(sould: Sould) -> None:
    os.unlink(sould.paths.lock)
    os.unlink(sould.paths.socket)
    until(lambda: os.path.exists(sould.paths.socket), what="the socket")  # else another daemon may be the first


def without_directory(sould: Sould) -> None:
    shutil.rmtree(sould.paths.runtime, ignore_errors=True)
    until(lambda: os.path.exists(sould.paths.socket), what="the socket")  # as above


def in_another_directory(sould: Sould) -> None:
    """The lock is the same, and nothing tells the daemon but who looks for it."""
    moved = Path(sould.paths.runtime).rename(sould.world.root / "run" / "gone")
    os.mkdir(sould.paths.runtime, 0o700)
    os.link(moved / "daemon.lock", sould.paths.lock)


def test_a_daemon_whose_socket_is_gone_listens_again_as_soon_as_it_is_wanted(sould: Sould) -> None:
    """It never looks by itself here: the system tells it, or who finds nobody."""
    pid = sould.start(env={"SOULD_SELF_CHECK": "1000"})
    harm = (removed, taken_by_a_file, taken_by_a_socket, taken_by_a_link, without_lock, without_directory)
    for damage in (*harm, removed, in_another_directory):
        damage(sould)
        sould.acp()
        with sould.control() as daemon:
            assert daemon.ask(Ping()).pid == pid, damage
    assert sould.cli("restart").returncode == 0
    removed(sould)
    sould.acp()
    assert (sould.starts(), sould.log().count("took over")) == (1, 1)


def test_a_daemon_that_lost_its_socket_and_cannot_have_another_is_named_and_can_be_ended(sould: Sould) -> None:
    pid = sould.start(env={"SOULD_SELF_CHECK": "1000"})
    os.unlink(sould.paths.socket)
    until(lambda: os.path.exists(sould.paths.socket), what="the socket")
    os.kill(pid, signal.SIGSTOP)
    os.unlink(sould.paths.socket)
    os.mkdir(sould.paths.socket)
    said = sould.cli("status")
    assert said.returncode == 1
    assert f"The daemon (pid {pid}) runs, but does not listen at {sould.paths.socket}" in said.stderr
    assert sould.cli("stop", "--force").returncode == 0
    said = sould.cli("run", "hello")
    assert f"Is a directory; run: mv {sould.paths.socket} {sould.paths.socket}.old" in said.stderr
    assert "Traceback" not in said.stderr
    os.rmdir(sould.paths.socket)
    assert sould.start() != pid


def test_a_daemon_whose_directory_was_replaced_leaves_the_field_to_the_new_one(sould: Sould) -> None:
    old = sould.start(env={"SOULD_SELF_CHECK": "0.05"})
    identity = sould.owner
    assert identity is not None
    os.kill(old, signal.SIGSTOP)  # else it may be the first to take the new place
    moved = Path(sould.paths.runtime).rename(sould.world.root / "run" / "gone")
    new = sould.start(env={"SOULD_SELF_CHECK": "1000"})
    os.kill(old, signal.SIGCONT)
    assert new != old
    until(lambda: not identity.alive())
    assert sould.pid == new
    with sould.control() as daemon:
        assert daemon.ask(Ping()).pid == new
    assert not (moved / "s.leaving").exists()


@pytest.mark.parametrize(
    "verb", [b"GET / HTTP/1.1\r\n\r\n", b"POST /x HTTP/1.1\r\n", b"\x16\x03\x01\x00", b"{}\n", b"sould hullo"]
)
def test_what_is_no_hello_is_closed_at_once_and_unanswered(sould_after: Sould, verb: bytes) -> None:
    sock = sould_after.raw()
    sock.sendall(verb)
    assert _rest(sock) == b""


@pytest.mark.parametrize("length", [b"ffffffff", b"-0000001", b"0x000010", b"zzzzzzzz"])
def test_a_hello_of_impossible_length_is_closed_at_once(sould_after: Sould, length: bytes) -> None:
    sock = sould_after.raw()
    sock.sendall(b"sould hello " + length + b"\n")
    assert _rest(sock) == b""


def _rest(sock: socket.socket) -> bytes:
    try:
        return sock.recv(100)
    except ConnectionResetError:
        return b""


def test_files_of_the_runtime_directory_are_private_whatever_the_umask(sould: Sould) -> None:
    mask = os.umask(0)
    try:
        sould.start()
        sould.acp()
    finally:
        os.umask(mask)
    for place in (Path(sould.paths.runtime), Path(sould.paths.state)):
        for path in [place, *place.rglob("*")]:
            assert stat.S_IMODE(path.lstat().st_mode) & 0o077 == 0, path
