"""A frontend and a project, without session, model or daemon: what agents changed is seen and taken back."""

from pathlib import Path

import pytest

from sould.agents.base.config import CaptureLimits
from sould.agents.base.errors import SouldError
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.files.projects.capture import Capture
from sould.agents.files.projects.clientfiles import ClientFiles
from sould.agents.files.projects.findingwords import FindingWords
from sould.agents.files.projects.lookedat import LookedAt
from sould.agents.files.projects.port import ProjectPort
from sould.agents.files.projects.projects import Projects
from sould.agents.files.projects.sessionfiles import Author, SessionFiles
from sould.agents.files.projects.writers import Writers
from sould.agents.files.review.hunk import AgentCall
from soultest.bench import Bench, call, finish
from soultest.bench.tools import no_commands


async def test_what_sessions_changed_is_listed_and_taken_back_when_they_are_closed(bench: Bench) -> None:
    path = bench.project / "a.txt"
    path.write_text("1\n2\n3\n4\n")
    for old, new in (("1", "one"), ("4", "four")):
        bench.script(call("StrReplaceFile", path="a.txt", edit={"old": old, "new": new}), "text: done")
        async with bench.running():
            await finish(await bench.new("review"), "go")
    projects = bench.projects
    async with ProjectPort.opened(projects, bench.project, Path.home(), "editor") as port:
        first, second = port.edits()[path]
        assert first.session_id != second.session_id
        assert (await port.content(first.before or "")).decode() == "1\n2\n3\n4\n"
        (outcome,) = await port.restore({first.key}, "r")
        assert (outcome.action, path.read_text()) == ("restored", "1\n2\n3\nfour\n")
    async with ProjectPort.opened(projects, bench.project, Path.home(), "editor") as port:
        assert [edit.call_id for edit in port.edits()[path]][-1] == "restore:r"


async def test_a_port_says_what_its_client_has_open_until_it_is_closed(bench: Bench) -> None:
    projects = bench.projects
    path = bench.project / "a.txt"
    async with ProjectPort.opened(projects, bench.project, Path.home(), "editor") as port:
        port.documents.open(path)
        port.documents.change(path)
        port.documents.focus()
        assert projects.buffers.holders(path) == ("editor",)
        assert projects.buffers.unsaved() == {path}
        port.documents.save(path)
        assert projects.buffers.unsaved() == set()
        port.documents.close(path)
        assert projects.buffers.holders(path) == ()
        port.documents.open(path)
    assert projects.buffers.holders(path) == ()


async def test_what_the_user_types_or_saves_while_a_call_runs_is_shared_and_nothing_else_is(tmp_path: Path) -> None:
    root, own = tmp_path / "project", tmp_path / "session"
    names = ("earlier", "both", "typed", "command")
    for place in (root, own):
        place.mkdir()
    for name in names:
        (root / name).write_text("as it was\n")
    projects = Projects(tmp_path / "state")
    disk = LocalWorkspace(root, (), no_commands)
    clients = ClientFiles(disk, projects.buffers)
    files = await SessionFiles.open(disk, projects, Author("session", own, tmp_path), clients)
    files.capture = capture = Capture(
        files.found,
        files.commands,
        LookedAt(projects, own, {}, (), CaptureLimits(wait_s=60.0)),
        FindingWords(files.projects, "session", 1, str),
        Writers(),
        lambda: 60.0,
    )
    async with ProjectPort.opened(projects, root, tmp_path, "editor") as port:
        port.documents.save(root / "earlier")
        for call_id in ("first", "second"):
            await capture.begin(AgentCall("session", "turn", call_id))
            for name in names:
                with (root / name).open("a") as file:
                    file.write(f"by {call_id}\n")
            if call_id == "second":
                port.documents.save(root / "both")
                port.documents.change(root / "typed")
            assert {path.name for path in (await capture.finish(call_id)).paths} == set(names)
    shared = {
        (edit.call_id, path.name) for path, edits in files.projects.edits.items() for edit in edits if edit.shared
    }
    await files.aclose()
    assert shared == {("second", "both"), ("second", "typed")}


async def test_a_session_that_cannot_be_opened_leaves_its_project_to_others(bench: Bench) -> None:
    bench.script(call("WriteFile", path="a.txt", content="1\n"), "text: done")
    async with bench.running():
        session = await bench.new("review")
        await finish(session, "go")
    own = bench.config / "agents" / "default.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("version: 1\nagent: [\n")
    async with bench.running():
        with pytest.raises(SouldError, match=r"default\.yaml"):
            await bench.open(session.id)
        async with ProjectPort.opened(bench.projects, bench.project, Path.home(), "editor") as port:
            assert bench.project / "a.txt" in port.edits()
