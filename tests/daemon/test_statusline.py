"""`sould status --line` and the counts of `sould status --json`, against the real daemon and the installed program."""

import json
import os
import subprocess
import sys
from pathlib import Path

from soultest.acpclient import ignore
from soultest.daemon import Sould, not_running
from soultest.editor import client_of, editor
from soultest.world import SOULD, call

EDIT = call("WriteFile", "w", path="new.txt", content="hello\n")
ASKS = call("Shell", "c", command="echo hello > other.txt")


def line(sould: Sould) -> str:
    done = subprocess.run(
        [str(SOULD), "status", "--line"], env=sould.world.environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_without_a_daemon_it_prints_nothing_and_starts_none(sould: Sould) -> None:
    assert line(sould) == ""
    assert not_running(sould)
    assert json.loads(sould.cli("status", "--json").stdout) == {"running": False}
    sould.start()
    assert line(sould) == ""


async def test_it_counts_what_waits_runs_and_is_to_be_reviewed(sould: Sould) -> None:
    world = sould.world
    world.script([EDIT, "text: done", ASKS, "text: done"])
    async with editor(world, mode="review", permissions=ignore) as (client, session):
        assert (await client.prompt(session, "go"))["stopReason"] == "end_turn"
        assert line(sould) == "1 to review\n"
        client.prompt(session, "and")
        await client.wait_request("session/request_permission")
        assert line(sould) == "1 waiting, 1 running, 1 to review\n"
        status = json.loads(sould.cli("status", "--json").stdout)
        assert status["counts"] == {"running": 1, "waiting": 1, "hunks": 1}
        assert status["projects"] == [
            {"root": str(world.project), "sessions": 1, "running": 1, "waiting": 1, "hunks": 1}
        ]
        assert sould.cli("status", "--line").stdout == line(sould)


async def test_what_a_restart_left_waiting_counts_before_anybody_looks(sould: Sould) -> None:
    sould.world.script([ASKS])
    async with client_of(sould.world, permissions=ignore) as client:
        client.prompt(await client.new_session(sould.world.project), "go")
        await client.wait_request("session/request_permission")
    assert sould.cli("restart", "--force").returncode == 0
    assert line(sould) == "1 waiting\n"
    assert len(json.loads(sould.cli("inbox", "--json").stdout)["items"]) == 1
    assert line(sould) == "1 waiting\n"


def test_it_loads_no_more_than_an_editor_s_bridge(sould: Sould) -> None:
    sould.start()
    command = [sys.executable, "-X", "importtime", str(SOULD), "status", "--line"]
    environment = {**os.environ, **sould.world.environment}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    bare = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "pass"], capture_output=True, text=True, check=True
    )
    loaded, without = (
        {row.rpartition("|")[2].strip() for row in text.splitlines()[1:]} for text in (done.stderr, bare.stderr)
    )
    own = {"_socket", *(f"sould.daemon.{name}" for name in ("bridge", "dial", "hello", "paths", "statusline"))}
    packages = {name for name in loaded - without if name not in own and not name.startswith(("sould.", "encodings"))}
    assert packages <= {"sould"}, f"{Path(SOULD).name} loads {packages}"
