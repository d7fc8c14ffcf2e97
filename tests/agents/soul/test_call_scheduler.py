"""What changes or runs something keeps the model's order; what only looks goes beside it, and never sees it half done (D51)."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sould.agents.base.config import LoopControl
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.journal.channel import Record
from sould.agents.journal.journal import JournalWriter
from sould.agents.journal.log import SessionLog
from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.soul.repeats import RepeatGuard
from sould.agents.soul.stepcalls import NOT_BEGUN, StepCalls
from sould.agents.soul.tool_runner import ToolRunner, ToolsStop
from sould.agents.soul.turn import Turn
from sould.agents.toolapi.toolset import Toolset
from sould.agents.wire.content import FunctionCall
from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    Notification,
    ToolCall,
    ToolResult,
    ToolReturn,
)
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.tools import no_commands
from soultest.luck import examples
from soultest.ordertools import NAMES, PATHS, Stage
from soultest.policy import approval_of

PLACES = ("", "/p", "/p/a", "/p/a/deep", "/p/b", "/elsewhere")
EFFECTS = ("Edit", "Command", "Other")


@dataclass(frozen=True)
class Made:
    """One call of the model's."""

    tool: str
    path: str
    how: str

    def sees(self, effect: "Made") -> bool:
        """Whether it looks where the effect is."""
        look = () if self.tool == "Fetch" else (self.path,) if self.path else None
        changed = ("/p",) if effect.tool == "Command" else (effect.path,) if effect.path else None
        if look is None or changed is None:
            return look != ()
        within = [
            f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/") for one in look for other in changed
        ]
        return any(within)


def waits_for(step: list[Made], at: int) -> set[int]:
    """The calls that have to end before this one may begin."""
    effects = {n for n in range(at) if step[n].tool in EFFECTS}
    if step[at].tool in EFFECTS:
        return effects
    seen = [n for n in effects if step[at].sees(step[n])]
    return {n for n in effects if n <= max(seen)} if seen else set()


made = st.builds(Made, st.sampled_from(NAMES), st.sampled_from(PLACES), st.sampled_from(["ok", "error", "raises"]))
steps = st.lists(made, min_size=1, max_size=10)


class Step:
    """The runner of a step over the tools of the stage."""

    def __init__(self, step: list[Made], log: SessionLog, root: Path, room: int) -> None:
        self.step, self.stage = step, Stage()
        self.results: list[ToolReturn] = []
        log.channel.subscribe(self._take, on_cut=lambda _: None)

        async def ask(_: ApprovalRequest) -> None:
            raise AssertionError("nobody is to be asked")

        approval = approval_of(ask, PolicyContext(root), "full")  # pyright: ignore[reportArgumentType] -- it never answers
        tools = Toolset.load(PATHS, {Stage: self.stage})
        limits = LoopControl(parallel_tools=room)
        self._runner = ToolRunner(log, tools, approval, LocalWorkspace(Path("/p"), (), no_commands), "/p")
        self._calls = StepCalls(log.publish)
        for number, each in enumerate(step):
            arguments = json.dumps({"number": number, "path": each.path, "how": each.how})
            made = ToolCall(id=str(number), function=FunctionCall(name=each.tool, arguments=arguments))
            self._calls.open(made, f"call_{number}")
        self._turn = Turn("t", limits=limits)

    def _take(self, record: Record) -> bool:
        if isinstance(record.message, ToolResult):
            self.results.append(record.message.return_value)
        return True

    async def run(self) -> ToolsStop | None:
        try:
            return await self._runner.run(self._turn, self._calls, 1, RepeatGuard(self._turn.limits))
        except BaseException:
            self._calls.close()
            raise


@asynccontextmanager
async def step_of(step: list[Made], room: int) -> AsyncGenerator[Step, None]:
    writer = JournalWriter()
    with TemporaryDirectory() as root:
        log = await SessionLog.create(Path(root), writer, session_id="s", cwd=Path(root))
        try:
            yield Step(step, log, Path(root), room)
        finally:
            await log.aclose()
            writer.close()


async def play(bench: Step, random: Random, most: int) -> None:
    """End `most` of the calls at work, one after another, whichever they are."""
    for _ in range(most):
        number = random.choice(sorted(await bench.stage.busy()))
        bench.stage.finish(number)


@settings(max_examples=examples(60), deadline=None)
@given(steps, st.randoms(use_true_random=False))
def test_any_mix_of_calls_keeps_the_order_of_effects_and_all_others_run_beside(
    step: list[Made], random: Random
) -> None:
    async def scenario() -> None:
        async with step_of(step, room=16) as bench:
            running = asyncio.create_task(bench.run())
            ended: set[int] = set()
            while len(ended) < len(step):
                await bench.stage.reach({n for n in range(len(step)) if n not in ended and waits_for(step, n) <= ended})
                number = random.choice(sorted(bench.stage.running))
                bench.stage.finish(number)
                ended.add(number)
            assert await running is None
            check(step, bench)
            said = [result.output for result in bench.results]
            assert said == ["" if each.how == "raises" else str(n) for n, each in enumerate(step)]

    asyncio.run(scenario())


@settings(max_examples=examples(40), deadline=None)
@given(steps, st.integers(1, 3), st.integers(0, 9), st.randoms(use_true_random=False))
def test_with_little_room_and_cancelled_at_any_point_every_call_has_one_result(
    step: list[Made], room: int, most: int, random: Random
) -> None:
    async def scenario() -> None:
        async with step_of(step, room) as bench:
            running = asyncio.create_task(bench.run())
            await bench.stage.busy()
            await play(bench, random, min(most, len(step)))
            running.cancel()
            await asyncio.wait([running])
            check(step, bench)
            begun = {number for what, number in bench.stage.trace if what == "begin"}
            assert {n for n, result in enumerate(bench.results) if result.message == NOT_BEGUN} == set(
                range(len(step))
            ) - begun

    asyncio.run(scenario())


def check(step: list[Made], bench: Step) -> None:
    """No call began before all that it waits for had ended, and each has one result."""
    ended: set[int] = set()
    for what, number in bench.stage.trace:
        if what == "end":
            ended.add(number)
        else:
            assert waits_for(step, number) <= ended, (number, bench.stage.trace)
    assert len(bench.results) == len(step)


@pytest.mark.model_servers
async def test_a_command_given_with_an_edit_runs_after_it_and_is_asked_about_after_it(bench: Bench) -> None:
    edit, test = call("WriteFile", path="a.txt", content="new"), call("Shell", command="cat a.txt; touch seen")
    bench.script(f"{edit}\n{test}\n{call('ReadFile', path='a.txt')}", "text: ok")
    async with bench.running():
        watcher = Watcher(await bench.new(), answer=None)
        prompt = watcher.session.turns.prompt("go", "c")
        for sender in ("WriteFile", "Shell"):
            asked = await watcher.wait_for(ApprovalRequest, lambda request, sender=sender: request.sender == sender)
            assert [request.id for request in watcher.session.log.channel.pending] == [asked.id]
            watcher.session.parts.attached.answer(ApprovalResponse(request_id=asked.id, response="approve"), "c")
        await prompt.outcome()
        written, *shown = [result.return_value for result in watcher.of(ToolResult)]
    assert not written.is_error
    assert ["new" in str(result.output) for result in shown] == [True, True]


@pytest.mark.model_servers
@pytest.mark.parametrize(("feedback", "made"), [("not there", True), ("", False)])
async def test_what_stands_behind_a_rejected_call_runs_unless_the_turn_ends(
    bench: Bench, feedback: str, made: bool
) -> None:
    edits = [call("WriteFile", path=name, content="x") for name in ("b.txt", "c.txt")]
    bench.script("\n".join([*edits, call("Glob", pattern="*.txt")]), "text: ok")
    async with bench.running():
        watcher = Watcher(await bench.new(), answer=None)
        prompt = watcher.session.turns.prompt("go", "c")
        first = await watcher.wait_for(ApprovalRequest)
        rejected = ApprovalResponse(request_id=first.id, response="reject", feedback=feedback)
        watcher.session.parts.attached.answer(rejected, "c")
        if made:
            second = await watcher.wait_for(ApprovalRequest, lambda request: request.id != first.id)
            watcher.session.parts.attached.answer(ApprovalResponse(request_id=second.id, response="approve"), "c")
        end = await prompt.outcome()
        results = [result.return_value for result in watcher.of(ToolResult)]
    assert end.stop_reason == ("finished" if made else "tool_rejected")
    assert (bench.project / "c.txt").exists() is made
    assert len(watcher.of(ApprovalRequest)) == (2 if made else 1)
    assert [result.is_error for result in results] == [True, not made, not made]
    assert made or results[1].message.startswith("Not run: the user rejected another call")


@pytest.mark.model_servers
async def test_what_stands_behind_a_failed_call_runs(bench: Bench) -> None:
    bench.script(call("Shell", command="false") + "\n" + call("Shell", command="echo on"), "text: ok")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
    failed, ran = [result.return_value for result in watcher.of(ToolResult)]
    assert (failed.is_error, ran.output) == (True, "on\n")


@pytest.mark.model_servers
async def test_a_command_in_the_background_holds_up_nobody_once_it_has_been_started(bench: Bench) -> None:
    waiting = call("Shell", command="until [ -e go ]; do sleep 0.01; done; echo went", run_in_background=True)
    bench.script(f"{waiting}\n{call('Shell', command='touch go')}", "text: ok")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        assert [result.return_value.is_error for result in watcher.of(ToolResult)] == [False, False]
        await watcher.wait_for(Notification)
