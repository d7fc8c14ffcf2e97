"""A log is about a directory, not about a path: moved it keeps its log, and what took its place has one of its own (D39)."""

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sould.agents.base.errors import ProjectOpenElsewhereError
from sould.agents.files.edits.editlog import EditLogFile, Intent, Settled
from sould.agents.files.edits.sessionlogs import OLD_LOG
from sould.agents.files.projects.port import ProjectPort
from sould.agents.sessions.session import Session
from sould.agents.sessions.settings.trusting import standing
from sould.agents.soul.session_request import SessionRequest
from soultest.bench import Bench, Watcher, call, finish


def run(*command: str) -> None:
    subprocess.run(command, check=True)


def plain(project: Path) -> None:
    """A project without git."""


def git(project: Path) -> None:
    """A project with it."""
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        run("git", "-C", str(project), "-c", "user.name=u", "-c", "user.email=u@example.invalid", *arguments)


async def new(bench: Bench, directory: Path) -> Session:
    """A session, with a client that says yes."""
    return Watcher(await bench.host.new(SessionRequest(directory, environment=dict(os.environ), mode="full"))).session


async def write(bench: Bench, session: Session, path: Path, text: str) -> None:
    bench.script(call("WriteFile", path=str(path), content=text), "text: done")
    await finish(session, "go")
    assert path.read_text() == text


async def edited(bench: Bench, directory: Path) -> set[Path]:
    """The files that the project of a directory knows edits of; no session runs."""
    async with ProjectPort.opened(bench.projects, directory, Path.home(), "editor") as port:
        return set(port.edits())


def forget_birth(bench: Bench) -> None:
    """The records as earlier versions wrote them."""
    for file in (bench.state / "projects").glob("*/project.json"):
        status, record = file.stat(), json.loads(file.read_text())
        del record["born"]
        file.write_text(json.dumps(record))
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("kind", [plain, git])
@pytest.mark.parametrize("earlier", [False, True], ids=["now", "recorded by an earlier version"])
async def test_what_was_edited_before_a_move_is_taken_back_after_it(
    bench: Bench, kind: Callable[[Path], None], *, earlier: bool
) -> None:
    kind(bench.project)
    async with bench.running():
        await write(bench, await new(bench, bench.project), bench.project / "a.txt", "agent\n")
    if earlier:
        forget_birth(bench)
    moved = bench.project.rename(bench.root / "elsewhere")
    async with ProjectPort.opened(bench.projects, moved, Path.home(), "editor") as port:
        (edit,) = port.edits()[moved / "a.txt"]
        (outcome,) = await port.restore({edit.key}, "r")
        assert (outcome.path, outcome.action) == (moved / "a.txt", "restored")
    assert (moved / "a.txt").read_text() == "hello\n"
    assert not bench.project.exists()


async def test_a_session_forked_into_the_moved_directory_goes_back_to_before_the_move(bench: Bench) -> None:
    async with bench.running():
        session = await new(bench, bench.project)
        await write(bench, session, bench.project / "a.txt", "before the move\n")
    moved = bench.project.rename(bench.root / "elsewhere")
    async with bench.running():
        opening = SessionRequest(moved, environment=dict(os.environ), mode="full")
        fork = Watcher(await bench.host.fork(session.id, opening)).session
        await write(bench, fork, moved / "a.txt", "after it\n")
        await finish(fork, "/undo")
        assert (moved / "a.txt").read_text() == "before the move\n"
        await finish(fork, "/undo")
        assert (moved / "a.txt").read_text() == "hello\n"
    assert not bench.project.exists()


async def test_a_move_while_sessions_are_open_is_followed_by_new_ones(bench: Bench) -> None:
    async with bench.running():
        await write(bench, await new(bench, bench.project), bench.project / "a.txt", "1\n")
        moved = bench.project.rename(bench.root / "elsewhere")
        after = await new(bench, moved)
        await write(bench, after, moved / "a.txt", "2\n")
        await finish(after, "/undo")
        assert (moved / "a.txt").read_text() == "1\n"
    assert await edited(bench, moved) == {moved / "a.txt"}
    assert len(list((bench.state / "projects").glob("*/edits.jsonl"))) == 1


async def test_a_project_moved_twice_knows_the_files_of_all_its_edits(bench: Bench) -> None:
    directory = bench.project
    for number in range(3):
        async with bench.running():
            await write(bench, await new(bench, directory), directory / f"{number}", "agent\n")
        directory = directory.rename(bench.root / f"place {number}")
    assert await edited(bench, directory) == {directory / f"{number}" for number in range(3)}


async def test_the_projects_in_a_moved_directory_keep_their_logs_too(bench: Bench) -> None:
    inner = bench.project / "inner"
    inner.mkdir()
    async with bench.running():
        await write(bench, await new(bench, inner), inner / "a", "agent\n")
        await write(bench, await new(bench, bench.project), bench.project / "a.txt", "agent\n")
    moved = bench.project.rename(bench.root / "elsewhere")
    async with bench.running():
        session = await new(bench, moved)
        await write(bench, session, moved / "a.txt", "again\n")
        await write(bench, session, moved / "inner" / "b", "agent\n")
    assert await edited(bench, moved / "inner") == {moved / "inner" / "a", moved / "inner" / "b"}
    assert await edited(bench, moved) == {moved / "a.txt"}


@pytest.mark.parametrize("found", [False, True], ids=["not seen since", "seen where it is"])
async def test_a_project_that_took_the_place_of_a_moved_one_is_not_mixed_with_it(bench: Bench, *, found: bool) -> None:
    path = bench.project / "a.txt"
    async with bench.running():
        old = await new(bench, bench.project)
        await write(bench, old, path, "agent\n")
        moved = bench.project.rename(bench.root / "elsewhere")
        bench.project.mkdir()
        path.write_text("agent\n")
        await write(bench, old, bench.project / "late", "by a session that is still open\n")
    assert await edited(bench, bench.project) == {bench.project / "late"}
    if found:
        assert await edited(bench, moved) == {moved / "a.txt"}
    async with bench.running():
        again = Watcher(await bench.host.open(old.id, bench.opening()))
        await finish(again.session, "/rewind 0")
    assert path.read_text() == "agent\n"
    assert not (bench.project / "late").exists()
    assert (moved / "a.txt").read_text() == ("hello\n" if found else "agent\n")
    assert await edited(bench, moved) == {moved / "a.txt"}


@pytest.mark.parametrize("copied", ["copy", "clone"])
@pytest.mark.parametrize("gone", [False, True], ids=["beside", "instead"])
async def test_a_copy_or_a_clone_has_a_log_of_its_own(bench: Bench, copied: str, *, gone: bool) -> None:
    git(bench.project)
    async with bench.running():
        await write(bench, await new(bench, bench.project), bench.project / "a.txt", "agent\n")
    copy = bench.root / "copy"
    run(*(["cp", "-a"] if copied == "copy" else ["git", "clone", "-q"]), str(bench.project), str(copy))
    if gone:
        shutil.rmtree(bench.project)
    assert await edited(bench, copy) == set()


@pytest.mark.parametrize("earlier", [False, True], ids=["now", "recorded by an earlier version"])
async def test_a_new_directory_has_nothing_of_a_deleted_one_whose_inode_it_got(bench: Bench, *, earlier: bool) -> None:
    async with bench.running():
        await write(bench, await new(bench, bench.project), bench.project / "a.txt", "agent\n")
    if earlier:
        forget_birth(bench)
    shutil.rmtree(bench.project)
    for place in (bench.project, bench.root / "other"):
        place.mkdir()
        assert await edited(bench, place) == set()


async def test_a_link_to_a_project_is_the_project(bench: Bench) -> None:
    link = bench.root / "link"
    link.symlink_to(bench.project)
    async with bench.running():
        await write(bench, await new(bench, link), link / "b", "agent\n")
        await write(bench, await new(bench, bench.project), bench.project / "c", "agent\n")
    assert await edited(bench, bench.project) == {bench.project / "b", bench.project / "c"}


async def test_a_repository_that_was_moved_keeps_the_edits_of_sessions_from_elsewhere(bench: Bench) -> None:
    other = bench.root / "other"
    other.mkdir()
    run("git", "init", "-q", str(other))
    (other / "a.txt").write_text("hello\n")
    async with bench.running():
        session = await new(bench, bench.project)
        await write(bench, session, other / "a.txt", "agent\n")
    moved = other.rename(bench.root / "moved")
    assert await edited(bench, moved) == {moved / "a.txt"}
    async with bench.running():
        again = Watcher(await bench.host.open(session.id, bench.opening()))
        await finish(again.session, "/undo")
    assert (moved / "a.txt").read_text() == "hello\n"


@pytest.mark.parametrize("laundered", [False, True], ids=["moved", "copied and put in its place"])
async def test_what_the_agent_wrote_is_marked_in_the_question_about_trust(bench: Bench, *, laundered: bool) -> None:
    own = Path(".sould") / "agents" / "mine.yaml"
    async with bench.running():
        session = await new(bench, bench.project)
        await write(bench, session, bench.project / own, "version: 1\n")
    place = bench.project.rename(bench.root / "elsewhere")
    if laundered:
        place = Path(shutil.copytree(place, bench.project))
    (line,) = standing(bench.trust, place, bench.state / "sessions").lines
    assert line == f"{own}: there BY THE AGENT (session {session.id})"


async def test_what_earlier_versions_kept_as_the_project_of_home_can_be_taken_back(bench: Bench) -> None:
    home = {**os.environ, "HOME": str(bench.project)}
    async with bench.running():
        session = await new(bench, bench.project)
        await write(bench, session, bench.project / "a.txt", "1\n")
    async with bench.running():
        again = Watcher(await bench.host.open(session.id, bench.opening(environment=home))).session
        await write(bench, again, bench.project / "a.txt", "2\n")
        await finish(again, "/undo")
        assert (bench.project / "a.txt").read_text() == "1\n"
        await finish(again, "/undo")
        assert (bench.project / "a.txt").read_text() == "hello\n"
    assert len(list((bench.state / "projects").glob("*/edits.jsonl"))) == 2


# --- at the same time ------------------------------------------------------------------------------------------------


async def test_sessions_that_open_a_project_at_the_same_time_share_its_log(bench: Bench) -> None:
    projects = bench.projects
    borrowed = await asyncio.gather(*(projects.borrow(bench.project) for _ in range(8)))
    assert len({log_id for log_id, _ in borrowed}) == 1
    assert len({id(project) for _, project in borrowed}) == 1
    await asyncio.gather(*(projects.give_back(log_id) for log_id, _ in borrowed))
    log_id, _ = await bench.projects.borrow(bench.project)
    assert log_id == borrowed[0][0]


async def test_two_daemons_that_open_a_project_at_the_same_time_agree_on_its_log(bench: Bench) -> None:
    daemons = [bench.projects for _ in range(4)]
    results = await asyncio.gather(*(each.borrow(bench.project) for each in daemons), return_exceptions=True)
    refused = [result for result in results if isinstance(result, ProjectOpenElsewhereError)]
    assert len(refused) == len(daemons) - 1
    assert len(list((bench.state / "projects").glob("*/project.json"))) == 1


async def test_an_opening_that_is_cancelled_anywhere_leaves_the_project_to_others(bench: Bench) -> None:
    projects = bench.projects
    for steps in range(40):
        opening = asyncio.create_task(projects.borrow(bench.project))
        for _ in range(steps * steps):
            await asyncio.sleep(0)
        opening.cancel()
        try:
            log_id, _ = await opening
        except asyncio.CancelledError:
            pass
        else:
            await projects.give_back(log_id)
    await bench.projects.borrow(bench.project)


async def test_a_session_and_its_fork_that_are_opened_at_the_same_time_take_over_earlier_edits_once(
    bench: Bench,
) -> None:
    async with bench.running():
        sessions = [await new(bench, bench.project) for _ in range(2)]
        for session in sessions:
            await write(bench, session, bench.project / session.id, "1\n")
    for session in sessions:
        file = EditLogFile(bench.state / "sessions" / session.id / OLD_LOG)
        file.append(
            Intent(
                n=1,
                path=str(bench.project / "a.txt"),
                before=None,
                after=None,
                session_id=sessions[0].id,
                turn_id="t",
                call_id="c",
                timestamp=1,
            ),
            Settled(n=1, written=True),
            sync=True,
        )
        file.close()
    async with bench.running():
        opening = bench.opening()
        await asyncio.gather(*(bench.host.open(session.id, opening) for session in sessions))
    async with ProjectPort.opened(bench.projects, bench.project, Path.home(), "editor") as port:
        numbers = [edit.n for edits in port.edits().values() for edit in edits]
        assert len(port.edits()[bench.project / "a.txt"]) == 1
        assert len(numbers) == len(set(numbers)) == 3
