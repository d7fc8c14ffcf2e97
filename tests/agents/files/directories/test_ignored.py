"""What git ignores is not looked at, whichever rules say so and whenever they come."""

import os
import shutil
from pathlib import Path

from tests.agents.files.directories.test_directory import git, looking, paths

from sould.agents.files.directories.directory import QUICK


def cloned(directory: Path) -> Path:
    """A project of git that comes into the directory, with a file that it ignores."""
    inner = directory / "cloned"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / ".gitignore").write_text("*.log\n")
    (inner / "a.log").write_text("a")
    return inner


def test_what_git_ignores_stays_unseen_also_when_it_comes_later(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n")
    with looking(tmp_path, path=os.environ["PATH"]) as directory:
        directory.update(told=False)
        for name in ("a.log", "src/b.log", "build/out", "src/deep/c.txt"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(name)
        assert paths(directory) == ["src", "src/deep", "src/deep/c.txt"]
        (tmp_path / "a.log").write_text("more")
        (tmp_path / "build" / "out").write_text("more")
        assert paths(directory) == []
        (tmp_path / ".gitignore").write_text("build/\n")
        assert paths(directory) == [".gitignore", "a.log", "src/b.log"]
        (tmp_path / "a.log").write_text("seen now")
        assert paths(directory) == ["a.log"]


def test_rules_that_are_no_file_of_the_project_hold_from_the_next_look_on(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    rules = tmp_path / ".git" / "info" / "exclude"
    rules.parent.mkdir(exist_ok=True)
    rules.write_text("*.log\n")
    (tmp_path / "a.log").write_text("a")
    with looking(tmp_path, path=os.environ["PATH"]) as directory:
        directory.update(told=False)
        (tmp_path / "a.log").write_text("more")
        assert paths(directory) == []
        rules.write_text("*.tmp\n")
        assert paths(directory) == ["a.log"]
        (tmp_path / "b.tmp").write_text("b")
        assert paths(directory) == []


def test_a_project_of_git_that_comes_into_the_directory_has_its_own_rules(tmp_path: Path) -> None:
    with looking(tmp_path, path=os.environ["PATH"]) as directory:
        directory.update(told=False)
        inner = cloned(tmp_path)
        assert paths(directory) == ["cloned", "cloned/.gitignore"]
        (inner / "b.log").write_text("b")
        (inner / "b.txt").write_text("b")
        assert paths(directory) == ["cloned/b.txt"]


def test_what_a_slow_git_ignores_stays_unseen(tmp_path: Path) -> None:
    """Git takes longer than a quick look: at a project that comes, then at a name that nobody knew."""
    programs, project = tmp_path / "programs", tmp_path / "project"
    programs.mkdir()
    project.mkdir()
    slow = programs / "git"
    slow.write_text(f'#!/bin/sh\nsleep {4 * QUICK}\nexec {shutil.which("git")} "$@"\n')
    slow.chmod(0o755)
    with looking(project, path=f"{programs}:{os.environ['PATH']}") as directory:
        directory.update(told=False)
        inner = cloned(project)
        assert paths(directory) == ["cloned", "cloned/.gitignore"]
        (inner / "b.log").write_text("b")
        (inner / "b.txt").write_text("b")
        found = [*directory.update(patience=QUICK), *directory.catch_up(patience=60)]
        assert [each.path for each in found] == ["cloned/b.txt"]


def test_a_git_that_fails_is_not_taken_for_one_that_ignores_nothing(tmp_path: Path) -> None:
    programs, project, broken = tmp_path / "programs", tmp_path / "project", tmp_path / "broken"
    programs.mkdir()
    project.mkdir()
    git(project, "init", "-q")
    (project / ".gitignore").write_text("*.log\n")
    fails = f"case \"$*\" in *check-ignore*|*'-o -i'*) [ -e '{broken}' ] && exit 128;; esac"
    (programs / "git").write_text(f'#!/bin/sh\n{fails}\nexec {shutil.which("git")} "$@"\n')
    (programs / "git").chmod(0o755)
    with looking(project, path=f"{programs}:{os.environ['PATH']}") as directory:
        directory.update(told=False)
        broken.touch()
        (project / "a.log").write_text("a")
        assert paths(directory) == []
        assert directory.partial
        broken.unlink()
        assert paths(directory) == []
        assert not directory.partial
        for name in ("b.log", "b.txt"):
            (project / name).write_text("b")
        assert paths(directory) == ["b.txt"]
