"""What becomes of work whose caller is cancelled."""

import asyncio
import threading

import pytest

from sould.agents.base.tasks import (
    begun,
    beside,
    finish,
    first_of,
    in_time,
    no_longer,
    run_shielded_in_thread,
    shared,
    shielded,
)


class Work:
    """Goes on until it is let go."""

    def __init__(self) -> None:
        self.began, self.go, self.ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @property
    def done(self) -> bool:
        return self.ended.is_set()

    async def run(self) -> str:
        self.began.set()
        await self.go.wait()
        self.ended.set()
        return "whole"


async def test_a_shielded_caller_that_is_cancelled_twice_is_told_when_the_work_is_done() -> None:
    work = Work()
    caller = asyncio.create_task(shielded(work.run()))
    await work.began.wait()
    for _ in range(2):
        caller.cancel("first")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not caller.done()
    work.go.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert work.done


async def test_a_thread_ends_before_its_cancelled_caller() -> None:
    began, go, written = threading.Event(), threading.Event(), list[str]()

    def write() -> None:
        began.set()
        go.wait()
        written.append("record")

    caller = asyncio.create_task(run_shielded_in_thread(write))
    await asyncio.to_thread(began.wait)
    caller.cancel()
    await asyncio.sleep(0)
    assert not caller.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert written == ["record"]


async def test_what_shielded_work_raises_is_raised() -> None:
    async def refused() -> None:
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        await shielded(refused())


async def test_a_handler_that_finishes_something_raises_what_it_handles() -> None:
    work, cleanup = Work(), Work()

    async def handler() -> None:
        try:
            await work.run()
        except asyncio.CancelledError:
            await finish(cleanup.run())
            raise

    task = asyncio.create_task(handler())
    await work.began.wait()
    task.cancel("the reason")
    await cleanup.began.wait()
    task.cancel("hurry")
    await asyncio.sleep(0)
    cleanup.go.set()
    with pytest.raises(asyncio.CancelledError) as told:
        await task
    assert told.value.args == ("the reason",)
    assert cleanup.done


async def test_begun_work_goes_on_when_its_caller_leaves() -> None:
    work = Work()
    caller = asyncio.create_task(begun(work.run()))
    await work.began.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    work.go.set()
    await work.ended.wait()


async def test_a_shared_future_outlives_one_that_waits_for_it() -> None:
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    leaving, staying = asyncio.create_task(shared(future)), asyncio.create_task(shared(future))
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.wait([leaving])
    future.set_result("end")
    assert await staying == "end"


async def test_an_event_that_does_not_come_is_not_waited_for() -> None:
    assert not await in_time(0.001, asyncio.Event().wait())
    event = asyncio.Event()
    event.set()
    assert await in_time(None, event.wait())


async def test_the_first_of_two_ends_the_other() -> None:
    work, other = Work(), asyncio.Event()
    other.set()
    assert await first_of(work.run(), other.wait()) is None
    work.go.set()
    assert await first_of(work.run(), asyncio.Event().wait()) == "whole"


async def test_work_that_takes_too_long_is_cancelled_and_what_does_not_end_then_is_left() -> None:
    work, stuck = Work(), Work()
    await no_longer(work.run(), 0.001, asyncio.Event())
    assert not work.done
    hurry = asyncio.Event()
    hurry.set()
    await no_longer(finish(stuck.run()), 60, hurry, last=0.001)
    assert not stuck.done
    stuck.go.set()
    await stuck.ended.wait()


async def test_what_runs_beside_a_block_ends_with_it_and_its_failure_is_its_own() -> None:
    work = Work()
    async with beside(work.run(), "work"):
        await work.began.wait()
    assert not work.done

    async def refused() -> None:
        raise OSError("gone")

    async with beside(refused(), "refused"):
        await asyncio.sleep(0)
