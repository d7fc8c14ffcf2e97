"""Runs in the product's environment: times appends to a journal, and promises beside a bare write with fdatasync.

usage: journalprogram.py SCRATCH RECORDS; prints one JSON object.

With reviewprogram.py and largefileprogram.py the only one here that imports the product.
"""

import asyncio
import json
import os
import statistics
import sys
import time
from pathlib import Path

from sould.agents.journal.journal import JournalWriter
from sould.agents.journal.log import SessionLog
from sould.agents.wire.messages import StatusUpdate


async def append(scratch: Path, records: int) -> dict[str, float]:
    """Microseconds of one append, early and late; milliseconds until a promise is on the disk, beside a bare fdatasync."""
    log = await SessionLog.create(scratch, JournalWriter(), session_id="bench", cwd=scratch)
    block = max(1, records // 10)
    blocks: list[float] = []
    for _ in range(10):
        begin = time.perf_counter()
        for number in range(block):
            log.publish(StatusUpdate(context_tokens=number))
        blocks.append((time.perf_counter() - begin) / block * 1e6)
        await log.commit()
    promises: list[float] = []
    for number in range(200):
        log.publish(StatusUpdate(context_tokens=number))
        begin = time.perf_counter()
        await log.commit()
        promises.append((time.perf_counter() - begin) * 1e3)
    await log.aclose()
    return {
        "first_us": blocks[0],
        "last_us": blocks[-1],
        "promise_ms": statistics.median(promises),
        "sync_ms": bare_sync(scratch),
    }


def bare_sync(scratch: Path) -> float:
    """Milliseconds of a write and an fdatasync, nothing else."""
    descriptor = os.open(scratch / "floor", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    times: list[float] = []
    for _ in range(200):
        begin = time.perf_counter()
        os.write(descriptor, b"x" * 120)
        os.fdatasync(descriptor)
        times.append((time.perf_counter() - begin) * 1e3)
    os.close(descriptor)
    return statistics.median(times)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(append(Path(sys.argv[1]), int(sys.argv[2])))))
