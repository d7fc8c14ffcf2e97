"""Runs in the clean environment: fills a session's journal, times appends to one, times the floor for reading it.

usage: journalprogram.py fill SESSION_DIRECTORY TURNS | append SCRATCH RECORDS | read WIRE_FILE
Prints one JSON object.
"""

import asyncio
import json
import os
import statistics
import sys
import time
import zlib
from pathlib import Path

PIECE = "The quick brown fox jumps over the lazy dog, and nothing in particular happens. "


async def fill(directory: Path, turns: int) -> dict[str, float]:
    """Append turns of one question and one answer each: two messages a turn."""
    from sould.agents.sessionlog.journal import JournalWriter  # noqa: PLC0415
    from sould.agents.sessionlog.log import SessionLog  # noqa: PLC0415
    from sould.agents.wire.content import TextPart  # noqa: PLC0415 -- `read` must not pay for it
    from sould.agents.wire.messages import StepBegin, TurnBegin, TurnEnd  # noqa: PLC0415

    log = await SessionLog.open(directory, JournalWriter())
    for turn in range(turns):
        log.publish(TurnBegin(user_input=f"Question {turn}: {PIECE}", turn_id=f"bench-{turn}"))
        log.publish(StepBegin(n=1))
        log.publish(TextPart(text=f"Answer {turn}: {PIECE * 4}"))
        log.publish(TurnEnd(turn_id=f"bench-{turn}"))
    await log.commit()
    await log.aclose()
    return {"turns": turns}


async def append(scratch: Path, records: int) -> dict[str, float]:
    """Microseconds of one append, early and late; milliseconds until a promise is on the disk, beside a bare fdatasync."""
    from sould.agents.sessionlog.journal import JournalWriter  # noqa: PLC0415
    from sould.agents.sessionlog.log import SessionLog  # noqa: PLC0415
    from sould.agents.wire.messages import StatusUpdate  # noqa: PLC0415

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


def read(wire: Path) -> dict[str, float]:
    """Milliseconds to read the file, check each line's checksum and parse it: the floor of loading a session."""
    times: list[float] = []
    for _ in range(5):
        begin = time.perf_counter()
        for line in wire.read_bytes().splitlines():
            zlib.crc32(line[:-16])
            json.loads(line)
        times.append((time.perf_counter() - begin) * 1e3)
    return {"ms": min(times), "bytes": wire.stat().st_size}


def main(mode: str, place: Path, count: int) -> dict[str, float]:
    """Run one mode."""
    if mode == "read":
        return read(place)
    return asyncio.run(fill(place, count) if mode == "fill" else append(place, count))


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)))
