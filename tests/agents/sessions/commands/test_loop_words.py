"""What is said to a loop that runs, and loops whose task is a flow or a skill."""

import pytest

from sould.agents.sessions.loops.state import LoopState, LoopStore
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import Notification, PlanUpdate, StepBegin
from soultest.bench import Bench, Watcher, call, finish, refused
from soultest.bench.looks import messages_of

SLOW = call("Shell", command="sleep 600", timeout=300)
FLOW = """\
---
description: polishes
type: flow
---
```mermaid
flowchart TD
  BEGIN --> sand[Sand $ARGUMENTS] --> wax[Wax it] --> END
```
"""


def write(bench: Bench, name: str, text: str) -> None:
    path = bench.project / ".agents" / "skills" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


async def begin(bench: Bench) -> Watcher:
    return Watcher(await bench.new("full"))


def loop_of(bench: Bench, watcher: Watcher) -> LoopState:
    loop = LoopStore(bench.state / "loops").load(watcher.session.id)
    assert loop is not None
    return loop


def asked(watcher: Watcher) -> list[str]:
    messages = [message for message in messages_of(watcher.session) if message.role == "user"]
    texts = [part.text for message in messages for part in message.content if isinstance(part, TextPart)]
    return [text.removeprefix("<system>").removesuffix("</system>") for text in texts]


@pytest.mark.parametrize(
    ("word", "status", "reason", "said"),
    [
        ("stop", "stopped", "cancelled", "The loop is stopped after 1 iteration; `/loop resume` resumes it."),
        ("pause", "paused", "you paused it", "The loop is paused after 1 iteration; `/loop resume` resumes it."),
    ],
)
async def test_a_word_that_ends_a_running_loop_ends_it_at_once_and_comes_before_what_waits(
    bench: Bench, word: str, status: str, reason: str, said: str
) -> None:
    bench.script("text: 1", SLOW, "text: <choice>STOP</choice>")
    async with bench.running():
        watcher = await begin(bench)
        running = watcher.session.turns.prompt("/loop 5 tidy up", "watcher")
        await watcher.wait_for(StepBegin, lambda step: step.n == 2)
        another = watcher.session.turns.prompt("/loop 3 tidy more", "watcher")
        waiting = watcher.session.turns.prompt("/help", "watcher")
        await finish(watcher.session, f"/loop {word}")
        assert not waiting.cancelled
        assert (await running.outcome()).stop_reason == "cancelled"
        assert (await another.outcome()).stop_reason == "cancelled"
        assert said in "".join(part.text for part in watcher.of(TextPart))
        loop = loop_of(bench, watcher)
        assert (loop.status, loop.reason, loop.completed) == (status, reason, 1)
        await waiting.outcome()
        await finish(watcher.session, "/loop resume")
        assert loop_of(bench, watcher).status == "finished"


@pytest.mark.parametrize(
    ("word", "title", "body"),
    [
        ("", "Loop", "The loop is running. 1 iteration of 6"),
        ("status", "Loop", "The loop is running. 1 iteration of 6"),
        ("list", "Loops", "running, 1 iteration, {project}: tidy up"),
        ("help", "Loops", "Use `/loop [N|unlimited]"),
        ("resume", "The loop is already running", ""),
        ("stopp", "Did you mean `/loop stop`?", ""),
    ],
)
async def test_a_look_at_a_running_loop_is_answered_at_once(bench: Bench, word: str, title: str, body: str) -> None:
    bench.script("text: 1", SLOW)
    async with bench.running():
        watcher = await begin(bench)
        watcher.session.turns.prompt("/loop 5 tidy up", "watcher")
        await watcher.wait_for(StepBegin, lambda step: step.n == 2)
        await finish(watcher.session, f"/loop {word}")
        (told,) = [notice for notice in watcher.of(Notification) if notice.type == "loop"]
        assert told.title.startswith(title)
        assert body.format(project=bench.project) in told.body
        assert watcher.session.turns.running


async def test_every_iteration_of_a_flow_goes_through_all_of_it_and_then_decides(bench: Bench) -> None:
    write(bench, "polish", FLOW)
    once = ["text: sanded", "text: waxed"]
    bench.script(*once, "text: <choice>CONTINUE</choice>", *once, "text: it shines <choice>STOP</choice>")
    async with bench.running():
        watcher = await begin(bench)
        await finish(watcher.session, "/loop 5 /flow:polish the table")
        prompts, loop = asked(watcher), loop_of(bench, watcher)
    assert [text for text in prompts if "flow" not in text] == ["Sand the table", "Wax it"] * 2
    assert "You went through the flow `/flow:polish the table` in a loop; this was iteration 1 of 6." in prompts[2]
    assert "iteration 2 of 6" in prompts[5]
    assert (loop.status, loop.completed, loop.reason) == ("finished", 2, "the agent found the task complete")
    assert ["Sand the table", "Wax it"] in [[item.title for item in plan.items] for plan in watcher.of(PlanUpdate)]


async def test_a_flow_that_a_loop_repeats_goes_on_where_its_iteration_began(bench: Bench) -> None:
    write(bench, "polish", FLOW)
    bench.script("text: sanded", SLOW)
    async with bench.running():
        watcher = await begin(bench)
        watcher.session.turns.prompt("/loop 0 /flow:polish the table", "watcher")
        await watcher.wait_for(StepBegin, lambda step: step.n == 1 and len(watcher.of(StepBegin)) == 2)
        await finish(watcher.session, "/loop off")
        assert LoopStore(bench.state / "loops").load(watcher.session.id) is None
        bench.script("text: sanded", SLOW)
        watcher.session.turns.prompt("/loop 5 /flow:polish the table", "watcher")
        await watcher.wait_for(StepBegin, lambda _: len(watcher.of(StepBegin)) == 4)
        await finish(watcher.session, "/loop stop")
        bench.script("text: sanded", "text: waxed", "text: <choice>STOP</choice>")
        await finish(watcher.session, "/loop resume")
        loop = loop_of(bench, watcher)
    assert (loop.status, loop.completed) == ("finished", 1)


async def test_every_iteration_of_a_skill_is_given_the_skill(bench: Bench) -> None:
    write(bench, "tidy", "Sort the drawers of $ARGUMENTS.")
    bench.script("text: 1", "text: <choice>STOP</choice>")
    async with bench.running():
        watcher = await begin(bench)
        await finish(watcher.session, "/loop 5 /skill:tidy the desk")
        prompts, loop = asked(watcher), loop_of(bench, watcher)
    assert all("Sort the drawers of the desk." in text for text in prompts)
    assert len(prompts) == 2
    assert loop.prompt == "/skill:tidy the desk"


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("/loop 5 /flow:polsh it", "There is no flow 'polsh'. Did you mean 'polish'?"),
        ("/loop 5 /skill:polish it", "polish is a flow: `/flow:polish`."),
        ("/loop 5 /flow:broken", "The flow broken cannot run"),
        ("/loop 5 /compact", "`/compact` cannot be the task of a loop"),
        ("/loop 0 /compact", "`/compact` cannot be the task of a loop"),
    ],
)
async def test_what_cannot_be_a_task_is_said_before_the_model_is_asked(bench: Bench, prompt: str, said: str) -> None:
    write(bench, "polish", FLOW)
    write(bench, "broken", FLOW.replace("END", "EDN"))
    async with bench.running():
        assert said in await refused((await begin(bench)).session, prompt)
    assert LoopStore(bench.state / "loops").list() == ()


async def test_a_path_is_a_task_like_any_other(bench: Bench) -> None:
    bench.script("text: 1", "text: <choice>STOP</choice>")
    async with bench.running():
        watcher = await begin(bench)
        await finish(watcher.session, "/loop 5 /etc/hosts is wrong, find out why")
    assert asked(watcher)[0] == "/etc/hosts is wrong, find out why"
