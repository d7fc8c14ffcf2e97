"""Git's commands that only show are run unasked only where the repository can make them run or show nothing else."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sould.agents.permissions.policy import RunCommand, decide
from sould.agents.permissions.rules import Rules
from soultest.policy import place_of

GIT = ("git", "-c", "user.name=u", "-c", "user.email=u@example.org", "-c", "protocol.file.allow=always")


def git(at: Path, *arguments: str) -> None:
    subprocess.run([*GIT, *arguments], cwd=at, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-q")
    (root / "a.py").write_text("a = 1\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


def unasked(line: str, cwd: Path, root: Path | None = None) -> bool:
    return decide(RunCommand(line, cwd), Rules(), "unknown", "plan", place_of(root or cwd)).decision == "allow"


def test_an_ordinary_repository_is_looked_at_unasked_also_from_below_and_from_another_work_tree(project: Path) -> None:
    git(project, "remote", "add", "origin", "https://example.org/a.git")
    git(project, "config", "branch.main.remote", "origin")
    (project / "sub").mkdir()
    other = project.parent / "other"
    git(project, "worktree", "add", "-q", str(other))
    for cwd, root in ((project, project), (project / "sub", project), (other, other)):
        assert unasked("git status && git diff && git log -p -n 3 && git show HEAD", cwd, root)


def a_key(name: str, value: str = "touch ran") -> Callable[[Path], None]:
    return lambda project: git(project, "config", name, value)


def a_hook(project: Path) -> None:
    (project / ".git" / "hooks" / "post-index-change").write_text("#!/bin/sh\ntouch ran\n")


def a_submodule(project: Path) -> None:
    inner = project / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "b").write_text("b\n")
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "inner")
    git(inner, "config", "core.fsmonitor", "touch ran")
    git(project, "add", "inner")


def another_git_directory(project: Path) -> None:
    (project / ".git").rename(project / "elsewhere")
    git(project / "elsewhere", "config", "core.fsmonitor", "touch ran")
    (project / ".git").write_text("gitdir: elsewhere\n")


def a_bare_one_around_it(project: Path) -> None:
    (project / ".git").rename(project / "set-aside")
    git(project, "init", "-q", "--bare", ".")
    git(project, "config", "core.fsmonitor", "touch ran")


def an_index_of_another_form(project: Path) -> None:
    git(project, "update-index", "--index-version", "4")


def a_work_tree_s_own_configuration(project: Path) -> None:
    git(project, "config", "extensions.worktreeConfig", "true")
    git(project, "config", "--worktree", "core.fsmonitor", "touch ran")


def a_key_that_is_hard_to_read(project: Path) -> None:
    with (project / ".git" / "config").open("a") as file:
        file.write("[core]\n\tfilemode = tr\\\nue\n")


def armed(config: Path, worktree: Path) -> None:
    config.write_text(f"[core]\n\tbare = false\n\tworktree = {worktree}\n\tfsmonitor = touch ran\n")


def a_git_directory_whose_other_half_is_a_directory_of_files(project: Path) -> None:
    """It is `commondir` that says where a git directory's configuration is, also in one that is no further work tree's."""
    for name in ("objects", "refs"):
        shutil.copytree(project / ".git" / name, project / "files" / name)
    armed(project / "files" / "config", project)
    (project / ".git" / "commondir").write_text("../files\n")


def an_empty_one_below_one_that_is_not_plain(project: Path) -> None:
    (project / "sub" / ".git").mkdir(parents=True)
    armed(project / ".git" / "config", project)


def files_that_git_takes_for_a_repository(project: Path) -> None:
    sub = project / "sub"
    for name in ("objects", "refs"):
        (sub / name).mkdir(parents=True)
    (sub / "HEAD").symlink_to("refs/heads/none")
    armed(sub / "config", project)


def files_whose_other_half_is_elsewhere(project: Path) -> None:
    sub, other = project / "sub", project / "other"
    for name in ("objects", "refs"):
        (other / name).mkdir(parents=True)
    sub.mkdir()
    (sub / "HEAD").write_text("ref: refs/heads/none\n")
    (sub / "commondir").write_text("../other\n")
    armed(other / "config", project)


@pytest.mark.parametrize(
    ("trap", "below"),
    [
        (a_git_directory_whose_other_half_is_a_directory_of_files, ""),
        (an_empty_one_below_one_that_is_not_plain, "sub"),
        (files_that_git_takes_for_a_repository, "sub"),
        (files_whose_other_half_is_elsewhere, "sub"),
    ],
    ids=lambda each: getattr(each, "__qualname__", ""),
)
def test_what_git_takes_for_another_repository_is_asked_about(
    trap: Callable[[Path], None], below: str, project: Path
) -> None:
    trap(project)
    assert not unasked("git status", project / below, project)


def test_a_repository_that_reaches_out_of_the_project_is_asked_about(project: Path) -> None:
    (project / "sub").mkdir()
    for line in ("git status", "git diff", "git log -p"):
        assert unasked(line, project / "sub", project)
        assert not unasked(line, project / "sub", project / "sub")


@pytest.mark.parametrize(
    "trap",
    [
        a_key("core.fsmonitor"),
        a_key("diff.external"),
        a_key("diff.py.textconv"),
        a_key("filter.x.clean"),
        a_key("include.path", "../more"),
        a_key("core.attributesFile", "x"),
        a_key("core.worktree", "/"),
        a_key("log.showSignature", "true"),
        a_key("remote.origin.promisor", "true"),
        a_hook,
        a_submodule,
        another_git_directory,
        a_bare_one_around_it,
        an_index_of_another_form,
        a_work_tree_s_own_configuration,
        a_key_that_is_hard_to_read,
    ],
    ids=lambda trap: trap.__qualname__,
)
def test_where_the_repository_could_run_a_program_it_is_asked_about(
    trap: Callable[[Path], None], project: Path
) -> None:
    assert unasked("git status", project)
    trap(project)
    assert not unasked("git status", project)
    assert not (project / "ran").exists()


def test_a_tracked_secret_keeps_contents_from_being_shown_and_names_not(project: Path) -> None:
    (project / "conf").mkdir()
    (project / "conf" / ".env").write_text("KEY=1\n")
    git(project, "add", "-f", ".")
    for line in ("git diff", "git log -p", "git show", "git diff --stat", "git blame a.py"):
        assert not unasked(line, project), line
    assert unasked("git status && git ls-files", project)


@pytest.mark.parametrize("kept_as", ["branch", "stash"])
def test_a_secret_of_the_past_keeps_history_from_being_shown_and_what_is_there_now_not(
    kept_as: str, project: Path
) -> None:
    (project / ".env").write_text("KEY=1\n")
    git(project, "add", "-f", ".env")
    if kept_as == "stash":
        git(project, "stash")
    else:
        git(project, "commit", "-qm", "oh")
        git(project, "rm", "-q", ".env")
        git(project, "commit", "-qm", "gone")
    for line in ("git show", "git log -p", "git log -n 2 -bu", "git log -S KEY", "git diff HEAD", "git diff --cached"):
        assert not unasked(line, project), line
    for line in ("git log --stat -n 3", "git log", "git diff", "git status", "git blame a.py"):
        assert unasked(line, project), line


def test_outside_of_a_repository_nothing_is_known(tmp_path: Path) -> None:
    assert not unasked("git status", tmp_path)
