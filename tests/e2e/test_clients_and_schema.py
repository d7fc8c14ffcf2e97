"""The judges are judged first: the three clients against a known agent, the schema against known faults."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from soultest import probeagent
from soultest.clients import CLIENTS, ClientName, Scenario, run
from soultest.schema import PACKAGE, SCHEMAS, Transcript


def scenario(tmp_path: Path, *steps: tuple[Any, ...], reject: bool = False) -> Scenario:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("old\n")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PROBE_STORE": str(tmp_path / "store.json")}
    command = (sys.executable, probeagent.__file__)
    opening = (("initialize",), ("new",))
    return Scenario(command, project, (*opening, *steps), environment, "reject_once" if reject else "allow_once")


@pytest.mark.node
@pytest.mark.parametrize("name", ["schema.json", "schema.unstable.json"])
def test_the_schema_that_judges_is_the_one_of_the_locked_package(name: str) -> None:
    assert (SCHEMAS / name).read_text() == (PACKAGE / "schema" / "v1" / name).read_text()


@pytest.mark.node
@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_reports_text_edits_plans_errors_and_cancelling(client: ClientName, tmp_path: Path) -> None:
    play = scenario(
        tmp_path,
        ("prompt", 0, "text"),
        ("prompt", 0, "edit a.txt new"),
        ("prompt", 0, "plan"),
        ("prompt", 0, "fail"),
        ("prompt", 0, "wait", "agent_message_chunk"),
        ("list",),
        ("close", 0),
    )
    seen = run(client, play, tmp_path)
    seen.transcript.check()
    assert seen.text == "Hello from the probe.Done.Waiting."
    assert [each["stopReason"] for each in seen.results("prompt")] == ["end_turn", "end_turn", "end_turn", "cancelled"]
    assert (play.cwd / "a.txt").read_text() == "new"
    assert seen.of("permission")[0]["outcome"] == {"outcome": "selected", "optionId": "yes"}
    assert [each["content"] for each in seen.updates("plan")[0]["entries"]] == ["Look"]
    assert [each["message"] for each in seen.of("error")] == ["The model answered 500."]
    assert len(seen.results("list")[0]["sessions"]) == 1


@pytest.mark.node
@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_can_reject(client: ClientName, tmp_path: Path) -> None:
    play = scenario(tmp_path, ("prompt", 0, "edit a.txt new"), reject=True)
    seen = run(client, play, tmp_path)
    assert seen.of("permission")[0]["outcome"] == {"outcome": "selected", "optionId": "no"}
    assert (play.cwd / "a.txt").read_text() == "old\n"


CHUNK = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}
CALL = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "t"}


def update(body: dict[str, Any], session: str = "s") -> dict[str, Any]:
    return {"method": "session/update", "params": {"sessionId": session, "update": body}}


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (update(CHUNK), ""),
        (update({**CHUNK, "messageId": None, "_meta": {"anything": [1]}}), ""),
        (update({**CALL, "rawInput": {"any": "thing"}}), ""),
        (update({**CHUNK, "sessionId": "s"}), "SessionNotification.update"),
        (update({**CHUNK, "content": {"type": "text"}}), "SessionNotification.update"),
        (update({"sessionUpdate": "made_up"}), "SessionNotification.update"),
        (update({**CALL, "kind": "wonder"}), "SessionNotification.update"),
        (update({**CALL, "sessionUpdate": "tool_call_update"}), "not announced"),
        (update(CHUNK, "other"), "which no response has introduced"),
        ({"id": 7, "result": {}}, "which was not asked"),
        ({"id": 2, "result": {"stopReason": "done"}}, "PromptResponse.stopReason"),
        ({"id": 2, "result": {"stopReason": "end_turn"}}, ""),
        ({"id": 2, "error": {"code": "x", "message": "m"}}, "Error.code"),
        ({"id": 2}, "either a result or an error"),
        ({"method": "session/unheard_of", "params": {}}, "no notification session/unheard_of"),
        ({"method": "_sould/review", "params": {"anything": 1}}, ""),
        ({"id": None, "error": {"code": -32700, "message": "m"}}, ""),
    ],
)
def test_the_judge_finds_what_breaks_the_protocol(said: dict[str, Any], fault: str) -> None:
    transcript = Transcript()
    transcript.client_said(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {}}))
    transcript.agent_said(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s"}}))
    transcript.client_said(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": {}}))
    transcript.agent_said(json.dumps({"jsonrpc": "2.0", **said}))
    assert fault in "\n".join(transcript.faults) if fault else not transcript.faults


@pytest.mark.parametrize("line", ["", "hello", "[]", "{}", '{"id": 1}'])
def test_the_judge_refuses_what_is_no_message(line: str) -> None:
    transcript = Transcript()
    transcript.agent_said(line)
    assert transcript.faults
