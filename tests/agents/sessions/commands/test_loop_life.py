"""What becomes of a loop when its session is closed, deleted, or cut off while it waits for an approval."""

from sould.agents.sessions.loops.state import LoopState, LoopStore
from sould.agents.wire.messages import ApprovalRequest, Notification, StepBegin
from soultest.bench import Bench, Watcher, call, finish


def stored(bench: Bench) -> list[LoopState]:
    return list(LoopStore(bench.state / "loops").list())


async def begin(bench: Bench, mode: str = "full") -> Watcher:
    return Watcher(await bench.new(mode), answer=None)


async def test_a_deleted_session_takes_its_loop_with_it(bench: Bench) -> None:
    bench.script("text: 1", "text: wait <choice>PAUSE</choice>")
    async with bench.running() as host:
        watcher = await begin(bench)
        await finish(watcher.session, "/loop 5 tidy up")
        assert len(stored(bench)) == 1
        await host.stored.delete(watcher.session.id)
        assert stored(bench) == []


async def test_deleting_a_session_ends_the_loop_that_runs_in_it(bench: Bench) -> None:
    bench.script("text: 1", call("Shell", command="sleep 600", timeout=300))
    async with bench.running() as host:
        watcher = await begin(bench)
        watcher.session.turns.prompt("/loop 5 tidy up", "watcher")
        await watcher.wait_for(StepBegin, lambda step: step.n == 2)
        await host.stored.delete(watcher.session.id)
        await begin(bench)
        assert stored(bench) == []


async def test_closing_the_last_view_of_a_session_cancels_its_loop_and_it_does_not_go_on_by_itself(
    bench: Bench,
) -> None:
    bench.script("text: 1", call("Shell", command="sleep 600", timeout=300))
    async with bench.running() as host:
        watcher = await begin(bench)
        watcher.session.turns.prompt("/loop 5 tidy up", "watcher")
        await watcher.wait_for(StepBegin, lambda step: step.n == 2)
        await host.close(watcher.session.id, "watcher")
        (loop,) = stored(bench)
        assert (loop.status, loop.reason, loop.completed) == ("stopped", "cancelled", 1)


async def test_a_loop_that_waited_for_an_approval_goes_on_behind_it(bench: Bench) -> None:
    bench.script("text: 1", call("Shell", command="touch made"))
    async with bench.running():
        watcher = await begin(bench, "ask")
        watcher.session.turns.prompt("/loop 5 tidy up", "watcher")
        await watcher.wait_for(ApprovalRequest)
    (loop,) = stored(bench)
    assert (loop.status, loop.completed) == ("running", 1)

    bench.script("text: made it", "text: all done <choice>STOP</choice>")
    async with bench.running():
        again = Watcher(await bench.open(loop.session_id))
        await again.wait_for(Notification, lambda told: told.type == "loop")
    assert (bench.project / "made").exists()
    (loop,) = stored(bench)
    assert (loop.status, loop.completed) == ("finished", 2)
