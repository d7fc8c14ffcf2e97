"""Run as a user of its own: the guard may fork no more, then again. Writes what the second and third start come to."""

import asyncio
import os
import resource
import sys
from pathlib import Path

from sould.agents.base.process.guard import CommandStartError, ProcessGuard


async def main() -> None:
    guard = ProcessGuard()
    await (await guard.start(["/bin/true"], Path("/"), {})).wait()
    (child,) = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    before = resource.prlimit(int(child), resource.RLIMIT_NPROC)
    resource.prlimit(int(child), resource.RLIMIT_NPROC, (0, before[1]))
    try:
        await guard.start(["/bin/true"], Path("/"), {})
    except CommandStartError as error:
        sys.stdout.write(f"{error}\n")
    resource.prlimit(int(child), resource.RLIMIT_NPROC, before)
    ended = await (await guard.start(["/bin/true"], Path("/"), {})).wait()
    sys.stdout.write(f"{ended.code}\n")
    await guard.aclose()


asyncio.run(main())
