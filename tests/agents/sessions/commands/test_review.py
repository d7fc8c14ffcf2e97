"""`/review`, `/keep`, `/reject`: what they say, that they work while a turn runs, and that nothing typed is lost."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sould.agents.sessions.session import Session
from sould.agents.sessions.turns.turns import Prompt
from sould.agents.wire.messages import ApprovalRequest, ApprovalResponse, Notification, ToolCallDetail, TurnBegin
from soultest.bench import Bench, Watcher, call, finish, make_bench
from soultest.bench.looks import messages_of

AREA = "def area(w, h):\n    return w * h\n"
CHECKED = 'def area(w, h):\n    if w < 0 or h < 0:\n        raise ValueError("neg")\n    return w * h\n'


def write(path: str, content: str) -> str:
    return call("WriteFile", path=path, content=content)


def reviewed(tmp_path: Path, *scripts: str) -> Bench:
    bench = make_bench(tmp_path, scripts=[*scripts, "text: done"])
    (bench.project / "area.py").write_text(AREA)
    return bench


async def say(session: Session, watcher: Watcher, text: str) -> str:
    """What a command answers."""
    assert (await finish(session, text)).stop_reason == "finished"
    return watcher.of(Notification)[-1].body


async def test_what_is_pending_is_listed_by_file_with_numbers(tmp_path: Path) -> None:
    bench = reviewed(tmp_path, write("area.py", CHECKED), write("notes.md", "# Plan\n- write it\n"))
    async with bench.running():
        session = await bench.new("review")
        watcher = Watcher(session)
        assert await say(session, watcher, "/review") == "Nothing is to be reviewed."
        await finish(session, "go")
        assert await say(session, watcher, "/review") == (
            "2 hunks to review in 2 files. `/keep` and `/reject` take numbers, files or `all`; `/review NUMBER` shows one.\n"
            "\n`area.py`\n- `1` line 2, +2: `if w < 0 or h < 0:`\n"
            "\n`notes.md` (new)\n- `2` line 1, +2: `# Plan`"
        )
        assert [turn.user_input for turn in watcher.of(TurnBegin)] == ["go"]


async def test_a_hunk_is_shown_as_a_diff(tmp_path: Path) -> None:
    bench = reviewed(tmp_path, write("area.py", CHECKED))
    async with bench.running():
        session = await bench.new("review")
        watcher = Watcher(session)
        await finish(session, "go")
        assert await say(session, watcher, "/review 1") == (
            "`1` `area.py`, line 2, +2\n\n```diff\n@@ -1,2 +1,4 @@\n def area(w, h):\n+    if w < 0 or h < 0:\n"
            '+        raise ValueError("neg")\n     return w * h\n```'
        )
        assert await say(session, watcher, "/review 7") == "Hunk 7 is not to be reviewed (any more)."


async def test_a_reject_says_what_stays_of_the_user_and_can_be_taken_back(tmp_path: Path) -> None:
    bench = reviewed(tmp_path, write("area.py", CHECKED))
    async with bench.running():
        session = await bench.new("review")
        watcher = Watcher(session)
        await finish(session, "go")
        lines = CHECKED.splitlines(keepends=True)
        typed = "".join([*lines[:2], "        log(w, h)\n", *lines[2:]])
        (bench.project / "area.py").write_text(typed)
        said = await say(session, watcher, "/reject 1 - we trust our callers")
        assert said == "Rejected hunk 1 in `area.py`.\n1 line of yours (`log(w, h)`) stays in `area.py`."
        after = "def area(w, h):\n        log(w, h)\n    return w * h\n"
        assert (bench.project / "area.py").read_text() == after
        said = await say(session, watcher, "/keep 1")
        assert said.startswith("Left: hunk 1 in `area.py`. watcher rejected it (")
        assert said.endswith("). `/review undo 1` takes that back.")
        assert await say(session, watcher, "/review undo 1") == "To be reviewed again: hunk 1 in `area.py`."
        assert (bench.project / "area.py").read_text() == typed


async def test_words_of_the_user_in_a_line_of_the_agent_are_asked_about_once(tmp_path: Path) -> None:
    bench = reviewed(tmp_path, write("area.py", CHECKED), write("b.txt", "b\n"))
    mixed = CHECKED.replace('"neg"', 'f"neg {w}"')
    async with bench.running():
        session = await bench.new("review")
        watcher = Watcher(session)
        await finish(session, "go")
        (bench.project / "area.py").write_text(mixed)
        said = await say(session, watcher, "/reject all")
        assert said == (
            "Rejected hunk 2 in `b.txt`.\n`b.txt` is deleted: nothing of yours was in it.\n\n"
            'Left: hunk 1 in `area.py`. You changed words in lines of the agent (`raise ValueError(f"neg {w}")`): '
            "`/reject 1 mine` keeps those lines, `/reject 1 drop` drops them."
        )
        assert not (bench.project / "b.txt").exists()
        assert (bench.project / "area.py").read_text() == mixed
        await say(session, watcher, "/reject 1 mine")
        assert (bench.project / "area.py").read_text() == (
            'def area(w, h):\n        raise ValueError(f"neg {w}")\n    return w * h\n'
        )


async def test_a_new_file_with_a_line_of_the_user_is_not_deleted(tmp_path: Path) -> None:
    bench = reviewed(tmp_path, write("notes.md", "# Plan\n- write it\n"))
    async with bench.running():
        session = await bench.new("review")
        watcher = Watcher(session)
        await finish(session, "go")
        with (bench.project / "notes.md").open("a") as file:
            file.write("- call Ann\n")
        said = await say(session, watcher, "/reject notes.md")
        assert "`notes.md` was made by the agent and stays: text of yours is in it." in said
        assert (bench.project / "notes.md").read_text() == "- call Ann\n"


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("all", ""),
        ("1-2", "3"),
        ("1,3", "2"),
        ("1 3", "2"),
        ("src", "3"),
        ("src/a.py b.py", "2"),
        ('"src/c d.py"', "13"),
    ],
)
async def test_numbers_ranges_files_and_directories_are_taken(tmp_path: Path, words: str, left: str) -> None:
    bench = reviewed(tmp_path, *(write(path, "x\n") for path in ("src/a.py", "src/c d.py", "b.py")))
    async with bench.running():
        session = await bench.new("review")
        watcher = Watcher(session)
        await finish(session, "go")
        assert (await say(session, watcher, f"/keep {words}")).startswith("Kept hunk")
        listed = await say(session, watcher, "/review")
        assert [number for number in "123" if f"- `{number}`" in listed] == list(left)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("/keep", "Say which: numbers"),
        ("/keep nowhere.py", "Nothing is to be reviewed in `nowhere.py`"),
        ("/keep 4-9", "No hunk from 4 to 9 is to be reviewed"),
        ("/review undo all", "`/review undo` takes the numbers of hunks"),
        ("/keep 1 mine", "is a choice of `/reject`"),
        ("/reject 99", "There is no hunk 99."),
        ('/reject "area.py', 'Nothing is to be reviewed in `"area.py`'),
    ],
)
async def test_what_names_nothing_is_said(tmp_path: Path, command: str, said: str) -> None:
    bench = reviewed(tmp_path, write("area.py", CHECKED))
    async with bench.running():
        session = await bench.new("review")
        watcher = Watcher(session)
        await finish(session, "go")
        assert said in await say(session, watcher, command)
        assert (bench.project / "area.py").read_text() == CHECKED


async def test_a_range_of_decisions_is_taken_back(tmp_path: Path) -> None:
    bench = reviewed(tmp_path, *(write(name, f"{name}\n") for name in ("a.py", "b.py", "c.py")))
    async with bench.running():
        session = await bench.new("review")
        watcher = Watcher(session)
        await finish(session, "go")
        await say(session, watcher, "/keep 1")
        await say(session, watcher, "/reject 3 - no")
        said = await say(session, watcher, "/review undo 1-3")
        assert said == "To be reviewed again: hunks 1 in `a.py` and 3 in `c.py`."
        assert (bench.project / "c.py").read_text() == "c.py\n"
        said = await say(session, watcher, "/review undo 1-3")
        assert said.startswith("No hunk from 1 to 3 was decided about.")


async def test_they_work_while_a_turn_runs(tmp_path: Path) -> None:
    bench = reviewed(tmp_path, write("area.py", CHECKED), call("Shell", command="touch b"))
    async with bench.running():
        session = await bench.new("review")
        watcher = Watcher(session, answer=None)
        turn = session.turns.prompt("go", "watcher")
        asked = await watcher.wait_for(ApprovalRequest)
        assert "- `1` line 2, +2" in await say(session, watcher, "/review")
        assert await say(session, watcher, "/keep area.py") == "Kept hunk 1 in `area.py`."
        session.parts.attached.answer(ApprovalResponse(request_id=asked.id, response="approve"), "watcher")
        assert (await turn.outcome()).stop_reason == "finished"
        assert "/keep" not in str(messages_of(session))


async def test_what_the_agent_changed_since_it_was_shown_is_not_decided_unseen(tmp_path: Path) -> None:
    again = CHECKED.replace("neg", "negative")
    bench = reviewed(tmp_path, write("area.py", CHECKED), "text: one", write("area.py", again))
    async with bench.running():
        session = await bench.new("review")
        watcher = Watcher(session)
        await finish(session, "go")
        await say(session, watcher, "/review")
        await finish(session, "go on")
        said = await say(session, watcher, "/reject 1")
        assert said == "Left: hunk 1 in `area.py`. It was changed since you saw it. `/review 1` shows it as it is now."
        assert (bench.project / "area.py").read_text() == again
        assert await say(session, watcher, "/reject 1") == "Rejected hunk 1 in `area.py`."
        assert (bench.project / "area.py").read_text() == AREA


async def test_what_the_user_typed_since_it_was_shown_is_no_question(tmp_path: Path) -> None:
    bench = reviewed(tmp_path, write("area.py", CHECKED))
    async with bench.running():
        session = await bench.new("review")
        watcher = Watcher(session)
        await finish(session, "go")
        await say(session, watcher, "/review")
        (bench.project / "area.py").write_text(CHECKED.replace("    raise", "    log()\n        raise"))
        assert (await say(session, watcher, "/reject 1")).startswith("Rejected hunk 1 in `area.py`.\n1 line of yours")


async def test_a_decision_of_another_session_is_told_to_whose_agent_it_was(tmp_path: Path) -> None:
    bench = reviewed(tmp_path, write("area.py", CHECKED))
    async with bench.running():
        session, other = await bench.new("review"), await bench.new()
        watcher, elsewhere = Watcher(session), Watcher(other)
        await finish(session, "go")
        assert "- `1` line 2, +2, of another session" in await say(other, elsewhere, "/review")
        await say(other, elsewhere, "/reject 1 - not here")
        told = watcher.of(Notification)[-1]
        assert told.title == "watcher rejected hunk 1 in area.py"
        assert told.type == "review"


@asynccontextmanager
async def at_work(bench: Bench) -> AsyncGenerator[tuple[Session, Watcher, Prompt]]:
    """A session in the middle of a step, about to write b.txt, until the block is left."""
    session = await bench.new("review")
    watcher = Watcher(session)
    async with bench.host.projects.locks.editing(bench.project / "b.txt"):
        turn = session.turns.prompt("go", "watcher")
        await watcher.wait_for(ToolCallDetail, lambda detail: detail.title.endswith("b.txt"))
        yield session, watcher, turn


async def test_a_reject_while_the_agent_works_waits_for_its_step_and_says_so(tmp_path: Path) -> None:
    bench = reviewed(tmp_path, write("area.py", CHECKED), write("b.txt", "b\n"))
    async with bench.running():
        async with at_work(bench) as (session, watcher, turn):
            said = await say(session, watcher, "/reject 1 - the callers check it")
            assert said == "Rejected hunk 1 in `area.py`: it goes when the agent's running step has ended."
            assert (bench.project / "area.py").read_text() == CHECKED
            assert "rejected, goes when the step has ended" in await say(session, watcher, "/review")
        told = await watcher.wait_for(Notification, lambda told: told.type == "review")
        assert told.title == "watcher rejected hunk 1 in area.py"
        assert (bench.project / "area.py").read_text() == AREA
        assert (await turn.outcome()).stop_reason == "finished"


async def test_a_reject_that_waits_can_be_taken_back(tmp_path: Path) -> None:
    bench = reviewed(tmp_path, write("area.py", CHECKED), write("b.txt", "b\n"))
    async with bench.running():
        async with at_work(bench) as (session, watcher, turn):
            await say(session, watcher, "/reject 1")
            assert await say(session, watcher, "/review undo 1") == "To be reviewed again: hunk 1 in `area.py`."
        assert (await turn.outcome()).stop_reason == "finished"
        assert (bench.project / "area.py").read_text() == CHECKED
        assert "- `1` line 2, +2: `if" in await say(session, watcher, "/review")


async def test_a_reject_that_waited_ends_when_the_agent_changed_the_hunk_in_the_same_step(tmp_path: Path) -> None:
    again = CHECKED.replace("neg", "negative")
    bench = reviewed(tmp_path, write("area.py", CHECKED), write("b.txt", "b\n") + "\n" + write("area.py", again))
    async with bench.running():
        async with at_work(bench) as (session, watcher, turn):
            await say(session, watcher, "/reject 1")
        told = await watcher.wait_for(Notification, lambda told: told.type == "review")
        assert told.title == "Hunk 1 in area.py was not rejected after all"
        assert told.body == "It was changed since you saw it. /review 1 shows it as it is now."
        assert (bench.project / "area.py").read_text() == again
        assert (await turn.outcome()).stop_reason == "finished"


async def test_what_the_user_wrote_before_a_command_changed_it_too_comes_back(tmp_path: Path) -> None:
    bench = reviewed(tmp_path, write("area.py", CHECKED), call("Shell", command="sed -i 's/z=3/z = 3/' area.py"))
    async with bench.running():
        session = await bench.new("review")
        watcher = Watcher(session, answer=None)
        turn = session.turns.prompt("go", "watcher")
        asked = await watcher.wait_for(ApprovalRequest)
        (bench.project / "area.py").write_text(f"{CHECKED}z=3\n")
        session.parts.attached.answer(ApprovalResponse(request_id=asked.id, response="approve"), "watcher")
        assert (await turn.outcome()).stop_reason == "finished"
        assert (bench.project / "area.py").read_text() == f"{CHECKED}z = 3\n"
        assert (await say(session, watcher, "/reject all")).startswith("Rejected hunks 1 and 2 in `area.py`.")
        assert (bench.project / "area.py").read_text() == f"{AREA}z=3\n"


WHOLE = (
    "mv area.py size.py; chmod +x run.sh; rm gone.txt; printf '\\0\\1' > bin; sed -i 's/$/\\r/' ends.txt; touch empty"
)


async def test_changes_of_whole_files_are_listed_and_rejected_too(tmp_path: Path) -> None:
    bench = reviewed(tmp_path, call("Shell", command=WHOLE))
    contents = {"area.py": AREA, "run.sh": "echo\n", "gone.txt": "gone\n", "bin": "\0", "ends.txt": "a\nb\n"}
    for name, content in contents.items():
        (bench.project / name).write_text(content)
    async with bench.running():
        session = await bench.new("full")
        watcher = Watcher(session)
        await finish(session, "go")
        listed = await say(session, watcher, "/review")
        for what in (
            "renamed from area.py",
            "permissions 644 -> 755",
            "deleted",
            "replaced, not text, 1 -> 2 bytes",
            "line ends LF -> CRLF",
            "new empty file",
        ):
            assert what in listed
        said = await say(session, watcher, "/reject all")
        assert "Left" not in said
        assert "`empty` is deleted: nothing of yours was in it." in said
        assert await say(session, watcher, "/review") == "Nothing is to be reviewed."
        found = {path.name: path.read_text() for path in bench.project.iterdir() if path.name != "a.txt"}
        assert found == contents
        assert await say(session, watcher, "/review undo 1") == "To be reviewed again: hunk 1 in `area.py`."


async def test_numbers_of_another_project_have_its_name_before_them(tmp_path: Path) -> None:
    bench = reviewed(tmp_path, write("area.py", CHECKED), write("../lib/x.py", "x\n"))
    (tmp_path / "lib").mkdir()
    async with bench.running():
        session = await bench.new("review")
        watcher = Watcher(session)
        await finish(session, "/add-dir ../lib")
        await finish(session, "go")
        listed = await say(session, watcher, "/review")
        assert "- `1` line 2, +2" in listed
        assert "- `lib:1` line 1, +1: `x`" in listed
        assert "Rejected hunk lib:1 in" in await say(session, watcher, "/reject lib:1")
        assert not (tmp_path / "lib" / "x.py").exists()
        assert await say(session, watcher, "/keep 1") == "Kept hunk 1 in `area.py`."
        assert await say(session, watcher, "/review") == "Nothing is to be reviewed."


async def test_what_a_call_is_about_to_write_is_listed_and_cannot_be_decided_yet(tmp_path: Path) -> None:
    edits = [{"old": "def area(w, h):", "new": "def area(w: int, h: int):"}, {"old": "w * h", "new": "h * w"}]
    edit = call("StrReplaceFile", path="area.py", edit=edits).replace('"id": "1"', '"id": "2"')
    bench = reviewed(tmp_path, write("b.txt", "b\n"), call("Shell", command="touch asked") + "\n" + edit)
    async with bench.running():
        session = await bench.new("review")
        watcher = Watcher(session, answer=None)
        turn = session.turns.prompt("go", "watcher")
        request = await watcher.wait_for(ApprovalRequest)
        assert await say(session, watcher, "/review") == (
            "1 hunk to review in 1 file. `/keep` and `/reject` take numbers, files or `all`; `/review NUMBER` shows one.\n"
            "\n`area.py`\n- about to be written: line 1, +2 -2: `def area(w: int, h: int):`\n"
            "\n`b.txt` (new)\n- `1` line 1, +1: `b`"
        )
        left = "Left: what the agent is about to write in `area.py`. The agent has not written it yet: decide about it when it has."
        assert await say(session, watcher, "/reject area.py") == left
        assert await say(session, watcher, "/keep all") == f"Kept hunk 1 in `b.txt`.\n\n{left}"
        assert (bench.project / "area.py").read_text() == AREA
        session.parts.attached.answer(
            ApprovalResponse(request_id=request.id, response="reject", feedback="no"), "watcher"
        )
        await turn.outcome()
        assert "about to" not in await say(session, watcher, "/review")


async def test_while_nothing_else_is_to_be_reviewed_what_is_about_to_be_is_said_to_be_so(tmp_path: Path) -> None:
    bench = reviewed(tmp_path, write("new.txt", "x\n"))
    async with bench.running():
        session = await bench.new("ask")
        watcher = Watcher(session, answer=None)
        turn = session.turns.prompt("go", "watcher")
        await watcher.wait_for(ApprovalRequest)
        assert await say(session, watcher, "/review") == (
            "Nothing is to be reviewed yet. The agent is about to write:\n\n`new.txt`\n- about to be written: line 1, +1: `x`"
        )
        session.turns.cancel(None)
        await turn.outcome()
        assert await say(session, watcher, "/review") == "Nothing is to be reviewed."
