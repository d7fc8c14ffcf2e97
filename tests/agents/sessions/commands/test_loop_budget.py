"""Budgets of a loop: what counts, the question a loop stops with when one is used up, and every answer to it."""

import pytest

from sould.agents.sessions.loops.spending import CONTINUE, STOP
from sould.agents.sessions.loops.state import LoopBudget, LoopState, LoopStore
from sould.agents.sessions.session import Session
from sould.agents.wire.messages import Notification, QuestionRequest, QuestionResponse, StepBegin, ToolResult, TurnEnd
from soultest.bench import Bench, Watcher, call, finish, refused

USAGE = "\nusage: input_other=60 output=10"
MORE = f"text: <choice>CONTINUE</choice>{USAGE}"
DONE = "text: <choice>STOP</choice>"


async def begin(bench: Bench) -> Watcher:
    return Watcher(await bench.begin("full"))


def loop_of(session: Session) -> LoopState:
    loop = session.loops.load()
    assert loop is not None
    return loop


async def asked(watcher: Watcher, number: int = 1) -> QuestionRequest:
    """The question of the loop: the first, second …"""
    return await watcher.wait_for(
        QuestionRequest, lambda found: watcher.of(QuestionRequest)[number - 1 :][:1] == [found]
    )


def answer(watcher: Watcher, request: QuestionRequest, words: str) -> None:
    answers = {request.questions[0].question: words} if words else {}
    watcher.session.parts.attached.answer(QuestionResponse(request_id=request.id, answers=answers), "watcher")


async def ask_once(watcher: Watcher, command: str, words: str) -> tuple[QuestionRequest, TurnEnd]:
    turn = watcher.session.turns.prompt(command, "watcher")
    request = await asked(watcher)
    answer(watcher, request, words)
    return request, await turn.outcome()


async def test_a_used_up_budget_stops_with_a_question_and_stop_pauses_the_loop(bench: Bench) -> None:
    bench.script(f"text: 1{USAGE}", *[MORE] * 9)
    async with bench.running():
        watcher = await begin(bench)
        request, end = await ask_once(watcher, "/loop unlimited --tokens 200 tidy up", STOP)
        loop = loop_of(watcher.session)
    (item,) = request.questions
    assert item.question == "The loop has used up its budget: 210 of 200 tokens. Continue?"
    assert "3 iterations done of: tidy up" in item.body
    assert "200 more tokens" in item.options[0].description
    assert (end.stop_reason, loop.status, loop.completed) == ("finished", "paused", 3)
    assert loop.reason == "its budget is used up (210 of 200 tokens)"
    assert len(watcher.of(StepBegin)) == 3


async def test_dismissing_the_question_is_no_yes(bench: Bench) -> None:
    bench.script(f"text: 1{USAGE}", *[MORE] * 9)
    async with bench.running():
        watcher = await begin(bench)
        await ask_once(watcher, "/loop unlimited --tokens 50 tidy up", "")
        assert (loop_of(watcher.session).status, len(watcher.of(StepBegin))) == ("paused", 1)


async def test_continue_allows_as_much_again_and_the_next_time_it_is_asked_again(bench: Bench) -> None:
    bench.script(f"text: 1{USAGE}", *[MORE] * 9)
    async with bench.running():
        watcher = await begin(bench)
        turn = watcher.session.turns.prompt("/loop unlimited --tokens 100 tidy up", "watcher")
        answer(watcher, await asked(watcher), CONTINUE)
        second = await asked(watcher, 2)
        answer(watcher, second, STOP)
        await turn.outcome()
        loop = loop_of(watcher.session)
    assert "280 of 240 tokens" in second.questions[0].question
    assert (loop.completed, loop.budget, loop.allowance) == (4, LoopBudget(tokens=240), LoopBudget(tokens=100))


async def test_another_amount_may_be_given_and_nonsense_is_asked_again(bench: Bench) -> None:
    bench.script(f"text: 1{USAGE}", MORE, MORE, DONE)
    async with bench.running():
        watcher = await begin(bench)
        turn = watcher.session.turns.prompt("/loop unlimited --tokens 50 tidy up", "watcher")
        answer(watcher, await asked(watcher), "plenty")
        answer(watcher, await asked(watcher, 2), "1k")
        await turn.outcome()
        loop = loop_of(watcher.session)
    assert (loop.status, loop.completed, loop.budget.tokens) == ("finished", 4, 1070)


async def test_a_budget_used_up_between_two_steps_costs_no_work(bench: Bench) -> None:
    bench.script(call("WriteFile", path="b.txt", content="x") + USAGE, f"text: 1{USAGE}", DONE)
    async with bench.running():
        watcher = await begin(bench)
        turn = watcher.session.turns.prompt("/loop 3 --tokens 50 tidy up", "watcher")
        request = await asked(watcher)
        assert (bench.project / "b.txt").read_text() == "x"
        answer(watcher, request, "1k")
        await turn.outcome()
        assert (loop_of(watcher.session).status, loop_of(watcher.session).completed) == ("finished", 2)
    assert len(watcher.of(StepBegin)) == 3


async def test_a_completed_task_is_not_asked_about(bench: Bench) -> None:
    bench.script("text: 1", DONE + USAGE)
    async with bench.running():
        watcher = await begin(bench)
        await finish(watcher.session, "/loop 3 --tokens 50 tidy up")
        assert loop_of(watcher.session).status == "finished"
    assert watcher.of(QuestionRequest) == []


async def test_a_spent_budget_of_time_interrupts_what_runs_and_waiting_for_the_answer_is_not_counted(
    bench: Bench,
) -> None:
    bench.script(call("Shell", command="sleep 600", timeout=300), "text: 1", DONE)
    async with bench.running():
        watcher = await begin(bench)
        turn = watcher.session.turns.prompt("/loop 3 --time 0.3s wait", "watcher")
        request = await asked(watcher)
        spent = loop_of(watcher.session).spent.seconds
        answer(watcher, request, "10m")
        await turn.outcome()
        loop = loop_of(watcher.session)
    assert " of 0.3 seconds" in request.questions[0].question
    assert len(watcher.of(ToolResult)) == 1
    assert loop.budget.seconds == spent + 600
    assert (loop.status, loop.completed) == ("finished", 2)


async def test_money_is_counted_and_its_budget_asked_about(bench: Bench) -> None:
    bench.settings["model"] = {"input_price": 1000.0, "output_price": 10_000.0}
    bench.script(f"text: 1{USAGE}", *[MORE] * 9)
    async with bench.running():
        watcher = await begin(bench)
        request, _ = await ask_once(watcher, "/loop unlimited --cost 0.3 tidy up", STOP)
        assert loop_of(watcher.session).spent.cost == pytest.approx(0.32)
    assert "0.32 of 0.30 in money" in request.questions[0].question


async def test_a_budget_in_money_needs_a_price(bench: Bench) -> None:
    async with bench.running():
        said = await refused((await begin(bench)).session, "/loop 3 --cost 1 tidy up")
    assert "price of the model scripted is not known" in said


async def test_a_budget_of_the_configuration_that_cannot_be_kept_is_said(bench: Bench) -> None:
    bench.settings["loop_control"] = {"ralph_max_cost": 1}
    bench.script("text: 1", DONE)
    async with bench.running():
        watcher = await begin(bench)
        await finish(watcher.session, "/loop 3 tidy up")
        assert loop_of(watcher.session).status == "finished"
    assert any("`ralph_max_cost` has no effect" in told.body for told in watcher.of(Notification))


async def test_what_subagents_spend_counts_and_is_interrupted_at_once(bench: Bench) -> None:
    bench.script(
        call("Agent", prompt="look", subagent_type="explore", description="Look"),
        call("Glob", pattern="*") + USAGE,
        *[call("Glob", pattern="*.txt") + USAGE] * 9,
    )
    async with bench.running():
        watcher = await begin(bench)
        request, _ = await ask_once(watcher, "/loop 3 --tokens 100 look around", STOP)
        loop = loop_of(watcher.session)
    assert "140 of 100 tokens" in request.questions[0].question
    assert (loop.spent.tokens, loop.completed) == (140, 0)
    assert len(watcher.of(StepBegin)) == 1


async def test_cancelling_the_question_leaves_the_loop_paused_by_its_budget(bench: Bench) -> None:
    bench.script(f"text: 1{USAGE}")
    async with bench.running():
        watcher = await begin(bench)
        turn = watcher.session.turns.prompt("/loop 3 --tokens 50 tidy up", "watcher")
        await asked(watcher)
        watcher.session.turns.cancel("watcher")
        end = await turn.outcome()
        loop = loop_of(watcher.session)
    assert (end.stop_reason, loop.status) == ("cancelled", "paused")
    assert "budget" in loop.reason


async def test_the_question_outlives_no_daemon_but_the_pause_does(bench: Bench) -> None:
    bench.script(f"text: 1{USAGE}", DONE)
    async with bench.running():
        watcher = await begin(bench)
        watcher.session.turns.prompt("/loop 3 --tokens 50 tidy up", "watcher")
        await asked(watcher)
        session_id = watcher.session.id
    loop = LoopStore(bench.state / "loops").load(session_id)
    assert loop is not None
    assert (loop.status, loop.completed) == ("paused", 1)
    bench.script(DONE)
    async with bench.running():
        again = Watcher(await bench.open(session_id))
        _, end = await ask_once(again, "/loop resume", CONTINUE)
        assert (end.stop_reason, loop_of(again.session).status) == ("finished", "finished")


async def test_resuming_can_grant_more_without_a_question(bench: Bench) -> None:
    bench.script(f"text: 1{USAGE}", MORE, DONE)
    async with bench.running():
        watcher = await begin(bench)
        await ask_once(watcher, "/loop 9 --tokens 50 tidy up", STOP)
        await finish(watcher.session, "/loop resume --tokens 1k")
        assert loop_of(watcher.session).status == "finished"
    assert len(watcher.of(QuestionRequest)) == 1


async def test_budgets_come_from_the_configuration_too(bench: Bench) -> None:
    bench.settings["loop_control"] = {"max_ralph_iterations": -1, "ralph_max_tokens": 100}
    bench.script(f"text: 1{USAGE}", *[MORE] * 9)
    async with bench.running():
        watcher = await begin(bench)
        request, _ = await ask_once(watcher, "tidy up", STOP)
    assert "140 of 100 tokens" in request.questions[0].question
