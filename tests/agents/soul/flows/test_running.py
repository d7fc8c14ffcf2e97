"""Flows in a session: each node a prompt in the turn, decisions by choice, progress as a plan."""

import pytest

from sould.agents.base.config import FlowLimits
from sould.agents.sessions.commands.skills import with_arguments
from sould.agents.soul.flows.mermaid import parse_mermaid
from sould.agents.wire.messages import Notification, PlanUpdate, StepBegin, TurnBegin, TurnEnd
from soultest.bench import Bench, Watcher, asked, call, finish, refused

FLOW = """\
flowchart TD
  BEGIN([BEGIN]) --> work[Work on $ARGUMENTS]
  work --> good{"Is it good?"}
  good -->|yes| END([END])
  good -->|no| work
"""


def write(bench: Bench, text: str = FLOW, language: str = "mermaid") -> None:
    path = bench.project / ".agents" / "skills" / "polish.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\ndescription: polishes\ntype: flow\n---\nIntro.\n\n```{language}\n{text}```\n")


async def test_a_flow_runs_its_nodes_in_one_turn_and_loops_by_choice(bench: Bench) -> None:
    write(bench)
    bench.script(
        "text: first try",
        "text: not yet <choice>no</choice>",
        "text: second try",
        "text: <choice>no</choice> I mean <choice> yes </choice>",
    )
    async with bench.running():
        watcher = Watcher(await bench.begin())
        end = await finish(watcher.session, "/flow:polish the README")
        prompts = asked(watcher.session)
    assert end.stop_reason == "finished"
    assert [("Work on the README" in prompt, "Is it good?" in prompt) for prompt in prompts] == [
        (True, False),
        (False, True),
    ] * 2
    assert (len(watcher.of(TurnBegin)), len(watcher.of(TurnEnd))) == (1, 1)
    assert [step.n for step in watcher.of(StepBegin)] == [1, 2, 3, 4]


async def test_the_plan_shows_how_far_it_has_come(bench: Bench) -> None:
    write(bench)
    bench.script("text: done", "text: <choice>yes</choice>")
    async with bench.running():
        watcher = Watcher(await bench.begin())
        await finish(watcher.session, "/flow:polish it")
    states = [[item.status for item in plan.items] for plan in watcher.of(PlanUpdate)]
    assert states == [["in_progress", "pending"], ["done", "in_progress"], ["done", "done"]]
    assert watcher.of(PlanUpdate)[0].items[0].title == "Work on it"


async def test_nothing_of_a_cancelled_flow_is_shown_as_under_way(bench: Bench) -> None:
    write(bench)
    bench.script("text: tried", call("WriteFile", path="b.txt", content="x"))
    async with bench.running():
        watcher = Watcher(await bench.begin(), answer=None)
        turn = watcher.session.turns.prompt("/flow:polish it", "watcher")
        await watcher.wait_for(StepBegin, lambda step: step.n == 2)
        watcher.session.turns.cancel("watcher")
        assert (await turn.outcome()).stop_reason == "cancelled"
    assert [item.status for item in watcher.of(PlanUpdate)[-1].items] == ["done", "pending"]


async def test_tools_of_a_step_run_as_in_any_turn(bench: Bench) -> None:
    write(bench)
    bench.script(call("WriteFile", path="b.txt", content="x"), "text: done", "text: <choice>yes</choice>")
    async with bench.running():
        watcher = Watcher(await bench.begin())
        end = await finish(watcher.session, "/flow:polish it")
    assert end.stop_reason == "finished"
    assert (bench.project / "b.txt").read_text() == "x"


async def test_an_invalid_choice_is_asked_for_again_and_then_ends_the_turn(bench: Bench) -> None:
    bench.settings["flows"] = {"choice_reprompts": 2}
    write(bench)
    bench.script("text: done", "text: maybe", "text: <choice>Yes</choice>", "text: <choice>perhaps</choice>")
    async with bench.running():
        session = await bench.begin()
        said = await refused(session, "/flow:polish it")
        prompts = asked(session)
    assert "no valid choice at good" in said
    assert "has no <choice>" in prompts[-2]
    assert "'Yes' is not one of the choices" in prompts[-1]


async def test_moves_are_bounded(bench: Bench) -> None:
    bench.settings["flows"] = {"max_moves": 4}
    write(bench)
    bench.script(*["text: <choice>no</choice>"] * 10)
    async with bench.running():
        watcher = Watcher(await bench.begin())
        end = await finish(watcher.session, "/flow:polish it")
        assert len(asked(watcher.session)) == 4
    assert end.stop_reason == "max_steps_reached"


async def test_what_of_a_drawing_does_not_count_is_told_once_a_session_with_its_place(bench: Bench) -> None:
    write(bench, f"{FLOW}  style work fill:#f9f\n" + "  classDef x y\n" * 5)
    once = ["text: done", "text: <choice>yes</choice>"]
    bench.script(*once, *once)
    async with bench.running():
        watcher = Watcher(await bench.begin())
        await finish(watcher.session, "/flow:polish it")
        await finish(watcher.session, "/flow:polish it")
        (told,) = [notice for notice in watcher.of(Notification) if notice.type == "flow"]
    path = bench.project / ".agents" / "skills" / "polish.md"
    assert told.body.splitlines()[0] == f"{path}:13:3: `style` is ignored"
    assert told.body.endswith("\nand 2 more: `sould flow check polish` lists them")


async def test_a_flow_that_cannot_run_says_where_it_is_wrong(bench: Bench) -> None:
    write(bench, "flowchart TD\n  BEGIN --> a\n  a => END\n")
    async with bench.running():
        said = await refused(await bench.begin(), "/flow:polish it")
    assert "polish.md:10:5: '=> END' is not expected here" in said


async def test_a_flow_whose_step_would_say_nothing_asks_for_words(bench: Bench) -> None:
    write(bench, "flowchart TD\n  BEGIN --> a[$ARGUMENTS] --> END\n")
    async with bench.running():
        said = await refused(await bench.begin(), "/flow:polish")
    assert "needs an argument: without one its step a has no prompt" in said


async def test_a_flow_may_be_written_in_d2(bench: Bench) -> None:
    write(bench, "BEGIN -> 检查代码 -> END\n", "d2")
    bench.script("text: 好")
    async with bench.running():
        watcher = Watcher(await bench.begin())
        end = await finish(watcher.session, "/flow:polish 全部")
        assert "检查代码" in asked(watcher.session)[0]
        assert "全部" in asked(watcher.session)[0]
    assert end.stop_reason == "finished"


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("pull-request", ["", "yes", "", "no", "", "", "yes", "", "", "no", ""]),
        ("release", ["", "yes", "", "", "yes", "", "yes", "", ""]),
    ],
)
async def test_a_shipped_flow_runs_to_its_end(bench: Bench, name: str, choices: list[str]) -> None:
    bench.script(*(f"text: done {f'<choice>{choice}</choice>' if choice else ''}" for choice in choices))
    async with bench.running():
        watcher = Watcher(await bench.begin())
        end = await finish(watcher.session, f"/flow:{name} the parser")
        prompts = asked(watcher.session)
    assert end.stop_reason == "finished"
    assert "the parser" in prompts[0]
    assert len(prompts) == len(choices)


async def test_flows_are_advertised_with_their_hint(bench: Bench) -> None:
    write(bench)
    async with bench.running():
        commands = {command.name: command for command in (await bench.begin()).commands.all()}
    assert {"flow:polish", "flow:pull-request", "flow:release"} <= set(commands)
    assert commands["flow:polish"].hint


def test_words_fill_numbered_places_and_none_leaves_them_empty() -> None:
    flow = parse_mermaid('flowchart TD\nBEGIN --> a["$2 before $1, $3."] --> END')
    assert with_arguments(flow, "'one thing' two").nodes["a"].label == "two before one thing, ."


def test_the_tenth_word_is_not_the_first_with_a_nought() -> None:
    flow = parse_mermaid('flowchart TD\nBEGIN --> a["$10 $1 $11"] --> END')
    assert with_arguments(flow, "a b c d e f g h i j").nodes["a"].label == "j a "


def test_arguments_without_a_place_go_to_a_decision_that_is_the_first_step() -> None:
    flow = parse_mermaid("flowchart TD\nBEGIN --> a{Which?}\na -->|one| b[First]\na -->|two| END\nb --> END")
    nodes = with_arguments(flow, "please").nodes
    assert (nodes["a"].label, nodes["b"].label) == ("Which?\n\nplease", "First")


def test_arguments_without_a_place_go_to_the_first_task() -> None:
    flow = parse_mermaid("flowchart TD\nBEGIN --> a[First] --> b[Second] --> END")
    assert with_arguments(flow, "please").nodes["a"].label == "First\n\nplease"
    assert with_arguments(flow, " ").nodes["a"].label == "First"


def test_the_limits_are_those_of_the_table() -> None:
    assert (FlowLimits().max_moves, FlowLimits().choice_reprompts) == (1000, 3)


async def test_every_turn_counts_its_own_steps(bench: Bench) -> None:
    bench.script("text: one", "text: two")
    async with bench.running():
        watcher = Watcher(await bench.begin())
        await finish(watcher.session, "first")
        await finish(watcher.session, "second")
    assert [step.n for step in watcher.of(StepBegin)] == [1, 1]
