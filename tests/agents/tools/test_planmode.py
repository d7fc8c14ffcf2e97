"""Plan mode: read only by code, entered and left by tools, reviewed by the user; and the model's questions."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sould.agents.permissions.policy import Mode
from sould.agents.sessions.session import Session
from sould.agents.toolapi.base import ToolCallContext
from sould.agents.tools.planmode import APPROVE, QUESTION, REJECT, REJECT_AND_EXIT
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import (
    ContextNote,
    PlanDisplay,
    QuestionRequest,
    QuestionResponse,
    RequestClosed,
    StatusUpdate,
    StepBegin,
    ToolResult,
    TurnEnd,
)
from soultest.bench import Bench, Watcher, call, finish, make_bench
from soultest.bench.looks import tools_of, toolset_of
from soultest.toolcalling import call_tool

PLAN = "1. Change a.txt"


async def planner(bench: Bench, mode: Mode = "ask") -> Session:
    """A session of a client that can answer questions."""
    opening = bench.opening(mode=mode, capabilities=frozenset({"questions", "plan_mode"}))
    return await bench.host.new(opening)


async def answer(session: Session, watcher: Watcher, text: str | None, question: str = QUESTION) -> QuestionRequest:
    """Answer the question that comes; None dismisses it."""
    request = await watcher.wait_for(QuestionRequest)
    answers = {} if text is None else {question: text}
    session.parts.attached.answer(QuestionResponse(request_id=request.id, answers=answers), "watcher")
    return request


def notes(watcher: Watcher) -> list[str]:
    return [note.text for note in watcher.of(ContextNote)]


CHANGING: dict[str, dict[str, Any]] = {
    "TaskStop": {"task_id": "shell_1"},
    "WriteFile": {"path": "new.txt", "content": "x"},
    "StrReplaceFile": {"path": "a.txt", "edit": {"old": "hello", "new": "bye"}},
    "Shell": {"command": "touch new.txt"},
}


async def test_no_tool_of_the_default_agent_changes_anything_in_plan_mode(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    async with bench.running():
        session = await planner(bench, "plan")
        toolset = toolset_of(session)
        kinds = {spec.name: tool.kind for spec in toolset.specs if (tool := toolset.find(spec.name))}
        may_change = {name for name, kind in kinds.items() if kind in ("edit", "delete", "move", "execute")}
        assert may_change <= set(CHANGING), "a new tool with effects: add arguments for it"
        for name in may_change:
            result = await call_tool(toolset, name, CHANGING[name], ToolCallContext("c", 1))
            assert result.is_error
            assert "plan mode" in result.message
    assert [path.name for path in bench.project.iterdir()] == ["a.txt"]
    assert (bench.project / "a.txt").read_text() == "hello\n"


@pytest.mark.parametrize(
    "line",
    ["echo x > new.txt", "ls; rm a.txt", "ls $(rm a.txt)", "git commit -am x", "sed -i s/h/j/ a.txt", "tee b < a.txt"],
)
async def test_the_shell_runs_nothing_with_effects_in_plan_mode(tmp_path: Path, line: str) -> None:
    bench = make_bench(tmp_path, scripts=[call("Shell", command=line), "text: ok"])
    async with bench.running():
        session = await planner(bench, "plan")
        watcher = Watcher(session)
        await finish(session, "go")
        assert watcher.of(ToolResult)[0].return_value.is_error
    assert [path.name for path in bench.project.iterdir()] == ["a.txt"]
    assert (bench.project / "a.txt").read_text() == "hello\n"


async def test_the_shell_still_looks_around_in_plan_mode(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, scripts=[call("Shell", command="ls"), "text: ok"])
    async with bench.running():
        session = await planner(bench, "plan")
        watcher = Watcher(session, answer=None)
        await finish(session, "go")
        assert watcher.of(ToolResult)[0].return_value.output == "a.txt\n"


async def test_an_approved_plan_ends_plan_mode_and_the_turn_goes_on(tmp_path: Path) -> None:
    edit = call("WriteFile", path="new.txt", content="x")
    bench = make_bench(tmp_path, scripts=[call("EnterPlanMode"), call("ExitPlanMode", plan=PLAN), edit, "text: done"])
    async with bench.running():
        session = await planner(bench, "review")
        watcher = Watcher(session)
        prompt = session.turns.prompt("go", "watcher")
        request = await answer(session, watcher, APPROVE)
        assert (await prompt.outcome()).stop_reason == "finished"
        assert session.parts.services.permission.modes.mode == "review"
        assert request.questions[0].body == PLAN
        assert [option.label for option in request.questions[0].options] == [APPROVE, "Revise", REJECT, REJECT_AND_EXIT]
        shown = watcher.of(PlanDisplay)[0]
        assert (shown.content, Path(shown.file_path).read_text()) == (PLAN, PLAN)
        assert [update.plan_mode for update in watcher.of(StatusUpdate) if update.plan_mode is not None] == [
            True,
            False,
        ]
        assert [note[:16] for note in notes(watcher)] == ["Plan mode is on.", "Plan mode is ove"]
    assert (bench.project / "new.txt").read_text() == "x"


async def test_a_plan_that_waited_when_sould_was_stopped_is_asked_about_again_and_carried_out(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, scripts=[call("EnterPlanMode"), call("ExitPlanMode", plan=PLAN)])
    async with bench.running():
        session = await planner(bench, "review")
        watcher = Watcher(session)
        session.turns.prompt("go", "watcher")
        asked = await watcher.wait_for(QuestionRequest)
    bench.script(call("WriteFile", path="new.txt", content="x"), "text: done")
    async with bench.running():
        opening = bench.opening(default_mode="review", capabilities=frozenset({"questions", "plan_mode"}))
        session = await bench.host.open(session.id, opening)
        watcher = Watcher(session)
        assert session.parts.services.permission.modes.mode == "plan"
        assert (await answer(session, watcher, APPROVE)).id == asked.id
        assert (await watcher.wait_for(TurnEnd)).stop_reason == "finished"
        assert session.parts.services.permission.modes.mode == "review"
        said = [record.message for record in session.log.replay()]
        assert len([shown for shown in said if isinstance(shown, PlanDisplay)]) == 1
        assert not watcher.of(RequestClosed)
    assert (bench.project / "new.txt").read_text() == "x"


async def test_a_chosen_approach_is_told_to_the_model(tmp_path: Path) -> None:
    options = [{"label": "Small step"}, {"label": "Rewrite"}]
    bench = make_bench(tmp_path, scripts=[call("ExitPlanMode", plan=PLAN, options=options), "text: done"])
    async with bench.running():
        session = await planner(bench, "plan")
        watcher = Watcher(session)
        prompt = session.turns.prompt("go", "watcher")
        await answer(session, watcher, "Rewrite")
        await prompt.outcome()
        assert "They chose: Rewrite" in watcher.of(ToolResult)[0].return_value.message
        assert session.parts.services.permission.modes.mode == "ask"


async def test_a_plan_and_its_approaches_are_shown_with_nothing_that_cannot_be_seen(tmp_path: Path) -> None:
    plan = "1. Keep\r\n\n    a.txt\u202e\n2. De\u200blete\rit"
    options = [{"label": "Small\u2066 step"}, {"label": "Rewrite"}]
    bench = make_bench(tmp_path, scripts=[call("ExitPlanMode", plan=plan, options=options), "text: done"])
    async with bench.running():
        session = await planner(bench, "plan")
        watcher = Watcher(session)
        prompt = session.turns.prompt("go", "watcher")
        asked = (await answer(session, watcher, REJECT)).questions[0]
        await prompt.outcome()
        assert asked.body == "1. Keep\n\n    a.txt\\u202e\n2. De\\u200blete\\u000dit"
        assert asked.options[0].label == "Small\\u2066 step"


@pytest.mark.parametrize(
    ("said", "stop", "mode"),
    [
        (REJECT, "tool_rejected", "plan"),
        (None, "tool_rejected", "plan"),
        (REJECT_AND_EXIT, "tool_rejected", "ask"),
        ("Revise", "finished", "plan"),
        ("Test first", "finished", "plan"),
    ],
)
async def test_a_plan_that_is_not_approved_changes_nothing(
    tmp_path: Path, said: str | None, stop: str, mode: Mode
) -> None:
    bench = make_bench(tmp_path, scripts=[call("ExitPlanMode", plan=PLAN), "text: well"])
    async with bench.running():
        session = await planner(bench, "plan")
        watcher = Watcher(session)
        prompt = session.turns.prompt("go", "watcher")
        await answer(session, watcher, said)
        assert (await prompt.outcome()).stop_reason == stop
        assert session.parts.services.permission.modes.mode == mode
        if said == "Test first":
            assert "Test first" in watcher.of(ToolResult)[0].return_value.message


async def test_the_model_is_reminded_sparingly(tmp_path: Path) -> None:
    looks = [call("ReadFile", path="a.txt", line_offset=n + 1) for n in range(6)]
    bench = make_bench(tmp_path, scripts=[*looks, "text: done"])
    async with bench.running():
        session = await planner(bench, "plan")
        watcher = Watcher(session)
        await finish(session, "go")
        said = [type(message) for message in watcher.messages if isinstance(message, ContextNote | StepBegin)]
        assert said.count(StepBegin) == 7
        assert [index for index, kind in enumerate(said) if kind is ContextNote] == [0, 6]
        assert len(notes(watcher)[1]) < len(notes(watcher)[0])


async def test_plan_mode_entered_by_the_agent_is_not_the_project_s_usual_mode(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, scripts=[call("EnterPlanMode"), "text: ok"])
    async with bench.running():
        session = await planner(bench, "review")
        await finish(session, "go")
        assert session.parts.services.permission.modes.mode == "plan"
        opening = replace(session.parts.services.workplace.opening, mode=None)
        assert (await bench.host.new(opening)).parts.services.permission.modes.mode == "ask"


QUESTIONS = [
    {"question": "Which one?", "header": "One", "options": [{"label": "a"}, {"label": "b"}]},
    {"question": "Many?", "options": [{"label": "c"}, {"label": "d"}], "multi_select": True},
]


@pytest.mark.parametrize("given", [{"Which one?": "b", "Many?": "c, d"}, {}])
async def test_the_model_gets_the_user_s_answers(tmp_path: Path, given: dict[str, str]) -> None:
    bench = make_bench(tmp_path, scripts=[call("AskUserQuestion", questions=QUESTIONS), "text: ok"])
    async with bench.running():
        session = await planner(bench)
        watcher = Watcher(session)
        prompt = session.turns.prompt("go", "watcher")
        request = await watcher.wait_for(QuestionRequest)
        session.parts.attached.answer(QuestionResponse(request_id=request.id, answers=given), "watcher")
        assert (await prompt.outcome()).stop_reason == "finished"
        output = json.loads(str(watcher.of(ToolResult)[0].return_value.output))
        assert output["answers"] == given
        assert ("note" in output) is not given


async def test_a_cancelled_turn_withdraws_its_question(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, scripts=[call("AskUserQuestion", questions=QUESTIONS)])
    async with bench.running():
        session = await planner(bench)
        watcher = Watcher(session)
        prompt = session.turns.prompt("go", "watcher")
        await watcher.wait_for(QuestionRequest)
        session.turns.cancel("watcher")
        assert (await asyncio.wait_for(prompt.outcome(), 10)).stop_reason == "cancelled"
        assert not session.log.channel.pending


async def test_questions_are_offered_only_where_somebody_can_answer(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    async with bench.running():
        alone = await bench.new()
        names = {"AskUserQuestion", "EnterPlanMode", "ExitPlanMode"}
        assert not names & tools_of(alone)
        asked = await planner(bench)
        assert names <= tools_of(asked)


async def test_the_plan_command_enters_shows_forgets_and_leaves(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, scripts=[call("ExitPlanMode", plan=PLAN)])
    async with bench.running():
        session = await planner(bench)
        watcher = Watcher(session)
        await finish(session, "/plan")
        assert session.parts.services.permission.modes.mode == "plan"
        prompt = session.turns.prompt("/plan change a.txt", "watcher")
        await answer(session, watcher, REJECT)
        assert (await prompt.outcome()).stop_reason == "tool_rejected"
        assert any("change a.txt" in note for note in notes(watcher))
        for command in ("view", "clear", "view", "off"):
            await finish(session, f"/plan {command}")
        said = [part.text for part in watcher.of(TextPart)][1:]
        assert said == [PLAN, "The plan was cleared.", "There is no plan yet.", "Plan mode is off; the mode is ask."]
        assert session.parts.services.permission.modes.mode == "ask"
