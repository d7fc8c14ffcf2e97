"""Locks of files end with their holder; what a killed holder was just starting does not count as one."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sould.agents.base.filelock import is_shared, lock_after, open_lock_file, share

KILLED_WHILE_STARTING = """
import os, signal, subprocess, sys
from sould.agents.base.filelock import lock_now, open_lock_file
descriptor = open_lock_file(sys.argv[1])
lock_now(descriptor)
child = subprocess.Popen(["cat"], pass_fds=[descriptor])
os.kill(os.getpid(), signal.SIGKILL)
"""
"""Its child has the lock until standard input ends, as a program has that has not begun yet."""


def test_a_lock_of_the_dead_is_had_when_what_they_were_starting_has_begun(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-c", KILLED_WHILE_STARTING, lock], stdin=subprocess.PIPE) as holder:
        assert holder.wait() == -signal.SIGKILL
        assert holder.stdin is not None
        begun = threading.Timer(0.05, holder.stdin.close)
        begun.start()
        descriptor = open_lock_file(lock)
        lock_after(descriptor, str(holder.pid))
        os.close(descriptor)
        begun.join()


@pytest.mark.parametrize("holder", ["1", "unknown", ""])
def test_a_lock_of_the_living_or_of_nobody_knows_whom_is_not_waited_for(tmp_path: Path, holder: str) -> None:
    first, second = open_lock_file(tmp_path / "lock"), open_lock_file(tmp_path / "lock")
    lock_after(first, "")
    with pytest.raises(BlockingIOError):
        lock_after(second, holder)
    os.close(first)
    os.close(second)


SHARES = """
import sys
from sould.agents.base.filelock import share
share(sys.argv[1])
print(flush=True)
sys.stdin.read()
"""


def test_a_directory_is_shared_until_the_last_who_shares_it_has_ended(tmp_path: Path) -> None:
    assert not is_shared(tmp_path)
    mine = share(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", SHARES, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        os.close(mine)
        assert is_shared(tmp_path)
        other.kill()
        other.wait()
        assert not is_shared(tmp_path)
    assert not is_shared(tmp_path / "none")
