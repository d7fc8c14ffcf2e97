"""The blocks of docs/attention.md for status bars: tmux shows what its block says, the commands of the others print it."""

import asyncio
import json
import shlex
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

from soultest.acpclient import ignore
from soultest.daemon import Sould
from soultest.editor import editor
from soultest.screen import screen
from soultest.world import SOULD, call

PAGE = Path(__file__).parents[2] / "docs" / "attention.md"
LINE = "1 waiting, 1 running"


def block(beginning: str) -> str:
    """The block on the page below the paragraph that begins so."""
    return PAGE.read_text().partition(f"\n{beginning}")[2].partition("```")[2].partition("\n")[2].partition("```")[0]


def printed(command: str, environment: Mapping[str, str]) -> str:
    done = subprocess.run(shlex.split(command), env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


async def test_tmux_starship_and_waybar_show_what_waits(sould: Sould) -> None:
    world = sould.world
    environment = {**world.environment, "PATH": f"{SOULD.parent}:{world.environment['PATH']}"}
    world.script([call("Shell", "c", command="echo hello > new.txt"), "text: done"])
    async with editor(world, permissions=ignore) as (client, session):
        client.prompt(session, "go")
        await client.wait_request("session/request_permission")
        starship = tomllib.loads(block("starship,"))["custom"]["sould"]
        assert printed(starship["command"], environment) == LINE
        waybar = json.loads(block("waybar,"))["custom/sould"]
        assert printed(waybar["exec"], environment) == LINE

        world.environment["PATH"] = environment["PATH"]
        (world.root / "tmux.conf").write_text(block("tmux,"))
        inner = f"tmux -S {world.root}/inner -f {world.root}/tmux.conf"
        with screen(world, f"unset TMUX; exec {inner} new-session 'exec sleep 1000'", world.project) as shown:
            try:
                await asyncio.to_thread(shown.wait, LINE)
            finally:
                await asyncio.to_thread(printed, f"{inner} kill-server", environment)
