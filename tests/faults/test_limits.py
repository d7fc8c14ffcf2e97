"""Half-open clients, inherited descriptors, used-up resources, signals."""

import os
import resource
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sould.agents.journal.journal import JournalWriter
from sould.agents.journal.log import SessionLog
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import StepBegin, TurnBegin, TurnEnd
from sould.daemon.methods import GetStatus, ListSessions, Ping
from soultest.daemon import Bridge, Sould, count, until
from soultest.faulty import Editor
from soultest.processes import memory


def test_a_connection_without_a_hello_is_dropped_and_others_are_served_meanwhile(sould: Sould) -> None:
    pid = sould.start(env={"SOULD_HELLO": "0.3"})
    canary = sould.canary()
    half_open = [sould.raw() for _ in range(count(500, 60))]
    for sock in half_open:
        sock.sendall(b"sould he")
    with sould.control() as daemon:
        assert daemon.ask(Ping()).pid == pid
    for sock in half_open:
        assert sock.recv(10) == b""
    sould.assert_healthy(pid, canary)


def test_a_hello_that_dribbles_in_is_understood(sould_after: Sould) -> None:
    sock = sould_after.raw()
    fields = b"protocol=1-1\0version=0.1.0\0face=control\0pid=1\0token=" + b"0" * 32 + b"\0cwd=/\0"
    for byte in b"sould hello %08x\n" % len(fields) + fields + b'{"jsonrpc":"2.0","id":7,"method":"ping"}\n':
        sock.sendall(bytes([byte]))
    assert b'"id":7' in sock.recv(1000)


def test_more_clients_than_the_limit_are_told_so(sould: Sould) -> None:
    sould.start(env={"SOULD_CONNECTIONS": "3"})
    clients = [sould.hello() for _ in range(3)]
    for sock in clients:
        sock.sendall(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        assert b'"id":1' in sock.recv(1000)
    said = sould.hello().recv(1000)
    assert b"3 clients are connected, which is the limit" in said
    clients[0].close()
    until(lambda: b"limit" not in _first(sould))


def _first(sould: Sould) -> bytes:
    sock = sould.hello()
    sock.sendall(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    try:
        return sock.recv(1000)
    except ConnectionResetError:
        return b"limit"


def test_the_daemon_holds_no_descriptor_of_its_starter(sould: Sould) -> None:
    read_end, write_end = os.pipe()
    bridge = sould.bridge(pass_fds=[write_end])
    bridge.initialize()
    bridge.kill()
    os.close(write_end)
    assert os.read(read_end, 1) == b"", "the daemon would keep it open"
    os.close(read_end)


def test_a_connection_leaves_no_descriptor_behind(sould_after: Sould) -> None:
    def descriptors() -> int:
        with sould_after.control() as daemon:
            return daemon.ask(GetStatus()).descriptors

    sould_after.acp().kill()
    before = until(lambda: _settled(sould_after)) and descriptors()
    for _ in range(count(1000, 20)):
        bridge = sould_after.acp()
        bridge.close_input()
        bridge.wait()
    until(lambda: descriptors() == before, what=f"{before} descriptors")


def _settled(sould: Sould) -> bool:
    """Everything a first session needs is loaded, and only we are connected."""
    with sould.control() as daemon:
        daemon.ask(ListSessions())
        return len(daemon.ask(GetStatus()).connections) == 1


def test_without_descriptors_clients_wait_or_are_told_and_the_daemon_recovers(sould: Sould) -> None:
    pid = sould.start(env={"SOULD_KEEP_ULIMIT": "1"})
    canary = sould.canary()
    _limit(pid, 40)
    clients = [sould.bridge() for _ in range(15)]
    until(lambda: "cannot accept connections" in sould.log() or "no file descriptors left" in sould.log())
    until(lambda: _rests_for_a_second(pid), what="a second without work: it spins")
    assert _pings(sould, pid), "what is left is kept for the daemon's own work"
    for bridge in clients:
        bridge.kill()
    _limit(pid, 256)
    until(lambda: _pings(sould, pid))
    sould.assert_healthy(pid, canary)


def _rests_for_a_second(pid: int) -> bool:
    """Whether the next second passes with hardly any CPU. What a daemon loads after its start is over before long; a
    loop that asks again and again never is."""
    before = _cpu(pid)
    time.sleep(1.0)
    return _cpu(pid) - before < 0.1


def _limit(pid: int, descriptors: int) -> None:
    _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (descriptors, hard))


def _cpu(pid: int) -> float:
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _pings(sould: Sould, pid: int) -> bool:
    with sould.control() as daemon:
        return daemon.ask(Ping()).pid == pid


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_told_daemon_lets_its_clients_go_and_leaves_nothing(sould: Sould, number: signal.Signals) -> None:
    bridge = sould.acp()
    owner = sould.owner
    assert owner is not None
    os.kill(owner.pid, number)
    until(lambda: not owner.alive(), 5)
    assert bridge.wait() == 0
    assert bridge.line() == b""
    assert not os.path.lexists(sould.paths.socket)
    assert not os.path.lexists(sould.paths.starts), "a clean end is no death"
    assert sould.log().count("Traceback") == 0


def test_hangup_and_broken_pipe_do_not_end_it(sould_after: Sould) -> None:
    os.kill(sould_after.pid, signal.SIGHUP)
    os.kill(sould_after.pid, signal.SIGPIPE)
    until(lambda: "reloading the configuration" in sould_after.log())


def test_a_second_term_hurries(sould: Sould) -> None:
    sould.acp()
    owner = sould.owner
    assert owner is not None
    os.kill(owner.pid, signal.SIGTERM)
    os.kill(owner.pid, signal.SIGTERM)
    until(lambda: not owner.alive())


def close_pipes(bridge: Bridge) -> None:
    bridge.close_input()


def kill_bridge(bridge: Bridge) -> None:
    bridge.process.kill()


@pytest.mark.parametrize("leave", [close_pipes, kill_bridge])
def test_when_the_editor_or_the_bridge_goes_the_daemon_closes_its_copies_at_once(
    sould_after: Sould, leave: Callable[[Bridge], None]
) -> None:
    bridge = sould_after.acp()
    with sould_after.control() as daemon:
        assert len([each for each in daemon.ask(GetStatus()).connections if each.frontend == "acp"]) == 1
        leave(bridge)
        until(lambda: not [each for each in daemon.ask(GetStatus()).connections if each.frontend == "acp"])
    bridge.wait()
    assert bridge.line() == b"", "the pipe is closed on every side"


def test_a_client_may_give_one_socket_for_everything_as_node_does(sould_after: Sould) -> None:
    ours, theirs = socket.socketpair()
    bridge = sould_after.bridge(stdin=theirs.fileno(), stdout=theirs.fileno())
    theirs.close()
    ours.settimeout(10)
    ours.sendall(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n')
    assert b'"id":1' in ours.recv(65536).replace(b": ", b":")
    ours.close()
    assert bridge.wait() == 0


def test_where_descriptors_cannot_be_passed_the_bridge_pumps(sould_after: Sould) -> None:
    bridge = sould_after.acp(env={"SOULD_NO_FDS": "1"})
    assert bridge.request(2, "no/such/method")["id"] == 2
    bridge.close_input()
    assert bridge.wait() == 0


def test_a_wrong_command_line_of_a_frontend_ends_it_with_a_sentence(sould_after: Sould) -> None:
    bridge = sould_after.bridge("wire", "--nonsense")
    assert bridge.wait() == 2
    said = bridge.stderr()
    assert "--nonsense" in said
    assert "sould wire --help" in said
    assert bridge.line() == b""


async def test_closing_a_long_session_gives_its_memory_back(sould: Sould) -> None:
    sould.world.script(["text: Hello."])
    editor = Editor(sould, sould.acp())
    session = editor.open()
    editor.prompt("Hello.")
    pid = sould.pid
    place: dict[str, Any] = {"sessionId": session, "cwd": str(sould.workspace), "mcpServers": []}
    editor.request("session/close", sessionId=session)
    (journal,) = Path(sould.environment["XDG_STATE_HOME"]).rglob(f"{session}/wire.jsonl")
    await lengthened(journal.parent, 4000)
    empty = memory(pid)
    editor.request("session/load", **place)
    one = memory(pid) - empty
    for _ in range(5):
        editor.request("session/close", sessionId=session)
        editor.request("session/load", **place)
    editor.request("session/close", sessionId=session)
    until(lambda: memory(pid) - empty < 3 * one, what="memory of about one session instead of six")


async def lengthened(directory: Path, turns: int) -> None:
    """So many more turns in a stored session."""
    log = await SessionLog.open(directory, JournalWriter())
    for turn in range(turns):
        log.publish(TurnBegin(user_input=f"Question {turn}", turn_id=str(turn)))
        log.publish(StepBegin(n=1))
        log.publish(TextPart(text=f"Answer {turn}"))
        log.publish(TurnEnd(turn_id=str(turn)))
    await log.aclose()
