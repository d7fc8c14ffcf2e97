"""A turn from prompt to end, with a scripted model and real tools."""

import pytest

from sould.agents.wire.content import AudioPart, ImagePart, TextPart, VideoPart
from sould.agents.wire.display import BriefBlock
from sould.agents.wire.messages import (
    ApprovalRequest,
    SteerInput,
    StepBegin,
    StepInterrupted,
    ToolCallDetail,
    ToolOutput,
    ToolResult,
    TurnBegin,
    TurnEnd,
    type_name,
)
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.looks import messages_of


async def test_a_turn_reads_and_edits_a_real_file_after_approval(bench: Bench) -> None:
    bench.script(
        "text: Let me look.\n" + call("ReadFile", path="a.txt"),
        call("WriteFile", path="b.txt", content="x"),
        "text: Done.",
    )
    async with bench.running():
        watcher = Watcher(await bench.new())
        end = await finish(watcher.session, "go")
    assert end.stop_reason == "finished"
    assert (bench.project / "b.txt").read_text() == "x"
    assert [type_name(message) for message in watcher.messages] == [
        "TurnBegin", "SessionChanged",
        "StepBegin", "ContentPart", "ToolCall", "StatusUpdate", "ToolCallDetail", "ToolResult",
        "StepBegin", "ToolCall", "StatusUpdate", "ToolCallDetail", "ApprovalRequest", "ApprovalResponse", "ToolResult",
        "StepBegin", "ContentPart", "StatusUpdate", "TurnEnd",
    ]  # fmt: skip


async def test_ids_of_turns_sort_as_the_turns_began(bench: Bench) -> None:
    bench.script(*["text: ok"] * 4)
    async with bench.running():
        watcher = Watcher(await bench.new())
        for _ in range(4):
            await finish(watcher.session, "go")
    turns = [begin.turn_id for begin in watcher.of(TurnBegin)]
    assert turns == sorted(set(turns))


@pytest.mark.model_servers
async def test_results_of_parallel_calls_come_in_the_order_of_the_calls(bench: Bench) -> None:
    (bench.root / "outside.txt").write_text("slow")
    bench.script(
        f"{call('ReadFile', path=str(bench.root / 'outside.txt'))}\n{call('ReadFile', path='a.txt')}", "text: ok"
    )
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "go")
    assert len(watcher.of(ApprovalRequest)) == 1
    assert [str(result.return_value.output).split()[-1] for result in watcher.of(ToolResult)] == ["slow", "hello"]


async def test_calls_keep_the_ids_of_a_script_where_they_are_unique_in_the_session(bench: Bench) -> None:
    calls = [
        call("ReadFile", path="a.txt"),
        call("Glob", pattern="*.txt"),
        call("Glob", pattern="*").replace("1", "tc", 1),
    ]
    bench.script("\n".join(calls), "text: ok", calls[0], "text: ok")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "go")
        session_id = watcher.session.id
    async with bench.running():
        again = Watcher(await bench.open(session_id))
        await finish(again.session, "go")
    first, second, third, *more = [
        detail.tool_call_id for detail in (*watcher.of(ToolCallDetail), *again.of(ToolCallDetail))
    ]
    assert (first, third) == ("1", "tc")
    assert len({first, second, third, *more}) == 6
    assert [result.tool_call_id for result in watcher.of(ToolResult)] == [first, second, third]


async def test_pictures_sounds_and_films_of_the_model_are_shown_and_remembered(bench: Bench) -> None:
    bench.script(
        "image_url: https://example.org/a.png\naudio_url: data:audio/wav;base64,AA==\nvideo_url: https://v.example"
    )
    async with bench.running():
        watcher = Watcher(await bench.new())
        end = await finish(watcher.session, "go")
        remembered = messages_of(watcher.session)[-1].content
    shown = [message for message in watcher.messages if isinstance(message, ImagePart | AudioPart | VideoPart)]
    assert [type(part) for part in shown] == [ImagePart, AudioPart, VideoPart]
    assert (end.stop_reason, remembered) == ("finished", tuple(shown))


@pytest.mark.model_servers
async def test_steering_is_delivered_after_the_results_and_before_the_next_step(bench: Bench) -> None:
    bench.script(call("Shell", command="until [ -e go ]; do sleep 0.01; done"), "text: ok")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        prompt = watcher.session.turns.prompt("go", "c")
        await watcher.wait_for(ToolCallDetail)
        assert watcher.session.turns.steer("also this")
        (bench.project / "go").touch()
        await prompt.outcome()
        names = [type_name(message) for message in watcher.messages]
        at = names.index("SteerInput")
        assert names[at - 1] == "ToolResult"
        assert names[at + 1] == "StepBegin"
        assert not watcher.session.turns.steer("too late")


async def test_steering_a_turn_that_would_end_makes_it_go_on(bench: Bench) -> None:
    bench.script("wait: 0.05\ntext: first", "text: second")
    async with bench.running():
        watcher = Watcher(await bench.new())
        prompt = watcher.session.turns.prompt("go", "c")
        await watcher.wait_for(StepBegin)
        watcher.session.turns.steer("more")
        await prompt.outcome()
    assert [part.text for part in watcher.of(TextPart)] == ["first", "second"]
    assert len(watcher.of(SteerInput)) == 1


async def test_arguments_that_are_no_object_run_nothing_and_tell_the_model(bench: Bench) -> None:
    bench.script('tool_call: {"id":"1","name":"Shell","arguments":"{\\"command\\": \\"touch x"}', "text: sorry")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        end = await finish(watcher.session, "go")
    (result,) = watcher.of(ToolResult)
    assert result.return_value.is_error
    assert "not a JSON object" in result.return_value.message
    assert end.stop_reason == "finished"
    assert not (bench.project / "x").exists()


@pytest.mark.model_servers
async def test_five_steps_of_invalid_calls_end_the_turn(bench: Bench) -> None:
    bench.script(*[call("Nothing", n=n) for n in range(9)])
    async with bench.running():
        watcher = Watcher(await bench.new())
        end = await finish(watcher.session, "go")
    assert end.error is not None
    assert end.error.kind == "malformed"
    assert len(watcher.of(StepBegin)) == 5


@pytest.mark.model_servers
async def test_an_identical_call_is_reminded_then_asked_about_then_stopped(bench: Bench) -> None:
    bench.script(*[call("ReadFile", path="a.txt")] * 20)
    async with bench.running():
        watcher = Watcher(await bench.new())
        end = await finish(watcher.session, "go")
    results = watcher.of(ToolResult)
    reminded = [number for number, result in enumerate(results, 1) if "identical call" in result.return_value.message]
    assert reminded == [3, 5, 12]
    (asked,) = watcher.of(ApprovalRequest)
    assert asked.description.splitlines() == [
        "Call ReadFile again, with the same arguments",
        "the same call brought the same result each time",
    ]
    assert len(results) == 12
    assert end.stop_reason == "repeated_calls"


async def test_identical_calls_whose_results_differ_are_not_counted(bench: Bench) -> None:
    bench.script(*[call("Shell", command="echo x >> log; wc -l < log")] * 20, "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        end = await finish(watcher.session, "go")
    messages = [result.return_value.message for result in watcher.of(ToolResult)]
    assert (end.stop_reason, len(messages)) == ("finished", 20)
    assert not any("identical call" in message for message in messages)


async def test_an_identical_call_that_is_refused_each_time_is_counted(bench: Bench) -> None:
    bench.script(*[call("WriteFile", path="/etc/x", content="x")] * 20)
    async with bench.running():
        watcher = Watcher(await bench.new(), answer="reject", feedback="no")
        end = await finish(watcher.session, "go")
    assert end.stop_reason == "repeated_calls"
    assert len(watcher.of(ToolResult)) == 12


@pytest.mark.model_servers
async def test_max_steps_end_the_turn(bench: Bench) -> None:
    bench.settings["loop_control"] = {"max_steps_per_turn": 2}
    bench.script(*[call("Glob", pattern=f"{n}*") for n in range(5)])
    async with bench.running():
        end = await finish(await bench.new(), "go")
    assert end.stop_reason == "max_steps_reached"


async def test_a_rejection_ends_the_turn_and_one_with_feedback_does_not(bench: Bench) -> None:
    bench.script(call("WriteFile", path="b.txt", content="x"), "text: never asked for")
    async with bench.running():
        session = await bench.new()
        Watcher(session, answer="reject")
        assert (await finish(session, "go")).stop_reason == "tool_rejected"
        other = await bench.new()
        watcher = Watcher(other, answer="reject", feedback="use c.txt")
        assert (await finish(other, "go")).stop_reason == "finished"
    assert "use c.txt" in watcher.of(ToolResult)[0].return_value.message
    assert not (bench.project / "b.txt").exists()


async def test_words_with_an_approval_reach_the_model_with_the_calls_result(bench: Bench) -> None:
    bench.script(call("WriteFile", path="b.txt", content="x"), call("ReadFile", path="none.txt"), "text: ok")
    async with bench.running():
        watcher = Watcher(await bench.new(), feedback="then add a test")
        assert (await finish(watcher.session, "go")).stop_reason == "finished"
        wrote, read = (result.return_value for result in watcher.of(ToolResult))
        told = [
            part.text for each in messages_of(watcher.session) for part in each.content if isinstance(part, TextPart)
        ]
    assert (bench.project / "b.txt").read_text() == "x"
    assert wrote.message.endswith("The user allowed this tool call and said: then add a test")
    assert BriefBlock(text="Allowed: then add a test") in wrote.display
    assert "then add a test" not in read.message, "nobody was asked about it"
    assert sum("then add a test" in text for text in told) == 1


async def test_a_provider_error_reaches_the_user_and_keeps_what_was_shown(bench: Bench) -> None:
    bench.script("text: half\nerror: connection reset by peer", "text: whole")
    async with bench.running():
        watcher = Watcher(await bench.new())
        end = await finish(watcher.session, "go")
        assert end.stop_reason == "error"
        assert end.error is not None
        assert end.error.kind == "connection"
        remembered = [part for message in messages_of(watcher.session) for part in message.content]
    assert TextPart(text="half") in remembered
    assert watcher.of(StepInterrupted)


@pytest.mark.model_servers
async def test_cancelling_a_running_tool_kills_it_and_leaves_a_well_formed_history(bench: Bench) -> None:
    bench.script(call("Shell", command="echo started; sleep 1000"), "text: next answer")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        prompt = watcher.session.turns.prompt("go", "c")
        await watcher.wait_for(ToolOutput)
        watcher.session.turns.cancel("c")
        assert (await prompt.outcome()).stop_reason == "cancelled"
        (result,) = watcher.of(ToolResult)
        assert result.return_value.is_error
        assert (await finish(watcher.session, "another")).stop_reason == "finished"
        roles = [message.role for message in messages_of(watcher.session)]
    assert roles == ["user", "assistant", "tool", "user", "assistant"]


async def test_a_cancel_right_behind_the_prompt_is_not_lost(bench: Bench) -> None:
    bench.script("text: one", "text: two")
    async with bench.running():
        watcher = Watcher(await bench.new())
        prompt = watcher.session.turns.prompt("go", "c")
        watcher.session.turns.cancel("c")
        assert (await prompt.outcome()).stop_reason == "cancelled"
        assert [type_name(message) for message in watcher.messages][-2:] == ["TurnBegin", "TurnEnd"]
        watcher.session.turns.cancel("c")
        assert (await finish(watcher.session, "again")).stop_reason == "finished"


@pytest.mark.model_servers
async def test_cancelling_while_an_approval_waits_closes_it(bench: Bench) -> None:
    bench.script(call("WriteFile", path="b.txt", content="x"), "text: ok")
    async with bench.running():
        watcher = Watcher(await bench.new(), answer=None)
        prompt = watcher.session.turns.prompt("go", "c")
        await watcher.wait_for(ApprovalRequest)
        watcher.session.turns.cancel("c")
        assert (await prompt.outcome()).stop_reason == "cancelled"
        assert watcher.session.log.channel.pending == ()
    assert "RequestClosed" in [type_name(message) for message in watcher.messages]
    assert watcher.of(ToolResult)[0].return_value.message.startswith("Not run")


async def test_prompts_are_queued_and_answered_in_order(bench: Bench) -> None:
    bench.script("wait: 0.05\ntext: one", "text: two", "text: three")
    async with bench.running():
        watcher = Watcher(await bench.new())
        prompts = [watcher.session.turns.prompt(name, client) for name, client in (("1", "a"), ("2", "b"), ("3", "a"))]
        await watcher.wait_for(TurnBegin)
        watcher.session.turns.cancel("b")
        ends = [await prompt.outcome() for prompt in prompts]
    assert [end.stop_reason for end in ends] == ["cancelled", "cancelled", "finished"]
    assert [begin.user_input for begin in watcher.of(TurnBegin)] == ["1", "3"]
    assert len(watcher.of(TurnEnd)) == 2
