"""What `sould wire` is started with: which session a program drives, and how it is set up."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click
from msgspec import Struct

from sould.agents.base.errors import OptionError
from sould.agents.soul.session_request import McpServer, OwnConfiguration

MODES: Final = ("plan", "ask", "review", "full", "afk")
OPTIONS: Final = (
    click.Option(["--work-dir", "-w", "directory"], metavar="DIR", help="The project's directory; else this one."),
    click.Option(
        ["--add-dir", "additional"],
        multiple=True,
        metavar="DIR",
        help="One more directory the agent may work in; may be repeated.",
    ),
    click.Option(
        ["--session", "-S"],
        default="",
        metavar="ID",
        help="Continue this session (the beginning of its id is enough).",
    ),
    click.Option(
        ["--continue", "-c", "-C", "latest"], is_flag=True, help="Continue the latest session of this directory."
    ),
    click.Option(["--model", "-m"], default="", help="The model, by its key in the configuration."),
    click.Option(["--agent"], default="", metavar="NAME|PATH", help="The agent, by its name or file."),
    click.Option(["--mode"], type=click.Choice(MODES), help="What happens without asking; `ask` by default."),
    click.Option(["--yes", "--yolo", "-y", "full"], is_flag=True, help="Ask nothing: the same as --mode full."),
    click.Option(["--plan"], is_flag=True, help="Change nothing, make a plan: the same as --mode plan."),
    click.Option(
        ["--skills-dir", "skills"],
        multiple=True,
        metavar="DIR",
        help="Take skills from here instead of the project's and yours; may be repeated.",
    ),
)
"""Those of `sould run` that concern a session."""


class WireArguments(Struct, frozen=True):
    """Paths are absolute. `session` "": a new one, unless `latest`. `modes` are chosen in their order."""

    directory: Path
    additional: tuple[Path, ...] = ()
    session: str = ""
    latest: bool = False
    model: str = ""
    agent: str = ""
    modes: tuple[str, ...] = ()
    thinking: bool | None = None
    configuration: OwnConfiguration | None = None
    servers: tuple[McpServer, ...] = ()
    share: Path | None = None
    """kimi-cli's own directory, of a program that was written for it; None: `sould wire`."""


def parsed(name: str, options: Sequence[click.Option], given: tuple[str, ...]) -> Mapping[str, Any]:
    """What `given` says, by the options' names. Raises OptionError."""
    try:
        return click.Command(name, params=list(options)).make_context(name, list(given)).params
    except click.ClickException as error:
        raise OptionError(f"{error.format_message()} See `{name} --help`.") from None


def read_arguments(given: tuple[str, ...], cwd: str) -> WireArguments:
    """What the command line says, seen from `cwd`.

    Raises:
        OptionError: naming what is wrong with it.
    """
    said = parsed("sould wire", OPTIONS, given)
    if said["session"] and said["latest"]:
        raise OptionError("--session and --continue cannot be combined.")
    modes = {mode for mode in (said["mode"], said["full"] and "full", said["plan"] and "plan") if mode}
    if len(modes) > 1:
        raise OptionError(f"These modes cannot be combined: {', '.join(sorted(modes))}.")
    here = Path(cwd)
    agent = said["agent"]
    return WireArguments(
        directory=here / (said["directory"] or ""),
        additional=tuple(here / path for path in said["additional"]),
        session=said["session"],
        latest=said["latest"],
        model=said["model"],
        agent=str(here / agent) if agent.endswith((".yaml", ".yml")) else agent,
        modes=tuple(modes),
    )
