"""The command line of kimi-cli, `sould kimi --wire …`: programs written for that one say what they mean in its words."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click
from pydantic import SecretStr

from sould.agents.base.errors import OptionError
from sould.agents.mcp.specs import load_file, load_text
from sould.agents.sessions.store.kimilayout import share_directory
from sould.agents.soul.session_request import McpServer, OwnConfiguration
from sould.daemon.wire.arguments import WireArguments, parsed

NAME: Final = "kimi"
"""The first argument of a program that speaks to `sould kimi`, and not to `sould wire`."""
OPTIONS: Final = (
    click.Option(["--wire"], is_flag=True, help="Speak Wire on standard input and output."),
    click.Option(["--work-dir", "-w", "directory"], help="The project's directory; else this one."),
    click.Option(
        ["--add-dir", "additional"], multiple=True, help="One more directory the agent may work in; may be repeated."
    ),
    click.Option(
        ["--session", "--resume", "-S", "-r"], default="", help="This session, which begins if there is none."
    ),
    click.Option(["--continue", "-C", "latest"], is_flag=True, help="The latest session of this directory."),
    click.Option(["--config", "text"], help="The configuration itself, in TOML or JSON."),
    click.Option(["--config-file", "file"], help="The configuration file."),
    click.Option(["--model", "-m"], default="", help="The model, by its key in the configuration."),
    click.Option(["--thinking/--no-thinking"], default=None, help="Whether the model reasons first."),
    click.Option(["--yolo", "--yes", "-y", "--auto-approve", "full"], is_flag=True, help="Ask nothing."),
    click.Option(["--plan"], is_flag=True, help="Make a plan first."),
    click.Option(["--afk"], is_flag=True, help="Ask nothing, and dismiss questions."),
    click.Option(["--agent"], default="", help="The agent, by its name."),
    click.Option(["--agent-file"], default="", help="The agent, by its file."),
    click.Option(["--mcp-config-file", "mcp_files"], multiple=True, help="A file of MCP servers; may be repeated."),
    click.Option(["--mcp-config", "mcp_texts"], multiple=True, help="MCP servers in JSON; may be repeated."),
    click.Option(
        ["--skills-dir", "skills"],
        multiple=True,
        help="Take skills from here instead of the project's and yours; may be repeated.",
    ),
    click.Option(["--max-steps-per-turn"], type=click.IntRange(min=1), help="Steps of a turn."),
    click.Option(["--max-retries-per-step"], type=click.IntRange(min=1), help="Attempts for a step."),
    click.Option(
        ["--max-ralph-iterations"], type=click.IntRange(min=-1), help="Repetitions of each prompt; -1: without limit."
    ),
    click.Option(["--verbose"], is_flag=True, help="Accepted, and not used."),
    click.Option(["--debug"], is_flag=True, help="Accepted, and not used: see SOULD_LOG."),
)
"""Those of kimi-cli that concern a session. The bridge has taken `--skills-dir`; the daemon's log is its own."""
_LIMITS: Final = ("max_steps_per_turn", "max_retries_per_step", "max_ralph_iterations")
_EXCLUSIVE: Final = (("session", "latest"), ("agent", "agent_file"), ("text", "file"))
"""Options that say the same thing in two ways."""
_NAMES: Final = {"latest": "continue", "agent_file": "agent-file", "text": "config", "file": "config-file"}


def read_kimi_arguments(given: tuple[str, ...], cwd: str, environment: Mapping[str, str]) -> WireArguments:
    """What a command line for kimi-cli says, seen from `cwd`; `environment` is the program's.

    Raises:
        OptionError: naming what is wrong with it.
    """
    said = parsed("sould kimi", OPTIONS, given)
    for one, other in _EXCLUSIVE:
        if said[one] and said[other]:
            raise OptionError(f"--{_NAMES.get(one, one)} and --{_NAMES[other]} cannot be combined.")
    here, agent_file = Path(cwd), said["agent_file"]
    share = share_directory(environment, here)
    policy = "afk" if said["afk"] else "full" if said["full"] else ""
    return WireArguments(
        directory=here / (said["directory"] or ""),
        additional=tuple(here / path for path in said["additional"]),
        session=said["session"],
        latest=said["latest"],
        model=said["model"],
        agent=str(here / agent_file) if agent_file else said["agent"],
        # where a plan ends, the other begins
        modes=tuple(mode for mode in (policy, "plan" if said["plan"] else "") if mode),
        thinking=said["thinking"],
        configuration=_configuration(said, here, share),
        servers=_servers(said, here, environment),
        share=share,
    )


def _configuration(said: Mapping[str, Any], here: Path, share: Path) -> OwnConfiguration:
    """What it names, else kimi-cli's own file where there is one, else the user's of sould."""
    limits = {name: said[name] for name in _LIMITS if said[name] is not None}
    if said["text"] is not None:
        return OwnConfiguration(text=SecretStr(said["text"]), limits=limits)
    usual = (path for path in (share / "config.toml", share / "config.json") if path.is_file())
    file = here / Path(said["file"]).expanduser() if said["file"] else next(usual, None)
    return OwnConfiguration(file, limits=limits)


def _servers(said: Mapping[str, Any], here: Path, environment: Mapping[str, str]) -> tuple[McpServer, ...]:
    """The MCP servers that it names, and a sentence in the place of each that cannot be used. Raises OptionError."""
    files = [here / Path(path).expanduser() for path in said["mcp_files"]]
    for file in files:
        if not file.is_file():
            raise OptionError(f"The file {file} (--mcp-config-file) does not exist.")
    places = [load_file(file, "user", environment) for file in files]
    places += [load_text(text, "--mcp-config", environment) for text in said["mcp_texts"]]
    notices = (McpServer(place, "stdio", problem=place) for found in places for place in found.notices)
    return (*(server for found in places for server in found.servers), *notices)
