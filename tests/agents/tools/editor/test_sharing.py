"""What the user looks at is told to agents only as the user chose for the project, and it is shown what was told."""

import pytest

from sould.agents.tools.editor.anchors import Position
from sould.agents.tools.editor.results import ActiveFile, OpenFile, Selection, Span, State
from sould.agents.wire.display import BriefBlock
from sould.agents.wire.messages import ApprovalRequest, ToolResult
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.editors import FakeEditor, says


async def looked(bench: Bench, chosen: str, answer: str = "approve") -> tuple[ToolResult, int, FakeEditor]:
    """What an agent that asks for the editor's state is told, after how many questions."""
    file = str(bench.project / "a.txt")
    span = Span(Position(1, 1), Position(1, 6))
    state = State(shared=True, active=ActiveFile(file, selection=Selection(span, "hello")), open=(OpenFile(file),))
    bench.script(call("editor_state"), "text: done")
    async with bench.running():
        editor = FakeEditor(editor_state=says(state))
        bench.port.editors.add(editor)
        first = await bench.new("review")
        if chosen:
            await finish(first, f"/editor-context {chosen}")
        watcher = Watcher(await bench.new("review"), answer=answer)  # pyright: ignore[reportArgumentType] -- one of the answers
        await finish(watcher.session, "what do I look at?")
        return watcher.of(ToolResult)[-1], len(watcher.of(ApprovalRequest)), editor


@pytest.mark.parametrize(("chosen", "questions"), [("", 1), ("ask", 1), ("on", 0)])
async def test_what_is_shared_is_shown(bench: Bench, chosen: str, questions: int) -> None:
    result, asked, _ = await looked(bench, chosen)
    assert asked == questions
    assert isinstance(result.return_value.output, str)
    assert '"text":"hello"' in result.return_value.output
    shown = BriefBlock(text="Shared with the agent: a.txt, lines 1 to 1 selected, 1 open file")
    assert shown in result.return_value.display


async def test_what_is_not_shared_is_not_even_asked_for(bench: Bench) -> None:
    result, asked, editor = await looked(bench, "off")
    assert asked == 0
    assert result.return_value.output == '{"data":{"shared":false}}'
    assert not editor.asked


async def test_a_no_is_a_no(bench: Bench) -> None:
    result, asked, editor = await looked(bench, "ask", "reject")
    assert asked == 1
    assert result.return_value.is_error
    assert not editor.asked


async def test_of_a_file_outside_the_project_no_selection_is_told(bench: Bench) -> None:
    outside = bench.root / "outside.txt"
    outside.write_text("hello\n")
    span = Span(Position(1, 1), Position(1, 6))
    state = State(shared=True, active=ActiveFile(str(outside), selection=Selection(span, "hello")))
    bench.script(call("editor_state"), "text: done")
    async with bench.running():
        bench.port.editors.add(FakeEditor(editor_state=says(state)))
        watcher = Watcher(await bench.new("review"))
        await finish(watcher.session, "/editor-context on")
        await finish(watcher.session, "what do I look at?")
        told = watcher.of(ToolResult)[-1].return_value.output
    assert isinstance(told, str)
    assert "outside.txt" in told
    assert "hello" not in told
