"""The loop: choices, limits, budgets, cancelling, and what survives the daemon."""

import pytest

from sould.agents.base.errors import SouldError
from sould.agents.sessions.loops.request import LoopRequest, parse_request
from sould.agents.sessions.loops.state import LoopBudget, LoopState, LoopStore
from sould.agents.sessions.session import Session
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    ContextReverted,
    Notification,
    PlanUpdate,
    StepBegin,
)
from soultest.bench import Bench, Watcher, asked, call, finish, refused
from soultest.bench.looks import choose, messages_of


def loop_of(bench: Bench, session: Session) -> LoopState:
    loop = LoopStore(bench.state / "loops").load(session.id)
    assert loop is not None
    return loop


async def test_a_task_runs_once_and_again_until_the_agent_stops(bench: Bench) -> None:
    bench.script("text: begun", "text: more <choice>CONTINUE</choice>", "text: all done <choice>STOP</choice>")
    async with bench.running():
        watcher = Watcher(await bench.begin())
        end = await finish(watcher.session, "/loop 5 tidy up")
        prompts = asked(watcher.session)
        loop = loop_of(bench, watcher.session)
    assert end.stop_reason == "finished"
    assert (loop.status, loop.completed) == ("finished", 3)
    assert "loop" not in prompts[0]
    assert "tidy up" in prompts[2]
    assert "iteration 3 of 6" in prompts[2]
    assert "STOP only when the task is fully complete; if you are not certain, CONTINUE." in prompts[2]
    assert [item.title for item in watcher.of(PlanUpdate)[2].items] == [
        "Iteration 1",
        "Iteration 2",
        "Iteration 3 of 6",
    ]
    assert [(item.title, item.status) for item in watcher.of(PlanUpdate)[-1].items] == [
        ("Iteration 1", "done"),
        ("Iteration 2", "done"),
        ("Iteration 3", "done"),
    ]


async def test_n_iterations_more_are_n_and_one_runs(bench: Bench) -> None:
    bench.script("text: 1", *["text: <choice>CONTINUE</choice>"] * 5)
    async with bench.running():
        watcher = Watcher(await bench.begin())
        end = await finish(watcher.session, "/loop 2 tidy up")
        loop = loop_of(bench, watcher.session)
    assert end.stop_reason == "finished"
    assert len(watcher.of(StepBegin)) == 3
    assert (loop.completed, loop.status, loop.reason) == (3, "finished", "all 3 iterations were used")


async def test_the_configuration_makes_every_prompt_a_loop_and_off_ends_it(bench: Bench) -> None:
    bench.settings["loop_control"] = {"max_ralph_iterations": 1}
    bench.script("text: 1", "text: <choice>STOP</choice>", "text: alone")
    async with bench.running():
        watcher = Watcher(await bench.begin())
        await finish(watcher.session, "tidy up")
        assert asked(watcher.session)[0] == "tidy up"
        assert len(watcher.of(StepBegin)) == 2
        await finish(watcher.session, "/loop off")
        await finish(watcher.session, "tidy up")
    assert len(watcher.of(StepBegin)) == 3


async def test_a_number_alone_makes_the_prompts_of_the_session_loop(bench: Bench) -> None:
    bench.script("text: 1", "text: <choice>STOP</choice>")
    async with bench.running():
        watcher = Watcher(await bench.begin())
        await finish(watcher.session, "/loop 3")
        await finish(watcher.session, "tidy up")
        assert loop_of(bench, watcher.session).limit == 3


async def test_the_option_of_the_session_makes_its_prompts_loop_and_is_kept(bench: Bench) -> None:
    bench.script("text: 1", "text: <choice>STOP</choice>")
    async with bench.running():
        watcher = Watcher(await bench.begin())
        await choose(watcher.session, "loop", "3", "watcher")
        await finish(watcher.session, "tidy up")
        assert loop_of(bench, watcher.session).limit == 3
    async with bench.running():
        again = await bench.host.open(watcher.session.id, bench.alone())
        assert {option.id: option.value for option in again.parts.choices.options.all()}["loop"] == "3"
        await choose(again, "loop", "unlimited", "watcher")
        assert {option.id: option.value for option in again.parts.choices.options.all()}["loop"] == "unlimited"


async def test_a_pause_waits_for_the_user_and_goes_on_when_resumed(bench: Bench) -> None:
    bench.script("text: 1", "text: Which colour? <choice>PAUSE</choice>", "text: <choice>STOP</choice>")
    async with bench.running():
        watcher = Watcher(await bench.begin())
        await finish(watcher.session, "/loop 5 paint it")
        paused = loop_of(bench, watcher.session)
        await finish(watcher.session, "/loop resume")
        done = loop_of(bench, watcher.session)
    assert (paused.status, paused.reason) == ("paused", "Which colour?")
    assert any("Which colour?" in told.body for told in watcher.of(Notification))
    assert (done.status, done.completed) == ("finished", 3)


async def test_an_adjusted_plan_is_stated_and_given_to_later_iterations(bench: Bench) -> None:
    bench.script(
        "text: 1", "text: <choice>ADJUST</choice>", "text: New plan: sort first.", "text: <choice>STOP</choice>"
    )
    async with bench.running():
        watcher = Watcher(await bench.begin())
        await finish(watcher.session, "/loop 5 tidy up")
        prompts = asked(watcher.session)
        loop = loop_of(bench, watcher.session)
    assert "State the adjusted plan" in prompts[2]
    assert "New plan: sort first." in prompts[3]
    assert (loop.plan, loop.completed) == ("New plan: sort first.", 3)


async def test_a_plan_that_was_not_stated_before_the_loop_stopped_is_asked_for_when_it_goes_on(bench: Bench) -> None:
    bench.script("text: 1", "text: <choice>ADJUST</choice>")
    async with bench.running():
        watcher = Watcher(await bench.begin())
        await finish(watcher.session, "/loop 5 tidy up")
        bench.script("text: Sort first.", "text: <choice>STOP</choice>")
        await finish(watcher.session, "/loop resume")
        loop = loop_of(bench, watcher.session)
    assert (loop.plan, loop.status, loop.completed) == ("Sort first.", "finished", 3)


async def test_a_rollback_takes_context_and_files_back_to_where_the_iteration_began(bench: Bench) -> None:
    bench.script(
        call("WriteFile", path="b.txt", content="good"),
        "text: written",
        call("WriteFile", path="b.txt", content="awful", mode="overwrite"),
        "text: that was wrong <choice>ROLLBACK</choice>",
        "text: fine as it is <choice>STOP</choice>",
    )
    async with bench.running():
        watcher = Watcher(await bench.begin())
        await finish(watcher.session, "/loop 5 tidy up")
        parts = [part for message in messages_of(watcher.session) for part in message.content]
        loop = loop_of(bench, watcher.session)
    text = "\n".join(part.text for part in parts if isinstance(part, TextPart))
    assert (bench.project / "b.txt").read_text() == "good"
    assert "written" in text
    assert "wrong <choice>" not in text
    assert "You rolled back iteration 2. The files you changed in it are as they were before." in text
    assert "in your words: that was wrong" in text
    assert len(watcher.of(ContextReverted)) == 1
    assert (loop.completed, loop.status) == (3, "finished")


async def test_a_rollback_takes_back_what_subagents_and_commands_did(bench: Bench) -> None:
    bench.script(
        "text: begun",
        call("Agent", prompt="write", subagent_type="coder", description="Write"),
        call("WriteFile", path="child.txt", content="child\n"),
        "text: written, as I was told. " + "It is all there. " * 20,
        call("Shell", command="echo shell > a.txt"),
        "text: <choice>ROLLBACK</choice>",
        "text: <choice>STOP</choice>",
    )
    async with bench.running():
        watcher = Watcher(await bench.begin())
        await finish(watcher.session, "/loop 5 tidy up")
        assert loop_of(bench, watcher.session).status == "finished"
    assert not (bench.project / "child.txt").exists()
    assert (bench.project / "a.txt").read_text() == "hello\n"


async def test_a_file_the_user_changed_since_survives_a_rollback_and_is_named(bench: Bench) -> None:
    bench.script(
        "text: begun",
        call("WriteFile", path="b.txt", content="agent\n"),
        call("Shell", command="touch c.txt"),
        "text: <choice>ROLLBACK</choice>",
        "text: <choice>STOP</choice>",
    )
    async with bench.running():
        watcher = Watcher(await bench.begin(), answer=None)
        turn = watcher.session.turns.prompt("/loop 5 tidy up", "watcher")
        for number in (1, 2):
            request = await watcher.wait_for(
                ApprovalRequest, lambda found, number=number: watcher.of(ApprovalRequest)[number - 1 :][:1] == [found]
            )
            if number == 2:
                (bench.project / "b.txt").write_text("user\n")
            watcher.session.parts.attached.answer(
                ApprovalResponse(request_id=request.id, response="approve"), "watcher"
            )
        await turn.outcome()
        told = "\n".join(asked(watcher.session))
    assert (bench.project / "b.txt").read_text() == "user\n"
    assert "b.txt, which somebody else has changed since" in told


async def test_two_rollbacks_of_one_iteration_are_carried_out_and_pause_the_loop(bench: Bench) -> None:
    bench.script(
        "text: 1",
        "text: <choice>ROLLBACK</choice>",
        call("WriteFile", path="b.txt", content="awful"),
        "text: worse <choice>ROLLBACK</choice>",
    )
    async with bench.running():
        watcher = Watcher(await bench.begin())
        await finish(watcher.session, "/loop 9 tidy up")
        loop = loop_of(bench, watcher.session)
    assert len(watcher.of(ContextReverted)) == 2
    assert not (bench.project / "b.txt").exists()
    assert (loop.status, loop.completed, loop.reason) == ("paused", 3, "the same iteration was rolled back twice")


async def test_cancelling_stops_at_once_and_keeps_the_progress(bench: Bench) -> None:
    bench.script("text: 1", call("WriteFile", path="b.txt", content="x"), "text: <choice>STOP</choice>")
    async with bench.running():
        watcher = Watcher(await bench.begin(), answer=None)
        turn = watcher.session.turns.prompt("/loop 5 tidy up", "watcher")
        await watcher.wait_for(StepBegin, lambda step: step.n == 2)
        watcher.session.turns.cancel("watcher")
        end = await turn.outcome()
        loop = loop_of(bench, watcher.session)
    assert end.stop_reason == "cancelled"
    assert (loop.status, loop.reason, loop.completed) == ("stopped", "cancelled", 1)


async def test_a_loop_survives_the_daemon_and_goes_on_when_a_client_of_its_project_comes(bench: Bench) -> None:
    bench.script("text: 1", call("WriteFile", path="b.txt", content="x"))
    async with bench.running():
        watcher = Watcher(await bench.begin(), answer=None)
        session_id = watcher.session.id
        watcher.session.turns.prompt("/loop 5 tidy up", "watcher")
        await watcher.wait_for(StepBegin, lambda _: len(watcher.of(StepBegin)) == 2)
    store = LoopStore(bench.state / "loops")
    assert [(loop.session_id, loop.status, loop.completed) for loop in store.list()] == [(session_id, "running", 1)]

    bench.script("text: <choice>STOP</choice>")
    async with bench.running():
        await bench.begin()
        session = await bench.host.open(session_id, bench.alone())
        again = Watcher(session)
        await again.wait_for(Notification, lambda told: told.type == "loop")
    loop = store.load(session_id)
    assert loop is not None
    assert (loop.status, loop.completed) == ("finished", 2)


async def test_a_loop_can_be_taken_over_by_a_new_session(bench: Bench) -> None:
    bench.script("text: 1", "text: wait <choice>PAUSE</choice>", "text: <choice>STOP</choice>")
    async with bench.running():
        first = Watcher(await bench.begin())
        await finish(first.session, "/loop 5 tidy up")
        second = Watcher(await bench.begin())
        await finish(second.session, f"/loop resume {first.session.id}")
        assert "tidy up" in asked(second.session)[0]
        assert loop_of(bench, second.session).completed == 3
        assert first.session.loops.load() is None


async def test_nothing_to_resume_is_said(bench: Bench) -> None:
    async with bench.running():
        assert "There is no loop to resume" in await refused(await bench.begin(), "/loop resume")


async def test_a_loop_whose_decision_gets_no_choice_is_paused_and_says_so(bench: Bench) -> None:
    bench.settings["flows"] = {"choice_reprompts": 1}
    bench.script("text: 1", "text: maybe", "text: maybe", "text: done <choice>STOP</choice>")
    async with bench.running():
        watcher = Watcher(await bench.begin())
        end = await finish(watcher.session, "/loop 5 tidy up")
        paused = loop_of(bench, watcher.session)
        await finish(watcher.session, "/loop resume")
        resumed = loop_of(bench, watcher.session)
    assert (end.error, end.failed, paused.status, resumed.status) == (None, True, "paused", "finished")
    assert any("no valid choice" in told.body for told in watcher.of(Notification))


async def test_the_state_of_a_loop_can_be_asked_for_and_the_loop_ended(bench: Bench) -> None:
    bench.script("text: 1", "text: hm <choice>PAUSE</choice>")
    async with bench.running():
        watcher = Watcher(await bench.begin())
        await finish(watcher.session, "/loop 5 tidy up")
        await finish(watcher.session, "/loop")
        await finish(watcher.session, "/loop off")
        loop = loop_of(bench, watcher.session)
    said = "".join(part.text for part in watcher.of(TextPart))
    assert "The loop is paused: hm. 2 iterations of 6" in said
    assert loop.status == "stopped"


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("", LoopRequest("status")),
        *((word, LoopRequest("off")) for word in ("off", "stop", "Stop", "end", "cancel", "quit")),
        *((word, LoopRequest(word)) for word in ("list", "pause", "help", "status")),
        ("--help", LoopRequest("help")),
        ("continue", LoopRequest("resume")),
        ("on", LoopRequest("start")),
        ("stop the leak", LoopRequest("start", None, "stop the leak")),
        ("5 do it", LoopRequest("start", 5, "do it")),
        ("-1 do it", LoopRequest("start", -1, "do it")),
        ("do 5 things", LoopRequest("start", None, "do 5 things")),
        ("off just once", LoopRequest("start", 0, "just once")),
        ("resume", LoopRequest("resume")),
        ("resume 01AB", LoopRequest("resume", session_id="01AB")),
        ("resume the old work", LoopRequest("start", None, "resume the old work")),
        ("3 --time 1.5h --tokens 200k --cost 2 go", LoopRequest("start", 3, "go", LoopBudget(tokens=200_000, cost=2, seconds=5400))),
        ("--tokens 1M 3 go", LoopRequest("start", 3, "go", LoopBudget(tokens=1_000_000))),
        ("resume --tokens 1k", LoopRequest("resume", budget=LoopBudget(tokens=1000))),
        ("resume 01AB --time 1m --cost 2", LoopRequest("resume", session_id="01AB", budget=LoopBudget(seconds=60, cost=2))),
    ],
)  # fmt: skip
def test_what_follows_the_command(text: str, request_: LoopRequest) -> None:
    assert parse_request(text) == request_


@pytest.mark.parametrize("text", ["--tokens lots go", "--time -5 go", "--cost", "--time 0 go", "--tokens 0.5 go"])
def test_a_wrong_amount_says_how_it_is_written(text: str) -> None:
    with pytest.raises(SouldError, match="takes an amount"):
        parse_request(text)


@pytest.mark.parametrize("text", ["5 --token 500k tidy up", "resume --tokns 5k"])
def test_a_mistyped_budget_is_no_prompt(text: str) -> None:
    with pytest.raises(SouldError, match="A loop has no option --tok"):
        parse_request(text)


def test_a_loop_runs_no_negative_number_of_times() -> None:
    with pytest.raises(SouldError, match="cannot run -5 times"):
        parse_request("-5 do it")


@pytest.mark.parametrize(
    ("word", "meant"), [("stopp", "stop"), ("staus", "status"), ("paus", "pause"), ("helpp", "help")]
)
def test_a_mistyped_word_is_no_task(word: str, meant: str) -> None:
    with pytest.raises(SouldError, match=f"Did you mean `/loop {meant}`"):
        parse_request(word)
