"""Sessions of `sould kimi` live where kimi-cli keeps them, and those that it left there go on."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

from sould.agents.wire.content import TextPart
from sould.daemon.process.fsck import check_sessions
from soultest.bench import Bench, call
from soultest.bench.acp import Connect
from soultest.bench.looks import messages_of
from soultest.kimisessions import STARTED, folder_of, keep, lines_of, text, tool_call, tool_result, turn, wire_lines
from soultest.wireprogram import NEW, WireProgram, wire_connected

ONE = "0b0e7f64-7c1c-4a8e-9f0e-3f3a4b1f2c11"
TWO = "5d2c4a0e-2a55-4a10-8a3c-b7a2f57e0c22"


def share_of(bench: Bench) -> Path:
    return bench.root / "share"


def kimi(bench: Bench, *arguments: str) -> Any:
    environment = {"KIMI_SHARE_DIR": str(share_of(bench)), "HOME": str(bench.root)}
    return wire_connected(bench, "kimi", "--wire", *arguments, env=environment)


async def replayed(program: WireProgram) -> list[tuple[str, Any]]:
    before = len(program.lines)
    await program.result("replay")
    told = [line["params"] for line in program.lines[before:] if "method" in line]
    return [(each["type"], each["payload"]) for each in told]


def said_to_model(session: Any) -> list[str]:
    return [part.text for each in messages_of(session) for part in each.content if isinstance(part, TextPart)]


async def test_a_session_is_begun_with_the_id_that_the_program_chose_and_lies_in_kimi_cli_s_layout(
    bench: Bench,
) -> None:
    bench.script("text: hello", "text: again")
    async with bench.running():
        async with kimi(bench, "--session", ONE) as program:
            said = await program.result("initialize", **NEW)
            assert said["sould"]["session_id"] == ONE
            await program.result("prompt", user_input="hi there")
        directory = folder_of(share_of(bench), bench.project) / ONE
        records = [json.loads(line) for line in (directory / "wire.jsonl").read_bytes().splitlines()]
        assert records[0]["type"] == "metadata"
        assert records[0]["protocol_version"] == "1.10"
        assert {"timestamp", "message"} <= records[1].keys()
        assert (directory / "context.jsonl").exists()
        assert json.loads((share_of(bench) / "kimi.json").read_text()) == {
            "work_dirs": [{"path": str(bench.project), "kaos": "local", "last_session_id": ONE}]
        }
        async with kimi(bench, "--continue") as program:
            assert (await program.result("initialize", **NEW))["sould"]["session_id"] == ONE
            await program.result("prompt", user_input="more")
            asked = [payload["user_input"] for kind, payload in await replayed(program) if kind == "TurnBegin"]
            assert asked == ["hi there", "more"]
    assert [each.name for each in folder_of(share_of(bench), bench.project).iterdir()] == [ONE]


async def test_what_kimi_json_says_otherwise_stays(bench: Bench) -> None:
    bench.script("text: hello")
    other = {"path": "/other", "kaos": "local", "last_session_id": TWO}
    remote = {"path": str(bench.project), "kaos": "ssh", "last_session_id": TWO}
    share_of(bench).mkdir()
    (share_of(bench) / "kimi.json").write_text(json.dumps({"thinking": True, "work_dirs": [other, remote]}))
    async with bench.running(), kimi(bench, "--session", ONE) as program:
        await program.result("initialize", **NEW)
    ours = {"path": str(bench.project), "kaos": "local", "last_session_id": ONE}
    found = json.loads((share_of(bench) / "kimi.json").read_text())
    assert found == {"thinking": True, "work_dirs": [other, remote, ours]}


async def test_an_id_that_cannot_name_a_session_is_refused(bench: Bench) -> None:
    async with bench.running(), kimi(bench, "--session", "../../x") as program:
        assert "cannot name a session" in (await program.error("initialize", **NEW))["message"]
    assert not (share_of(bench) / "sessions").exists() or not list((share_of(bench) / "sessions").rglob("wire.jsonl"))


async def test_a_session_that_kimi_cli_left_goes_on_as_its_program_and_its_model_know_it(bench: Bench) -> None:
    bench.script("text: plugh")
    step = ("StepBegin", {"n": 2})
    wire = wire_lines(
        *turn(
            "The word is plugh.",
            tool_call("c1", "Shell", command="ls"),
            tool_result("c1", "a.txt"),
            step,
            text("Noted."),
        ),
        ("ApprovalRequestResolved", {"request_id": "r", "response": "approve"}),
        ("FutureThing", {"x": 1}),
    )
    wire = wire.replace(b"\n", b"\nno record\n", 1)
    state = {"version": 1, "custom_title": "The word", "approval": {"yolo": True}, "mode": "full"}
    directory = keep(share_of(bench), bench.project, ONE, wire, lines_of({"role": "user", "content": "x"}), state)
    async with bench.running(), kimi(bench, "--session", ONE) as program:
        await program.result("initialize", **NEW)
        session = bench.host.sessions[ONE]
        assert session.info.title == "The word"
        assert session.parts.choices.state.mode is None, "what a file says is no permission"
        kinds = [kind for kind, _ in await replayed(program)]
        assert kinds[:6] == ["TurnBegin", "StepBegin", "ToolCall", "ToolResult", "StepBegin", "ContentPart"]
        await program.result("prompt", user_input="Which word?")
        assert said_to_model(session)[:3] == ["The word is plugh.", "a.txt", "Noted."]
    assert (directory / "wire.kimi.jsonl").read_bytes() == wire
    assert b"FutureThing" in (directory / "wire.jsonl").read_bytes()
    assert json.loads((directory / "state.json").read_text())["approval"] == {"yolo": True}
    async with bench.running():
        [report] = (await bench.port.stored.list(None, None)).items
        assert (report.id, report.title, report.turns) == (ONE, "The word", 2)


async def test_a_turn_in_whose_middle_kimi_cli_ended_is_closed_and_nothing_of_it_runs(bench: Bench) -> None:
    asked = {"id": "r1", "tool_call_id": "c1", "sender": "Shell", "action": "run command", "description": "touch made"}
    wire = wire_lines(
        *turn("do it", tool_call("c1", "Shell", command="touch made"), ("ApprovalRequest", asked), ended=False)
    )
    keep(share_of(bench), bench.project, ONE, wire)
    async with bench.running(), kimi(bench, "--session", ONE) as program:
        await program.result("initialize", **NEW)
        assert bench.host.sessions[ONE].log.recovery.clean
        told = await replayed(program)
        assert [kind for kind, _ in told][-2:] == ["ToolResult", "TurnEnd"]
        assert "may or may not have run" in told[-2][1]["return_value"]["message"]
        assert not program.events("ApprovalRequest")
    assert not (bench.project / "made").exists()


async def test_the_latest_session_that_kimi_cli_left_is_continued(bench: Bench) -> None:
    bench.script("text: hello")
    for number, each in enumerate((TWO, ONE)):
        directory = keep(share_of(bench), bench.project, each, wire_lines(*turn(f"say {number}", text("yes"))))
        os.utime(directory / "wire.jsonl", (STARTED, STARTED + number))
    async with bench.running(), kimi(bench, "--continue") as program:
        assert (await program.result("initialize", **NEW))["sould"]["session_id"] == ONE


async def test_editors_list_find_and_open_it_live(bench: Bench, connect: Connect) -> None:
    bench.script("text: from both")
    keep(share_of(bench), bench.project, ONE, wire_lines(*turn("The word is plugh.", text("Noted."))))
    keep(share_of(bench), bench.project, TWO, wire_lines(*turn("Another.", text("Yes."))))
    async with bench.running(), kimi(bench, "--session", TWO) as program, connect() as editor:
        await program.result("initialize", **NEW)
        await editor.initialize()
        listed = await editor.request("session/list", cwd=str(bench.project))
        assert {each["sessionId"]: each["title"] for each in listed["sessions"]} == {
            ONE: "The word is plugh.",
            TWO: "Another.",
        }
        found = await bench.port.stored.search("plugh")
        assert [each.info.id for each in found] == [ONE]
        await editor.request("session/load", sessionId=TWO, cwd=str(bench.project), mcpServers=[])
        assert await program.result("prompt", user_input="go") == {"status": "finished"}
        await editor.wait_update("agent_message_chunk", lambda update: "from both" in update["content"]["text"])
        async with wire_connected(bench, "--session", TWO) as another:
            assert (await another.result("initialize", **NEW))["sould"]["session_id"] == TWO
            assert "from both" in json.dumps(await replayed(another))
        await editor.request("session/load", sessionId=ONE, cwd=str(bench.project), mcpServers=[])
        assert "Noted." in editor.text(ONE)


async def test_deleting_it_by_hand_or_here_leaves_nothing(bench: Bench) -> None:
    folder = folder_of(share_of(bench), bench.project)
    bench.script("text: hello")
    for each in (ONE, TWO):
        keep(share_of(bench), bench.project, each, wire_lines(*turn("hi", text("yes"))))
    async with bench.running():
        async with kimi(bench) as program:
            await program.result("initialize", **NEW)
        shutil.rmtree(folder / ONE)
        listed = await bench.port.stored.list(bench.project, None)
        assert [each.id for each in listed.items] == [TWO]
        await bench.port.stored.delete(TWO)
        assert not (await bench.port.stored.list(bench.project, None)).items
    assert not (folder / TWO).exists()


async def test_a_fork_and_an_export_have_what_kimi_cli_wrote(bench: Bench) -> None:
    keep(share_of(bench), bench.project, ONE, wire_lines(*turn("The word is plugh.", text("Noted."))))
    bench.script("text: hello")
    async with bench.running():
        async with kimi(bench) as program:
            await program.result("initialize", **NEW)
        assert "Noted." in await bench.port.stored.markdown(ONE)
        fork = await bench.host.fork(ONE, bench.opening())
        assert said_to_model(fork)[:2] == ["The word is plugh.", "Noted."]
        assert not (bench.state / "sessions" / fork.id).is_symlink()


async def test_what_kimi_cli_wrote_is_no_damage(bench: Bench) -> None:
    keep(share_of(bench), bench.project, ONE, wire_lines(*turn("one", text("first")), version=None))
    keep(share_of(bench), bench.project, TWO, None, lines_of({"role": "user", "content": "one"}))
    async with bench.running(), kimi(bench) as program:
        await program.result("initialize", **NEW)
        assert bench.port.stored.get(ONE)
        assert bench.port.stored.get(TWO)
        assert not check_sessions(bench.state, None).problems
        share_of(bench).rename(bench.root / "away")
        assert not check_sessions(bench.state, None).problems
        (bench.root / "away").rename(share_of(bench))


async def test_a_compacted_session_remembers_the_summary_and_what_was_kept(bench: Bench) -> None:
    mark = "<system>Previous context has been compacted. Here is the compaction output:</system>"
    summary = [{"type": "text", "text": mark}, {"type": "text", "text": "They spoke of caves."}]
    context = lines_of({"role": "_system_prompt", "content": "p"}, {"role": "user", "content": summary})
    wire = wire_lines(
        *turn("one", text("first")),
        *turn("two", text("second")),
        ("CompactionBegin", {}),
        ("CompactionEnd", {}),
        *turn("three", text("third")),
    )
    keep(share_of(bench), bench.project, ONE, wire, context)
    async with bench.running(), kimi(bench, "--session", ONE) as program:
        await program.result("initialize", **NEW)
        said = said_to_model(bench.host.sessions[ONE])
        assert said[1:] == ["They spoke of caves.", "two", "second", "three", "third"]


async def test_what_was_cleared_is_not_remembered_and_stays_in_the_replay(bench: Bench) -> None:
    wire = wire_lines(
        *turn("one", text("first")),
        ("TurnBegin", {"user_input": "/clear"}),
        text("The context has been cleared."),
        ("TurnEnd", {}),
        *turn("two", text("second")),
    )
    keep(share_of(bench), bench.project, ONE, wire)
    async with bench.running(), kimi(bench, "--session", ONE) as program:
        await program.result("initialize", **NEW)
        assert said_to_model(bench.host.sessions[ONE]) == ["two", "second"]
        assert "first" in json.dumps(await replayed(program))


async def test_an_old_session_without_turn_ends_is_whole(bench: Bench) -> None:
    old = [*turn("one", text("first"), ended=False), *turn("two", text("second"), ended=False)]
    keep(share_of(bench), bench.project, ONE, wire_lines(*old, version=None))
    async with bench.running(), kimi(bench, "--session", ONE) as program:
        await program.result("initialize", **NEW)
        assert said_to_model(bench.host.sessions[ONE]) == ["one", "first", "two", "second"]
        kinds = [kind for kind, _ in await replayed(program)]
        assert kinds.count("TurnEnd") == kinds.count("TurnBegin") == 2


async def test_what_was_said_before_kimi_cli_kept_a_journal_is_there(bench: Bench) -> None:
    context = lines_of(
        {"role": "user", "content": "The word is plugh."},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": "second"},
    )
    keep(share_of(bench), bench.project, ONE, wire_lines(*turn("two", text("second"))), context)
    keep(share_of(bench), bench.project, TWO, None, context)
    async with bench.running():
        for session_id in (ONE, TWO):
            async with kimi(bench, "--session", session_id) as program:
                await program.result("initialize", **NEW)
                said = said_to_model(bench.host.sessions[session_id])
                assert [each for each in said if not each.startswith("<system>")] == [
                    *("The word is plugh.", "Noted.", "two", "second")
                ]


async def test_links_and_devices_in_kimi_cli_s_directory_are_left_alone(bench: Bench) -> None:
    bench.script("text: hello")
    secret = bench.root / "secret"
    secret.mkdir()
    (secret / "wire.jsonl").write_bytes(wire_lines(*turn("secret", text("words"))))
    folder = folder_of(share_of(bench), bench.project)
    keep(share_of(bench), bench.project, "pipe", None)
    os.mkfifo(folder / "pipe" / "wire.jsonl")
    keep(share_of(bench), bench.project, "linked", None)
    (folder / "linked" / "wire.jsonl").symlink_to(secret / "wire.jsonl")
    (folder / "whole").symlink_to(secret)
    async with bench.running():
        async with kimi(bench) as program:
            await program.result("initialize", **NEW)
        assert not (await bench.port.stored.list(bench.project, None)).items
        async with kimi(bench, "--session", "linked") as program:
            assert "cannot be stored" in (await program.error("initialize", **NEW))["message"]
    assert (folder / "linked" / "wire.jsonl").is_symlink()


async def test_a_conversion_that_the_disk_refuses_leaves_everything_as_it_was(bench: Bench) -> None:
    wire = wire_lines(*turn("one", text("first")))
    directory = keep(share_of(bench), bench.project, ONE, wire)
    async with bench.running():
        (directory / "wire.kimi.jsonl.new").mkdir()
        async with kimi(bench, "--session", ONE) as program:
            assert "cannot be taken over" in (await program.error("initialize", **NEW))["message"]
        assert (directory / "wire.jsonl").read_bytes() == wire
        (directory / "wire.kimi.jsonl.new").rmdir()
        async with kimi(bench, "--session", ONE) as program:
            await program.result("initialize", **NEW)
            assert said_to_model(bench.host.sessions[ONE]) == ["one", "first"]


async def test_what_kimi_cli_added_to_a_session_of_ours_is_taken_over(bench: Bench) -> None:
    bench.script("text: ours", "text: after")
    async with bench.running(), kimi(bench, "--session", ONE) as program:
        await program.result("initialize", **NEW)
        await program.result("prompt", user_input="one")
    directory = folder_of(share_of(bench), bench.project) / ONE
    with (directory / "wire.jsonl").open("ab") as journal:
        journal.write(wire_lines(*turn("theirs", text("added")), version=None))
    async with bench.running(), kimi(bench, "--session", ONE) as program:
        await program.result("initialize", **NEW)
        assert said_to_model(bench.host.sessions[ONE]) == ["one", "ours", "theirs", "added"]


async def test_closing_a_session_that_nobody_used_here_keeps_what_kimi_cli_said_in_it(bench: Bench) -> None:
    directory = folder_of(share_of(bench), bench.project) / ONE
    async with bench.running(), kimi(bench, "--session", ONE) as program:
        await program.result("initialize", **NEW)
        with (directory / "wire.jsonl").open("ab") as journal:
            journal.write(wire_lines(*turn("theirs", text("added")), version=None))
        await bench.host.close(ONE, next(iter(bench.host.sessions[ONE].parts.attached.by_id)))
        assert b"theirs" in (directory / "wire.jsonl").read_bytes()


async def test_a_fork_that_a_program_cuts_from_a_session_of_ours_goes_on(bench: Bench) -> None:
    bench.script("text: first", "text: second")
    folder = folder_of(share_of(bench), bench.project)
    async with bench.running():
        async with kimi(bench, "--session", ONE) as program:
            await program.result("initialize", **NEW)
            for asked in ("one", "two"):
                await program.result("prompt", user_input=asked)
        lines = (folder / ONE / "wire.jsonl").read_bytes().splitlines(keepends=True)
        end = next(at for at, line in enumerate(lines) if b'"type":"TurnEnd"' in line)
        (folder / TWO).mkdir()
        (folder / TWO / "wire.jsonl").write_bytes(b"".join(lines[: end + 1]))
        async with kimi(bench, "--session", TWO) as program:
            await program.result("initialize", **NEW)
            assert said_to_model(bench.host.sessions[TWO]) == ["one", "first"]
            assert bench.host.sessions[TWO].info.title == "one"


async def test_a_session_of_another_directory_is_not_opened_here(bench: Bench) -> None:
    other = bench.root / "other"
    other.mkdir()
    async with bench.running(), kimi(bench, "--session", ONE, "--work-dir", str(other)) as program:
        await program.result("initialize", **NEW)
        async with kimi(bench, "--session", ONE) as another:
            assert f"in {other}" in (await another.error("initialize", **NEW))["message"]


async def test_a_directory_that_the_user_added_is_added_and_an_approval_is_not(bench: Bench) -> None:
    more = bench.root / "more"
    more.mkdir()
    state = {
        "version": 1,
        "approval": {"yolo": True, "afk": False, "auto_approve_actions": ["run command"]},
        "additional_dirs": [str(more), "/does/not/exist", 7],
    }
    keep(share_of(bench), bench.project, ONE, wire_lines(*turn("one", text("first"))), state=state)
    bench.script(call("Shell", command="touch made"), "text: done")
    async with bench.running(), kimi(bench, "--session", ONE) as program:
        await program.result("initialize", **NEW)
        assert list(bench.host.sessions[ONE].parts.services.workplace.directories) == [more]
        asked = program.ask("prompt", user_input="go")
        payload = await program.until("ApprovalRequest")
        program.send({"id": payload["id"], "result": {"request_id": payload["id"], "response": "reject"}})
        await program.answer(asked)
    assert not (bench.project / "made").exists()


async def test_two_programs_that_begin_the_same_session_at_once_are_both_in_it(bench: Bench) -> None:
    async with bench.running(), kimi(bench, "--session", ONE) as one, kimi(bench, "--session", ONE) as other:
        asked = [program.ask("initialize", **NEW) for program in (one, other)]
        answers = [await program.answer(request) for program, request in zip((one, other), asked, strict=True)]
        assert [answer["result"]["sould"]["session_id"] for answer in answers] == [ONE, ONE]


async def test_a_session_that_cannot_begin_as_asked_leaves_nothing(bench: Bench) -> None:
    async with bench.running():
        async with kimi(bench, "--session", ONE, "--model", "typo") as program:
            assert "typo" in (await program.error("initialize", **NEW))["message"]
        assert not (folder_of(share_of(bench), bench.project) / ONE).exists()
        assert not (share_of(bench) / "kimi.json").exists()
        async with kimi(bench, "--session", ONE) as program:
            assert (await program.result("initialize", **NEW))["sould"]["session_id"] == ONE


async def test_a_title_and_an_archive_given_in_sould_are_in_the_state_that_kimi_cli_s_clients_read(
    bench: Bench,
) -> None:
    theirs = {"version": 1, "approval": {"yolo": False}, "wire_mtime": 1.5, "plan_slug": "x"}
    directory = keep(share_of(bench), bench.project, ONE, wire_lines(*turn("one", text("yes"))), state=theirs)

    def state() -> dict[str, Any]:
        return json.loads((directory / "state.json").read_text())

    bench.script("text: hello", "text: again")
    async with bench.running():
        async with kimi(bench, "--session", ONE) as program:
            await program.result("initialize", **NEW)
            bench.port.stored.rename(ONE, "Mine")
            await program.result("prompt", user_input="go")
            await program.result("set_plan_mode", enabled=True)
            bench.port.stored.archive(ONE)
            assert bench.port.stored.rename(ONE, "Ours").title == "Ours"
            await program.result("set_plan_mode", enabled=False)
        assert state()["archived"] is True
        archived_at = state()["archived_at"]
        assert archived_at > STARTED
        bench.port.stored.archive(ONE, archived=False)
    said = state()
    assert {key: said[key] for key in theirs} == theirs
    assert (said["custom_title"], said["archived"], "archived_at" in said) == ("Ours", False, False)
    assert "mode" in said, "what sould keeps there stays, too"
