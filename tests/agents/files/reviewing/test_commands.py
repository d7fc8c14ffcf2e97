"""What agents' commands do to files comes under review, through the real Shell tool, whatever was pending and typed there before."""

import asyncio
import os
from pathlib import Path

import pytest
from tests.agents.files.reviewing.commanddesk import desk, shell

from sould.agents.files.reviewing.listing import Selection
from sould.agents.files.reviewing.orders import Order
from soultest.bench import Bench, Watcher, asked, call, finish

FORMAT = 'sed -i "s/{\'a\':1}/{\\"a\\": 1}/; s/x\\[\'a\'\\]/x[\\"a\\"]/; s/^z=3/z = 3/; s/^y=2/y = 2/" case.py'


async def test_a_formatter_over_pending_hunks_and_the_users_lines(bench: Bench) -> None:
    base = "x = {'a':1}\n\ndef f():\n    return x\n\nz=3\n"
    (bench.project / "case.py").write_text(base)
    edit = call("StrReplaceFile", path="case.py", edit={"old": "return x", "new": "return x['a']"})
    async with desk(bench, edit, "text: 1", shell(FORMAT), "text: 2") as at:
        await at.turn()
        [first] = await at.pending()
        at.user("case.py", at.text("case.py") + "y=2\n")
        await at.turn()

        top, middle, last = await at.pending()

        assert middle.id == first.id
        assert (top.base, middle.base, last.base) == (("x = {'a':1}\n",), ("    return x\n",), ("z=3\n", "y=2\n"))
        assert (len(middle.turns), len(top.turns), len(last.turns)) == (2, 1, 1)
        await at.reject(last.id)
        assert at.text("case.py").endswith("\nz=3\ny=2\n")
        await at.reject()
        assert at.text("case.py") == base + "y=2\n"


async def test_a_directory_is_renamed_with_pending_hunks_in_its_files(bench: Bench) -> None:
    for name in ("one", "two"):
        (bench.project / "src").mkdir(exist_ok=True)
        (bench.project / "src" / name).write_text(f"{name} 1\n{name} 2\n{name} 3\n")
    edits = [
        call("StrReplaceFile", path=f"src/{name}", edit={"old": f"{name} 2", "new": f"{name} two"})
        for name in ("one", "two")
    ]
    async with desk(bench, *edits, "text: 1", shell("mv src lib"), "text: 2") as at:
        await at.turn()
        ids = {each.id for each in await at.pending()}
        await at.turn()
        assert await at.shown() == [
            ("lib/one", "rename", ""),
            ("lib/one", "text", "one two\n"),
            ("lib/two", "rename", ""),
            ("lib/two", "text", "two two\n"),
        ]
        assert ids < {each.id for each in await at.pending()}
        await at.reject()
        assert not await at.pending()
        assert at.text("src/one") == "one 1\none 2\none 3\n"
        assert at.text("src/two") == "two 1\ntwo 2\ntwo 3\n"
        assert not (bench.project / "lib").exists()


async def test_a_file_that_one_command_deletes_and_makes_again_is_edited(bench: Bench) -> None:
    (bench.project / "b.txt").write_text("1\n2\n3\n")
    async with desk(bench, shell("rm b.txt; printf '1\\ntwo\\n3\\n' > b.txt"), "text: 1") as at:
        await at.turn()
        assert await at.shown() == [("b.txt", "text", "two\n")]
        await at.reject()
        assert at.text("b.txt") == "1\n2\n3\n"


async def test_what_vanishes_in_a_later_command_and_was_pending_comes_back_as_base(bench: Bench) -> None:
    (bench.project / "b.txt").write_text("1\n2\n3\n")
    async with desk(bench, shell("sed -i s/2/two/ b.txt"), "text: 1", shell("rm b.txt"), "text: 2") as at:
        await at.turn()
        await at.turn()
        assert [kind for _, kind, _ in await at.shown()] == ["delete"]
        await at.reject()
        assert at.text("b.txt") == "1\n2\n3\n"


async def test_a_binary_that_a_command_makes_and_one_that_it_changes(bench: Bench) -> None:
    (bench.project / "old.bin").write_bytes(b"\0\1")
    command = shell("printf '\\0\\2' > old.bin; printf '\\0\\3' > new.bin")
    async with desk(bench, command, "text: 1") as at:
        await at.turn()
        assert [(name, kind) for name, kind, _ in await at.shown()] == [
            ("new.bin", "add"),
            ("old.bin", "content"),
        ]
        await at.reject()
        assert (bench.project / "old.bin").read_bytes() == b"\0\1"
        assert not (bench.project / "new.bin").exists()


async def test_a_link_is_never_written_through(bench: Bench) -> None:
    outside = bench.root / "outside.txt"
    outside.write_text("mine\n")
    (bench.project / "b.txt").write_text("1\n2\n")
    command = shell(f"sed -i s/2/two/ b.txt; ln -s {outside} link.txt")
    async with desk(bench, command, "text: 1", shell(f"rm b.txt; ln -s {outside} b.txt"), "text: 2") as at:
        await at.turn()
        assert await at.shown() == [("b.txt", "text", "two\n"), ("link.txt", "add", "")]
        await at.turn()
        assert await at.shown() == [("b.txt", "content", ""), ("link.txt", "add", "")]
        await at.reject()
        assert outside.read_text() == "mine\n"
        assert at.text("b.txt") == "1\n2\n"
        assert not os.path.lexists(bench.project / "link.txt")


async def test_a_file_too_large_to_be_kept_is_not_under_review(bench: Bench) -> None:
    async with desk(
        bench, shell("head -c 5000000 /dev/zero | tr '\\0' 'a' > large.txt; echo x > b.txt"), "text: 1"
    ) as at:
        await at.turn()
        assert await at.shown() == [("b.txt", "text", "x\n")]


async def test_what_a_command_changed_while_an_editor_holds_the_file_unsaved(bench: Bench) -> None:
    path = bench.project / "b.txt"
    path.write_text("a\nb\nc\n")
    async with desk(bench, shell("sed -i s/b/B/ b.txt"), "text: 1") as at:
        at.port.documents.open(path)
        at.port.documents.change(path, "a\nb\nc\nu\n")
        await at.turn()

        await at.pending()

        assert at.text("b.txt") == "a\nB\nc\n"  # the buffer is not on disk, and the disk is as the command left it
        at.port.documents.close(path)  # without saving: the editor reloads it
        assert await at.shown() == [("b.txt", "text", "B\n")]
        [hunk] = await at.pending()
        assert hunk.unsure  # the editor may have saved it
        await at.reject(hunk.id)
        assert at.text("b.txt") == "a\nb\nc\n"


async def test_what_changes_under_a_command_is_the_commands_also_when_somebody_looks_meanwhile(bench: Bench) -> None:
    (bench.project / "b.txt").write_text("1\n2\n3\n4\n5\n")
    go = bench.root / "go"
    command = shell(f"touch {go}; sed -i s/4/four/ b.txt; echo ready; while [ -e {go} ]; do sleep 0.05; done")
    edit = call("StrReplaceFile", path="b.txt", edit={"old": "2", "new": "two"})
    async with desk(bench, edit, "text: 1", command, "text: 2") as at:
        await at.turn()
        [first] = await at.pending()
        async with asyncio.TaskGroup() as group:
            running = group.create_task(at.turn())
            await at.prints("ready")
            await at.pending()
            await at.reject(first.id)
            assert at.text("b.txt") == "1\n2\n3\nfour\n5\n"
            go.unlink()
            await running
        assert await at.shown() == [("b.txt", "text", "four\n")]


async def test_what_a_background_command_changes_is_pending(bench: Bench) -> None:
    (bench.project / "b.txt").write_text("1\n2\n3\n")
    go = bench.root / "go"
    go.touch()
    wait = f"while [ -e {go} ]; do sleep 0.02; done; sed -i s/2/two/ b.txt; echo new > new.txt"
    start = call("Shell", command=wait, description="later", run_in_background=True)
    edit = call("StrReplaceFile", path="b.txt", edit={"old": "1", "new": "one"})
    beside = shell("until [ -e new.txt ]; do sleep 0.02; done")
    async with desk(bench, start, edit, "text: 1", beside, "text: 2") as at:
        await at.turn()
        assert await at.shown() == [("b.txt", "text", "one\n")]
        go.unlink()  # it writes as the turn begins
        await at.turn()
        assert ("new.txt", "text", "new\n") in await at.shown()
        await at.reject(*[each.id for each in await at.pending()])
        assert at.text("b.txt") == "1\n2\n3\n"


async def test_what_a_background_command_changes_is_its_doing_also_when_somebody_looks_first(bench: Bench) -> None:
    (bench.project / "b.txt").write_text("1\n2\n3\n")
    go, said = bench.root / "go", bench.root / "said"
    for pipe in (go, said):
        os.mkfifo(pipe)
    work = f"read go < {go}; sed -i s/3/three/ b.txt; echo done > {said}; read go < {go}"
    start = call("Shell", command=work, description="later", run_in_background=True)
    edit = call("StrReplaceFile", path="b.txt", edit={"old": "1", "new": "one"})
    async with desk(bench, start, edit, "text: 1") as at:
        await at.turn()
        await asyncio.to_thread(go.write_text, "go\n")
        await asyncio.to_thread(said.read_text)
        assert await at.shown() == [("b.txt", "text", "one\n"), ("b.txt", "text", "three\n")]
        outcome = await at.reject()
        assert [each.why for each in outcome.left] == ["unsure"]
        assert at.text("b.txt") == "1\n2\nthree\n"
        await at.reject(outcome.left[0].id)
        assert at.text("b.txt") == "1\n2\n3\n"
        await asyncio.to_thread(go.write_text, "end\n")


async def test_what_a_background_command_changes_as_a_turn_begins_is_its_doing(bench: Bench) -> None:
    (bench.project / "b.txt").write_text("1\n2\n3\n")
    go, said = bench.root / "go", bench.root / "said"
    go.touch()
    os.mkfifo(said)
    work = f"while [ -e {go} ]; do sleep 0.02; done; sed -i s/2/two/ b.txt; echo done > {said}; read go < {said}"
    start = call("Shell", command=work, description="later", run_in_background=True)
    edit = call("StrReplaceFile", path="b.txt", edit={"old": "1", "new": "one"})
    async with desk(bench, start, edit, "text: 1", "text: 2") as at:
        await at.turn()
        go.unlink()
        await at.turn()  # the agent looks at the files it knows, before, while or after the command writes
        await asyncio.to_thread(said.read_text)
        await at.reject(*[each.id for each in await at.pending()])
        assert at.text("b.txt") == "1\n2\n3\n"
        await asyncio.to_thread(said.write_text, "end\n")


@pytest.mark.parametrize("edit", ["nothing", "3", "2"])
async def test_what_a_background_command_changed_before_a_turn_is_its_doing_also_when_the_agent_looks_first(
    bench: Bench, edit: str
) -> None:
    (bench.project / "b.txt").write_text("1\n2\n3\n")
    go, said = bench.root / "go", bench.root / "said"
    for pipe in (go, said):
        os.mkfifo(pipe)
    work = f"read go < {go}; sed -i s/2/two/ b.txt; echo done > {said}; read go < {go}"
    start = call("Shell", command=work, description="later", run_in_background=True)
    first = call("StrReplaceFile", path="b.txt", edit={"old": "1", "new": "one"})
    then = {
        "3": call("StrReplaceFile", path="b.txt", edit={"old": "3", "new": "three"}),
        "2": call("StrReplaceFile", path="b.txt", edit={"old": "two", "new": "zwei"}),
    }
    async with desk(bench, start, first, "text: 1", *([then[edit]] if edit in then else []), "text: 2") as at:
        await at.turn()
        await asyncio.to_thread(go.write_text, "go\n")
        await asyncio.to_thread(said.read_text)
        await at.turn()
        await at.reject(*[each.id for each in await at.pending()])
        assert at.text("b.txt") == "1\n2\n3\n"
        await asyncio.to_thread(go.write_text, "end\n")


async def test_what_the_user_wrote_before_a_command_is_the_users_also_when_no_client_looks(bench: Bench) -> None:
    (bench.project / "b.txt").write_text("1\n2\n3\n")
    edit = call("StrReplaceFile", path="b.txt", edit={"old": "2", "new": "two"})
    bench.script(edit, "text: 1", shell("sed -i s/3/three/ b.txt"), "text: 2")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        with (bench.project / "b.txt").open("a") as file:
            file.write("mine\n")
        await finish(watcher.session, "go")
        async with bench.port.project(bench.project, Path.home(), "editor") as port:
            await port.review.decide(Order("reject", Selection(), "test"))
    assert (bench.project / "b.txt").read_text() == "1\n2\n3\nmine\n"


async def test_decisions_are_made_while_a_background_command_goes_on_writing(bench: Bench) -> None:
    (bench.project / "b.txt").write_text("1\n2\n3\n4\n5\n")
    go, said = bench.root / "go", bench.root / "said"
    for pipe in (go, said):
        os.mkfifo(pipe)
    steps = ("sed -i s/2/two/ b.txt", "sed -i s/4/four/ b.txt; echo new > new.txt", "sed -i s/2/zwei/ b.txt")
    work = "; ".join(f"read go < {go}; {step}; echo done > {said}" for step in steps)
    start = call("Shell", command=f"{work}; read go < {go}", description="later", run_in_background=True)

    async def step() -> None:
        await asyncio.to_thread(go.write_text, "go\n")
        await asyncio.to_thread(said.read_text)

    async with desk(bench, start, "text: 1", shell("true"), "text: 2") as at:
        await at.turn()
        await step()
        [first] = await at.pending()
        outcome = await at.reject(first.id)
        assert [each.id for each in outcome.done] == [first.id]
        assert at.text("b.txt") == "1\n2\n3\n4\n5\n"
        await step()
        assert await at.shown() == [("b.txt", "text", "four\n"), ("new.txt", "text", "new\n")]
        kept = next(each for each in await at.pending() if each.path.endswith("new.txt"))
        await at.port.review.decide(Order("keep", Selection((kept.id,)), "test"))
        await step()
        assert await at.shown() == [("b.txt", "text", "zwei\n"), ("b.txt", "text", "four\n")]
        await asyncio.to_thread(go.write_text, "end\n")
        await at.turn()
        await at.reject(*[each.id for each in await at.pending()])
        assert at.text("b.txt") == "1\n2\n3\n4\n5\n"
        assert at.text("new.txt") == "new\n"


async def test_what_the_user_may_have_written_beside_a_background_command_is_not_rejected_with_everything(
    bench: Bench,
) -> None:
    (bench.project / "b.txt").write_text("1\n2\n3\n")
    (bench.project / "mine.txt").write_text("1\n")
    end = bench.root / "end"
    os.mkfifo(end)
    server = call("Shell", command=f"read go < {end}", description="a server", run_in_background=True)
    edit = call("StrReplaceFile", path="b.txt", edit={"old": "2", "new": "two"})
    async with desk(bench, server, edit, "text: 1") as at:
        await at.turn()
        at.user("mine.txt", "1\nby hand, in an editor that says nothing\n")
        outcome = await at.reject()
        assert [Path(each.path).name for each in outcome.done] == ["b.txt"]
        assert [(Path(each.path).name, each.why) for each in outcome.left] == [("mine.txt", "unsure")]
        assert at.text("mine.txt") == "1\nby hand, in an editor that says nothing\n"
        [hunk] = await at.pending()
        assert hunk.unsure
        await at.port.review.decide(Order("keep", Selection(), "test"))
        assert not await at.pending()
        await asyncio.to_thread(end.write_text, "end\n")


@pytest.mark.parametrize("name", ["a.txt", "b.txt"])
async def test_what_a_background_program_or_the_user_changed_is_told_as_either(bench: Bench, name: str) -> None:
    (bench.project / "b.txt").write_text("one\n")
    end = bench.root / "end"
    os.mkfifo(end)
    bench.script(
        call("ReadFile", path="b.txt"),
        call("StrReplaceFile", path="a.txt", edit={"old": "hello", "new": "bye"}),
        call("Shell", command=f"read go < {end}", description="a server", run_in_background=True),
        "text: done",
        "text: I see.",
        "text: I know.",
    )
    async with bench.running():
        session = Watcher(await bench.new("full")).session
        await finish(session, "go")
        with (bench.project / name).open("a") as file:
            file.write("more\n")
        await finish(session, "what now?")
        await finish(session, "and now?")
        [note] = [text for text in asked(session) if "Since you last looked" in text]
        assert "a program that you started, or the user, changed files" in note
        assert "+more" in note
        await asyncio.to_thread(end.write_text, "end\n")
