"""`sould run`: one prompt from the command line, without an editor."""

import os
import select
import stat
import sys
from typing import get_args

import click

from sould.agents.base.errors import SouldError
from sould.daemon.cli.output import FAILED, USAGE, Command, CommandError, complain
from sould.daemon.cli.run.headless import Headless
from sould.daemon.cli.run.render import Format, RunResult, renderer
from sould.daemon.cli.run.request import RunRequest
from sould.daemon.dial import BridgeError
from sould.daemon.paths import UnsafePathError

PIPE_S = 2.0
"""After so long without anything from a pipe it is said what is waited for."""
PATIENCE_S = 10.0
"""After so long more nothing is expected of it: whoever started the command may never close it."""
MODES = ("plan", "ask", "review", "full")


@click.command(cls=Command)
@click.argument("words", nargs=-1, required=True, metavar="PROMPT...")
@click.option("--output-format", "-o", "form", type=click.Choice(get_args(Format)), default="text", show_default=True)
@click.option("--model", "-m", default="", help="The model, by its key in the configuration.")
@click.option("--agent", default="", metavar="NAME|PATH", help="The agent, by its name or file.")
@click.option("--mode", type=click.Choice(MODES), help="What happens without asking; `ask` by default.")
@click.option("--yes", "--yolo", "-y", "yes", is_flag=True, help="Ask nothing: the same as --mode full.")
@click.option("--afk", is_flag=True, help="Full access, and what would still ask is refused: nobody is there.")
@click.option("--plan", is_flag=True, help="Change nothing, make a plan: the same as --mode plan.")
@click.option(
    "--session", "-S", default="", metavar="ID", help="Continue this session (the beginning of its id is enough)."
)
@click.option("--continue", "-c", "-C", "latest", is_flag=True, help="Continue the latest session of this directory.")
@click.option("--cwd", "-w", type=click.Path(exists=True, file_okay=False), help="The project's directory.")
@click.option(
    "--add-dir",
    "additional",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    help="One more directory the agent may work in; may be repeated.",
)
@click.option(
    "--skills-dir",
    "skills",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    help="Take skills from here instead of the project's and yours; may be repeated.",
)
@click.option(
    "--max-ralph-iterations",
    "iterations",
    type=click.IntRange(min=-1),
    help="Repeat the prompt until it is complete, at most this many times; -1: without limit; 0: once.",
)
@click.option(
    "--worktree", is_flag=True, help="Work in a git worktree of its own, on a branch sould/NAME made from HEAD."
)
@click.option("--worktree-name", default="", metavar="NAME", help="The same, with this name.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Cancel the turn after this many seconds.")
def run(
    words: tuple[str, ...],
    form: Format,
    model: str,
    agent: str,
    mode: str | None,
    yes: bool,
    afk: bool,
    plan: bool,
    session: str,
    latest: bool,
    cwd: str | None,
    additional: tuple[str, ...],
    skills: tuple[str, ...],
    iterations: int | None,
    worktree: bool,
    worktree_name: str,
    timeout: float | None,
) -> None:
    """Do one PROMPT and print the answer. Quotes can be left out; PROMPT `-` is read from standard input.

    The answer goes to standard output while it is written; tool calls and diffs go to standard error. The session is
    kept: any editor can open it, and --session, or -c for the latest of this directory, go on with it. Ctrl-C cancels
    the turn. What is piped in beside a PROMPT is given to the agent with it, if it begins within twelve seconds.

    At a terminal you are asked before edits and commands. Where nobody can answer, the first question ends the run
    with exit code 3; choose a mode that does not ask.

    Examples:
      sould run "explain src/parser.py"
      git diff --staged | sould run "review this" --mode plan
      sould run --yes "make the tests pass" && git diff
      sould run -c "now document it"
      sould run --worktree "try it with asyncio"
      sould run --agent ./reviewer.yaml "review the last commit"
      sould run -o json "how many TODOs are there?" | jq -r .text

    Exit codes:
      0    the turn finished
      1    it failed
      2    wrong usage
      3    it needs an approval that nobody can give
      4    no model, or its key is refused
      75   try again later: overloaded, unreachable, or --timeout
      130  cancelled
      141  whoever read the output left
    """
    prompt = " ".join(words)
    if session and latest:
        raise click.UsageError("--session and --continue cannot be combined.")
    if (worktree or worktree_name) and (session or latest):
        raise click.UsageError("Only a new session can be given a worktree; /worktree in a session forks it into one.")
    mode = _mode(mode, yes=yes, afk=afk, plan=plan)
    try:
        session_id, directory = _which(session, cwd, latest=latest)
    except (CommandError, SouldError, UnsafePathError, BridgeError) as error:
        if form == "text":
            raise
        # a program that reads JSON gets its answer there, whatever went wrong
        code = error.code if isinstance(error, CommandError) else FAILED
        renderer(form).finish(RunResult(exit_code=code, error=str(error), kind="error"))
        sys.exit(code)
    if skills:  # said as the bridge says it
        os.environ["SOULD_SKILLS_DIRS"] = os.pathsep.join(os.path.realpath(path) for path in skills)
    request = RunRequest(
        text=_text(prompt) if iterations is None else f"/loop {iterations} {_text(prompt)}",
        cwd=directory,
        additional=tuple(os.path.realpath(path) for path in additional),
        session_id=session_id,
        model=model,
        agent=_agent(agent),
        mode=mode,
        timeout_s=timeout,
        worktree=worktree_name if worktree or worktree_name else None,
        can_ask=form == "text" and prompt != "-" and os.isatty(0) and sys.stderr.isatty(),
    )
    sys.exit(Headless(request, renderer(form)).run())


def _mode(mode: str | None, *, yes: bool, afk: bool, plan: bool) -> str:
    """The one mode that all of them mean, "" for none; `afk` is full access without anybody to ask."""
    meant = {
        "--mode": mode,
        "--yes": "full" if yes else None,
        "--afk": "afk" if afk else None,
        "--plan": "plan" if plan else None,
    }
    named = {flag: value for flag, value in meant.items() if value}
    if set(named.values()) == {"full", "afk"}:
        return "afk"
    if len(set(named.values())) > 1:
        said = ", ".join(
            f"{flag} means --mode {value}" if flag != "--mode" else f"--mode {value}" for flag, value in named.items()
        )
        raise click.UsageError(f"These options cannot be combined: {said}.")
    return next(iter(named.values()), "")


def _agent(agent: str) -> str:
    """A path is meant from here, not from the project's directory."""
    return os.path.realpath(agent) if agent.endswith((".yaml", ".yml")) else agent


def _text(prompt: str) -> str:
    text = _read() if prompt == "-" else prompt
    if not text.strip():
        raise CommandError("The prompt is empty.", USAGE)
    piped = "" if prompt == "-" else _piped()
    if not piped.strip():
        return text
    return f"{text} {piped}" if text.startswith("/") else f"{text}\n\n<stdin>\n{piped.rstrip()}\n</stdin>"


def _piped() -> str:
    """What is piped in beside a prompt, to its end; nothing of a pipe that nobody writes to and nobody closes."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return ""
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return ""
    if not select.select([0], [], [], PIPE_S)[0]:
        complain("Reading standard input; `</dev/null` sends the prompt alone.")
        if not select.select([0], [], [], PATIENCE_S)[0]:
            complain(f"Nothing came from standard input in {PIPE_S + PATIENCE_S:g} s: the prompt is sent alone.")
            return ""
    return _read()


def _read() -> str:
    """Standard input to its end, whatever bytes it has; nothing when it is closed."""
    return sys.stdin.buffer.read().decode(errors="replace") if sys.stdin else ""


def _which(session: str, cwd: str | None, *, latest: bool) -> tuple[str, str]:
    """The session to go on with ("": a new one) and the directory to work in."""
    directory = os.path.abspath(cwd or os.getcwd())
    if not session and not latest:
        return "", directory
    from sould.daemon.cli.running import running  # noqa: PLC0415 -- a new session needs none of its models
    from sould.daemon.methods import ListSessions, ShowSession  # noqa: PLC0415 -- as above

    with running() as daemon:
        if session:
            row = daemon.ask(ShowSession(session)).session
            return row.id, directory if cwd else row.cwd
        rows = daemon.ask(ListSessions(cwd=directory, limit=1)).sessions
    if not rows:
        raise CommandError(f"There is no session in {directory} to continue; leave --continue out to start one.")
    return rows[0].id, directory
