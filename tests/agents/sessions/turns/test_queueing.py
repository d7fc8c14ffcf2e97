"""The prompts that wait: shown, taken out, changed and moved while a turn runs."""

from pathlib import Path

from sould.agents.soul.hooks.events import Subscription
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    HookRequest,
    HookResponse,
    Notification,
    SteerInput,
    TurnBegin,
)
from soultest.bench import Watcher, call, finish, make_bench

HOLD = call("Shell", command="touch b")


async def test_waiting_prompts_are_listed_and_changed_at_once(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, scripts=[HOLD, "text: one", "text: two", "text: three"])
    async with bench.running():
        session = await bench.new()
        watcher = Watcher(session, answer=None)
        running = session.turns.prompt("go", "watcher")
        asked = await watcher.wait_for(ApprovalRequest)
        first, second, third = (session.turns.prompt(text, "watcher") for text in ("first", "second\nline", "third"))

        async def queue(argument: str) -> tuple[str, str]:
            assert (await finish(session, f"/queue {argument}")).stop_reason == "finished"
            done, _, waiting = watcher.of(Notification)[-1].body.partition("\n\n")
            return done, waiting

        assert await queue("") == ("Queued prompts", "1. first\n2. second\n3. third")
        assert (await queue("remove 1"))[1] == "1. second\n2. third"
        assert (await first.outcome()).stop_reason == "cancelled"
        assert (await queue("edit 1 /help"))[1] == "1. /help\n2. third"
        assert (await queue("move 2 1"))[1] == "1. third\n2. /help"
        for wrong in ("remove 9", "edit 1", "move 1 x", "burn 1", "remove"):
            assert "/queue remove NUMBER" in (await queue(wrong))[0]
        session.parts.attached.answer(ApprovalResponse(request_id=asked.id, response="approve"), "watcher")
        for prompt in (running, second, third):
            assert (await prompt.outcome()).stop_reason == "finished"
        begun = [(turn.user_input, turn.command) for turn in watcher.of(TurnBegin)]
        assert begun == [("go", False), ("third", False), ("/help", True)]
        assert session.queue.remove(second.turn_id) == "not_waiting"
        assert (await queue(""))[0] == "No prompts are queued"


async def test_what_is_steered_while_hooks_are_asked_is_still_this_turn_s(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, scripts=["text: done", "text: more done"])
    async with bench.running():
        session = await bench.new()
        watcher = Watcher(session)
        session.parts.hooks.hooks.subscribe("watcher", [Subscription("s", "Stop")])
        running = session.turns.prompt("go", "watcher")
        asked = await watcher.wait_for(HookRequest)
        assert session.turns.steer("and this")
        session.parts.attached.answer(HookResponse(request_id=asked.id), "watcher")
        later = await watcher.wait_for(HookRequest, lambda request: request.id != asked.id)
        session.parts.attached.answer(HookResponse(request_id=later.id), "watcher")
        assert (await running.outcome()).stop_reason == "finished"
        assert [each.user_input for each in watcher.of(SteerInput)] == ["and this"]
        assert len(watcher.of(TurnBegin)) == 1


async def test_words_beside_a_rejection_are_its_feedback(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, scripts=[HOLD, "text: another way"])
    async with bench.running():
        session = await bench.new()
        watcher = Watcher(session, answer=None)
        running = session.turns.prompt("go", "watcher")
        asked = await watcher.wait_for(ApprovalRequest)
        assert session.turns.steer("not like this")
        session.parts.attached.answer(ApprovalResponse(request_id=asked.id, response="reject"), "watcher")
        assert (await running.outcome()).stop_reason == "finished"
        assert "another way" in [part.text for part in watcher.of(TextPart)]


async def test_what_comes_too_late_to_steer_is_the_next_prompt(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, scripts=["error: 400 no", "text: answered"])
    async with bench.running():
        session = await bench.new()
        watcher = Watcher(session)
        session.parts.hooks.hooks.subscribe("watcher", [Subscription("f", "StopFailure")])
        running = session.turns.prompt("go", "watcher")
        asked = await watcher.wait_for(HookRequest)
        assert session.turns.steer("are you there?")
        session.parts.attached.answer(HookResponse(request_id=asked.id), "watcher")
        assert (await running.outcome()).stop_reason == "error"
        await watcher.wait_for(TextPart, lambda part: part.text == "answered")
        assert [turn.user_input for turn in watcher.of(TurnBegin)] == ["go", "are you there?"]
