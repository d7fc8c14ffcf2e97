"""A process that runs one turn over a bench directory until it is killed: `python -m soultest.bench.crash ROOT MODE MESSAGE`.

It prints its session's id, then the word `reached` when a message of type MESSAGE was published, and waits to be killed.
"""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

from sould.agents.wire.messages import type_name
from soultest.bench import Bench, Watcher


def kill_when(bench: Bench, mode: str, message: str) -> str:
    """Run a turn in another process, kill -9 it once `message` was published; the session's id."""
    command = [sys.executable, "-m", "soultest.bench.crash", str(bench.root), mode, message]
    support = str(Path(__file__).parents[2])
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": support}) as process:
        try:
            assert process.stdout is not None
            session_id = process.stdout.readline().strip()
            assert process.stdout.readline().strip() == "reached"
        finally:
            process.kill()
    return session_id


async def main(root: Path, mode: Any, message: str) -> None:
    """Run until killed."""
    bench = Bench(root)
    async with bench.running():
        watcher = Watcher(await bench.new(mode), answer=None)
        print(watcher.session.id, flush=True)  # noqa: T201 -- the protocol of this program
        watcher.session.turns.prompt("go", "c")
        await watcher.wait_for(object, lambda found: type_name(found) == message)  # pyright: ignore[reportArgumentType]
        await watcher.session.log.commit()
        print("reached", flush=True)  # noqa: T201
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
