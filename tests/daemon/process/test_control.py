"""The methods of the daemon as the command line uses them."""

import json
from pathlib import Path
from typing import Any

import pytest

from sould.daemon import methods
from sould.daemon.cli.running import DaemonError, NotRunningError, RunningDaemon
from sould.daemon.hello import VERSION
from sould.daemon.methods import (
    PREFIX,
    CheckJournals,
    DaemonCall,
    DeleteSession,
    GetStatus,
    ListSessions,
    Restart,
    ShowSession,
    ShutdownIfIdle,
    Stop,
)
from soultest.daemon import Sould, not_running, until


def test_nobody_listening_is_said_and_changes_nothing(sould: Sould) -> None:
    with pytest.raises(NotRunningError, match="not running"):
        RunningDaemon.connect(environment=sould.environment)
    assert not Path(sould.paths.runtime).exists()


def test_status_tells_who_is_connected_and_what_it_costs(sould_after: Sould) -> None:
    bridge = sould_after.bridge()
    bridge.request(1, "initialize", protocolVersion=1, clientInfo={"name": "pen", "title": "The Pen", "version": "1"})
    with sould_after.control() as daemon:
        status = daemon.ask(GetStatus())
    assert status.version == VERSION
    assert status.pid == sould_after.pid
    acp = next(each for each in status.connections if each.frontend == "acp")
    assert acp.pid == bridge.process.pid
    assert acp.client == "The Pen"
    assert acp.cwd == str(sould_after.workspace)
    assert status.memory.rss_bytes > 0
    assert status.runtime_dir == sould_after.paths.runtime
    assert status.draining == ""
    bridge.kill()


def test_unknown_methods_and_wrong_parameters_are_answered_and_the_connection_lives(sould_after: Sould) -> None:
    sock = sould_after.hello()
    lines = sock.makefile("rb")
    for request, code in (
        ({"jsonrpc": "2.0", "id": 1, "method": "nope"}, -32601),
        ({"jsonrpc": "2.0", "id": 2, "method": "_sould/daemon/stop", "params": {"force": "perhaps"}}, -32602),
        ({"jsonrpc": "2.0", "id": 3, "method": "_sould/daemon/sessions/show"}, -32602),
    ):
        sock.sendall(json.dumps(request).encode() + b"\n")
        error = json.loads(lines.readline())["error"]
        assert error["code"] == code
    assert error["message"] == "_sould/daemon/sessions/show: Object missing required field `id`."
    sock.sendall(b'{"jsonrpc":"2.0","id":4,"method":"_sould/daemon/ping"}\n')
    assert json.loads(lines.readline())["result"]["version"] == VERSION
    lines.close()


def _calls() -> list[type[DaemonCall[Any]]]:
    return [each for each in vars(methods).values() if isinstance(each, type) and DaemonCall in each.__bases__]


def test_every_method_is_served(sould: Sould) -> None:
    sould.start()
    params = {"id": "none", "title": "x", "query": "x", "name": "none", "cwd": "/"}
    for call in _calls():
        if call.method in ("stop", "restart", "shutdown_if_idle"):
            continue
        sock = sould.hello()
        request = {"jsonrpc": "2.0", "id": 1, "method": PREFIX + call.method, "params": params}
        sock.sendall(json.dumps(request).encode() + b"\n")
        answer = json.loads(sock.makefile("rb").readline())
        assert answer.get("error", {}).get("code") not in (-32601, -32602), call.method


def test_sessions_are_listed_shown_by_the_beginning_of_their_id_and_deleted(sould: Sould) -> None:
    sould.world.script(["text: hello"])
    bridge = sould.acp()
    session = bridge.request(2, "session/new", cwd=str(sould.workspace), mcpServers=[])["result"]["sessionId"]
    bridge.request(3, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "hi there"}])
    with sould.control() as daemon:
        (row,) = daemon.ask(ListSessions(cwd=str(sould.workspace))).sessions
        assert (row.id, row.live, row.turns) == (session, True, 1)
        detail = daemon.ask(ShowSession(session[:20]))
        assert detail.session.id == session
        assert detail.state is not None
        assert detail.state.mode == "ask"
        assert b"hi there" in (Path(daemon.ask(ShowSession(session)).directory) / "wire.jsonl").read_bytes()
        report = daemon.ask(CheckJournals(session))
        assert (report.sessions, report.problems) == (1, ())
        daemon.ask(DeleteSession(session))
        assert daemon.ask(ListSessions()).sessions == ()
        with pytest.raises(DaemonError) as refused:
            daemon.ask(ShowSession(session))
        assert refused.value.kind == "session_not_found"


def test_fsck_finds_damage_without_touching_it(sould: Sould) -> None:
    sould.world.script(["text: hello"])
    bridge = sould.acp()
    session = bridge.request(2, "session/new", cwd=str(sould.workspace), mcpServers=[])["result"]["sessionId"]
    bridge.request(3, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "hi there"}])
    journal = Path(sould.paths.state, "sessions", session, "wire.jsonl")
    bridge.kill()
    sould.kill9()
    lines = journal.read_bytes().split(b"\n")
    lines[2] = lines[2][:20] + b"X" + lines[2][21:]
    damaged = b"\n".join(lines)
    journal.write_bytes(damaged)
    with sould.control(start=True) as daemon:
        (problem,) = daemon.ask(CheckJournals()).problems
    assert problem.severity == "warning"
    assert "damaged bytes" in problem.problem
    assert journal.read_bytes() == damaged


def test_when_a_prompt_is_answered_its_turn_is_counted_and_paid_for_whatever_kills_the_daemon(sould: Sould) -> None:
    sould.world.script(["text: hello\nusage: input_other=30 output=12", "text: again\nusage: input_other=40"])
    bridge = sould.acp()
    session = bridge.request(2, "session/new", cwd=str(sould.workspace), mcpServers=[])["result"]["sessionId"]
    spent: list[int] = []
    for number, text in enumerate(("a title", "and more"), 1):
        bridge.request(2 + number, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])
        directory = Path(sould.paths.state, "sessions", session)
        info = json.loads((directory / "session.json").read_bytes())
        spent.append(json.loads((directory / "state.json").read_bytes())["account"]["tokens"])
        assert (info["title"], info["turns"]) == ("a title", number)
    bridge.kill()
    sould.kill9()
    assert spent == [42, 82]
    for index in Path(sould.paths.state).glob("index.sqlite*"):
        index.unlink()
    with sould.control(start=True) as daemon:
        (found,) = daemon.ask(ListSessions()).sessions
    assert (found.title, found.turns) == ("a title", 2)


@pytest.mark.parametrize("method", ["stop", "shutdown_if_idle"])
def test_a_told_daemon_leaves_and_hangs_up_last(sould: Sould, method: str) -> None:
    pid = sould.start()
    with sould.control() as daemon:
        answer = daemon.ask(Stop() if method == "stop" else ShutdownIfIdle())
        assert answer.pid == pid
        daemon.wait_gone()
    until(lambda: not_running(sould))


def test_who_begins_a_session_while_the_daemon_restarts_is_told_to_try_again(sould: Sould) -> None:
    """At moments from before the request is read until the session is there."""
    sould.world.script(["text: hello"])
    bridge = sould.acp()
    for number in range(2, 7):
        place: dict[str, object] = {"cwd": str(sould.workspace), "mcpServers": []}
        owner = sould.owner
        bridge.send({"jsonrpc": "2.0", "id": number, "method": "session/new", "params": place})
        with sould.control() as daemon:
            daemon.ask(Restart(force=True))
        answer = bridge.answer(number)
        assert "result" in answer or "ry again" in answer["error"]["message"], answer
        until(lambda owner=owner: sould.owner not in (None, owner), what="the next daemon")
