"""Which checkouts belong together: what one says of another counts only where git's own files there say so, too."""

import os
from pathlib import Path

import pytest
from tests.agents.files.directories.test_directory import git

from sould.agents.files.directories.checkouts import LinkedWorktree, linked_worktree, superproject_of

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")


def repository(at: Path) -> Path:
    at.mkdir()
    git(at, "init", "-q")
    (at / "src").mkdir()
    (at / "src" / "a").touch()
    git(at, "add", ".")
    git(at, *IDENTITY, "commit", "-q", "-m", "first")
    return at


def with_submodule(tmp_path: Path, where: str) -> Path:
    outer = repository(tmp_path / "outer")
    git(outer, *IDENTITY, "submodule", "--quiet", "add", str(repository(tmp_path / "inner")), where)
    return outer


@pytest.mark.parametrize("place", ["other", "main/below/other"])
def test_a_worktree_knows_the_main_checkout_of_its_repository(place: str, tmp_path: Path) -> None:
    main, there = repository(tmp_path / "main"), tmp_path / place
    git(main, "worktree", "add", "-q", str(there))
    assert linked_worktree(there / "src") == LinkedWorktree(there, main)
    assert linked_worktree(main / "src") is None
    assert linked_worktree(tmp_path) is None


def test_a_file_of_the_main_checkout_is_another_in_the_worktree(tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    one, other = main / "one", main / "other"
    git(main, "worktree", "add", "-q", str(one))
    git(main, "worktree", "add", "-q", str(other))
    worktree = linked_worktree(one)
    assert worktree is not None
    assert worktree.counterpart(main / "src" / "new" / "b") == one / "src" / "new" / "b"
    for path in (one / "src" / "a", other / "src" / "a", main / ".git" / "config", tmp_path / "a"):
        assert worktree.counterpart(path) is None


def test_a_worktree_that_its_repository_does_not_name_has_no_main_checkout(tmp_path: Path) -> None:
    main, there = repository(tmp_path / "main"), tmp_path / "there"
    git(main, "worktree", "add", "-q", str(there))
    forged = tmp_path / "forged"
    forged.mkdir()
    (forged / ".git").write_text((there / ".git").read_text())
    assert linked_worktree(forged) is None
    own = forged / "own"
    own.mkdir()
    (forged / ".git").write_text("gitdir: own\n")
    (own / "gitdir").write_text(f"{forged}/.git\n")
    (own / "commondir").write_text(f"{main}/.git\n")
    assert linked_worktree(forged) is None
    (forged / ".git").write_text("gitdir: no\0where\n")
    assert linked_worktree(forged) is None
    (forged / ".git").unlink()
    os.mkfifo(forged / ".git")
    assert linked_worktree(forged) is None


@pytest.mark.parametrize("where", ["sub", "deep/in it/sub"])
def test_a_submodule_knows_its_superproject(where: str, tmp_path: Path) -> None:
    outer = with_submodule(tmp_path, where)
    assert superproject_of(outer / where) == outer
    assert superproject_of(outer) is None


def test_a_checkout_that_is_no_submodule_has_no_superproject(tmp_path: Path) -> None:
    outer = with_submodule(tmp_path, "sub")
    assert superproject_of(repository(outer / "another")) is None
    (outer / ".gitmodules").write_text("[other]\n\tpath = another\n")
    assert superproject_of(outer / "another") is None
    (outer / ".gitmodules").unlink()
    os.mkfifo(outer / ".gitmodules")
    assert superproject_of(outer / "sub") is None


def test_where_everybody_may_write_nobody_finds_a_superproject(tmp_path: Path) -> None:
    outer = with_submodule(tmp_path, "sub")
    outer.chmod(0o777)
    assert superproject_of(outer / "sub") is None


@pytest.mark.needs_root
def test_what_another_user_put_above_a_checkout_is_no_superproject(tmp_path: Path) -> None:
    outer = with_submodule(tmp_path, "sub")
    os.chown(outer / ".gitmodules", 65534, 65534)
    assert superproject_of(outer / "sub") is None
