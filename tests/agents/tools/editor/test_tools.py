"""Editor tools as an agent has them: offered when somebody serves them, routed, judged, written through the review."""

import json
from pathlib import Path
from typing import Any

import pytest

from sould.agents.sessions.session import Session
from sould.agents.tools.editor.anchors import Position
from sould.agents.tools.editor.backends import Arguments, BackendEdit, EditorResult, FileEdits, Where
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.results import (
    AllReferences,
    Hit,
    Hover,
    Location,
    Locations,
    Nothing,
    Opened,
    Problem,
    Problems,
    QuickFix,
    QuickFixes,
    References,
    Span,
    Symbol,
    Symbols,
    TaskRun,
)
from sould.agents.wire.messages import ApprovalRequest, ToolResult, TurnEnd
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.editors import FakeEditor, says
from soultest.bench.looks import tools_of

START = Span(Position(1, 1), Position(1, 6))
HOVER = Hover("a word")
AT = {"line": 1}


def hovers(given: Arguments, where: Where) -> Hover:
    return HOVER


def offered(session: Session) -> set[str]:
    return tools_of(session)


async def begun(bench: Bench, *editors: FakeEditor) -> Watcher:
    """A session that may edit unasked, with these editors there."""
    for editor in editors:
        bench.port.editors.add(editor)
    return Watcher(await bench.new("review"))


async def result_of(watcher: Watcher) -> ToolResult:
    """The result of one more turn."""
    await finish(watcher.session, "do it")
    return watcher.of(ToolResult)[-1]


async def done(bench: Bench, *editors: FakeEditor) -> ToolResult:
    """The result of a turn in which these editors are there."""
    return await result_of(await begun(bench, *editors))


def answer(result: ToolResult) -> dict[str, Any]:
    assert isinstance(result.return_value.output, str)
    assert not result.return_value.is_error, result.return_value.message
    return json.loads(result.return_value.output)


async def test_a_tool_is_offered_while_somebody_serves_it(bench: Bench) -> None:
    bench.script(
        call("hover", file="a.txt", anchor=AT), "text: done", call("hover", file="a.txt", anchor=AT), "text: ok"
    )
    async with bench.running():
        session = await bench.new()
        watcher = Watcher(session)
        before = offered(session)
        editor = FakeEditor(hover=hovers)
        bench.port.editors.add(editor)
        assert offered(session) - before == {"hover"}
        await finish(session, "look")
        bench.port.editors.remove(editor.id)
        assert offered(session) == before
        await finish(session, "look again")
        first, second = watcher.of(ToolResult)
        assert answer(first)["data"] == {"markdown": "a word"}
        assert answer(first)["meta"]["backend"] == "Vim"
        assert second.return_value.is_error
        assert "no_editor" in second.return_value.message


async def test_what_an_agent_has_already_is_not_offered_twice(bench: Bench) -> None:
    async with bench.running():
        session = await bench.new()
        before = offered(session)
        bench.port.editors.add(FakeEditor(doc_read=hovers, doc_edit=hovers, scm=hovers))
        assert offered(session) == before


async def test_the_client_that_has_the_file_is_asked_then_the_one_focused_last_then_the_others(bench: Bench) -> None:
    bench.script(*[call("hover", file="a.txt", anchor=AT), "text: done"] * 2)
    busy = EditorToolError("timeout", "it does not answer")
    async with bench.running():
        path = bench.project / "a.txt"
        one, two, has = (
            FakeEditor("one", hover=hovers),
            FakeEditor("two", hover=hovers),
            FakeEditor("has", [path], hover=hovers),
        )
        watcher = await begun(bench, has, one, two)
        first = await result_of(watcher)
        assert answer(first)["meta"]["backend"] == "has"
        has.does["hover"] = says(busy)
        bench.port.editors.focused("one")
        assert answer(await result_of(watcher))["meta"]["backend"] == "one"
        assert not two.asked


async def test_one_who_fails_is_followed_by_the_next_and_the_first_failure_is_told_when_all_do(bench: Bench) -> None:
    bench.script(call("hover", file="a.txt", anchor=AT), "text: done")
    async with bench.running():
        slow = FakeEditor("slow", hover=says(EditorToolError("timeout", "slow did not answer.")))
        other = FakeEditor("other", hover=says(EditorToolError("not_supported", "not for text.")))
        result = await done(bench, other, slow)
        assert result.return_value.message == "timeout: slow did not answer."
        assert len(other.asked) == 1


async def test_an_anchor_is_resolved_against_the_text_and_names_by_the_backends_own_symbols(bench: Bench) -> None:
    (bench.project / "b.py").write_text("class A:\n    def run(self):\n        return run\n")
    one, two = {"symbol": "run", "lineText": "return run"}, {"namePath": "A/run"}
    wrong = {"symbol": "run"}
    calls = [call("hover", file="b.py", anchor=each) for each in (one, two, wrong)]
    bench.script(*(line for each in calls for line in (each, "text: done")))
    path = str(bench.project / "b.py")
    outline = Symbols((Symbol("run", "A/run", "method", path, START, Span(Position(2, 9), Position(2, 12))),))
    async with bench.running():
        editor = FakeEditor(hover=hovers, symbols=says(outline))
        watcher = await begun(bench, editor)
        await result_of(watcher)
        await result_of(watcher)
        ambiguous = await result_of(watcher)
        places = [where.at for tool, _, where in editor.asked if tool == "hover"]
        assert places == [Position(3, 16), Position(2, 9)]
        assert ambiguous.return_value.message.startswith("ambiguous: 'run' is in 2 lines of b.py")


async def test_secrets_are_left_out_of_answers_and_of_what_lies_outside_only_the_place_is_said(
    bench: Bench, tmp_path: Path
) -> None:
    outside = tmp_path / "library.py"
    outside.write_text("top secret\n")
    secret = bench.project / ".env"
    secret.write_text("API_KEY=abc\n")
    (bench.project / "link.txt").symlink_to(outside)
    files = [bench.project / "a.txt", secret, outside, bench.project / "link.txt"]
    bench.script(call("definition", file="a.txt", anchor=AT), "text: done")
    found = Locations(tuple(Location(str(path), START, f"text of {path.name}") for path in files))
    async with bench.running():
        result = await done(bench, FakeEditor(definition=says(found)))
    locations = answer(result)["data"]["locations"]
    assert [each["file"] for each in locations] == ["a.txt", str(outside), str(files[3])]
    assert [each.get("preview") for each in locations] == ["text of a.txt", None, None]


async def test_a_file_outside_the_project_is_asked_about_before_an_editor_hears_of_it(
    bench: Bench, tmp_path: Path
) -> None:
    (tmp_path / "other.txt").write_text("other\n")
    (bench.project / "link").symlink_to(tmp_path / "other.txt")
    bench.script(call("hover", file="link", anchor=AT), "text: done")
    async with bench.running():
        editor = FakeEditor(hover=hovers)
        bench.port.editors.add(editor)
        watcher = Watcher(await bench.new("review"), answer="reject")
        await finish(watcher.session, "look")
        assert watcher.of(ApprovalRequest)
        assert not editor.asked


@pytest.mark.parametrize("file", ["../other.txt", "none.txt", "sub", "A.TXT", "sub/../../a.txt"])
async def test_what_is_no_file_of_the_project_is_an_error(bench: Bench, file: str) -> None:
    (bench.project / "sub").mkdir()
    bench.script(call("hover", file=file, anchor=AT), "text: done")
    async with bench.running():
        editor = FakeEditor(hover=hovers)
        result = await done(bench, editor)
        assert result.return_value.is_error
        assert not editor.asked


async def test_edits_of_a_backend_go_through_the_review_and_its_questions(bench: Bench) -> None:
    a, b = bench.project / "a.txt", bench.project / "b.txt"
    b.write_text("say hello\n")
    bench.script(call("rename", file="a.txt", anchor=AT, newName="bye"), "text: done")
    edits = (
        FileEdits(a, (BackendEdit(START, "bye"),)),
        FileEdits(b, (BackendEdit(Span(Position(1, 5), Position(1, 10)), "bye"),)),
    )
    async with bench.running():
        bench.port.editors.add(FakeEditor(rename=says(EditorResult(Nothing(), edits))))
        watcher = Watcher(await bench.new("ask"))
        await finish(watcher.session, "rename it")
        [result] = watcher.of(ToolResult)
        assert answer(result)["data"] == {"applied": [{"file": "a.txt"}, {"file": "b.txt"}]}
        assert len(watcher.of(ApprovalRequest)) == 2
        assert (a.read_text(), b.read_text()) == ("bye\n", "say bye\n")


async def test_a_dry_run_shows_a_patch_and_writes_nothing(bench: Bench) -> None:
    a = bench.project / "a.txt"
    bench.script(call("rename", file="a.txt", anchor=AT, newName="bye", dryRun=True), "text: done")
    edits = (FileEdits(a, (BackendEdit(START, "bye"),)),)
    async with bench.running():
        result = await done(bench, FakeEditor(rename=says(EditorResult(Nothing(), edits))))
    data = answer(result)["data"]
    assert data["files"] == 1
    assert "-hello" in data["preview"]
    assert "+bye" in data["preview"]
    assert a.read_text() == "hello\n"


async def test_edits_that_do_not_fit_one_file_leave_all_files_as_they_were(bench: Bench) -> None:
    a, b = bench.project / "a.txt", bench.project / "b.txt"
    b.write_text("two\n")
    bench.script(call("rename", file="a.txt", anchor=AT, newName="x"), "text: done")
    edits = (FileEdits(a, (BackendEdit(START, "x"),)), FileEdits(b, text="new", digest="0" * 64))
    async with bench.running():
        result = await done(bench, FakeEditor(rename=says(EditorResult(Nothing(), edits))))
    assert result.return_value.message.startswith("stale: b.txt")
    assert (a.read_text(), b.read_text()) == ("hello\n", "two\n")


@pytest.mark.parametrize("way", ["{outside}/other.txt", "{project}/sub/../../other.txt", "{project}/link/other.txt"])
async def test_edits_outside_the_project_are_asked_about_like_any(bench: Bench, way: str) -> None:
    outside = bench.project.parent
    (bench.project / "sub").mkdir()
    (bench.project / "link").symlink_to(outside)
    other = outside / "other.txt"
    other.write_text("mine\n")
    bench.script(call("rename", file="a.txt", anchor=AT, newName="x"), "text: done")
    edits = (FileEdits(Path(way.format(outside=outside, project=bench.project)), text="yours\n"),)
    async with bench.running():
        bench.port.editors.add(FakeEditor(rename=says(EditorResult(Nothing(), edits))))
        watcher = Watcher(await bench.new("review"), answer="reject")
        await finish(watcher.session, "rename it")
        assert watcher.of(ApprovalRequest)
        assert other.read_text() == "mine\n"


async def test_a_quick_fix_is_done_by_whoever_offered_it(bench: Bench) -> None:
    bench.script(
        call("quick_fixes", file="a.txt", anchor=AT),
        "text: done",
        call("apply_quick_fix", id="one/7"),
        "text: done",
        call("apply_quick_fix", id="7"),
        "text: done",
    )
    a = bench.project / "a.txt"
    fixed = EditorResult(Nothing(), (FileEdits(a, text="fixed\n"),))
    fixes = QuickFixes((QuickFix("7", "Fix it"),))
    async with bench.running():
        one = FakeEditor("one", quick_fixes=says(fixes), apply_quick_fix=says(fixed))
        two = FakeEditor("two", apply_quick_fix=says(fixed))
        watcher = await begun(bench, one, two)
        offers = await result_of(watcher)
        assert answer(offers)["data"]["actions"] == [{"id": "one/7", "title": "Fix it"}]
        await result_of(watcher)
        assert [given for _, given, _ in one.asked][-1] == {"id": "7"}
        assert not two.asked
        assert a.read_text() == "fixed\n"
        unknown = await result_of(watcher)
        assert unknown.return_value.message.startswith("not_found")


async def test_what_runs_something_is_asked_about_as_other_peoples_tools_are(bench: Bench) -> None:
    bench.script(call("task_run", name="build"), "text: done")
    async with bench.running():
        editor = FakeEditor(task_run=says(TaskRun("built", 0)))
        bench.port.editors.add(editor)
        watcher = Watcher(await bench.new("review"), answer="reject")
        await finish(watcher.session, "build it")
        [request] = watcher.of(ApprovalRequest)
        assert "task_run" in request.description
        assert not editor.asked


async def test_opening_a_file_in_the_editor_needs_no_answer(bench: Bench) -> None:
    bench.script(call("editor_open", file="a.txt"), "text: done")
    async with bench.running():
        editor = FakeEditor(editor_open=says(Opened(opened=True)))
        bench.port.editors.add(editor)
        watcher = Watcher(await bench.new("ask"))
        await finish(watcher.session, "show it")
        assert not watcher.of(ApprovalRequest)
        [(_, given, _)] = editor.asked
        assert given["file"] == str(bench.project / "a.txt")
        assert given["focus"] is False


async def test_long_lists_are_cut_to_what_was_asked_for(bench: Bench) -> None:
    bench.script(call("references", file="a.txt", anchor=AT, limit=3), "text: done")
    hits = tuple(Hit(number, "x") for number in range(1, 100))
    found = AllReferences(99, (References(str(bench.project / "a.txt"), hits),))
    async with bench.running():
        result = await done(bench, FakeEditor(references=says(found)))
    said = answer(result)
    assert len(said["data"]["groups"][0]["hits"]) == 3
    assert said["meta"]["truncated"]


async def test_problems_name_files_as_agents_do(bench: Bench) -> None:
    bench.script(call("diagnostics"), "text: done")
    problem = Problem(str(bench.project / "a.txt"), START, "error", "wrong")
    async with bench.running():
        result = await done(bench, FakeEditor(diagnostics=says(Problems((problem,), {"error": 1}))))
    [shown] = answer(result)["data"]["items"]
    assert shown["file"] == "a.txt"
    assert shown["range"]["start"] == {"line": 1, "column": 1}


async def test_a_turn_ends_well_when_a_backend_answers_with_nonsense(bench: Bench) -> None:
    bench.script(call("hover", file="a.txt", anchor=AT), "text: done")
    async with bench.running():
        bench.port.editors.add(FakeEditor(hover=says(Location("", START))))
        watcher = Watcher(await bench.new("review"))
        await finish(watcher.session, "look")
        assert watcher.of(TurnEnd)[-1].stop_reason == "finished"
