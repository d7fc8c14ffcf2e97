"""Does something in a project and kills itself before its n-th change of anything on disk: usage BASE N reject|age|TEXT.

N may also be a call into the system, `pwrite:2` for the second one. TEXT: a tool of the agent writes that to a.txt.
"""

import asyncio
import os
import posix
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType

from tests.agents.files.reviewing.reviewdesk import ReviewDesk

from sould.agents.files.projects.housekeeping import DAY, clear

CHANGES = ("write", "pwrite", "open", "mkdir", "replace", "rename", "unlink", "fsync", "link", "ftruncate")


class Killer:
    """For `sys.setprofile`: sees every call into the system just before it."""

    def __init__(self, last: str) -> None:
        name, _, count = last.rpartition(":")
        self.left = int(count)
        self.names = (name,) if name else CHANGES
        self.armed = False

    def see(self, _: FrameType, event: str, called: object) -> None:
        """Count what changes something."""
        is_change = getattr(called, "__self__", None) is posix and getattr(called, "__name__", "") in self.names
        if self.armed and event == "c_call" and is_change:
            self.left -= 1
            if not self.left:
                os.kill(os.getpid(), signal.SIGKILL)


async def main(base: Path, last: str, what: str) -> None:
    """Say when the decision was answered, and when all has ended."""
    killer = Killer(last)
    threading.setprofile(killer.see)
    sys.setprofile(killer.see)
    desk = ReviewDesk(base, base / "project")
    await desk.hunks()
    killer.armed = True
    if what == "age":
        await clear(desk.projects, time.time() + 40 * DAY)
    elif what == "reject":
        outcome = await desk.decide("reject", by="killed")
        assert len(outcome.done) == 2
        killer.armed = False
        os.write(1, b"answered\n")
        killer.armed = True
    else:
        await desk.agent("a.txt", what, turn="T2")
        killer.armed = False
        os.write(1, b"answered\n")
        killer.armed = True
    await desk.aclose()
    killer.armed = False
    os.write(1, b"ended\n")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
