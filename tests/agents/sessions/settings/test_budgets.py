"""The budgets of a session and of a day: counted with subagents, asked about, granted, and kept."""

from pathlib import Path
from typing import Any

import pytest

from sould.agents.sessions.settings.budgets import CONTINUE, STOP
from sould.agents.wire.messages import (
    ApprovalRequest,
    QuestionRequest,
    QuestionResponse,
    StepBegin,
    ToolResult,
    TurnEnd,
)
from soultest.bench import Bench, Watcher, call, finish, make_bench

USAGE = "\nusage: input_other=60 output=10"
LOOK = call("Glob", pattern="*") + USAGE


def bench_with(tmp_path: Path, **budget: Any) -> Bench:
    return make_bench(tmp_path, {"budget": budget})


async def question(watcher: Watcher, number: int = 1) -> QuestionRequest:
    return await watcher.wait_for(
        QuestionRequest, lambda found: watcher.of(QuestionRequest)[number - 1 :][:1] == [found]
    )


def answer(watcher: Watcher, request: QuestionRequest, words: str) -> str:
    asked = request.questions[0].question
    watcher.session.parts.attached.answer(QuestionResponse(request_id=request.id, answers={asked: words}), "watcher")
    return asked


async def ask(watcher: Watcher, *answers: str) -> tuple[list[str], TurnEnd]:
    """One turn; the questions it asked, and its end."""
    before = len(watcher.of(QuestionRequest))
    turn = watcher.session.turns.prompt("look", "watcher")
    asked = [answer(watcher, await question(watcher, before + n), words) for n, words in enumerate(answers, 1)]
    return asked, await turn.outcome()


async def test_a_session_stops_with_a_question_before_the_next_call_of_the_model(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, session={"tokens": 100})
    bench.script(*[LOOK] * 9)
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        asked, end = await ask(watcher, STOP)
    assert asked == ["The budget of this session is used up: 140 of 100 tokens. Continue?"]
    assert (end.stop_reason, len(watcher.of(StepBegin))) == ("cancelled", 2)


async def test_going_on_allows_as_much_again_and_the_next_turn_asks_anew_also_after_a_restart(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, session={"tokens": 100})
    bench.script(*[LOOK] * 9)
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        asked, _ = await ask(watcher, CONTINUE, STOP)
        assert "280 of 240 tokens" in asked[1]
        again, _ = await ask(watcher, STOP)
        assert again == [asked[1]]
    async with bench.running():
        assert (await ask(Watcher(await bench.open(watcher.session.id)), STOP))[0] == [asked[1]]


async def test_a_call_that_waited_for_its_approval_is_run_before_anything_is_asked(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, session={"tokens": 50})
    bench.script(call("Shell", command="touch made") + USAGE)
    async with bench.running():
        waiting = Watcher(await bench.new("ask"), answer=None)
        waiting.session.turns.prompt("look", "watcher")
        await waiting.wait_for(ApprovalRequest)
    async with bench.running():
        watcher = Watcher(await bench.open(waiting.session.id))
        answer(watcher, await question(watcher), STOP)
        end = await watcher.wait_for(TurnEnd)
    assert (bench.project / "made").exists()
    assert end.stop_reason == "cancelled"
    assert len(watcher.of(ToolResult)) == 1


async def test_a_turn_that_is_done_is_not_asked_about(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, session={"tokens": 50})
    bench.script(f"text: done{USAGE}")
    async with bench.running():
        watcher = Watcher(await bench.new())
        assert (await finish(watcher.session, "look")).stop_reason == "finished"
    assert watcher.of(QuestionRequest) == []


async def test_a_day_has_one_budget_for_all_sessions_in_money(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, day={"money": 0.5})
    bench.settings["model"] = {"input_price": 1000.0, "output_price": 10_000.0}
    bench.script(*[f"text: done{USAGE}"] * 9)
    async with bench.running():
        for _ in range(4):
            await finish(Watcher(await bench.new()).session, "look")
    async with bench.running():
        watcher = Watcher(await bench.new())
        asked, end = await ask(watcher, CONTINUE)
        assert asked == ["The budget of this day is used up: 0.64 of 0.50 in money. Continue?"]
        assert end.stop_reason == "finished"
        await finish(Watcher(await bench.new()).session, "look")


async def test_an_unknown_price_is_no_money(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, session={"money": 0.01})
    bench.script(LOOK, f"text: done{USAGE}")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        assert (await finish(watcher.session, "look")).stop_reason == "finished"


@pytest.mark.parametrize(("command", "choice"), [("/loop 5 tidy up", "CONTINUE"), ("/flow:release it", "yes")])
async def test_loops_and_flows_stop_by_it(tmp_path: Path, command: str, choice: str) -> None:
    bench = bench_with(tmp_path, session={"tokens": 100})
    bench.script(f"text: 1{USAGE}", *[f"text: <choice>{choice}</choice>{USAGE}"] * 9)
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        turn = watcher.session.turns.prompt(command, "watcher")
        answer(watcher, await question(watcher), STOP)
        await turn.outcome()
        loop = watcher.session.loops.load()
    assert len(watcher.of(StepBegin)) == 2
    if loop is not None:
        assert (loop.status, loop.reason) == ("paused", "the budget is used up (140 of 100 tokens)")
