"""What is known of a command's changes only when it has ended, and what could not be restored, which its question says."""

import mmap
import os
import secrets
import shutil
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from sould.agents.permissions.policy import Mode
from sould.agents.wire.messages import ApprovalRequest, FilesRestored, Notification, ToolOutput, ToolResult
from soultest.bench import Bench, Watcher, call, finish
from soultest.processes import MARK, until_gone


def shell(command: str) -> str:
    return call("Shell", command=command)


def git(project: Path) -> None:
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        command = ["git", "-c", "user.name=u", "-c", "user.email=u@example.invalid", *arguments]
        subprocess.run(command, cwd=project, check=True)


@asynccontextmanager
async def watched(bench: Bench, mode: Mode, path: str = os.environ["PATH"]) -> AsyncGenerator[Watcher, None]:
    """A session of somebody who says yes to everything."""
    async with bench.running():
        environment = {**os.environ, "PATH": path}
        yield Watcher(await bench.host.new(bench.opening(environment=environment, mode=mode)))


@asynccontextmanager
async def looked_at_late(bench: Bench) -> AsyncGenerator[tuple[Watcher, Path], None]:
    """A session whose project git has committed and looks at only when the file exists that comes with it."""
    git(bench.project)
    bench.settings["capture"] = {"wait_s": 0.01}
    go, programs = bench.root / "go", bench.root / "programs"
    programs.mkdir()
    wait = f"case \"$*\" in *'-o -i'*) until [ -e '{go}' ]; do sleep 0.01; done;; esac"
    (programs / "git").write_text(f'#!/bin/sh\n{wait}\nexec {shutil.which("git")} "$@"\n')
    (programs / "git").chmod(0o755)
    async with watched(bench, "full", f"{programs}:{os.environ['PATH']}") as watcher:
        yield watcher, go


async def test_what_is_found_when_a_command_has_ended_is_told_late_and_left_where_others_may_have_done_it(
    bench: Bench,
) -> None:
    (bench.project / "gone.txt").write_text("tracked\n")
    (bench.project / "same.txt").write_text("same\n")
    bench.script(shell("echo more >> a.txt; rm gone.txt; echo new > new.txt"), "text: ok")
    async with looked_at_late(bench) as (watcher, go):
        await finish(watcher.session, "go")
        [result] = watcher.of(ToolResult)
        assert "The project is still being looked at" in result.return_value.message
        go.touch()
        late = await watcher.wait_for(Notification, lambda notice: notice.type == "found_late")
        assert all(name in late.body for name in ("a.txt", "gone.txt", "new.txt", "echo more >> a.txt"))
        assert "same.txt" not in late.body
        await finish(watcher.session, "/undo")
        (done,) = watcher.of(FilesRestored)
        assert {Path(file.path).name: file.action for file in done.files} == dict.fromkeys(
            ("a.txt", "gone.txt", "new.txt"), "conflict"
        )
        bench.script(shell("echo again >> same.txt"), "text: ok")
        await finish(watcher.session, "again")
        await finish(watcher.session, "/undo")
    assert (bench.project / "same.txt").read_text() == "same\n"


async def test_folders_that_were_there_are_no_change_when_everything_is_looked_at_late(bench: Bench) -> None:
    for name in ("one", "two/inner", "three"):
        (bench.project / name).mkdir(parents=True)
        (bench.project / name / "file.txt").write_text(name)
    bench.script(shell("echo new > new.txt; mkdir made; echo more > two/inner/more.txt"), "text: ok")
    async with looked_at_late(bench) as (watcher, go):
        await finish(watcher.session, "go")
        go.touch()
        late = await watcher.wait_for(Notification, lambda notice: notice.type == "found_late")
    assert "made" in late.body
    assert "more.txt" in late.body
    assert not any(f"{bench.project}/{name}" in late.body for name in ("one,", "one.", "three", "two,", "two."))


async def test_a_git_that_never_ends_holds_no_session_and_is_gone_with_it(bench: Bench) -> None:
    git(bench.project)
    bench.settings["capture"] = {"look_s": 2.0}
    programs, mark = bench.root / "programs", secrets.token_hex(8)
    programs.mkdir()
    (programs / "git").write_text("#!/bin/sh\nsleep 1000 & sleep 1000\n")
    (programs / "git").chmod(0o755)
    bench.script(shell("echo more >> a.txt"), "text: ok")
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", MARK: mark}
    async with bench.running():
        watcher = Watcher(await bench.host.new(bench.opening(environment=environment, mode="full")))
        await finish(watcher.session, "go")
        [result] = watcher.of(ToolResult)
        assert not result.return_value.is_error
    assert until_gone(mark, 10) == []


async def test_what_a_program_writes_through_a_memory_map_while_a_command_runs_is_found_when_the_turn_ends(
    bench: Bench,
) -> None:
    """By a server that the command talks to: it had mapped the file long before, so nothing reports its writes."""
    file = bench.project / "deep" / "data.txt"
    wait = shell("echo ready; until [ -e go ]; do sleep 0.01; done; rm go")
    bench.script(call("WriteFile", path="deep/data.txt", content="hello"), "text: ok", wait, "text: ok")
    async with watched(bench, "full") as watcher:
        await finish(watcher.session, "write")
        with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
            prompt = watcher.session.turns.prompt("go", "watcher")
            await watcher.wait_for(ToolOutput, lambda output: "ready" in output.text)
            mapped[:5] = b"HELLO"
            mapped.flush()
            (bench.project / "go").touch()
            await prompt.outcome()
        # where the user has no watches left, the look for the command finds it, and its result tells
        told = [notice.body for notice in watcher.of(Notification) if notice.type == "found_late"]
        assert "data.txt" in str(told or watcher.of(ToolResult)[-1].return_value.extras)
        await finish(watcher.session, "/undo")
    assert file.read_text() == "hello"


async def test_what_is_written_through_a_memory_map_is_found_also_when_the_turn_ends_while_everything_is_looked_at(
    bench: Bench,
) -> None:
    """By then the file was listed, and nothing reports the write."""
    file = bench.project / "deep" / "data.txt"
    file.parent.mkdir()
    file.write_text("hello")
    git(bench.project)
    go, end, first, listed, programs = (bench.root / name for name in ("go", "end", "first", "listed", "programs"))
    programs.mkdir()
    held = f"until [ -e '{go}' ]; do sleep 0.01; done"
    (programs / "git").write_text(
        f"#!/bin/sh\ncase \"$*\" in\n*'-o -i'*) [ -e '{first}' ] || {{ touch '{first}'; {held}; }};;\n"
        f"*--debug*) touch '{listed}'; {held};;\nesac\nexec {shutil.which('git')} \"$@\"\n"
    )
    (programs / "git").chmod(0o755)
    bench.settings["capture"] = {"wait_s": 0.01}
    wait = f"until [ -e '{listed}' ]; do sleep 0.01; done; echo ready; until [ -e '{end}' ]; do sleep 0.01; done"
    bench.script(shell(wait), "text: ok")
    path = f"{programs}:{os.environ['PATH']}"
    async with (
        watched(bench, "full", path) as watcher,
        bench.port.project(bench.project, bench.root, "editor") as editor,
    ):
        editor.documents.open(file)
        with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
            prompt = watcher.session.turns.prompt("go", "watcher")
            await watcher.wait_for(ToolOutput, lambda output: "ready" in output.text)
            mapped[:5] = b"HELLO"
            mapped.flush()
            end.touch()
            await prompt.outcome()
            go.touch()
            late = await watcher.wait_for(Notification, lambda notice: notice.type == "found_late")
    assert "data.txt" in late.body


async def test_the_question_about_a_command_says_which_files_it_names_could_not_be_restored(bench: Bench) -> None:
    (bench.project / "big.bin").write_bytes(b"\0" * (2 * 1024 * 1024 + 1))
    bench.script(shell("touch b.txt"), shell("mv big.bin a.txt"), "text: ok")
    async with watched(bench, "ask") as watcher:
        await finish(watcher.session, "go")
        first, second = watcher.of(ApprovalRequest)
    assert "Going back could not restore" not in first.description
    assert "Going back could not restore what is not saved: big.bin." in second.description.replace(
        f"{bench.project}/", ""
    )
