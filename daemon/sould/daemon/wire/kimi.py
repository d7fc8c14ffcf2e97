"""The command line of kimi-cli, `sould kimi --wire …`: programs written for that one say what they mean in its words."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from sould.agents.base.errors import OptionError
from sould.daemon.wire.arguments import WireArguments, parsed

NAME: Final = "kimi"
"""The first argument of a program that speaks to `sould kimi`, and not to `sould wire`."""
OPTIONS: Final = (
    click.Option(["--wire"], is_flag=True),
    click.Option(["--work-dir", "-w", "directory"]),
    click.Option(["--add-dir", "additional"], multiple=True),
    click.Option(["--session", "--resume", "-S", "-r"], default=""),
    click.Option(["--continue", "-C", "latest"], is_flag=True),
    click.Option(["--model", "-m"], default=""),
    click.Option(["--yolo", "--yes", "-y", "--auto-approve", "full"], is_flag=True),
    click.Option(["--plan"], is_flag=True),
    click.Option(["--afk"], is_flag=True),
    click.Option(["--agent"], default=""),
    click.Option(["--agent-file"], default=""),
    click.Option(["--skills-dir", "skills"], multiple=True),
)
"""Those of kimi-cli that concern a session. The bridge has taken `--skills-dir`."""


def read_kimi_arguments(given: tuple[str, ...], cwd: str, environment: Mapping[str, str]) -> WireArguments:
    """What a command line for kimi-cli says, seen from `cwd`; `environment` is the program's.

    Raises:
        OptionError: naming what is wrong with it.
    """
    said: Mapping[str, Any] = parsed("sould kimi", OPTIONS, given)
    if said["session"] and said["latest"]:
        raise OptionError("--session and --continue cannot be combined.")
    if said["agent"] and said["agent_file"]:
        raise OptionError("--agent and --agent-file cannot be combined.")
    here = Path(cwd)
    agent_file = said["agent_file"]
    return WireArguments(
        directory=here / (said["directory"] or ""),
        additional=tuple(here / path for path in said["additional"]),
        session=said["session"],
        latest=said["latest"],
        model=said["model"],
        agent=str(here / agent_file) if agent_file else said["agent"],
        modes=tuple(
            mode
            for mode in ("afk" if said["afk"] else "full" if said["full"] else "", "plan" if said["plan"] else "")
            if mode
        ),
        share=share_directory(environment, here),
    )


def share_directory(environment: Mapping[str, str], here: Path) -> Path:
    """kimi-cli's own directory: `KIMI_SHARE_DIR`, else `~/.kimi`."""
    named = environment.get("KIMI_SHARE_DIR")
    return here / named if named else Path(environment.get("HOME") or "~").expanduser() / ".kimi"
