"""A program that looks at a project stands still while a search runs, and never outlives the daemon."""

import asyncio
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sould.agents.base.config import CaptureLimits
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.base.workspace import Command, RunningCommand, WorkspaceError
from sould.agents.files.projects.capture import Capture
from sould.agents.files.projects.clientfiles import ClientFiles
from sould.agents.files.projects.findingwords import FindingWords
from sould.agents.files.projects.lookedat import LookedAt
from sould.agents.files.projects.projects import Projects
from sould.agents.files.projects.sessionfiles import Author, SessionFiles
from sould.agents.files.projects.writers import Writers
from sould.agents.files.review.hunk import AgentCall

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it goes on")

DAEMON = """\
import os, sys
from pathlib import Path
from sould.agents.files.directories.gitfiles import GitFiles
from sould.agents.files.directories.walking import Walk
root = Path(sys.argv[1])
walk = Walk(GitFiles(root, {"PATH": sys.argv[2]}), (), None, root)
walk.begin(1000, 600.0)
walk.rest()
[pid] = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
os.waitid(os.P_PID, int(pid), os.WSTOPPED)
print(pid, flush=True)
sys.stdin.read()
"""


async def no_commands(command: Command) -> RunningCommand:
    raise WorkspaceError(command.line)


def slow_git(tmp_path: Path) -> tuple[Path, str, Path]:
    """A project with a git that answers only when the file exists that is returned, and the PATH it is on."""
    root, programs, go = tmp_path / "project", tmp_path / "programs", tmp_path / "go"
    for place in (root, programs):
        place.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    (programs / "git").write_text(
        f"#!/bin/sh\nuntil [ -e '{go}' ]; do sleep 0.01; done\nexec {shutil.which('git')} \"$@\"\n"
    )
    (programs / "git").chmod(0o755)
    return root, f"{programs}:{os.environ['PATH']}", go


def test_a_program_that_stands_still_ends_when_the_daemon_is_killed(tmp_path: Path) -> None:
    root, path, go = slow_git(tmp_path)
    command = [sys.executable, "-c", DAEMON, str(root), path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as daemon:
        assert daemon.stdout is not None
        walk = os.pidfd_open(int(daemon.stdout.readline()))
        daemon.kill()
    go.touch()
    select.select([walk], [], [])
    os.close(walk)


async def test_looking_stands_still_while_a_search_runs_unless_a_command_waits_for_it(tmp_path: Path) -> None:
    root, path, go = slow_git(tmp_path)
    own = tmp_path / "session"
    own.mkdir()
    projects = Projects(tmp_path / "state")
    disk = LocalWorkspace(root, (), no_commands)
    clients = ClientFiles(disk, projects.buffers)
    files = await SessionFiles.open(disk, projects, Author("session", own, tmp_path), clients)
    limits = CaptureLimits(wait_s=0.01)
    capture = Capture(
        files.found,
        files.commands,
        LookedAt(projects, own, {"PATH": path}, (), limits),
        FindingWords(files.projects, "session", 1, str),
        Writers(),
        lambda: 60.0,
    )
    capture.prepare()
    pid = await asyncio.to_thread(begun)
    with capture.giving_way():
        await asyncio.to_thread(os.waitid, os.P_PID, pid, os.WSTOPPED)
    await asyncio.to_thread(os.waitid, os.P_PID, pid, os.WCONTINUED)
    with capture.giving_way():
        await asyncio.to_thread(os.waitid, os.P_PID, pid, os.WSTOPPED)
        await capture.begin(AgentCall("session", "turn", "call"))
        await asyncio.to_thread(os.waitid, os.P_PID, pid, os.WCONTINUED)
        walk = os.pidfd_open(pid)
        with capture.giving_way():  # the command may wait for it again
            go.touch()
            await asyncio.to_thread(select.select, [walk], [], [])
        os.close(walk)
    await capture.finish("call")
    await capture.aclose()
    await files.aclose()


def begun() -> int:
    """The program that looks for this process, once it does."""
    while True:
        for task in Path("/proc/self/task").iterdir():
            for child in (task / "children").read_text().split():
                if b"walkmain.py" in Path(f"/proc/{child}/cmdline").read_bytes():
                    return int(child)
        time.sleep(0.01)
