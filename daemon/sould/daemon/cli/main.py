"""The command line's entry: the table of commands, and how every failure becomes a sentence and an exit code.

The frontends (`sould acp`) are dispatched before this module, and click, are imported: they are here for `--help` only.
Commands are imported when they are used, so that a short command does not pay for a long one.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple, NoReturn, cast

import click

from sould.agents.base.errors import JournalFullError, SouldError, as_disk_full
from sould.daemon.cli.output import BROKEN_PIPE, CANCELLED, FAILED, TEMPORARY, CommandError, CommandGroup, complain
from sould.daemon.dial import BridgeError
from sould.daemon.hello import VERSION
from sould.daemon.paths import UnsafePathError


class CommandEntry(NamedTuple):
    """Where a command is, and its line in `sould --help`, which must not import them all."""

    module: str
    attribute: str
    summary: str


COMMANDS: dict[str, CommandEntry] = {
    "run": CommandEntry("run.command", "run", "Run one prompt and print the answer."),
    "acp": CommandEntry("frontends", "acp", "Speak ACP on standard input and output; editors start this."),
    "lsp": CommandEntry("frontends", "lsp", "Speak LSP on standard input and output; editors start this."),
    "wire": CommandEntry("frontends", "wire", "Speak Wire on standard input and output; programs start this."),
    "kimi": CommandEntry("kimi", "kimi", "Stand in for kimi-cli, for programs that were written for it."),
    "review": CommandEntry("review.command", "review", "Review what agents changed: list, show, keep, reject."),
    "inbox": CommandEntry("inbox.command", "inbox", "Show what waits for you in all projects, and answer it."),
    "approve": CommandEntry("answering", "approve", "Approve what a session asks, from here."),
    "reject": CommandEntry("answering", "reject", "Reject what a session asks, from here."),
    "answer": CommandEntry("answering", "answer", "Answer a question of a session, from here."),
    "flow": CommandEntry("flow", "flow", "Check and show flows."),
    "loop": CommandEntry("loop", "loop", "List, resume and stop loops."),
    "sessions": CommandEntry(
        "sessions.command", "sessions", "List, search, read, export, fork, archive and delete sessions."
    ),
    "debug": CommandEntry("debug.command", "debug", "Look inside: what happened in a session, message by message."),
    "worktree": CommandEntry("worktree", "worktree", "List, merge, restore and remove worktrees of sessions."),
    "agents": CommandEntry("agents", "agents", "List the agents of this directory, and explain one."),
    "mcp": CommandEntry("mcp", "mcp", "Add, list, test and remove MCP servers."),
    "editor-mcp": CommandEntry("editormcp.command", "editor_mcp", "Serve what editors know to other agents, over MCP."),
    "status": CommandEntry("service", "status", "Show the daemon, who is connected, and what runs."),
    "stop": CommandEntry("service", "stop", "Stop the daemon when its running turns have finished."),
    "restart": CommandEntry("service", "restart", "Restart the daemon."),
    "service": CommandEntry("autostart", "service", "Start the daemon when you log in: no editor waits for it."),
    "logs": CommandEntry("logs", "logs", "Show the daemon's log."),
    "doctor": CommandEntry("doctor.command", "doctor", "Find problems with this installation, and how to fix them."),
    "fsck": CommandEntry("service", "fsck", "Check the journals of sessions for damage."),
    "setup": CommandEntry("setup.command", "setup", "Connect an editor: edit its settings, check or undo that."),
    "config": CommandEntry("config", "config", "Check, find and edit the configuration."),
    "login": CommandEntry("login", "login", "Store a model provider's key."),
    "logout": CommandEntry("login", "logout", "Remove a model provider's key."),
    "rules": CommandEntry("rules", "rules", "List what is allowed here unasked, and forget it."),
    "trust": CommandEntry("trust", "trust", "Trust this project's own configuration."),
    "daemon": CommandEntry("frontends", "daemon", "Run the daemon in the foreground."),
}
"""Every command, in the order of `sould --help`."""


class LazyGroup(CommandGroup):
    """A group whose commands come from `COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """See click."""
        return list(COMMANDS)

    def invoke(self, ctx: click.Context) -> object:
        """See click, which would take a reader that left for a failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _leave(BROKEN_PIPE)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """See click."""
        if cmd_name not in COMMANDS:
            return None
        entry = COMMANDS[cmd_name]
        module = importlib.import_module(f"sould.daemon.cli.{entry.module}")
        return cast("click.Command", getattr(module, entry.attribute))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """See click."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """See click; the error names the nearest command."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib  # noqa: PLC0415 -- only after a mistake

            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            raise click.UsageError(f"{error.message}{f' Did you mean {near[0]!r}?' if near else ''}", ctx) from None


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with `sould setup`, which connects your editor; `sould doctor` finds what is wrong. No telemetry, ever.",
)
@click.version_option(VERSION, "-V", "--version", prog_name="sould", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """One coding agent for all your editors and projects.

    A background process (started by itself, one per user) holds the sessions; editors, programs and this command
    line are windows onto them.

    Examples:
      sould run "explain what this project does"
      git diff | sould run - --mode plan
      sould status
      sould doctor
    """
    if context.invoked_subcommand is None:
        from sould.daemon.cli.service import show_now  # noqa: PLC0415 -- commands are imported when they are used

        show_now()


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit: 0 done, 1 failed, 2 wrong usage, others as the command's help says."""
    _replace_closed_streams()
    try:
        given = sys.argv[1:] if arguments is None else list(arguments)
        code: object = cli.main(
            args=["--help"] if given == ["help"] else given, prog_name="sould", standalone_mode=False
        )
    except click.ClickException as error:
        error.show()
        _leave(error.exit_code)
    except CommandError as failure:
        complain(str(failure))
        _leave(failure.code)
    except (click.Abort, KeyboardInterrupt):
        complain("Cancelled.")
        _leave(CANCELLED)
    except (SouldError, UnsafePathError, BridgeError) as error:
        complain(str(error))
        _leave(TEMPORARY if isinstance(error, JournalFullError) else FAILED)
    except SystemExit as leaving:
        if isinstance(leaving.code, str):  # a sentence, of `sould daemon`
            click.echo(leaving.code, err=True)
            _leave(FAILED)
        _leave(leaving.code)
    except OSError as error:
        full = as_disk_full(error)
        complain(
            full.message if full else f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"
        )
        _leave(TEMPORARY if full else FAILED)
    _leave(code)


def _replace_closed_streams() -> None:
    """Have /dev/null for a standard stream that was closed: else the next file or socket is opened in its place."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None and os.open(os.devnull, os.O_RDWR) == number:
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115 -- for as long as we run


def _leave(code: object) -> NoReturn:
    """Exit, with 0 where `code` is no number. A reader of ours that left early (`sould logs | head`) is worth no traceback.

    At once: every command has let go of what it had when it returned, and taking the interpreter down costs a tenth of a
    short one.
    """
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # closed before we came
                stream.flush()
    except BrokenPipeError:
        code = BROKEN_PIPE
    os._exit(code & 0xFF if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
