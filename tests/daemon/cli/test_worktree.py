"""Sessions in a git worktree of their own, with the real program, real git and a scripted model."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from soultest.cliuser import User
from soultest.daemon import until
from soultest.world import SOULD, call, running

TEXT = "".join(f"line {number}\n" for number in range(1, 21))


@pytest.fixture
def user(next_user: User) -> User:
    """With a repository of two files, and changes of their own in every place where git keeps some."""
    git(user := next_user, "init", "-q")
    (user.project / "a.txt").write_text(TEXT)
    (user.project / "sub").mkdir()
    (user.project / "sub" / "b.txt").write_text("b\n")
    git(user, "add", ".")
    git(user, "commit", "-q", "-m", "first")
    return user


def git(user: User, *arguments: str, cwd: Path | None = None) -> str:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    command = ["git", *identity, *arguments]
    done = subprocess.run(
        command, cwd=cwd or user.project, env=user.environment, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def write(name: str, text: str) -> str:
    return call("WriteFile", f"c-{name}", path=name, content=text)


def in_worktree(user: User, *arguments: str, script: str = "text: Done.", **more: Any) -> dict[str, Any]:
    """A session in a worktree of its own: its result."""
    user.scripted(*script.split("\n\n"))
    result = user.result("--mode", "full", "--worktree", *arguments, "go", **more)
    assert result["exit_code"] == 0, result
    return result


def writing(**files: str) -> str:
    calls = "\n".join(write(name.replace("_", "."), text) for name, text in files.items())
    return f"{calls}\n\ntext: Done."


def listed(user: User, *arguments: str) -> list[dict[str, Any]]:
    done = user.sould("worktree", "list", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def pending(user: User, cwd: Path) -> list[dict[str, Any]]:
    done = user.sould("review", "list", "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return [hunk for file in json.loads(done.stdout)["files"] for hunk in file["hunks"]]


def test_a_session_works_on_a_branch_of_its_own_and_nothing_of_the_users_is_touched(user: User) -> None:
    (user.project / "a.txt").write_text(TEXT + "staged\n")
    git(user, "add", "a.txt")
    (user.project / "a.txt").write_text(TEXT + "staged\nnot staged\n")
    (user.project / "untracked.txt").write_text("mine\n")
    head = git(user, "symbolic-ref", "HEAD")
    before = (git(user, "status", "--porcelain"), (user.project / ".git" / "index").read_bytes())
    result = in_worktree(user, script=writing(a_txt="agent\n"))
    place = Path(result["worktree"]["cwd"])
    assert (place / "a.txt").read_text() == "agent\n"
    assert (place / "sub" / "b.txt").read_text() == "b\n"
    assert not (place / "untracked.txt").exists()
    assert result["worktree"]["branch"] == git(user, "branch", "--show-current", cwd=place) == "sould/work-1"
    assert (git(user, "status", "--porcelain"), (user.project / ".git" / "index").read_bytes()) == before
    assert git(user, "symbolic-ref", "HEAD") == head
    assert (user.project / "a.txt").read_text() == TEXT + "staged\nnot staged\n"


def test_two_sessions_in_two_worktrees_write_the_same_file_and_neither_sees_the_others_hunks(user: User) -> None:
    one = Path(in_worktree(user, script=writing(a_txt=TEXT + "one\n"))["worktree"]["cwd"])
    two = Path(in_worktree(user, script=writing(a_txt=TEXT + "two\n"))["worktree"]["cwd"])
    assert one != two
    for place, word in ((one, "one"), (two, "two")):
        (hunk,) = pending(user, place)
        assert [line["text"] for line in hunk["lines"]] == [f"{word}\n"]
    assert pending(user, user.project) == []


def test_a_session_asked_for_below_the_top_works_below_the_top(user: User) -> None:
    result = in_worktree(user, "--worktree-name", "mend-b", cwd=user.project / "sub")
    assert result["worktree"] == {"cwd": str(Path(result["worktree"]["cwd"])), "branch": "sould/mend-b"}
    assert result["worktree"]["cwd"].endswith("/mend-b/sub")


def test_the_list_says_what_would_be_lost_and_whose_it_is(user: User) -> None:
    result = in_worktree(user, script=writing(a_txt="agent\n", new_txt="n\n"))
    (row,) = listed(user)
    assert (row["name"], row["uncommitted"], row["hunks"], row["removed"]) == ("work-1", 2, 2, False)
    assert [each["id"] for each in row["sessions"]] == [result["session_id"]]
    shown = user.sould("worktree", "list").stdout
    assert "2 uncommitted, 2 to review" in shown
    assert "go" in shown.split()
    assert (row["name"], row["repository"]) in [(each["name"], each["repository"]) for each in listed(user, "--all")]
    elsewhere = user.sould("worktree", "list", cwd=user.home)
    assert "No worktrees" in elsewhere.stderr


def test_what_was_kept_is_merged_as_changes_to_be_reviewed_and_both_sides_stay(user: User) -> None:
    changed = TEXT.replace("line 2\n", "agent 2\n").replace("line 18\n", "agent 18\n")
    place = Path(in_worktree(user, script=writing(a_txt=changed, new_txt="new\n"))["worktree"]["cwd"])
    first = next(hunk for hunk in pending(user, place) if hunk["lines"] and hunk["lines"][0]["text"] == "agent 2\n")
    assert user.sould("review", "keep", str(first["id"]), cwd=place).returncode == 0
    (user.project / "a.txt").write_text(TEXT.replace("line 10\n", "mine 10\n"))
    done = user.sould("worktree", "merge", "work-1")
    assert done.returncode == 1, done
    assert "a.txt" in done.stdout
    assert "new.txt was left as it is: it is pending in the review there" in done.stderr
    assert "2 files there had changes to be reviewed" in done.stderr
    both = TEXT.replace("line 10\n", "mine 10\n").replace("line 2\n", "agent 2\n")
    assert (user.project / "a.txt").read_text() == both
    (hunk,) = pending(user, user.project)
    assert [line["text"] for line in hunk["lines"]] == ["agent 2\n"]
    done = user.sould("worktree", "merge", "--all", "work-1")
    assert done.returncode == 0, done
    assert (user.project / "new.txt").read_text() == "new\n"
    assert (user.project / "a.txt").read_text() == both.replace("line 18\n", "agent 18\n")
    assert len(pending(user, place)) == 2
    assert "it is all here" in user.sould("worktree", "merge", "--all", "work-1").stderr
    assert user.sould("review", "reject", "all").returncode == 0
    assert (user.project / "a.txt").read_text() == TEXT.replace("line 10\n", "mine 10\n")


def test_what_both_changed_in_the_same_place_and_what_runs_by_itself_stays_as_it_is(user: User) -> None:
    place = Path(in_worktree(user)["worktree"]["cwd"])
    (place / "a.txt").write_text(TEXT.replace("line 5\n", "theirs\n"))
    (place / ".vscode").mkdir()
    (place / ".vscode" / "tasks.json").write_text("{}\n")
    (place / "gone").symlink_to("/etc")
    (place / "sub" / "b.txt").unlink()
    git(user, "add", "-A", cwd=place)
    git(user, "commit", "-q", "-m", "theirs", cwd=place)
    (user.project / "a.txt").write_text(TEXT.replace("line 5\n", "mine\n"))
    done = user.sould("worktree", "merge", "work-1")
    assert done.returncode == 1
    assert "a.txt was left as it is: it was changed here as well, in the same place" in done.stderr
    assert "tasks.json was left as it is" in done.stderr
    assert "sould/work-1" in done.stderr
    assert (user.project / "a.txt").read_text() == TEXT.replace("line 5\n", "mine\n")
    assert not (user.project / ".vscode").exists()
    assert not (user.project / "sub" / "b.txt").exists()


def test_a_text_of_any_encoding_is_merged_and_what_both_changed_side_by_side_or_is_no_text_is_not(user: User) -> None:
    legacy, picture = TEXT.replace("line 10\n", "caf\xe9\n").encode("latin-1"), b"\x89PNG\0\0\n1\n2\n3\n4\n5\n"
    (user.project / "legacy.txt").write_bytes(legacy)
    (user.project / "picture.png").write_bytes(picture)
    git(user, "add", ".")
    git(user, "commit", "-q", "-m", "second")
    place = Path(in_worktree(user)["worktree"]["cwd"])
    (place / "legacy.txt").write_bytes(legacy.replace(b"line 2\n", b"theirs\n"))
    (place / "picture.png").write_bytes(picture.replace(b"5\n", b"five\n"))
    (place / "a.txt").write_text(TEXT.replace("line 5\n", "theirs\n"))
    (user.project / "legacy.txt").write_bytes(legacy.replace(b"line 18\n", b"mine\n"))
    (user.project / "picture.png").write_bytes(picture.replace(b"1\n", b"one\n"))
    (user.project / "a.txt").write_text(TEXT.replace("line 6\n", "mine\n"))
    done = user.sould("worktree", "merge", "work-1")
    assert "legacy.txt" in done.stdout
    merged = legacy.replace(b"line 2\n", b"theirs\n").replace(b"line 18\n", b"mine\n")
    assert (user.project / "legacy.txt").read_bytes() == merged
    assert "a.txt was left as it is: it was changed here as well, in the same place" in done.stderr
    assert "picture.png was left as it is: it was changed here as well, in the same place" in done.stderr
    assert (user.project / "a.txt").read_text() == TEXT.replace("line 6\n", "mine\n")


def test_a_merge_keeps_the_names_of_a_file_and_changes_none_outside_the_project(user: User) -> None:
    place = Path(in_worktree(user)["worktree"]["cwd"])
    (place / "a.txt").write_text("theirs\n")
    (place / "sub" / "b.txt").write_text("theirs\n")
    (user.project / "same.txt").hardlink_to(user.project / "a.txt")
    (user.home / "outside.txt").hardlink_to(user.project / "sub" / "b.txt")
    done = user.sould("worktree", "merge", "work-1")
    assert done.returncode == 1
    assert (user.project / "same.txt").read_text() == (user.project / "a.txt").read_text() == "theirs\n"
    assert "b.txt was left as it is" in done.stderr
    assert "has other names outside the project (hard links)" in done.stderr
    assert (user.home / "outside.txt").read_text() == (user.project / "sub" / "b.txt").read_text() == "b\n"
    assert user.sould("review", "reject", "all").returncode == 0
    assert (user.project / "same.txt").read_text() == TEXT


def test_a_worktree_is_removed_only_when_nothing_is_lost_and_its_session_says_how_it_comes_back(user: User) -> None:
    result = in_worktree(user, script=writing(a_txt="agent\n"))
    place = Path(result["worktree"]["cwd"])
    refused = user.sould("worktree", "remove", "work-1")
    assert refused.returncode == 1
    assert "uncommitted changes (a.txt) and 1 hunk to be reviewed" in refused.stderr
    git(user, "commit", "-q", "-a", "-m", "agent's", cwd=place)
    assert user.sould("review", "keep", "all", cwd=place).returncode == 0
    removed = user.sould("worktree", "remove", "work-1")
    assert removed.returncode == 0, removed.stderr
    assert "its branch sould/work-1 stays" in removed.stderr
    assert not place.exists()
    assert listed(user)[0]["removed"] is True
    gone = user.sould("run", "--session", result["session_id"], "again", cwd=user.project)
    assert "was removed" in gone.stderr
    assert "sould worktree restore work-1" in gone.stderr
    assert user.sould("worktree", "restore", "work-1").returncode == 0
    assert (place / "a.txt").read_text() == "agent\n"
    user.scripted("text: Here again.")
    again = user.result("--session", result["session_id"], "again", cwd=user.project)
    assert (again["text"], again["worktree"]["branch"]) == ("Here again.", "sould/work-1")


def test_what_was_merged_with_all_keeps_no_worktree_until_it_is_changed_there_or_rejected_here(user: User) -> None:
    place = Path(in_worktree(user)["worktree"]["cwd"])
    (place / "a.txt").write_text("theirs\n")
    (place / "new.txt").write_text("new\n")
    assert user.sould("worktree", "merge", "--all", "work-1").returncode == 0
    (place / "new.txt").write_text("newer\n")
    refused = user.sould("worktree", "remove", "work-1")
    assert (refused.returncode, "(new.txt)" in refused.stderr) == (1, True)
    (place / "new.txt").write_text("new\n")
    (user.project / "a.txt").write_text("mine again\n")
    refused = user.sould("worktree", "remove", "work-1")
    assert (refused.returncode, "(a.txt)" in refused.stderr) == (1, True)
    (user.project / "a.txt").write_text("theirs\n")
    assert user.sould("worktree", "remove", "work-1").returncode == 0
    assert not place.exists()
    assert (user.project / "new.txt").read_text() == "new\n"


def test_force_removes_what_is_not_committed_and_a_branch_without_commits_of_its_own(user: User) -> None:
    place = Path(in_worktree(user, script=writing(a_txt="agent\n"))["worktree"]["cwd"])
    assert user.sould("worktree", "remove", "--force", "work-1").returncode == 0
    assert not place.exists()
    assert git(user, "branch", "--list", "sould/*") == ""
    assert git(user, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert "removed already" in user.sould("worktree", "remove", "--force", "work-1").stderr


def test_prune_removes_with_a_yes_those_whose_sessions_are_archived(user: User) -> None:
    one, two = in_worktree(user), in_worktree(user)
    assert "none to remove" in user.sould("worktree", "prune").stderr
    assert user.sould("sessions", "archive", one["session_id"]).returncode == 0
    assert Path(one["worktree"]["cwd"]).exists()
    assert user.sould("worktree", "prune").returncode == 2
    assert user.sould("worktree", "prune", "--yes").returncode == 0
    assert not Path(one["worktree"]["cwd"]).exists()
    assert Path(two["worktree"]["cwd"]).exists()


@pytest.mark.parametrize("name", ["Mend", "a/b", "..", "-x", "a b"])
def test_a_name_that_is_none_is_refused(user: User, name: str) -> None:
    refused = user.result(f"--worktree-name={name}", "go")
    assert "is no name for a worktree" in refused["error"]["message"]
    assert listed(user) == []


def test_what_cannot_be_made_is_said_in_a_sentence_and_leaves_nothing(user: User) -> None:
    def refused(*arguments: str, **more: Any) -> str:
        result = user.result("--worktree", *arguments, "go", **more)
        assert result["exit_code"] == 1, result
        return str(result["error"]["message"])

    assert "is in no git repository" in refused(cwd=user.home)
    empty = user.home / "empty"
    subprocess.run(["git", "init", "-q", str(empty)], check=True, env=user.environment)
    assert "has no commit yet" in refused(cwd=empty)
    git(user, "branch", "sould/taken")
    assert "The branch sould/taken exists already" in refused("--worktree-name", "taken")
    in_worktree(user, "--worktree-name", "mine")
    assert "There is a worktree called mine already" in refused("--worktree-name", "mine")
    assert "not on the PATH" in refused(env={"PATH": str(Path(user.home, "nowhere"))})
    assert [row["name"] for row in listed(user)] == ["mine"]
    assert git(user, "worktree", "list", "--porcelain").count("worktree ") == 2


HOSTILE = """\
[core]
	hooksPath = {hooks}
	fsmonitor = {program}
	sshCommand = {program}
	editor = {program}
	pager = {program}
[filter "evil"]
	clean = {program}
	smudge = {program}
	process = {program}
	required = true
[hook "evil"]
	command = {program}
	event = post-checkout
	event = reference-transaction
[diff "evil"]
	command = {program}
	textconv = {program}
[submodule]
	recurse = true
"""


def hostile(user: User) -> Path:
    """A repository whose configuration runs a program at every occasion; the file that it makes."""
    mark, program = user.home / f"ran-{user.project.name}", user.project / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch {mark}\nexit 0\n")
    program.chmod(0o755)
    hooks = user.project / ".git" / "evilhooks"
    for folder in (hooks, user.project / ".git" / "hooks"):
        folder.mkdir(exist_ok=True)
        for hook in ("post-checkout", "reference-transaction", "post-index-change", "pre-commit"):
            (folder / hook).write_text(program.read_text())
            (folder / hook).chmod(0o755)
    (user.project / ".gitattributes").write_text("*.txt filter=evil diff=evil\n")
    git(user, "-c", "core.hooksPath=/dev/null", "add", ".gitattributes")
    git(user, "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "attributes")
    with (user.project / ".git" / "config").open("a") as config:
        config.write(HOSTILE.format(hooks=hooks, program=program))
    assert not mark.exists()
    return mark


def test_a_hostile_repository_runs_nothing_when_a_worktree_is_made_listed_merged_and_removed(user: User) -> None:
    mark = hostile(user)
    place = Path(in_worktree(user)["worktree"]["cwd"])
    assert (place / "a.txt").read_text() == TEXT
    (place / "a.txt").write_text("theirs\n")
    os.utime(place / "sub" / "b.txt")
    assert listed(user)[0]["uncommitted"] == 1
    assert user.sould("worktree", "merge", "work-1").returncode == 0
    assert (user.project / "a.txt").read_text() == "theirs\n"
    assert user.sould("worktree", "remove", "--force", "work-1").returncode == 0
    assert user.sould("worktree", "restore", "work-1").returncode == 0
    assert not mark.exists()


@pytest.mark.parametrize("condition", ["onbranch:sould/**", "gitdir:**/worktrees/**"])
def test_a_configuration_that_says_something_else_in_a_worktree_is_refused(user: User, condition: str) -> None:
    mark = hostile(user)
    config = user.project / ".git" / "config"
    later = user.project / ".git" / "later"
    later.write_text(config.read_text())
    config.write_text(f'[core]\n\trepositoryformatversion = 0\n[includeIf "{condition}"]\n\tpath = {later}\n')
    refused = user.result("--worktree", "go")
    assert "under conditions" in refused["error"]["message"]
    assert not mark.exists()
    assert listed(user) == []
    assert git(user, "-c", "core.hooksPath=/dev/null", "branch", "--list", "sould/*") == ""


def test_what_a_kill_left_half_made_is_taken_away_by_the_next_try(user: User) -> None:
    place = Path(in_worktree(user)["worktree"]["cwd"])
    record = next(user.state.glob(f"worktrees/*{user.project.name}*/work-1.json"))
    record.write_text(record.read_text().replace('"ready"', '"making"'))
    (place / "a.txt").unlink()
    assert listed(user) == []
    again = in_worktree(user)
    assert again["worktree"]["branch"] == "sould/work-1"
    assert (Path(again["worktree"]["cwd"]) / "a.txt").read_text() == TEXT
    assert git(user, "worktree", "list", "--porcelain").count("worktree ") == 2


def test_a_run_in_a_worktree_names_its_session_to_go_on(user: User) -> None:
    """The latest session of the directory, which `-c` goes on with, is another one."""
    user.scripted("text: Done.")
    assert "continue: sould run --session" in user.sould("run", "--worktree", "go").stderr
    assert 'continue: sould run -c "…"' in user.sould("run", "go").stderr


@pytest.mark.parametrize("step", ["worktree add", "reset --quiet"])
def test_a_kill_at_any_step_leaves_nothing_that_blocks(user: User, step: str) -> None:
    """A git of the user's says when it is at the step, and waits there. It ends with the daemon."""
    programs, reached, never = (
        user.home / f"git-{abs(hash(step))}",
        user.home / f"reached-{step}",
        user.home / f"never-{step}",
    )
    programs.mkdir()
    os.mkfifo(reached)
    os.mkfifo(never)
    script = f"""#!/bin/sh
case "$*" in *"{step}"*) echo $$ > '{reached}'; read line < '{never}';; esac
exec {shutil.which("git")} "$@"
"""
    (programs / "git").write_text(script)
    (programs / "git").chmod(0o755)
    environment = user.environment | {"PATH": f"{programs}:{user.environment['PATH']}"}
    command = [str(SOULD), "run", "--worktree-name", "cut-off", "go"]
    with subprocess.Popen(command, env=environment, cwd=user.project, stderr=subprocess.DEVNULL) as run:
        pid = int(reached.read_text())
        user.daemon.kill9()
        assert run.wait() != 0
    until(lambda: not running(pid), what="the end of git")
    assert listed(user) == []
    again = in_worktree(user, "--worktree-name", "cut-off")
    assert (Path(again["worktree"]["cwd"]) / "a.txt").read_text() == TEXT
    assert [row["name"] for row in listed(user)] == ["cut-off"]
    assert git(user, "worktree", "list", "--porcelain").count("worktree ") == 2


def test_trust_goes_as_far_as_the_configuration_is_the_same(user: User) -> None:
    skill = user.project / ".sould" / "hooks.toml"
    skill.parent.mkdir()
    skill.write_text("# trusted\n")
    git(user, "add", ".sould")
    git(user, "commit", "-q", "-m", "configuration")
    unknown = Path(in_worktree(user)["worktree"]["cwd"])
    assert "is not trusted" in user.sould("trust", "--show", cwd=unknown).stdout
    assert user.sould("trust", "--yes").returncode == 0
    same = Path(in_worktree(user)["worktree"]["cwd"])
    assert user.sould("trust", "--show", cwd=same).stdout == f"{same} is trusted.\n"
    skill.write_text("# committed, but never trusted\n")
    git(user, "commit", "-q", "-a", "-m", "another")
    other = Path(in_worktree(user)["worktree"]["cwd"])
    assert "hooks.toml: changed" in user.sould("trust", "--show", cwd=other).stdout
