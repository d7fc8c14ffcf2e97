"""Going back and returning: context and files, over restarts and crashes, and never beyond what the session touched."""

import json

from sould.agents.llm.scripted import SCRIPTS_VARIABLE
from sould.agents.soul.timetravel.outcome import describe
from sould.agents.soul.timetravel.timeline import timeline
from sould.agents.wire.content import TextPart
from sould.agents.wire.extensions import RestoredFile
from sould.agents.wire.messages import ApprovalRequest, ContextReverted, FilesRestored, FilesRestoring
from soultest.bench import Bench, Watcher, asked, call, finish
from soultest.bench.looks import messages_of, turns_of


def replies(watcher: Watcher) -> str:
    return "\n".join(part.text for part in watcher.of(TextPart))


def write(path: str, content: str) -> str:
    return call("WriteFile", path=path, content=content)


async def worked(bench: Bench) -> Watcher:
    """Two turns that changed files."""
    bench.script(write("a.txt", "one\n"), "text: 1", write("a.txt", "two\n") + "\n" + write("b.txt", "b\n"), "text: 2")
    watcher = Watcher(await bench.new("full"))
    await finish(watcher.session, "first")
    await finish(watcher.session, "second")
    return watcher


async def test_undo_takes_the_last_turn_back_and_redo_returns(bench: Bench) -> None:
    a, b = bench.project / "a.txt", bench.project / "b.txt"
    async with bench.running():
        watcher = await worked(bench)
        before = messages_of(watcher.session)
        await finish(watcher.session, "/undo")
        assert (a.read_text(), b.exists()) == ("one\n", False)
        assert asked(watcher.session) == ["first"]
        await finish(watcher.session, "/undo")
        assert a.read_text() == "hello\n"
        assert asked(watcher.session) == []
        await finish(watcher.session, "/redo")
        assert a.read_text() == "one\n"
        await finish(watcher.session, "/redo")
        assert (a.read_text(), b.read_text()) == ("two\n", "b\n")
        assert messages_of(watcher.session) == before
        await finish(watcher.session, "/redo")
    assert "nothing to redo" in replies(watcher)


async def test_a_fork_takes_back_what_was_changed_before_it_and_returns_also_after_a_restart(bench: Bench) -> None:
    a, b = bench.project / "a.txt", bench.project / "b.txt"
    async with bench.running():
        source = (await worked(bench)).session
        fork = await bench.host.fork(source.id, bench.opening())
        watcher = Watcher(fork)
        await finish(fork, "/undo")
        assert (a.read_text(), b.exists()) == ("one\n", False)
        assert "2 files restored." in replies(watcher)
        await finish(fork, "/redo")
        assert (a.read_text(), b.read_text()) == ("two\n", "b\n")
    async with bench.running():
        again = await bench.open(fork.id)
        await finish(again, f"/rewind {turns_of(again)[0]}")
        assert (a.read_text(), b.exists()) == ("hello\n", False)
        assert asked(again) == []


async def test_undo_after_a_clearing_takes_that_back_before_any_turn(bench: Bench) -> None:
    a = bench.project / "a.txt"
    bench.script(write("a.txt", "one\n"), "text: 1", write("a.txt", "two\n"), "text: 2")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "first")
        for command in ("/clear", "/clear", "/status"):
            await finish(watcher.session, command)
        await finish(watcher.session, "second")
        seen: list[tuple[list[str], str]] = []
        for command in ("/undo", "/undo", "/redo", "/undo", "/undo", "/undo"):
            await finish(watcher.session, command)
            seen.append((asked(watcher.session), a.read_text()))
        nothing: list[str] = []
        second_undone, clearing_undone, first_undone = (nothing, "one\n"), (["first"], "one\n"), (nothing, "hello\n")
        assert seen == [second_undone, clearing_undone, second_undone, clearing_undone, first_undone, first_undone]
    said = replies(watcher)
    assert said.count("The /clear was undone") == 2
    assert said.endswith("There is no turn to undo.")


async def test_undo_takes_back_a_command_at_which_the_agent_worked_and_nothing_before_it(bench: Bench) -> None:
    a = bench.project / "a.txt"
    bench.script(write("a.txt", "one\n"), "text: 1", write("a.txt", "two\n"), "text: 2")
    async with bench.running():
        session = await bench.new("full")
        for prompt in ("first", "/init", "/status", "/undo"):
            await finish(session, prompt)
        assert (asked(session), a.read_text()) == (["first"], "one\n")


async def test_redo_ends_where_the_work_goes_on(bench: Bench) -> None:
    async with bench.running():
        watcher = await worked(bench)
        await finish(watcher.session, "/undo")
        bench.script(*["text: x"] * 9)
        await finish(watcher.session, "something else")
        await finish(watcher.session, "/redo")
        assert asked(watcher.session) == ["first", "something else"]
    assert (bench.project / "a.txt").read_text() == "one\n"
    assert "nothing to redo" in replies(watcher)


async def test_rewind_lists_the_turns_and_goes_to_one(bench: Bench) -> None:
    async with bench.running():
        watcher = await worked(bench)
        await finish(watcher.session, "/rewind")
        assert "- `0`" in replies(watcher)
        assert "second" in replies(watcher)
        await finish(watcher.session, "/rewind 0")
        assert asked(watcher.session) == []
        await finish(watcher.session, "/rewind 77")
    assert (bench.project / "a.txt").read_text() == "hello\n"
    assert "2 files restored" in replies(watcher)
    assert "no checkpoint '77'" in replies(watcher)


async def test_the_users_changes_stay_and_a_conflict_is_told(bench: Bench) -> None:
    async with bench.running():
        watcher = await worked(bench)
        (bench.project / "b.txt").write_text("b\nand mine\n")
        (bench.project / "a.txt").write_text("mine\n")
        await finish(watcher.session, "/undo")
    assert (bench.project / "b.txt").read_text() == "and mine\n"
    assert (bench.project / "a.txt").read_text() == "mine\n"
    assert "1 file restored, 1 left as it is. `/redo` reverses this." in replies(watcher)
    assert "b.txt" not in replies(watcher), "the card has the files, and nothing is said twice"


async def test_what_was_kept_stays_until_that_is_asked_for_and_redo_returns_from_both(bench: Bench) -> None:
    a = bench.project / "a.txt"
    a.write_text("one\ntwo\nthree\nfour\nfive\n")
    bench.script(write("a.txt", "one\nTWO\nthree\nFOUR\nfive\n"), "text: 1")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        for prompt in ("first", "/keep 1", "/undo"):
            await finish(watcher.session, prompt)
        assert a.read_text() == "one\nTWO\nthree\nfour\nfive\n"
        said = describe(watcher.of(FilesRestored)[-1])
        assert (
            f"1 file restored. In `{a}` 1 kept change stays (line 2). `/undo kept` takes back what you kept, too."
            in said
        )
        await finish(watcher.session, "/undo kept")
        assert a.read_text() == "one\ntwo\nthree\nfour\nfive\n"
        assert "What you had kept was taken back, too. 1 file restored. `/redo` reverses both." in replies(watcher)
    async with bench.running():
        again = Watcher(await bench.open(watcher.session.id)).session
        await finish(again, "/redo")
        assert a.read_text() == "one\nTWO\nthree\nFOUR\nfive\n"
        await finish(again, "/undo kept")
        assert a.read_text() == "one\ntwo\nthree\nfour\nfive\n"


async def test_a_restore_cut_off_by_a_crash_is_finished_when_the_session_is_opened(bench: Bench) -> None:
    async with bench.running():
        watcher = await worked(bench)
        session = watcher.session
        # what the journal holds when the daemon dies right after a restore was announced
        calls = tuple(
            edit.call_id
            for edits in session.parts.operations.travel.rewinder.files.projects.edits.values()
            for edit in edits
        )
        session.log.publish(FilesRestoring(restore_id="r", calls=calls, checkpoint_id=0))
        await session.log.commit()
    async with bench.running():
        again = await bench.open(session.id)
        assert (bench.project / "a.txt").read_text() == "hello\n"
        assert not (bench.project / "b.txt").exists()
        assert asked(again) == []
        messages = [record.message for record in again.log.replay()]
        assert FilesRestored in map(type, messages)
        assert ContextReverted(checkpoint_id=0, restore_id="r") in messages
        await finish(again, "/redo")
        assert (bench.project / "a.txt").read_text() == "two\n"
    async with bench.running():
        await bench.open(session.id)
    assert (bench.project / "a.txt").read_text() == "two\n"


async def test_going_back_ends_an_agent_that_went_on_in_the_background_after_a_restart(bench: Bench) -> None:
    agent = call("Agent", prompt="write", model="child", run_in_background=True)
    scripts = {"scripted": [agent, "text: begun"], "child": [write("b.txt", "b\n")]}
    for name, said in scripts.items():
        path = bench.root / f"{name}.json"
        path.write_text(json.dumps(said))
        model = {"provider": name, "model": "scripted", "max_context_size": 100_000}
        provider = {"type": "_scripted_echo", "env": {SCRIPTS_VARIABLE: str(path)}}
        bench.settings.setdefault("models", {})[name] = model
        bench.settings.setdefault("providers", {})[name] = provider
    async with bench.running():
        waiting = Watcher(await bench.new(), answer=None)
        await finish(waiting.session, "go")
        await waiting.wait_for(ApprovalRequest)
    async with bench.running():
        watcher = Watcher(await bench.open(waiting.session.id), answer=None)
        await watcher.wait_for(ApprovalRequest)
        await finish(watcher.session, "/undo")
        assert not watcher.session.parts.work.tasks.running
    (journal,) = bench.state.glob("sessions/*/subagents/*/wire.jsonl")
    assert "goes back to its checkpoint 0, before this one began" in journal.read_text()
    assert not (bench.project / "b.txt").exists()


async def test_a_hundred_files_are_restored_exactly(bench: Bench) -> None:
    for number in range(100):
        (bench.project / f"{number}.txt").write_bytes(f"line {number}\r\n".encode())
    edits = "\n".join(write(f"{number}.txt", f"agent {number}\r\n") for number in range(100))
    bench.script(edits, "text: ok")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        assert (bench.project / "42.txt").read_bytes() == b"agent 42\r\n"
        (bench.project / "7.txt").write_text("mine now")
        await finish(watcher.session, "/undo")
    for number in range(100):
        expected = b"mine now" if number == 7 else f"line {number}\r\n".encode()
        assert (bench.project / f"{number}.txt").read_bytes() == expected


async def test_the_timeline_tells_turns_steps_and_what_happened(bench: Bench) -> None:
    async with bench.running():
        watcher = await worked(bench)
        await finish(watcher.session, "/undo")
        moments = timeline((record.message, record.timestamp) for record in watcher.session.log.replay())
    turns = [(moment.checkpoint, moment.text) for moment in moments if moment.kind == "turn"]
    assert turns == [(0, "first"), (3, "second"), (6, "/undo")]
    (step,) = [moment for moment in moments if moment.checkpoint == 4]
    assert len(step.files) == 2
    assert [moment.text for moment in moments if moment.kind == "event"] == ["restored 2 files", "went back to 3"]


def test_what_was_left_as_it_is_is_not_called_nothing_to_restore() -> None:
    kept = RestoredFile(path="/p/a.txt", action="conflict", reason="it was changed since in the same place")
    assert describe(FilesRestored(restore_id="r", files=(kept,))) == (
        "Left unchanged: `/p/a.txt` (it was changed since in the same place)."
    )
    assert describe(FilesRestored(restore_id="r")) == "No file needed restoring."
