"""Notifications for what waits: shown when nobody is there, taken back when it is answered anywhere, and with no text that is run."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.acp.server.test_inbox import asks, looking

from sould.agents.base.config import AttentionSettings, Config
from sould.agents.base.liveconfig import FixedConfig
from sould.daemon.process.desktop_notifications import Attention, DesktopNotification, desktop
from soultest.acpclient import ignore
from soultest.bench import Bench, call
from soultest.bench.acp import Connect
from soultest.daemon import Sould, until
from soultest.editor import client_of, editor
from soultest.world import call as call_of

Json = dict[str, Any]
KEEP = "import json, os, sys; open(sys.argv[1], 'ab', 0).write(json.dumps([sys.argv[2:], sys.stdin.read()]).encode() + b'\\n')"
"""A program that keeps how it was run."""
HOSTILE = "-- '; touch owned; $(touch owned) `touch owned` <b>&amp; \x1b[2J"


def kept(path: Path) -> list[tuple[list[str], str]]:
    return [tuple(json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


def events(path: Path) -> list[tuple[str, str]]:
    said = [json.loads(text) for _, text in kept(path)]
    return [(each["event"], each["id"]) for each in said]


async def test_a_program_of_the_user_s_is_told_what_waits_and_that_it_was_answered(sould: Sould) -> None:
    world, out = sould.world, sould.world.root / "told"
    command = json.dumps([sys.executable, "-c", KEEP, str(out)])
    asked = call_of("Shell", "c", command=f"echo {HOSTILE!r}")
    world.script([asked, "text: done"], f"[attention]\nnotify = {command}\nafter_s = 0.1\n")
    async with editor(world, permissions=ignore) as (client, session), client_of(world) as desk:
        turn = client.prompt(session, "go")
        await client.wait_request("session/request_permission")
        await asyncio.to_thread(until, lambda: len(kept(out)) == 1, 30.0, "the notification")
        [(arguments, said)] = kept(out)
        assert arguments == [], "no text of others is an argument"
        told = json.loads(said)
        assert (told["event"], told["session"], told["project"]) == ("waiting", session, str(world.project))
        assert told["title"] == "sould waits for you in project"
        assert told["text"].startswith("An agent wants to run: echo ")
        assert told["text"].isprintable()
        [item] = (await desk.request("_sould/inbox/list"))["items"]
        assert told["id"] == item["id"]
        await desk.request("_sould/inbox/answer", id=item["id"], decision="reject", words="no")
        assert (await turn)["stopReason"] == "end_turn"
        await asyncio.to_thread(until, lambda: len(kept(out)) == 2, 30.0, "its end")
        assert json.loads(kept(out)[1][1]) | {"event": "waiting"} == told
    assert not (world.project / "owned").exists()


async def test_nobody_is_told_while_somebody_is_there(bench: Bench, connect: Connect) -> None:
    out = bench.root / "told"
    settings = AttentionSettings(notify=(sys.executable, "-c", KEEP, str(out)), after_s=0.01)
    spoke = [asyncio.get_running_loop().time() + 3600]
    async with bench.running(), looking(connect) as client, asyncio.TaskGroup() as group:
        config = FixedConfig(Config(attention=settings))
        attention = Attention(bench.port.inbox, config, dict(os.environ), lambda: spoke[0])
        running = group.create_task(attention.run())
        scripts = call("Shell", command="echo hello > new.txt"), "text: done"
        _, first = await asks(bench, *scripts)
        _, second = await asks(bench, *scripts)
        await client.request("_sould/inbox/answer", id=second.id, decision="approve")
        assert events(out) == []
        spoke[0] = 0.0
        _, third = await asks(bench, *scripts)
        await asyncio.to_thread(until, lambda: len(events(out)) == 2, 30.0, "both")
        assert set(events(out)) == {("waiting", first.id), ("waiting", third.id)}
        for request in (first, third):
            await client.request("_sould/inbox/answer", id=request.id, decision="approve")
        await asyncio.to_thread(until, lambda: len(events(out)) == 4, 30.0, "their ends")
        assert set(events(out)[2:]) == {("ended", first.id), ("ended", third.id)}
        running.cancel()


@pytest.mark.skipif(sys.platform != "linux", reason="the desktop of Linux")
async def test_text_is_one_argument_of_the_desktop_s_program_and_its_number_takes_it_back(tmp_path: Path) -> None:
    out, programs = tmp_path / "told", tmp_path / "bin"
    programs.mkdir()
    program = programs / "gdbus"
    keep = f"open({str(out)!r}, 'a').write(json.dumps([sys.argv[1:], '']) + '\\n')"
    program.write_text(f"#!{sys.executable}\nimport json, sys\n{keep}\nprint('(uint32 7,)')\n")
    program.chmod(0o755)
    found = desktop({"PATH": str(programs), "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"})
    assert found is not None
    notification = DesktopNotification("id", "sould waits for you", f"An agent wants to run: {HOSTILE}\\", "s", "/p")
    await found.show(notification)
    await found.withdraw(notification)
    await found.withdraw(notification)
    shown, closed = (arguments for arguments, _ in kept(out))
    text = shown[-4]
    assert text.startswith("'An agent wants to run: -- \\'; touch owned;")
    assert "&lt;b&gt;&amp;amp;" in text
    assert text.endswith("\\\\'")
    assert closed[-1] == "uint32 7"


async def test_without_a_desktop_nobody_is_told() -> None:
    assert sys.platform == "darwin" or desktop({"PATH": os.defpath}) is None
