"""What commands do to files is the call's: found, kept and taken back like any edit, and nobody's else."""

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sould.agents.soul.timetravel.timeline import timeline
from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    FilesRestored,
    ToolOutput,
    ToolResult,
)
from soultest.bench import Bench, Watcher, call, finish, make_bench
from soultest.bench.mcp import configure, entry, state_of, user_file
from soultest.streams import until


def shell(command: str, **more: object) -> str:
    return call("Shell", command=command, **more)


def tree(root: Path) -> dict[str, tuple[int, object]]:
    """Everything below `root` but git's own: modes, contents and where links lead."""
    found: dict[str, tuple[int, object]] = {}
    for path in sorted(root.rglob("*")):
        if ".git" in path.relative_to(root).parts[:1]:
            continue
        mode = path.lstat().st_mode
        content: object = os.readlink(path) if stat.S_ISLNK(mode) else path.read_bytes() if stat.S_ISREG(mode) else ""
        found[str(path.relative_to(root))] = (mode, content)
    return found


def plain(project: Path) -> None:
    """A project without git."""


def git(project: Path) -> None:
    """A project of which git has everything as it is."""
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        command = ["git", "-c", "user.name=u", "-c", "user.email=u@example.invalid", *arguments]
        subprocess.run(command, cwd=project, check=True)
    os.utime(project / ".git" / "index", (4_000_000_000, 4_000_000_000))  # so that git is sure of every file


def filled(project: Path) -> None:
    (project / "src").mkdir()
    (project / "src" / "run.sh").write_text("#!/bin/sh\necho run\n")
    (project / "src" / "run.sh").chmod(0o755)
    (project / "src" / "crlf.txt").write_bytes(b"one\r\ntwo\r\n")
    (project / "image.png").write_bytes(bytes(range(256)) * 10)
    (project / "link").symlink_to("src/run.sh")
    (project / "empty").mkdir()


async def test_a_command_during_which_the_project_was_moved_says_that_its_changes_are_not_known(bench: Bench) -> None:
    aside = bench.project.with_name("aside")
    bench.script(shell(f"echo changed > a.txt; mv '{bench.project}' '{aside}'"), "text: ok")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        said = "".join(output.text for output in watcher.of(ToolOutput))
        assert "going back cannot restore it, because this was moved" in said
        aside.rename(bench.project)


@pytest.mark.parametrize("kind", [plain, git])
async def test_undo_takes_back_all_that_a_command_did_and_redo_returns_it(
    bench: Bench, kind: Callable[[Path], None]
) -> None:
    project = bench.project
    filled(project)
    kind(project)
    before = tree(project)
    bench.script(
        shell(
            "echo more >> a.txt; chmod 644 src/run.sh; rm src/crlf.txt; printf '\\0\\1' > image.png; ln -sfn a.txt link; "
            "rmdir empty; mkdir -p new/deep; echo x > new/deep/x; chmod 700 new/deep/x; mv src moved; ln -s a.txt other"
        ),
        "text: done",
    )
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        after = tree(project)
        assert after != before
        await finish(watcher.session, "/undo")
        assert tree(project) == before
        await finish(watcher.session, "/redo")
        assert tree(project) == after
        await finish(watcher.session, "/undo")
        assert tree(project) == before
        assert all(file.action != "conflict" for done in watcher.of(FilesRestored) for file in done.files)


async def test_what_the_user_wrote_before_and_after_a_command_stays(bench: Bench) -> None:
    a, mine = bench.project / "a.txt", bench.project / "mine.txt"
    a.write_text("1\n2\n3\n4\n5\n6\n")
    bench.script(shell("sed -i s/2/TWO/ a.txt"), "text: 1", shell("sed -i s/4/FOUR/ a.txt"), "text: 2")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "first")
        a.write_text(a.read_text().replace("6\n", "6\nbetween\n"))
        mine.write_text("mine")
        await finish(watcher.session, "second")
        a.write_text("mine\n" + a.read_text())
        await finish(watcher.session, "/rewind 0")
    assert a.read_text() == "mine\n1\n2\n3\n4\n5\n6\nbetween\n"
    assert mine.read_text() == "mine"


async def test_an_edit_and_a_command_in_one_step_are_both_taken_back(bench: Bench) -> None:
    edit = call("WriteFile", path="a.txt", content="edited\n")
    bench.script(f"{edit}\n{shell('echo made > made.txt; echo b > sub.txt')}", shell("echo more >> a.txt"), "text: ok")
    before = tree(bench.project)
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        assert (bench.project / "a.txt").read_text() == "edited\nmore\n"
        await finish(watcher.session, "/undo")
    assert tree(bench.project) == before


async def test_a_write_of_ours_under_way_is_not_the_doing_of_the_command_beside_it(bench: Bench) -> None:
    """Found by CI: the look before a command saw a swap of the edit beside it, and `/undo` brought that file back."""
    passing = bench.project / ".sould-0123456789abcdef.tmp"
    passing.write_text("hello\n")
    before = tree(bench.project)
    bench.script(shell(f"rm {passing.name}; echo more >> a.txt"), "text: ok")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        await finish(watcher.session, "/undo")
    assert tree(bench.project) == {name: each for name, each in before.items() if name != passing.name}


async def test_a_directory_added_while_a_command_runs_was_there_before(bench: Bench) -> None:
    added = bench.root / "library"
    added.mkdir()
    (added / "mine.txt").write_text("mine")
    bench.script(shell("echo began; until [ -e go ]; do sleep 0.01; done; echo more >> a.txt"), "text: ok")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        prompt = watcher.session.turns.prompt("go", "watcher")
        await watcher.wait_for(ToolOutput)
        watcher.session.parts.operations.directories.add((added,))
        (bench.project / "go").touch()
        await prompt.outcome()
        await finish(watcher.session, "/undo")
    assert (bench.project / "a.txt").read_text() == "hello\n"
    assert (added / "mine.txt").read_text() == "mine"


async def test_what_an_agent_makes_has_the_modes_of_the_sessions_umask_also_when_it_is_made_again(bench: Bench) -> None:
    """The daemon's own umask is private."""
    mask = os.umask(0o077)
    try:
        hook = {"event": "PostToolUse", "matcher": "WriteFile", "command": "mkdir -p by; touch by/hook"}
        bench.settings["hooks"] = [hook]
        script = bench.project / "run.sh"
        script.write_text("echo\n")
        script.chmod(0o751)
        bench.script(
            call("WriteFile", path="made/tool.txt", content="x"),
            call("StrReplaceFile", path="run.sh", edit={"old": "echo", "new": "true"}),
            shell("mkdir shell; echo x > shell/command; chmod +x shell/command; ln -s command shell/link"),
            "text: done",
        )
        async with bench.running():
            opening = bench.opening(mode="full", umask=0o002)
            watcher = Watcher(await bench.host.new(opening))
            await finish(watcher.session, "go")
            made = {name: oct(mode & 0o7777) for name, (mode, _) in tree(bench.project).items() if name != "a.txt"}
            after = tree(bench.project)
            await finish(watcher.session, "/undo")
            assert not (bench.project / "made").exists()
            await finish(watcher.session, "/redo")
            assert tree(bench.project) == after
    finally:
        os.umask(mask)
    assert made == {
        "by": "0o775",
        "by/hook": "0o664",
        "made": "0o775",
        "made/tool.txt": "0o664",
        "run.sh": "0o751",
        "shell": "0o775",
        "shell/command": "0o775",
        "shell/link": "0o777",
    }
    assert all(path.stat().st_mode & 0o077 == 0 for path in bench.state.rglob("*")), "our own files stay private"


async def test_ignored_files_are_left_alone_and_git_is_not_touched(bench: Bench) -> None:
    (bench.project / ".gitignore").write_text("build/\n")
    git(bench.project)
    index = (bench.project / ".git" / "index").read_bytes()
    bench.script(shell("mkdir build; echo o > build/o; echo n > new.txt; echo c >> a.txt"), "text: ok")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        await finish(watcher.session, "/undo")
    assert (bench.project / "build" / "o").read_text() == "o\n"
    assert not (bench.project / "new.txt").exists()
    assert (bench.project / "a.txt").read_text() == "hello\n"
    assert (bench.project / ".git" / "index").read_bytes() == index


async def test_a_file_too_large_to_save_is_said_on_the_card_and_in_the_answer(bench: Bench) -> None:
    big = bench.project / "big.bin"
    big.write_bytes(b"\0" * (2 * 1024 * 1024 + 1))
    bench.script(shell("echo x >> big.bin; echo y >> a.txt"), "text: ok")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        (result,) = watcher.of(ToolResult)
        await finish(watcher.session, "/undo")
        (done,) = watcher.of(FilesRestored)
    assert "not saved" in str(result.return_value.output)
    assert "big.bin" in str(result.return_value.output)
    assert {Path(file.path).name: file.action for file in done.files} == {"big.bin": "conflict", "a.txt": "restored"}


async def test_what_was_beyond_the_limit_and_no_longer_is_was_not_made_by_the_command(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, {"capture": {"max_files": 12}})
    many = bench.project / "many"
    many.mkdir()
    for n in range(12):
        (many / f"{n}.txt").write_text("much\n")
    bench.script(
        shell("rm many/1*"),
        "text: few",
        shell("echo x >> many/2.txt; touch many/1.txt many/10.txt many/11.txt"),
        "text: many",
    )
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        before = tree(bench.project)
        (result,) = watcher.of(ToolResult)
        assert f"It changed something in: {many}." in result.return_value.message
        await finish(watcher.session, "/undo")
        assert tree(bench.project) == before
        await finish(watcher.session, "again")
        await finish(watcher.session, "/undo")
    assert set(before) <= set(tree(bench.project))
    assert (many / "3.txt").read_text() == "much\n"


async def test_what_a_background_command_did_is_told_and_left(bench: Bench) -> None:
    bench.script(
        shell("echo by task > task.txt", run_in_background=True),
        call("TaskOutput", task_id="shell_1", block=True),
        "text: ok",
    )
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        await finish(watcher.session, "/rewind 0")
        (done,) = watcher.of(FilesRestored)
    assert [(Path(file.path).name, file.action) for file in done.files] == [("task.txt", "conflict")]
    assert (bench.project / "task.txt").read_text() == "by task\n"


async def test_what_a_cancelled_command_did_is_taken_back_too(bench: Bench) -> None:
    bench.script(shell("echo begun > begun.txt; echo ready; sleep 100"), "text: never")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        prompt = watcher.session.turns.prompt("go", "watcher")
        await watcher.wait_for(ToolOutput, lambda output: "ready" in output.text)
        watcher.session.turns.cancel("watcher")
        await prompt.outcome()
        await finish(watcher.session, "/undo")
    assert not (bench.project / "begun.txt").exists()


async def test_a_cancel_while_files_are_looked_at_ends_the_turn_and_what_the_command_did_is_taken_back(
    bench: Bench,
) -> None:
    """Git is asked about new names when the command has ended."""
    git(bench.project)
    looking, programs = bench.root / "looking", bench.root / "programs"
    programs.mkdir()
    note = f"case \"$*\" in *check-ignore*) touch '{looking}';; esac"
    (programs / "git").write_text(f'#!/bin/sh\n{note}\nexec {shutil.which("git")} "$@"\n')
    (programs / "git").chmod(0o755)
    made = "mkdir made && cd made && seq 400 | split -l 1 -a 3 - f"
    bench.script(shell("true"), shell(made), "text: never")
    async with bench.running():
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
        watcher = Watcher(await bench.host.new(bench.opening(environment=environment, mode="full")))
        prompt = watcher.session.turns.prompt("go", "watcher")
        await until(looking.exists)
        watcher.session.turns.cancel("watcher")
        assert (await prompt.outcome()).stop_reason == "cancelled"
        assert len(os.listdir(bench.project / "made")) == 400
        await finish(watcher.session, "/undo")
    assert not (bench.project / "made").exists()


async def test_the_timeline_counts_what_commands_changed(bench: Bench) -> None:
    bench.script(shell("echo x > x; echo y > y"), "text: ok")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        moments = timeline((record.message, record.timestamp) for record in watcher.session.log.replay())
    assert [len(moment.files) for moment in moments if moment.kind == "step"] == [2, 0]


async def test_what_another_session_may_have_done_is_told_and_left(bench: Bench) -> None:
    slow = "echo began; while ! test -e go; do sleep 0.01; done; echo slow > slow.txt"
    bench.script(shell(slow), "text: ok")
    async with bench.running():
        first = Watcher(await bench.new("full"))
        waiting = first.session.turns.prompt("go", "watcher")
        await first.wait_for(ToolOutput)
        bench.script(shell("echo other > other.txt; touch go"), "text: ok")
        second = Watcher(await bench.new("full"))
        await finish(second.session, "go")
        await waiting.outcome()
        for watcher in (first, second):
            await finish(watcher.session, "/rewind 0")
            (done,) = watcher.of(FilesRestored)
            assert {file.action for file in done.files} <= {"conflict"}
    assert (bench.project / "slow.txt").exists()
    assert (bench.project / "other.txt").exists()


async def test_what_a_hook_makes_of_an_edit_is_taken_back_with_it(tmp_path: Path) -> None:
    hook = {"event": "PostToolUse", "matcher": "WriteFile", "command": "sed -i s/x/formatted/ a.txt"}
    bench = make_bench(tmp_path, {"hooks": [hook]}, [call("WriteFile", path="a.txt", content="x\n"), "text: ok"])
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        assert (bench.project / "a.txt").read_text() == "formatted\n"
        await finish(watcher.session, "/undo")
    assert (bench.project / "a.txt").read_text() == "hello\n"


@pytest.mark.parametrize("tool", [call("WriteFile", path="a.txt", content="x\n"), shell("echo x > a.txt")])
async def test_what_the_user_writes_while_a_call_with_hooks_waits_for_them_is_theirs(tmp_path: Path, tool: str) -> None:
    hooks = [{"event": "PreToolUse", "command": "echo pre > pre.txt"}, {"event": "PostToolUse", "command": "rm a.txt"}]
    bench = make_bench(tmp_path, {"hooks": hooks}, [tool, "text: ok"])
    async with bench.running():
        watcher = Watcher(await bench.new("ask"), answer=None)
        turn = watcher.session.turns.prompt("go", "watcher")
        asked = await watcher.wait_for(ApprovalRequest)
        (bench.project / "mine.txt").write_text("mine\n")
        watcher.session.parts.attached.answer(ApprovalResponse(request_id=asked.id, response="approve"), "watcher")
        await turn.outcome()
        assert not (bench.project / "a.txt").exists()
        assert (bench.project / "pre.txt").exists()
        await finish(watcher.session, "/undo")
    left = {path.name: path.read_text() for path in bench.project.iterdir()}
    assert left == {"a.txt": "hello\n", "mine.txt": "mine\n"}


async def test_what_an_mcp_server_writes_is_taken_back(bench: Bench) -> None:
    configure(user_file(bench), {"s": entry("rich")})
    bench.script(call("s__write", path="a.txt", text="by the server"), "text: ok")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await state_of(watcher, "s", "connected")
        await finish(watcher.session, "go")
        assert (bench.project / "a.txt").read_text() == "by the server"
        await finish(watcher.session, "/undo")
    assert (bench.project / "a.txt").read_text() == "hello\n"


def hostile(project: Path, ran: Path) -> None:
    """A project whose git configuration names a program wherever it can, and lacks what git would have to fetch."""
    git(project)
    program = project / ".git" / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    blob = subprocess.run(["git", "rev-parse", "HEAD:a.txt"], cwd=project, check=True, capture_output=True, text=True)
    (project / ".git" / "objects" / blob.stdout[:2] / blob.stdout[2:].strip()).unlink()
    settings = {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": str(project),
        "remote.origin.uploadpack": str(program),
        "protocol.file.allow": "always",
        "core.fsmonitor": str(program),
        "core.pager": str(program),
        "core.hooksPath": str(program.parent),
        "core.sshCommand": str(program),
        "core.alternateRefsCommand": str(program),
        "diff.external": str(program),
        "diff.x.command": str(program),
        "diff.x.textconv": str(program),
        "gpg.program": str(program),
        "log.showSignature": "true",
        "filter.x.clean": str(program),
        "filter.x.smudge": str(program),
    }
    for name, value in settings.items():
        subprocess.run(["git", "config", name, value], cwd=project, check=True)
    (project / ".gitattributes").write_text("* filter=x diff=x\n")


async def test_looking_runs_nothing_that_the_project_s_git_configuration_names(bench: Bench) -> None:
    project, ran = bench.project, bench.project.parent / "ran"
    filled(project)
    hostile(project, ran)
    bench.script(shell("rm a.txt; echo more >> src/run.sh"), "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        await finish(watcher.session, "/undo")
        [result] = watcher.of(ToolResult)
    assert "a.txt" in json.dumps(result.return_value.extras)
    assert (project / "src" / "run.sh").read_text() == "#!/bin/sh\necho run\n"
    assert not ran.exists()


async def test_a_file_that_git_has_is_not_read_whole_into_the_daemon_when_it_is_huge(bench: Bench) -> None:
    with (bench.project / "film").open("wb") as file:
        file.truncate(17 * 1024 * 1024)
    git(bench.project)
    bench.script(shell("rm film"), "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        [result] = watcher.of(ToolResult)
    assert "going back cannot restore it" in result.return_value.message


async def test_a_name_that_is_no_text_is_told_and_ends_nothing(bench: Bench) -> None:
    bench.script(shell("echo x > $'caf\\xe9'; mkdir $'d\\xff'; echo y > $'d\\xff/y'; echo more >> a.txt"), "text: done")
    before = (bench.project / "a.txt").read_bytes()
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        end = await finish(watcher.session, "go")
        [result] = watcher.of(ToolResult)
        await finish(watcher.session, "/undo")
    assert end.stop_reason == "finished"
    assert "cannot restore it because it was not saved" in result.return_value.message
    assert "caf\\xe9" in result.return_value.message
    assert (bench.project / "a.txt").read_bytes() == before
