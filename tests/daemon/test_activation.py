"""The daemon as a service: on a socket that somebody else listens on, and with systemd itself where it is installed."""

import os
import plistlib
import shutil
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sould.daemon.cli import units
from sould.daemon.launch import socket_unit
from soultest.daemon import Sould, until
from soultest.world import SOULD

ACTIVATE = 'export LISTEN_PID=$$ LISTEN_FDS=1; exec "$0" daemon 3<&"$1"'
"""What systemd does before it runs a program: the socket is descriptor 3, and the variables say for whom."""


class Manager:
    """A service manager with one socket; it starts the daemon when it is told to."""

    def __init__(self, sould: Sould) -> None:
        runtime = Path(sould.paths.runtime)
        runtime.mkdir(mode=0o700, parents=True)
        unit = Path(socket_unit(sould.paths))
        unit.parent.mkdir(parents=True)
        unit.write_text(units.socket_unit(sould.paths.socket))
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(sould.paths.socket)
        self.listener.listen(8)
        self.told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.told.settimeout(30)
        self.told.bind(str(runtime / "notify"))
        self._sould = sould
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, **environment: str) -> int:
        """The pid of a daemon on the socket, which says that it is ready."""
        inherited = self.listener.dup()
        process = subprocess.Popen(
            ["bash", "-c", ACTIVATE, SOULD, str(inherited.fileno())],
            env=self._sould.environment | {"NOTIFY_SOCKET": self.told.getsockname()} | environment,
            pass_fds=(inherited.fileno(),),
            stdin=subprocess.DEVNULL,
        )
        inherited.close()
        self._started.append(process)
        assert self.told.recv(100) == b"READY=1"
        return process.pid

    def close(self) -> None:
        self._sould.close()
        for process in self._started:
            process.wait(10)
        self.listener.close()
        self.told.close()


@pytest.fixture
def manager(sould: Sould) -> Generator[Manager]:
    made = Manager(sould)
    yield made
    made.close()


def named(sould: Sould) -> int:
    """What the socket's name stands for."""
    return os.lstat(sould.paths.socket).st_ino


def test_whoever_connects_before_it_runs_is_served_by_it(sould: Sould, manager: Manager) -> None:
    bridge = sould.bridge()
    bridge.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}})
    pid = manager.start()
    assert "result" in bridge.answer(1)
    assert sould.pid == pid, "the manager knows the daemon's own pid"
    assert sould.starts() == 1


def test_a_stopped_daemon_leaves_the_name_to_the_manager_and_asking_for_it_starts_none(
    sould: Sould, manager: Manager
) -> None:
    manager.start()
    name = named(sould)
    assert sould.cli("stop").returncode == 0
    assert named(sould) == name
    status = sould.cli("status")
    assert (status.returncode, status.stdout) == (1, "The daemon is not running; it starts when it is needed.\n")
    assert sould.cli("stop").stdout == "The daemon is not running.\n"
    manager.listener.setblocking(False)
    with pytest.raises(BlockingIOError):
        manager.listener.accept()
    manager.start()
    assert "pid" in sould.cli("status").stdout


def test_a_restart_tells_the_manager_who_is_the_service_now(sould: Sould, manager: Manager) -> None:
    pid = manager.start()
    name = named(sould)
    bridge = sould.acp()
    assert sould.cli("restart").returncode == 0
    assert sould.pid != pid
    assert manager.told.recv(100) == f"MAINPID={sould.pid}".encode()
    assert "result" in bridge.request(2, "session/list")
    assert sould.cli("stop").returncode == 0
    assert named(sould) == name, "the next daemon knows that the name is not its own"


def test_a_daemon_that_leaves_idle_leaves_the_name(sould: Sould, manager: Manager) -> None:
    manager.start(SOULD_IDLE_EXIT="0.2")
    name = named(sould)
    until(lambda: sould.owner is None, what="the idle exit")
    assert named(sould) == name


def test_it_waits_for_an_earlier_daemon_to_let_go(sould: Sould, manager: Manager) -> None:
    first = manager.start()
    before = sould.owner
    assert before is not None
    second = subprocess.Popen(
        ["bash", "-c", ACTIVATE, SOULD, str(manager.listener.fileno())],
        env=sould.environment,
        pass_fds=(manager.listener.fileno(),),
        stdin=subprocess.DEVNULL,
    )
    os.kill(first, 15)
    until(lambda: sould.owner is not None and sould.owner != before, what="the second daemon")
    assert sould.pid == second.pid
    assert sould.cli("stop").returncode == 0
    assert second.wait(10) == 0


# --- the files ------------------------------------------------------------------------------------------------------------


def test_where_no_manager_is_one_sentence_says_so_and_nothing_is_written(sould: Sould) -> None:
    done = sould.cli("service", "install", env={"PATH": "/nowhere"})
    assert done.returncode == 1
    assert "neither a systemd user session nor launchd" in done.stderr
    assert not os.path.exists(socket_unit(sould.paths))
    assert sould.cli("service", "status").returncode == 1


def test_a_dry_run_shows_the_files_and_writes_none(sould: Sould) -> None:
    done = sould.cli("service", "install", "--dry-run")
    assert f"ListenStream={sould.paths.socket}\n" in done.stdout
    assert f'ExecStart="{SOULD}" "daemon"\n' in done.stdout
    assert not os.path.exists(socket_unit(sould.paths))


def test_somebody_else_s_unit_is_left_alone(sould: Sould) -> None:
    unit = Path(socket_unit(sould.paths))
    unit.parent.mkdir(parents=True)
    unit.write_text("[Socket]\n")
    done = sould.cli("service", "remove")
    assert done.returncode == 1
    assert "was not written by sould" in done.stderr
    assert unit.read_text() == "[Socket]\n"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path) -> None:
    strange = tmp_path / "a strange 100% place"
    strange.mkdir()
    program = strange / "sould"
    program.symlink_to(SOULD)
    given = {"PATH": f"/bin:{strange}", "OPENAI_API_KEY": "secret", "HTTPS_PROXY": "http://me:secret@proxy"}
    (tmp_path / "sould.socket").write_text(units.socket_unit(f"{strange}/sock"))
    (tmp_path / "sould.service").write_text(units.service_unit([str(program)], given))
    assert "secret" not in (tmp_path / "sould.service").read_text(), "keys are not written down"
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", tmp_path / "sould.socket", tmp_path / "sould.service"],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, "sould" in done.stderr) == (0, False), done.stderr


def test_launchd_s_agent_starts_the_daemon_at_the_log_in_and_leaves_a_restart_alone() -> None:
    text = units.agent(["/opt/a & b/sould"], {"PATH": "/bin", "OPENAI_API_KEY": "secret"})
    assert units.WRITTEN in text
    agent = plistlib.loads(text.encode())
    assert agent["ProgramArguments"] == ["/opt/a & b/sould", "daemon"]
    assert agent["EnvironmentVariables"] == {"PATH": "/bin", "SOULD_IDLE_EXIT": "0"}
    assert agent["RunAtLoad"] is agent["AbandonProcessGroup"] is True


# --- systemd itself -----------------------------------------------------------------------------------------------------

SYSTEMD = Path("/lib/systemd/systemd")
SESSION = 'mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system && exec "$0" --user --log-target=null'
"""A /run of its own in which systemd believes that it booted the machine."""


@contextmanager
def systemd(sould: Sould) -> Generator[None]:
    """systemd's user session in this world."""
    with subprocess.Popen(["unshare", "-m", "bash", "-c", SESSION, SYSTEMD], env=sould.environment) as process:
        try:
            private = Path(sould.environment["XDG_RUNTIME_DIR"], "systemd", "private")
            until(private.exists, what="systemd's user session")
            yield
        finally:
            process.terminate()
            process.wait(20)


@pytest.mark.needs_root
@pytest.mark.skipif(not SYSTEMD.exists(), reason="systemd is not installed")
def test_with_systemd_an_editor_stays_connected_while_the_service_comes_and_goes(sould: Sould) -> None:
    with systemd(sould):
        bridge = sould.acp()
        first = sould.pid
        installed = sould.cli("service", "install")
        assert installed.returncode == 0, installed.stderr
        assert "result" in bridge.request(2, "session/list")
        assert sould.pid != first
        assert f"(pid {sould.pid})" in sould.cli("service", "status").stdout, "the service is the daemon"
        assert sould.cli("restart").returncode == 0
        assert sould.cli("service", "status").returncode == 0, "and still is"
        killed = sould.kill9()
        assert "result" in bridge.request(3, "session/list"), "a crash costs nothing"
        assert sould.pid != killed
        assert sould.cli("service", "status").returncode == 0
        last = sould.pid
        assert sould.cli("service", "remove").returncode == 0
        assert "result" in bridge.request(4, "session/list")
        assert sould.pid == last, "removing it disturbs nobody"
        unit = Path(socket_unit(sould.paths))
        assert list(unit.parent.rglob("*")) == [], "nothing is left"
        assert sould.cli("stop").returncode == 0
        assert "result" in sould.acp().request(5, "session/list"), "it starts as it did before"
        assert sould.cli("stop").returncode == 0
