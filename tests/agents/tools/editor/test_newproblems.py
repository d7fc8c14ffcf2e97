"""What a write broke is told with its result: errors only, new ones only, and no write waits for it or fails for it."""

from pathlib import Path

from sould.agents.tools.editor.anchors import Position
from sould.agents.tools.editor.backends import Arguments, Where
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.results import Problem, Problems, Span
from sould.agents.wire.messages import ToolResult, ToolReturn
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.editors import Does, FakeEditor, says


def checker(given: Arguments, where: Where) -> Problems:
    """A checker to which each line that begins with ! is an error, with ? a warning."""
    [file] = given["files"]
    lines = Path(file).read_text().splitlines() if Path(file).exists() else []
    found: list[Problem] = []
    for number, line in enumerate(lines, 1):
        if line[:1] in ("!", "?"):
            span = Span(Position(number, 1), Position(number, 2))
            severity = "error" if line[0] == "!" else "warning"
            found.append(Problem(file, span, severity, f"bad:  {line[1:]}", "E1", "check"))
    return Problems(tuple(found))


async def written(bench: Bench, before: str, after: str, does: Does = checker) -> ToolReturn:
    (bench.project / "a.txt").write_text(before, newline="")
    bench.script(call("WriteFile", path="a.txt", content=after), "text: done")
    async with bench.running():
        bench.port.editors.add(FakeEditor(diagnostics=does))
        watcher = Watcher(await bench.new("review"))
        await finish(watcher.session, "write it")
        return watcher.of(ToolResult)[-1].return_value


async def test_errors_that_were_not_there_before_are_told_and_those_that_moved_are_not(bench: Bench) -> None:
    result = await written(bench, "!old\nfine\n", "fine\nfine\n!old\n!new\n?unsure\n")
    assert result.message.endswith("It brought errors that were not there before:\nline 4: bad: new (check E1)")
    assert result.extras is not None
    assert result.extras["new_problems"] == ["line 4: bad: new (check E1)"]


async def test_they_stand_at_the_hunks_that_brought_them_until_those_are_changed(bench: Bench) -> None:
    bench.script(call("WriteFile", path="a.txt", content="!first\nsame\nsame\n!last\n"), "text: done")
    a = bench.project / "a.txt"
    a.write_text("one\nsame\nsame\ntwo\n")
    async with bench.running():
        bench.port.editors.add(FakeEditor(diagnostics=checker))
        watcher = Watcher(await bench.new("review"))
        await finish(watcher.session, "write it")
        async with bench.port.project(bench.project, bench.root, "somebody") as project:
            [file] = await project.pending_now()
            assert [hunk.problems for hunk in file.hunks] == [
                ("line 1: bad: first (check E1)",),
                ("line 4: bad: last (check E1)",),
            ]
            a.write_text("mended\nsame\nsame\n!last\n")
            [file] = await project.pending_now()
            assert [hunk.problems for hunk in file.hunks][-1:] == [("line 4: bad: last (check E1)",)]
            assert all("first" not in str(hunk.problems) for hunk in file.hunks)


async def test_the_same_error_a_second_time_is_new(bench: Bench) -> None:
    result = await written(bench, "!old\n", "!old\n!old\n")
    assert (result.extras or {})["new_problems"] == ["line 2: bad: old (check E1)"]


async def test_other_line_ends_are_no_new_errors(bench: Bench) -> None:
    result = await written(bench, "!old\r\n", "!old\nfine\n")
    assert "new_problems" not in (result.extras or {})


async def test_a_new_file_is_compared_with_nothing(bench: Bench) -> None:
    bench.script(call("WriteFile", path="new.txt", content="!new\n"), "text: done")
    async with bench.running():
        bench.port.editors.add(FakeEditor(diagnostics=checker))
        watcher = Watcher(await bench.new("review"))
        await finish(watcher.session, "write it")
        [result] = watcher.of(ToolResult)
    assert (result.return_value.extras or {})["new_problems"] == ["line 1: bad: new (check E1)"]


async def test_a_backend_that_fails_costs_the_write_nothing(bench: Bench) -> None:
    result = await written(bench, "fine\n", "!new\n", says(EditorToolError("failed", "it crashed")))
    assert not result.is_error
    assert "new_problems" not in (result.extras or {})
    assert (bench.project / "a.txt").read_text() == "!new\n"


async def test_a_flood_of_errors_is_cut(bench: Bench) -> None:
    result = await written(bench, "fine\n", "".join(f"!{number}\n" for number in range(1_000)))
    assert (result.extras or {})["new_problems"][-1] == "and 190 more"  # pyright: ignore[reportIndexIssue, reportOptionalSubscript, reportCallIssue, reportArgumentType] -- a list
