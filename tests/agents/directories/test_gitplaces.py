"""What is checked out in a directory is read from git's own files, whoever wrote them."""

import os
from pathlib import Path

import pytest
from tests.agents.directories.test_directory import git

from sould.agents.directories.gitplaces import branch_of


def test_the_branch_is_that_of_the_work_tree_around_a_directory(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    (one / "src" / "deep").mkdir(parents=True)
    git(one, "init", "-q", "-b", "feat/möbius")
    assert branch_of(one / "src" / "deep") == "feat/möbius"
    git(one, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first")
    git(one, "worktree", "add", "-q", "-b", "beside", str(other))
    assert branch_of(other) == "beside"
    git(other, "checkout", "-q", "--detach")
    head = (one / ".git" / "worktrees" / "other" / "HEAD").read_text()
    assert branch_of(other) == head[:8]
    assert branch_of(one) == "feat/möbius"


@pytest.mark.parametrize(
    "head", ["ref: refs/heads/\x1b[2Jgone", "ref: refs/heads/" + "a" * 5000, "", "\udcff", "ref: x"]
)
def test_what_no_git_wrote_names_no_branch(head: str, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_bytes(os.fsencode(head))
    assert branch_of(tmp_path) == ""


def test_where_there_is_no_git_and_where_it_cannot_be_read_there_is_no_branch(tmp_path: Path) -> None:
    assert branch_of(tmp_path / "gone") == ""
    (tmp_path / ".git").write_text("gitdir: /no\0where\n")
    assert branch_of(tmp_path) == ""
    (tmp_path / ".git").unlink()
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "HEAD")
    assert branch_of(tmp_path) == ""
