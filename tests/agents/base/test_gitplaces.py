"""What is checked out in a directory is read from git's own files, whoever wrote them."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.agents.files.directories.test_directory import git

from sould.agents.base.gitplaces import branch_of, is_work_tree, work_tree_of


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


def an_empty_folder(at: Path) -> None:
    (at / ".git").mkdir()


def a_folder_with_a_head_alone(at: Path) -> None:
    (at / ".git").mkdir()
    (at / ".git" / "HEAD").write_text("ref: refs/heads/main\n")


def a_file_that_leads_nowhere(at: Path) -> None:
    (at / ".git").write_text("gitdir: gone\n")


def a_file_that_leads_to_an_empty_folder(at: Path) -> None:
    (at / "own").mkdir()
    (at / ".git").write_text("gitdir: own\n")


def a_file_of_other_words(at: Path) -> None:
    (at / ".git").write_text("hello\n")


def a_repository(at: Path) -> None:
    git(at, "init", "-q")


def a_repository_of_other_hashes(at: Path) -> None:
    git(at, "init", "-q", "--object-format=sha256")


def a_repository_elsewhere(at: Path) -> None:
    git(at, "init", "-q", "--separate-git-dir", str(at / "kept"))


def a_head_that_is_a_link(at: Path) -> None:
    a_repository(at)
    (at / ".git" / "HEAD").unlink()
    (at / ".git" / "HEAD").symlink_to("refs/heads/main")


def a_head_that_is_a_link_out(at: Path) -> None:
    a_repository(at)
    (at / ".git" / "HEAD").unlink()
    (at / ".git" / "HEAD").symlink_to("/etc/hostname")


def a_head_of_other_words(at: Path) -> None:
    a_repository(at)
    (at / ".git" / "HEAD").write_text("hello\n")


def no_objects(at: Path) -> None:
    a_repository(at)
    (at / ".git" / "objects").rename(at / ".git" / "other")


def no_refs(at: Path) -> None:
    a_repository(at)
    (at / ".git" / "refs").rename(at / ".git" / "other")


@pytest.mark.parametrize(
    "make",
    [
        *(an_empty_folder, a_folder_with_a_head_alone, a_file_that_leads_nowhere, a_file_that_leads_to_an_empty_folder),
        *(a_file_of_other_words, a_repository, a_repository_of_other_hashes, a_repository_elsewhere),
        *(a_head_that_is_a_link, a_head_that_is_a_link_out, a_head_of_other_words, no_objects, no_refs),
    ],
)
def test_a_work_tree_is_what_git_takes_for_one(make: Callable[[Path], None], tmp_path: Path) -> None:
    at = tmp_path / "at"
    (at / "below").mkdir(parents=True)
    make(at)
    said = subprocess.run(
        ["git", "rev-parse", "--show-toplevel"], cwd=at / "below", capture_output=True, text=True, check=False
    )
    assert is_work_tree(at) is (said.stdout.strip() == str(at))
    assert work_tree_of(at / "below") == (at if is_work_tree(at) else None)
