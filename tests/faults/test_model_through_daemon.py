"""Faults of model servers as an editor sees them: a bad model server behind the real daemon, one clear error, and the session goes on."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from soultest.daemon import fresh_sould, until
from soultest.faulty import KEY, Faulty, faulty_daemon


@pytest.fixture(scope="module")
def resident() -> Iterator[Faulty]:
    """One daemon for all tests: each leaves it as it was, which is asserted when the test is over."""
    with fresh_sould() as sould, faulty_daemon(sould) as running:
        yield running


@pytest.fixture
def faulty(resident: Faulty) -> Iterator[Faulty]:
    sould = resident.sould
    canary = sould.canary()
    yield replace(resident, asked_before=len(resident.requests()))
    sould.hang_up()
    sould.assert_healthy(resident.pid, canary)


ERRORS = [
    # scenario, kind of the error, most requests, text that was shown once
    ("[[status:500]]", "provider", 3, ""),
    ("[[status:503]]", "provider", 3, ""),
    ("[[retry_after:86400]]", "rate_limited", 1, ""),
    ("[[s401]]", "auth", 1, ""),
    ("[[html]]", "malformed", 1, ""),
    ("[[wrongtype]]", "malformed", 1, ""),
    ("[[redirect]]", "provider", 1, ""),
    ("[[cut:reset]]", "connection", 1, "one two "),
    ("[[cut:close]]", "connection", 1, "one two "),
    ("[[cut:clean]]", "connection", 1, "one two "),
    ("[[cut:before]]", "connection", 3, ""),
    ("[[malformed]]", "malformed", 1, "one "),
    ("[[midstream]]", "provider", 1, "one "),
    ("[[empty:choices]]", "empty", 2, ""),
    ("[[empty:nothing]]", "empty", 2, ""),
    ("[[empty:content]]", "empty", 2, ""),
    ("[[hang]]", "connection", 3, ""),
    ("[[silent:2]]", "connection", 1, None),
    ("[[bomb:200,text/html]]", "malformed", 1, ""),
]


def test_every_failure_is_one_error_and_the_session_goes_on(faulty: Faulty) -> None:
    """One editor, one session, all failures after each other: none of them wedges it."""
    editor = faulty.editor()
    for scenario, kind, most, shown in ERRORS:
        before_said, before_asked = len(editor.said()), len(faulty.requests())
        answer = editor.prompt(f"{scenario} please")
        assert "error" in answer, (scenario, answer)
        error = answer["error"]
        assert error["data"]["kind"] == kind, (scenario, error)
        assert error["message"]
        assert "Traceback" not in error["message"]
        assert KEY not in str(error)
        assert len(faulty.requests()) - before_asked <= most, scenario
        if shown is not None:
            assert editor.said()[before_said:] == shown, scenario
        assert editor.prompt("[[plain:fine]]")["result"]["stopReason"] == "end_turn", scenario


def test_the_key_is_nowhere_but_in_the_request(faulty: Faulty) -> None:
    editor = faulty.editor()
    refused = editor.prompt("[[s401]]")["error"]["message"]
    assert "variable SOULD_TEST_KEY" in refused
    assert "sould login server" in refused
    editor.prompt(
        "[[tool:Shell {\"command\": \"env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\\\0' '\\\\n' | grep -c canary\"}]]"
    )
    assert any(KEY in request["headers"].get("authorization", "") for request in faulty.requests())
    assert KEY not in str([update for update in editor.updates if update["sessionUpdate"] != "user_message_chunk"])
    assert faulty.shows_key() == []
    assert KEY.encode() not in Path(f"/proc/{faulty.pid}/cmdline").read_bytes()


def test_a_429_is_waited_out_and_said(faulty: Faulty) -> None:
    editor = faulty.editor()
    assert editor.prompt("[[s429:1,1]]")["result"]["stopReason"] == "end_turn"
    asked = [request["at"] for request in faulty.requests()]
    assert asked[1] - asked[0] >= 1.0


@pytest.mark.parametrize("kind", ["unclosed", "types", "unknown", "extra", "empty", "case", "homoglyph"])
def test_a_bad_call_never_runs_and_the_model_is_told(faulty: Faulty, kind: str) -> None:
    editor = faulty.editor()
    assert editor.prompt(f"[[badcall:{kind}]]")["result"]["stopReason"] == "end_turn"
    told = faulty.requests()[-1]["body"]["messages"][-1]
    assert told["role"] == "tool"
    assert len(str(told["content"])) < 4096
    failed = [update for update in editor.updates if update.get("status") == "failed"]
    assert failed


def test_bad_calls_for_ever_end_the_turn(faulty: Faulty) -> None:
    editor = faulty.editor()
    answer = editor.prompt("[[badcall:unknown!]]")
    assert answer["error"]["data"]["kind"] == "malformed"
    assert len(faulty.requests()) == 5


@pytest.mark.parametrize("kind", ["same", "null", "reused", "40"])
def test_calls_are_answered_apart_whatever_their_ids(faulty: Faulty, kind: str) -> None:
    (faulty.sould.workspace / "a.txt").write_text("hello\n")
    editor = faulty.editor()
    assert editor.prompt(f"[[ids:{kind}]]")["result"]["stopReason"] == "end_turn"
    calls = [update["toolCallId"] for update in editor.updates if update["sessionUpdate"] == "tool_call"]
    assert len(set(calls)) == len(calls) >= 2 or kind == "reused"
    history = faulty.requests()[-1]["body"]["messages"]
    results = [message["tool_call_id"] for message in history if message["role"] == "tool"]
    assert len(set(results)) == len(results)


def test_an_endless_loop_of_one_call_is_stopped(faulty: Faulty) -> None:
    (faulty.sould.workspace / "a.txt").write_text("hello\n")
    editor = faulty.editor()
    assert editor.prompt("[[loop]]")["result"]["stopReason"] == "max_turn_requests"
    assert len(faulty.requests()) == 12


def test_a_cycle_of_three_calls_is_stopped(faulty: Faulty) -> None:
    (faulty.sould.workspace / "a.txt").write_text("hello\n")
    editor = faulty.editor()
    assert editor.prompt("[[loop:cycle]]")["result"]["stopReason"] == "max_turn_requests"
    assert len(faulty.requests()) <= 40


def test_an_endless_answer_is_stopped(faulty: Faulty) -> None:
    editor = faulty.editor()
    answer = editor.prompt("[[endless:20000]]")
    assert answer["error"]["data"]["kind"] == "malformed"
    assert editor.prompt("[[plain:fine]]")["result"]["stopReason"] == "end_turn"


def test_cancelling_answers_cancelled_in_every_phase(faulty: Faulty) -> None:
    """Silent model, streaming, a running tool, a waiting approval; the next prompt works and is well formed."""
    editor = faulty.editor()
    phases = [
        ("[[hang]]", "ask"),
        ("[[paced:100000,1]]", "agent_message_chunk"),
        ('[[tool:Shell {"command": "echo run\'ning\'; sleep 100"}]]', "running"),
    ]
    for number, (scenario, sign) in enumerate(phases):
        identifier = f"p{number}"
        before = len(faulty.requests())
        editor.begin(scenario, identifier)
        if sign == "ask":
            until(lambda before=before: len(faulty.requests()) > before)
        else:
            editor.wait(lambda message, sign=sign: sign in str(message.get("params", {}).get("update", "")))
        editor.send("session/cancel", sessionId=editor.session)
        answer = editor.wait(lambda message, own=identifier: message.get("id") == own and "method" not in message)
        assert answer["result"]["stopReason"] == "cancelled", scenario
        assert editor.prompt("[[plain:fine]]")["result"]["stopReason"] == "end_turn"
        history = faulty.requests()[-1]["body"]["messages"]
        called = [call["id"] for message in history for call in message.get("tool_calls") or ()]
        assert called == [message["tool_call_id"] for message in history if message["role"] == "tool"]


def test_cancelling_a_waiting_approval_answers_though_the_editor_never_does(faulty: Faulty) -> None:
    editor = faulty.editor()
    editor.answer = ""
    editor.begin('[[tool:WriteFile {"path": "b.txt", "content": "x"}]]', "p")
    editor.wait(lambda message: message.get("method") == "session/request_permission")
    editor.send("session/cancel", sessionId=editor.session)
    answer = editor.wait(lambda message: message.get("id") == "p" and "method" not in message)
    assert answer["result"]["stopReason"] == "cancelled"
    assert not (faulty.sould.workspace / "b.txt").exists()
    editor.answer = "allow_once"
    assert editor.prompt("[[plain:fine]]")["result"]["stopReason"] == "end_turn"


def test_one_sessions_failure_leaves_another_alone(faulty: Faulty) -> None:
    steady, failing = faulty.editor(), faulty.editor()
    steady.begin("[[paced:400,2]]", "s")
    for scenario in ("[[status:500]]", "[[html]]", "[[cut:reset]]", "[[bomb:200,text/html]]"):
        assert "error" in failing.prompt(scenario)
    answer = steady.wait(lambda message: message.get("id") == "s" and "method" not in message)
    assert answer["result"]["stopReason"] == "end_turn"
