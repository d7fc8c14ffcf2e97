"""Whose a file is: one project, one log and one lock for all sessions, however they came to it (D39)."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from sould.agents.files.projects.port import ProjectPort
from sould.agents.soul.session_request import SessionRequest
from sould.agents.wire.messages import ToolResult
from soultest.bench import Bench, Watcher, call, finish

GIT = ("git", "-c", "user.name=u", "-c", "user.email=u@example.invalid", "-c", "protocol.file.allow=always")


def git(directory: Path, *arguments: str) -> None:
    subprocess.run([*GIT, *arguments], cwd=directory, check=True, capture_output=True)


def repository(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    git(directory, "init", "-q")
    git(directory, "commit", "-q", "--allow-empty", "-m", "first")
    return directory


async def write(bench: Bench, directory: Path, path: Path, **variables: str) -> str:
    """What `directory` has by a session that works there and writes the file: nothing but the file. The session's id."""
    bench.script(call("WriteFile", path=str(path), content="agent\n"), "text: done")
    environment = {**os.environ, **variables}
    session = await bench.host.new(SessionRequest(directory, environment=environment, mode="full"))
    await finish(session, "go")
    assert path.read_text() == "agent\n"
    return session.id


async def edited(bench: Bench, directory: Path, home: Path | None = None) -> set[Path]:
    """The files that the project of a directory knows edits of; no session runs."""
    async with ProjectPort.opened(bench.projects, directory, home or Path.home(), "editor") as port:
        return {path for path, edits in port.edits().items() if any(edit.after != "directory" for edit in edits)}


def logs(bench: Bench) -> int:
    return len(list((bench.state / "projects").glob("*/edits.jsonl")))


async def test_sessions_in_two_subdirectories_of_a_repository_share_its_project(bench: Bench) -> None:
    top = repository(bench.root / "repo")
    (top / "one").mkdir()
    (top / "two").mkdir()
    (bench.root / "link").symlink_to(top / "two")
    async with bench.running():
        await write(bench, top / "one", top / "one" / "a")
        await write(bench, bench.root / "link", top / "two" / "b")
        await write(bench, top, bench.root / "link" / "c")
    assert await edited(bench, top / "one") == {top / "one" / "a", top / "two" / "b", top / "two" / "c"}
    assert logs(bench) == 1


async def test_a_linked_worktree_a_submodule_and_a_nested_repository_are_projects_of_their_own(bench: Bench) -> None:
    top = repository(bench.root / "repo")
    library = repository(bench.root / "library")
    git(top, "worktree", "add", "-q", str(bench.root / "linked"))
    git(top, "submodule", "--quiet", "add", str(library), "submodule")
    repository(top / "nested")
    roots = [top, bench.root / "linked", top / "submodule", top / "nested"]
    async with bench.running():
        for root in roots:
            await write(bench, top, root / "deep" / "a")
    for root in roots:
        assert await edited(bench, root) == {root / "deep" / "a"}


async def test_a_file_of_another_repository_is_that_ones_and_the_session_can_take_it_back(bench: Bench) -> None:
    here, there = repository(bench.root / "here"), repository(bench.root / "there")
    bench.script(*(call("WriteFile", path=str(root / "a"), content="1\n") for root in (here, there)), "text: done")
    async with bench.running():
        watcher = Watcher(await bench.host.new(SessionRequest(here, environment=dict(os.environ), mode="full")))
        await finish(watcher.session, "go")
        await finish(watcher.session, "/undo")
        assert not (here / "a").exists()
        assert not (there / "a").exists()
    assert await edited(bench, here) == {here / "a"}
    assert await edited(bench, there) == {there / "a"}


async def test_without_git_a_file_is_the_innermost_directorys_in_which_a_session_worked(bench: Bench) -> None:
    outer, inner = bench.project, bench.project / "inner"
    inner.mkdir()
    async with bench.running():
        await write(bench, outer, inner / "before")
        await write(bench, inner, inner / "a")
        await write(bench, outer, inner / "b")
        await write(bench, outer, outer / "c")
    assert await edited(bench, inner) == {inner / "a", inner / "b"}
    assert await edited(bench, outer) == {inner / "before", outer / "c"}


async def test_a_repository_begun_below_or_around_a_file_has_it_from_then_on(bench: Bench) -> None:
    inner = bench.project / "inner"
    inner.mkdir()
    async with bench.running():
        await write(bench, inner, inner / "a")
        repository(bench.project)
        await write(bench, inner, inner / "b")
        repository(inner)
        await write(bench, inner, inner / "c")
    assert await edited(bench, bench.project) == {inner / "b"}
    assert await edited(bench, inner) == {inner / "a", inner / "c"}


@pytest.mark.parametrize("kind", ["pipe", "broken link", "loop"])
async def test_what_is_no_git_directory_makes_no_project_and_holds_nobody_up(bench: Bench, kind: str) -> None:
    folder = bench.project / "folder"
    folder.mkdir()
    if kind == "pipe":
        os.mkfifo(folder / ".git")
    else:
        (folder / ".git").symlink_to("nowhere" if kind == "broken link" else ".git")
    async with bench.running():
        await write(bench, bench.project, folder / "a")
    assert await edited(bench, bench.project) == {folder / "a"}


async def test_a_git_file_that_is_none_to_git_or_names_another_repository_gives_it_nothing(bench: Bench) -> None:
    victim = repository(bench.root / "victim")
    for name in ("huge", "liar"):
        (bench.project / name).mkdir()
    (bench.project / "empty" / ".git").mkdir(parents=True)
    with (bench.project / "huge" / ".git").open("wb") as file:
        file.truncate(1 << 40)
    (bench.project / "liar" / ".git").write_text(f"gitdir: {victim / '.git'}\n")
    async with bench.running():
        await write(bench, victim, victim / "mine")
        for name in ("huge", "liar", "empty"):
            await write(bench, bench.project, bench.project / name / "a")
    assert await edited(bench, victim) == {victim / "mine"}
    assert await edited(bench, bench.project / "liar") == {bench.project / "liar" / "a"}
    assert await edited(bench, bench.project) == {bench.project / name / "a" for name in ("huge", "empty")}


@pytest.mark.parametrize("variable", ["HOME", "TMPDIR"])
async def test_files_of_home_and_of_the_temporary_directory_stand_alone_and_can_be_taken_back(
    bench: Bench, variable: str
) -> None:
    place = repository(bench.root / "place")
    project = repository(place / "project")
    async with bench.running():
        session_id = await write(bench, place, place / "a", **{variable: str(place)})
        await write(bench, place, place / "folder" / "b", **{variable: str(place)})
        await write(bench, place, project / "c", **{variable: str(place)})
        opening = SessionRequest(place, environment={**os.environ, variable: str(place)})
        await finish(await bench.host.open(session_id, opening), "/undo")
        assert not (place / "a").exists()
    assert await edited(bench, project) == {project / "c"}
    if variable == "HOME":
        assert await edited(bench, place, home=place) == {place / "a", place / "folder" / "b"}
        assert await edited(bench, place / "folder", home=place) == set()
    records = [file.read_text() for file in (bench.state / "projects").glob("*/project.json")]
    assert not any(f'"root":"{place}"' in record for record in records)


async def test_two_sessions_in_home_write_one_file_one_after_the_other(bench: Bench) -> None:
    path = bench.project / "a.txt"
    path.write_text("".join(f"line {n};\n" for n in range(8)))
    edits = [call("StrReplaceFile", path="a.txt", edit={"old": f"line {n};", "new": f"LINE {n};"}) for n in range(8)]
    bench.script(*edits, "text: done", "text: done")
    home = bench.opening(environment={**os.environ, "HOME": str(bench.project)}, mode="full")
    async with bench.running():
        sessions = [await bench.host.new(home) for _ in range(2)]
        await asyncio.gather(*(finish(session, "go") for session in sessions))
    assert path.read_text() == "".join(f"LINE {n};\n" for n in range(8))
    assert logs(bench) == 1


async def test_what_a_command_does_in_home_is_not_watched_which_its_first_card_says(bench: Bench) -> None:
    (bench.project / "sub").mkdir()
    bench.script(
        call("Shell", command="echo 1 > sub/new; echo 2 > a.txt"), call("Shell", command="echo 3 > b"), "text: done"
    )
    home = bench.opening(environment={**os.environ, "HOME": str(bench.project)}, mode="full")
    async with bench.running():
        watcher = Watcher(await bench.host.new(home))
        await finish(watcher.session, "go")
        first, second = [result.model_dump_json() for result in watcher.of(ToolResult)]
        assert f"{bench.project} is no project and is not watched" in first
        assert "not watched" not in second
        await finish(watcher.session, "/undo")
    assert (bench.project / "a.txt").read_text() == "2\n"
    assert await edited(bench, bench.project, home=bench.project) == set()
