"""What changes brought that wait for review: marked among all problems, or asked for alone."""

import json
from pathlib import Path
from typing import Any

from sould.agents.tools.editor.anchors import Position
from sould.agents.tools.editor.backends import Arguments, Where
from sould.agents.tools.editor.results import Problem, Problems, Span
from sould.agents.wire.messages import ToolResult
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.editors import FakeEditor

Json = dict[str, Any]

BEFORE = "use one\nfine\n!old\n"
AFTER = "use one\n?unsure\n!new\n!old\n"


def checker(given: Arguments, where: Where) -> Problems:
    """Lines that begin with ! are errors, with ? warnings; and whoever uses what a line with ! took away, is wrong, too."""
    [file] = given["files"]
    lines = Path(file).read_text().splitlines()
    broken = "!new" in lines
    found = [_problem(file, number, line) for number, line in enumerate(lines, 1) if line[0] in "!?"]
    found += [_problem(file, 1, "!one is gone")] if broken else []
    return Problems(tuple(found), {"error": len(found)})


def _problem(file: str, line: int, text: str) -> Problem:
    span = Span(Position(line, 1), Position(line, 2))
    return Problem(file, span, "error" if text[0] == "!" else "warning", text[1:], source="check")


async def looked(bench: Bench, **given: object) -> Json:
    """What an agent is told of problems after it wrote a file."""
    (bench.project / "a.txt").write_text(BEFORE)
    look = call("diagnostics", waitMs=0, **given)
    bench.script(call("WriteFile", path="a.txt", content=AFTER), look, "text: done")
    async with bench.running():
        bench.port.editors.add(FakeEditor(diagnostics=checker))
        watcher = Watcher(await bench.new("review"))
        await finish(watcher.session, "write it")
        told = watcher.of(ToolResult)[1].return_value
        assert isinstance(told.output, str)
        said: Json = json.loads(told.output) if not told.is_error else {"error": told.message}
        return said


def words(items: list[Json]) -> list[tuple[str, bool]]:
    return [(each["message"], each.get("isNew", False)) for each in items]


async def test_problems_in_the_agents_lines_and_what_these_broke_elsewhere_are_new(bench: Bench) -> None:
    told = await looked(bench, files=["a.txt"])
    assert words(told["data"]["items"]) == [("unsure", True), ("new", True), ("old", False), ("one is gone", True)]


async def test_only_what_hunks_brought_can_be_asked_for(bench: Bench) -> None:
    told = await looked(bench, sinceHunks=[1])
    assert words(told["data"]["items"]) == [("unsure", True), ("new", True), ("one is gone", True)]
    assert told["data"]["counts"] == {"error": 2, "warning": 1}


async def test_a_hunk_that_does_not_wait_brought_nothing(bench: Bench) -> None:
    told = await looked(bench, sinceHunks=[1, 99])
    assert "No hunk 99 waits for review" in told["error"]
