"""State as an editor sees it: killed, full and shared state behind the real daemon."""

import json
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sould.agents.journal.records import read_records
from sould.agents.wire.content import TextPart, ThinkPart
from sould.daemon.cli.running import RunningDaemon
from sould.daemon.methods import CheckJournals, Stop
from soultest.daemon import Sould, count, until
from soultest.disks import mounted
from soultest.faulty import Editor
from soultest.processes import marked
from soultest.world import call


def test_a_turn_killed_with_its_daemon_is_closed_honestly_for_the_next_editor(sould: Sould) -> None:
    sould.world.script([call("Shell", "1", command="echo ran >> ran; echo ru'nn'ing; sleep 1000"), "text: next"])
    editor = Editor(sould, sould.acp())
    session = editor.open()
    editor.begin("go", "p")
    editor.wait(lambda message: "running" in str(message.get("params", {}).get("update", "")))
    sould.kill9()
    died = editor.wait(lambda message: message.get("id") == "p" and "method" not in message)
    assert died["result"]["_meta"]["sould"]["kind"] == "interrupted"
    until(
        lambda: (
            not [
                pid
                for pid in marked(sould.mark)
                if pid not in {bridge.process.pid for bridge in sould.bridges} | {sould.pid}
            ]
        )
    )
    other = Editor(sould, sould.acp())
    other.request("session/load", sessionId=session, cwd=str(sould.workspace), mcpServers=[])
    other.session = session
    shown = [update for update in other.updates if update["sessionUpdate"] in ("tool_call", "tool_call_update")]
    assert shown[-1]["status"] == "failed"
    assert (sould.workspace / "ran").read_text() == "ran\n"
    sould.world.script(["text: next"])
    assert other.prompt("go on")["result"]["stopReason"] == "end_turn"


@pytest.fixture
def small_state(sould: Sould) -> Iterator[Path]:
    """The state directory on a file system of 400 KiB."""
    state = Path(sould.environment["XDG_STATE_HOME"])
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    with mounted(state, "400k"):
        yield state
        sould.close()


@pytest.mark.needs_root
def test_a_full_disk_refuses_prompts_in_one_sentence_and_recovers_without_a_restart(
    sould: Sould, small_state: Path
) -> None:
    sould.world.script([f"text: {number}" for number in range(9)])
    editor = Editor(sould, sould.acp())
    editor.open()
    assert editor.prompt("one")["result"]["stopReason"] == "end_turn"
    ballast = small_state / "ballast"
    with ballast.open("wb") as file:
        try:
            while True:
                os.write(file.fileno(), b"x" * 512)
        except OSError:
            pass
    refused = editor.prompt("two " + "y" * 20_000)
    assert refused["error"]["data"]["kind"] == "disk_full"
    assert "disk" in refused["error"]["message"].lower()
    ballast.unlink()
    assert editor.prompt("three")["result"]["stopReason"] == "end_turn"
    with sould.control() as daemon:
        assert [problem for problem in daemon.ask(CheckJournals()).problems if problem.severity == "error"] == []


def test_a_session_open_in_another_daemon_is_refused_by_its_pid(sould: Sould) -> None:
    sould.world.script(["text: one"])
    editor = Editor(sould, sould.acp())
    session = editor.open()
    editor.prompt("hi")
    elsewhere = Path(sould.environment["HOME"]) / "run2"
    elsewhere.mkdir(mode=0o700)
    first = sould.pid
    other = Editor(sould, sould.acp(env={"XDG_RUNTIME_DIR": str(elsewhere)}))
    refusal = other.request("session/load", sessionId=session, cwd=str(sould.workspace), mcpServers=[])
    assert str(first) in refusal["error"]["message"]
    assert editor.prompt("still mine")["error"]["data"]["kind"] == "provider"
    with RunningDaemon.connect(environment=sould.environment | {"XDG_RUNTIME_DIR": str(elsewhere)}) as second:
        second.ask(Stop(force=True))
        second.wait_gone()


def test_one_bad_session_never_hides_the_others(sould: Sould) -> None:
    sould.world.script(["text: one"])
    editor = Editor(sould, sould.acp())
    session = editor.open()
    editor.prompt("the good one")
    sessions = Path(sould.environment["XDG_STATE_HOME"]) / "sould" / "sessions"
    (sessions / "BAD1").mkdir()
    (sessions / "BAD1" / "wire.jsonl").mkdir()
    (sessions / "BAD2").mkdir()
    (sessions / "BAD2" / "wire.jsonl").write_bytes(b"\xef\xbb\xbf\x00\x00")
    (sessions / "BAD3").write_text("a file")
    listed = editor.request("session/list")["result"]["sessions"]
    assert session in [each["sessionId"] for each in listed]
    refusal = editor.request("session/load", sessionId="BAD2", cwd=str(sould.workspace), mcpServers=[])
    assert "error" in refusal


def test_a_journal_of_a_newer_format_is_refused_with_a_sentence_and_left_as_it_is(sould: Sould) -> None:
    sould.world.script(["text: one"])
    editor = Editor(sould, sould.acp())
    session = editor.open()
    editor.prompt("the good one")
    editor.request("session/close", sessionId=session)
    sessions = Path(sould.environment["XDG_STATE_HOME"]) / "sould" / "sessions"
    (sessions / session).rename(sessions / "NEWER")
    journal = sessions / "NEWER" / "wire.jsonl"
    first, rest = journal.read_bytes().split(b"\n", 1)
    written = first.replace(b'"format":1', b'"format":7') + b"\n" + rest + b"\x01\x02 a record of another kind\n"
    journal.write_bytes(written)
    refusal = editor.request("session/load", sessionId="NEWER", cwd=str(sould.workspace), mcpServers=[])
    assert "written by a newer sould (journal format 7; this one writes 1)" in refusal["error"]["message"]
    assert "Update sould, then run `sould restart`" in refusal["error"]["message"]
    listed = editor.request("session/list")["result"]["sessions"]
    assert [each["sessionId"] for each in listed] == ["NEWER"]
    with sould.control() as daemon:
        assert "newer sould" in daemon.ask(CheckJournals()).problems[0].problem
    assert "the good one" in sould.cli("sessions", "export", "NEWER").stdout
    assert journal.read_bytes() == written
    assert not list(journal.parent.glob("wire.jsonl.torn-*"))


def test_what_an_editor_was_shown_before_a_kill_is_all_there_afterwards(sould: Sould) -> None:
    thought, said = [f"t{number}…" for number in range(100)], [f'{number}"' for number in range(3000)]
    steps = [*(f"think: {piece}" for piece in thought), *(f"text: {piece}" for piece in said)]
    sould.world.script(["\nwait: 0.002\n".join(steps)])
    chance = random.Random(9)
    for _ in range(count(100, 4)):
        editor = Editor(sould, sould.acp())
        session = editor.open()
        editor.begin("go", "p")
        for _ in range(chance.randrange(1, 300)):
            editor.wait(lambda message: message.get("method") == "session/update")
        editor.bridge.process.send_signal(signal.SIGSTOP)  # else it would go on with the next daemon
        sould.kill9()
        editor.bridge.process.kill()
        while (line := editor.bridge.line()).endswith(b"\n"):
            editor.messages.append(json.loads(line))
        kept = streamed(read_journal(sould, session))
        assert "".join((*thought, *said)).startswith(kept)
        assert kept.startswith(streamed(editor.updates))
        other = Editor(sould, sould.acp())
        other.request("session/load", sessionId=session, cwd=str(sould.workspace), mcpServers=[])
        assert streamed(other.updates) == kept


def read_journal(sould: Sould, session: str) -> list[dict[str, Any]]:
    """The parts of the session's streaming messages, as updates."""
    journal = Path(sould.environment["XDG_STATE_HOME"], "sould", "sessions", session, "wire.jsonl")
    messages = [record.message for record in read_records(journal)]
    texts = [
        part.text if isinstance(part, TextPart) else part.think
        for part in messages
        if isinstance(part, TextPart | ThinkPart)
    ]
    return [{"sessionUpdate": "agent_message_chunk", "content": {"text": text}} for text in texts]


def streamed(updates: list[dict[str, Any]]) -> str:
    """Thought and text in their order, up to the notice of what happened."""
    kinds = ("agent_thought_chunk", "agent_message_chunk")
    shown = "".join(update["content"]["text"] for update in updates if update["sessionUpdate"] in kinds)
    return shown.partition("[")[0]


def test_a_reject_that_waits_when_the_daemon_is_killed_is_carried_out_by_the_next_one(sould: Sould) -> None:
    path = sould.workspace / "a.txt"
    path.write_text("1\n2\n3\n")
    command = call("Shell", "1", command="printf '1\\ntwo\\n3\\n' > a.txt")
    sould.world.script([command, "text: and now\nwait: 1000\ntext: never"])
    editor = Editor(sould, sould.acp())
    editor.open()
    editor.begin("go", "p")
    editor.wait(lambda message: "and now" in json.dumps(message))  # a model that writes holds rejects back
    reviewer = Editor(sould, sould.acp())
    where = {"cwd": str(sould.workspace)}
    [file] = reviewer.request("_sould/review/list", **where)["result"]["files"]
    [hunk] = file["hunks"]
    outcome = reviewer.request("_sould/review/reject", **where, hunks=[{"id": hunk["id"], "digest": hunk["digest"]}])
    assert outcome["result"]["done"][0]["waits"]
    assert path.read_text() == "1\ntwo\n3\n"

    sould.kill9()
    other = Editor(sould, sould.acp())
    assert other.request("_sould/review/list", **where)["result"]["files"] == []
    assert path.read_text() == "1\n2\n3\n"


def test_a_command_in_a_new_session_finds_what_it_wrote_where_a_reject_of_a_killed_daemon_waits(sould: Sould) -> None:
    path = sould.workspace / "a.txt"
    path.write_text("1\n2\n3\n")
    command = call("Shell", "1", command="printf '1\\ntwo\\n3\\n' > a.txt")
    sould.world.script([command, "text: and now\nwait: 1000\ntext: never"])
    editor = Editor(sould, sould.acp())
    editor.open()
    editor.begin("go", "p")
    editor.wait(lambda message: "and now" in json.dumps(message))
    where = {"cwd": str(sould.workspace)}
    [file] = editor.request("_sould/review/list", **where)["result"]["files"]
    hunk = {"id": file["hunks"][0]["id"], "digest": file["hunks"][0]["digest"]}
    assert editor.request("_sould/review/reject", **where, hunks=[hunk])["result"]["done"][0]["waits"]
    editor.bridge.process.send_signal(signal.SIGSTOP)  # else it would go on with the next daemon
    sould.kill9()
    editor.bridge.process.kill()

    sould.world.script([call("Shell", "2", command="printf 'new\\n' > b.txt"), "text: done"])
    other = Editor(sould, sould.acp())
    other.open()
    other.begin("go", "q")
    other.wait(lambda message: message.get("id") == "q")
    files = other.request("_sould/review/list", **where)["result"]["files"]
    assert [Path(each["path"]).name for each in files] == ["b.txt"]
    assert path.read_text() == "1\n2\n3\n"
