"""What a deadline and a group of one task cost with asyncio and with anyio, in microseconds."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import anyio

ROUNDS = 20_000


async def main() -> None:
    """Print a line for each."""
    for name, once in (
        ("asyncio.timeout", _asyncio_deadline),
        ("anyio.fail_after", _anyio_deadline),
        ("asyncio.TaskGroup", _asyncio_group),
        ("anyio.create_task_group", _anyio_group),
    ):
        print(f"{name}: {await _microseconds(once):.0f} us")


async def _asyncio_deadline() -> None:
    async with asyncio.timeout(60):
        await _nothing()


async def _anyio_deadline() -> None:
    with anyio.fail_after(60):
        await _nothing()


async def _asyncio_group() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(_nothing())


async def _anyio_group() -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(_nothing)


async def _nothing() -> None:
    pass


async def _microseconds(once: Callable[[], Awaitable[None]]) -> float:
    await once()
    begun = time.process_time()
    for _ in range(ROUNDS):
        await once()
    return (time.process_time() - begun) / ROUNDS * 1e6


if __name__ == "__main__":
    asyncio.run(main())
