"""Programs that are run for a moment: what they print, and that none of them outlives its time, its daemon or its stop."""

import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sould.agents.base.process.bounded import Bounds, ProgramEnded
from soultest.daemon import until
from soultest.processes import MARK, descriptors, marked, until_gone

LONG = "sleep 1000 & echo begun; echo complained >&2; sleep 1000"
HAS_ENDED = "sleep 1000 & sleep 1000 & sleep 1000 & exit 0"
ENDS_WITH_ITS_PIPE = "sleep 1000 & while echo more; do :; done"
DAEMON = """\
import sys, threading, time
from pathlib import Path
from sould.agents.base.process.bounded import Bounds, end_programs
bounded = Bounds(cwd=Path("/"), env={"PATH": sys.argv[1], "SOULTEST_MARK": sys.argv[2]}, deadline=time.monotonic() + 900)
running = threading.Thread(target=lambda: print(bounded.run(["/bin/sh", "-c", sys.argv[3]]), flush=True))
running.start()
sys.stdin.read()
end_programs()
running.join()
print(bounded.run(["/bin/true"]), flush=True)
"""


def bounded(mark: str = "", *, seconds: float = 60.0, grouped: bool = False, most: int = 1 << 20) -> Bounds:
    environment = {"PATH": os.environ["PATH"], MARK: mark}
    deadline = time.monotonic() + seconds
    return Bounds(cwd=Path("/"), env=environment, deadline=deadline, grouped=grouped, most=most)


@pytest.mark.parametrize("grouped", [False, True])
def test_a_program_gets_its_input_and_is_known_by_what_it_prints_and_how_it_ends(*, grouped: bool) -> None:
    given = os.urandom(1 << 19)
    before = descriptors()
    assert bounded(grouped=grouped).run(["/bin/cat"], given) == ProgramEnded(given, b"", 0)
    said = bounded(grouped=grouped).run(["/bin/sh", "-c", 'printf "%s" "$1"; echo no >&2; exit 3', "sh", "a 'b' $c"])
    assert said == ProgramEnded(b"a 'b' $c", b"no\n", 3)
    assert bounded(grouped=grouped).run(["/bin/true"], given).code == 0  # it does not want to know
    assert descriptors() == before


def test_when_the_time_is_up_all_that_was_started_is_ended() -> None:
    mark = secrets.token_hex(8)
    ended = bounded(mark, seconds=0.3).run(["/bin/sh", "-c", LONG])
    assert ended == ProgramEnded(complaint=b"complained\n", why="time")
    assert until_gone(mark, 10) == []


def test_a_program_that_prints_without_an_end_is_ended() -> None:
    mark = secrets.token_hex(8)
    assert bounded(mark, most=100_000).run(["/usr/bin/env", "yes"]) == ProgramEnded(why="output")
    assert until_gone(mark, 10) == []


@pytest.mark.parametrize("program", [LONG, HAS_ENDED, ENDS_WITH_ITS_PIPE])
def test_a_program_and_what_it_left_are_ended_when_their_daemon_is_killed_or_stops(program: str) -> None:
    for how in ("killed", "stops"):
        mark = secrets.token_hex(8)
        command = [sys.executable, "-c", DAEMON, os.environ["PATH"], mark, program]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as daemon:
            until(lambda mark=mark: len(marked(mark)) >= 3)
            if how == "killed":
                daemon.kill()
            printed, _ = daemon.communicate()
        assert printed.splitlines() == ([str(ProgramEnded(why="stopping"))] * 2 if how == "stops" else [])
        assert until_gone(mark, 10) == []


def test_what_a_program_left_lives_on_when_it_has_ended_by_itself() -> None:
    mark = secrets.token_hex(8)
    assert bounded(mark).run(["/bin/sh", "-c", "sleep 1000 >/dev/null 2>&1 & exit 3"]).code == 3
    [left] = until_gone(mark, 0.1)
    os.kill(left, signal.SIGKILL)
    assert until_gone(mark, 10) == []
