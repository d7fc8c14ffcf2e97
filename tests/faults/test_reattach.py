"""D11: a conversation goes on over a killed daemon and over a planned restart."""

import json
import os
import signal
import socket
from typing import Any

import pytest

from sould.daemon.methods import CheckJournals, GetStatus, Ping, Restart
from soultest.daemon import Bridge, Sould, count, until
from soultest.processes import marked
from soultest.world import call


def new_session(sould: Sould, bridge: Bridge, identifier: str = "new") -> str:
    answer = bridge.request(identifier, "session/new", cwd=str(sould.workspace), mcpServers=[])
    assert "result" in answer, answer
    return answer["result"]["sessionId"]


def prompt(bridge: Bridge, session: str, text: str, identifier: str) -> None:
    bridge.send(
        {
            "jsonrpc": "2.0",
            "id": identifier,
            "method": "session/prompt",
            "params": {"sessionId": session, "prompt": [{"type": "text", "text": text}]},
        }
    )


def at_work(sould: Sould) -> tuple[Bridge, str]:
    """An editor and a session whose agent runs a command without an end."""
    sould.world.script([call("Shell", "t1", command="sleep 6001"), "text: done"])
    bridge = sould.acp()
    session = new_session(sould, bridge)
    bridge.request("mode", "session/set_mode", sessionId=session, modeId="full")
    prompt(bridge, session, "run it", "p1")
    until(lambda: _commands(sould), what="the command")
    return bridge, session


def collect(bridge: Bridge, identifier: str, seconds: float = 20.0) -> tuple[list[dict[str, Any]], list[bytes]]:
    """All messages up to the answer, and lines that are none."""
    messages: list[dict[str, Any]] = []
    odd: list[bytes] = []
    while True:
        line = bridge.line(seconds)
        assert line, "the stream ended"
        try:
            messages.append(json.loads(line))
        except ValueError:
            odd.append(line)
            continue
        if messages[-1].get("id") == identifier and "method" not in messages[-1]:
            return messages, odd


def said(messages: list[dict[str, Any]]) -> str:
    """The agent's text in these messages."""
    updates = [message["params"]["update"] for message in messages if message.get("method") == "session/update"]
    return "".join(each["content"]["text"] for each in updates if each["sessionUpdate"] == "agent_message_chunk")


def made(sould: Sould) -> str:
    """The mode of the file that the agent makes."""
    return oct((sould.workspace / "new.txt").stat().st_mode & 0o777)


def test_after_a_kill_the_same_editor_goes_on_in_the_same_session(sould: Sould) -> None:
    sould.world.script([call("WriteFile", "t1", path="new.txt", content="x"), "text: one"])
    sould.start()  # by a client with another umask
    bridge = sould.acp(umask=0o027)
    session = new_session(sould, bridge)
    bridge.request("mode", "session/set_mode", sessionId=session, modeId="review")
    prompt(bridge, session, "first", "p1")
    messages, _ = collect(bridge, "p1")
    assert said(messages) == "one\n\n1 file changed, 1 hunk to review: /review\n"
    assert made(sould) == "0o640"
    pid = bridge.process.pid
    for round_number, word in enumerate(["one", "two"][: count(2, 1)]):
        sould.kill9()
        (sould.workspace / "new.txt").unlink()
        prompt(bridge, session, "again", f"again-{round_number}")
        messages, odd = collect(bridge, f"again-{round_number}")
        assert messages[-1]["result"]["stopReason"] == "end_turn"
        assert said(messages), word
        assert len(odd) <= 1, "at most one cut line"
    assert bridge.process.pid == pid
    assert bridge.process.poll() is None
    assert made(sould) == "0o640", "the umask is the editor's still"


def test_after_a_kill_an_editor_is_told_that_full_access_has_ended(sould: Sould) -> None:
    sould.world.script(["text: one"])
    bridge = sould.acp()
    session = new_session(sould, bridge)
    bridge.request("mode", "session/set_mode", sessionId=session, modeId="full")
    sould.kill9()
    prompt(bridge, session, "again", "p1")
    messages, _ = collect(bridge, "p1")
    updates = [each["params"]["update"] for each in messages if each.get("method") == "session/update"]
    assert [each["currentModeId"] for each in updates if each["sessionUpdate"] == "current_mode_update"] == ["ask"]
    [options] = [each["configOptions"] for each in updates if each["sessionUpdate"] == "config_option_update"]
    assert {each["id"]: each["currentValue"] for each in options}["mode"] == "ask"


def test_a_prompt_that_died_with_the_daemon_is_answered_once(sould: Sould) -> None:
    bridge, session = at_work(sould)
    canary = sould.canary()
    sould.kill9()
    answer = bridge.answer("p1")
    assert answer["result"]["_meta"]["sould"]["kind"] == "interrupted"
    assert "See how far it got" in answer["result"]["_meta"]["sould"]["details"]
    again = bridge.request("list", "session/list")
    assert [each["sessionId"] for each in again["result"]["sessions"]] == [session]
    sould.assert_healthy(sould.pid, canary)


def _commands(sould: Sould) -> list[int]:
    """The commands of this daemon's sessions; the bridges are marked, too."""
    bridges = {bridge.process.pid for bridge in sould.bridges}
    return [pid for pid in marked(sould.mark) if pid not in bridges]


def test_what_comes_without_a_umask_has_that_of_who_started_the_daemon_also_after_a_restart(sould: Sould) -> None:
    sould.world.script([call("WriteFile", "t1", path="new.txt", content="x"), "text: one"])
    sould.acp(umask=0o027)
    assert sould.cli("restart").returncode == 0
    ours, theirs = socket.socketpair()
    with ours, theirs, ours.makefile("rwb") as older, sould.hello("acp", descriptors=(theirs.fileno(),) * 3):
        theirs.close()

        def ask(method: str, **params: Any) -> dict[str, Any]:
            older.write(
                json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}).encode() + b"\n"
            )
            older.flush()
            return next(answer for answer in map(json.loads, older) if answer.get("id") == method)["result"]

        ask("initialize", protocolVersion=1)
        session = ask("session/new", cwd=str(sould.workspace), mcpServers=[])["sessionId"]
        ask("session/set_mode", sessionId=session, modeId="review")
        ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
        assert made(sould) == "0o640"


def test_a_planned_restart_is_not_seen_by_clients(sould: Sould) -> None:
    sould.world.script([call("WriteFile", "t1", path="new.txt", content="x"), "text: one"])
    bridges = [sould.acp(umask=0o006 if n else 0o027) for n in range(count(20, 3))]
    session, unasked = new_session(sould, bridges[0]), new_session(sould, bridges[2])
    bridges[0].request("mode", "session/set_mode", sessionId=session, modeId="review")
    prompt(bridges[0], session, "first", "p1")
    collect(bridges[0], "p1")
    (sould.workspace / "new.txt").unlink()
    old = sould.owner
    assert old is not None
    # the beginning of a message is in the old daemon, the rest comes to the new one
    bridges[1].send(b'{"jsonrpc":"2.0","id":"half","method":"ses')
    done = sould.cli("restart")
    assert done.returncode == 0, done.stderr
    until(lambda: not old.alive())
    assert sould.pid != old.pid
    bridges[1].send(b'sion/list","params":{}}\n')
    assert "result" in bridges[1].answer("half")
    prompt(bridges[0], session, "second", "p2")
    messages, odd = collect(bridges[0], "p2")
    assert odd == []
    assert said(messages)
    assert messages[-1]["result"]["stopReason"] == "end_turn"
    prompt(bridges[2], unasked, "the first of it", "p3")
    assert collect(bridges[2], "p3")[0][-1]["result"]["stopReason"] == "end_turn"
    assert made(sould) == "0o640", "the umask is the editor's still"
    for bridge in bridges:
        assert bridge.process.poll() is None
    log = sould.log()
    assert log.count("took over") == 1
    assert "Traceback" not in log


def test_a_restart_waits_for_the_running_turn_unless_forced(sould: Sould) -> None:
    bridge, _ = at_work(sould)
    pid = sould.pid
    with sould.control() as daemon:
        assert daemon.ask(Restart()).running_turns == 1
        assert daemon.ask(GetStatus()).draining
        assert daemon.ask(Ping()).pid == pid
        daemon.ask(Restart(force=True))
    answer = bridge.answer("p1")
    assert "error" in answer or answer["result"]["stopReason"] != "end_turn"
    until(lambda: (owner := sould.owner) is not None and owner.pid != pid)
    assert "result" in bridge.request("list", "session/list")
    until(lambda: not _commands(sould))


def test_term_ends_the_running_turn_and_its_commands(sould: Sould) -> None:
    bridge, _ = at_work(sould)
    owner = sould.owner
    assert owner is not None
    os.kill(owner.pid, signal.SIGTERM)
    answer = bridge.answer("p1")
    assert "error" in answer or answer["result"]["stopReason"] != "end_turn"
    until(lambda: not owner.alive(), 5)
    assert bridge.wait() == 0
    until(lambda: not _commands(sould), 3)
    with sould.control(start=True) as daemon:
        report = daemon.ask(CheckJournals())
    assert report.problems == ()
    assert report.sessions == 1


@pytest.mark.parametrize("times", [count(10, 3)])
def test_text_that_streams_while_the_daemon_is_killed_is_neither_lost_nor_repeated(sould: Sould, times: int) -> None:
    """What the client had seen of a finished turn is not shown again, whenever the daemon dies afterwards."""
    sould.world.script([f"text: {'word ' * 50}{number}" for number in range(times)])
    bridge = sould.acp()
    session = new_session(sould, bridge)
    prompt(bridge, session, "first", "p0")
    first, _ = collect(bridge, "p0")
    assert said(first) == "word " * 50 + "0"
    sould.kill9()
    messages, _ = collect_after(bridge, "probe")
    assert said(messages) == ""


def collect_after(bridge: Bridge, identifier: str) -> tuple[list[dict[str, Any]], list[bytes]]:
    bridge.send({"jsonrpc": "2.0", "id": identifier, "method": "session/list", "params": {}})
    return collect(bridge, identifier)


def test_a_tool_of_the_editors_that_ran_at_a_kill_may_have_run_and_is_registered_again(sould: Sould) -> None:
    sould.world.script([call("open_file", "t1"), "text: done"])
    bridge = sould.bridge()
    able = {"_meta": {"sould": {"tools": True}}}
    assert "result" in bridge.request("init", "initialize", protocolVersion=1, clientCapabilities=able)
    session = new_session(sould, bridge)
    bridge.request("mode", "session/set_mode", sessionId=session, modeId="full")
    tools = [{"name": "open_file", "description": "Open it."}]
    register: dict[str, Any] = {"sessionId": session, "tools": tools}
    assert bridge.request("register", "_sould/tools/register", **register)["result"]["accepted"] == ["open_file"]
    prompt(bridge, session, "open it", "p1")
    _until_method(bridge, "_sould/tools/call")
    sould.kill9()
    bridge.send({"jsonrpc": "2.0", "id": "list", "method": "session/list", "params": {}})
    messages, _ = collect(bridge, "p1")
    assert messages[-1]["result"]["_meta"]["sould"]["kind"] == "interrupted"
    assert "may or may not have run" in json.dumps(messages)
    if not any(each.get("method") == "_sould/tools/forgotten" for each in messages):
        assert _until_method(bridge, "_sould/tools/forgotten")["params"] == {"sessionId": session}
    assert bridge.request("again", "_sould/tools/register", **register)["result"]["accepted"] == ["open_file"]
    bridge.request("full", "session/set_mode", sessionId=session, modeId="full")  # full access ended with the daemon
    prompt(bridge, session, "open it", "p2")
    request = _until_method(bridge, "_sould/tools/call")
    bridge.send({"jsonrpc": "2.0", "id": request["id"], "result": {"is_error": False, "output": "Opened"}})
    messages, _ = collect(bridge, "p2")
    assert said(messages) == "done"


def _until_method(bridge: Bridge, method: str) -> dict[str, Any]:
    while True:
        line = bridge.line(20.0)
        assert line, "the stream ended"
        if line.startswith(b"{") and line.endswith(b"}\n") and json.loads(line).get("method") == method:
            return json.loads(line)
