"""`sould kimi`: the command line of kimi-cli. What programs start, `--wire` and `info`, is answered before this is loaded.

Everything here is another command of ours, said in the words of kimi-cli.
"""

import contextlib
import importlib
import io
import json
import os
import sys
from collections.abc import Mapping
from typing import Any, Final, NoReturn, cast

import click

from sould.daemon.cli.output import APPROVAL, FAILED, NO_MODEL, USAGE, Command, CommandError
from sould.daemon.wire.kimi import OPTIONS

COMMANDS: Final = {
    "login": ("login", "login", ()),
    "logout": ("login", "logout", ()),
    "mcp": ("mcp", "mcp", ()),
    "acp": ("frontends", "acp", ()),
    "export": ("sessions.command", "sessions", ("export",)),
}
"""The commands of kimi-cli that there are, each with the module and the name of ours, and what stands before its arguments."""
MISSING: Final = ("term", "plugin", "vis", "web")
_PRINT: Final = (
    click.Option(["--print", "prints"], is_flag=True, help="Run one prompt, ask nothing, print the answer."),
    click.Option(["--prompt", "-p", "--command", "-c", "prompt"], help="The prompt; else standard input."),
    click.Option(["--input-format"], type=click.Choice(("text", "stream-json")), default="text"),
    click.Option(["--output-format"], type=click.Choice(("text", "stream-json")), default="text"),
    click.Option(
        ["--final-message-only", "final"], is_flag=True, help="Print the last message, and nothing before it."
    ),
    click.Option(["--quiet"], is_flag=True, help="The same as --print --output-format text --final-message-only."),
    click.Option(["--acp"], is_flag=True, help="The same as `sould acp`."),
)
_WIRE_ONLY: Final = ("text", "file", "thinking", "mcp_files", "mcp_texts", "max_steps_per_turn", "max_retries_per_step")
"""Options that `sould run` does not have."""
_NOTHING: Final = "Programs start this with --wire. For people there are: --print with a prompt, `sould run`, and editors (`sould setup`)."


class KimiCommand(Command):
    """Options, or a command of kimi-cli with its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """See click."""
        if args and args[0] in COMMANDS:
            _run(args[0], args[1:])
        if args and args[0] in MISSING:
            raise CommandError(
                f"sould has no `{args[0]}`; docs/kimi.md says what there is in place of kimi-cli.", USAGE
            )
        return super().parse_args(ctx, args)


@click.command(cls=KimiCommand, params=[*OPTIONS, *_PRINT])
def kimi(**said: Any) -> None:
    """Stand in for kimi-cli: what programs start as `kimi`, with its options, its files and its sessions.

    `sould-kimi` is the same. `--wire` speaks Wire on standard input and output, `info --json` says which versions.
    The commands login, logout, mcp, acp and export are those of sould. docs/kimi.md has it all.

    Examples:
      sould kimi --wire --work-dir ~/project --session my-session
      sould kimi --print --prompt "explain this project" --final-message-only
      sould kimi info --json
    """
    if said["acp"]:
        _run("acp", [])
    if said["quiet"] or said["prints"] or said["prompt"] is not None:
        _print(said)
    raise CommandError(_NOTHING, USAGE)


def _run(name: str, arguments: list[str]) -> NoReturn:
    """Run the command of ours that stands for `name`."""
    module, attribute, before = COMMANDS[name]
    command = cast("click.Command", getattr(importlib.import_module(f"sould.daemon.cli.{module}"), attribute))
    sys.exit(command.main([*before, *arguments], f"sould {attribute}", standalone_mode=False) or 0)


def _print(said: Mapping[str, Any]) -> NoReturn:
    given = [name for name in _WIRE_ONLY if said[name] not in (None, ())]
    if given:
        option = next(each for each in OPTIONS if each.name == given[0])
        raise CommandError(f"{option.opts[0]} needs --wire; with --print sould goes by its own configuration.", USAGE)
    stream = said["output_format"] == "stream-json" and not said["quiet"]
    final = said["final"] or said["quiet"]
    arguments = ["-o", "json" if final else "stream-json" if stream else "text", *_options(said), "--", _prompt(said)]
    if stream or not final:
        sys.exit(_kimi_exit_code(_run_sould(arguments)))
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        code = _run_sould(arguments)
    result = json.loads(printed.getvalue().rstrip("\n").rpartition("\n")[2])
    if code:
        raise CommandError(result["error"]["message"], _kimi_exit_code(code))
    click.echo(result["text"])
    sys.exit(0)


def _options(said: Mapping[str, Any]) -> list[str]:
    """As `sould run` has them. What only prints asks nobody, as in kimi-cli; a prompt alone is asked about as usual."""
    named = {
        "--cwd": said["directory"],
        "--session": said["session"],
        "--model": said["model"],
        "--agent": said["agent_file"] or said["agent"],
        "--max-ralph-iterations": said["max_ralph_iterations"],
    }
    options = [f"{name}={value}" for name, value in named.items() if value not in (None, "")]
    options += [f"--add-dir={path}" for path in said["additional"]]
    options += [f"--skills-dir={path}" for path in said["skills"]]
    options += ["--continue"] if said["latest"] else []
    if said["plan"]:
        return [*options, "--plan"]
    if said["prints"] or said["quiet"] or said["afk"]:
        return [*options, "--afk"]
    return [*options, "--yes"] if said["full"] else options


def _prompt(said: Mapping[str, Any]) -> str:
    """`-`: `sould run` reads standard input."""
    if said["prompt"] is not None:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # which `sould run` would wait for
        return said["prompt"]
    if said["input_format"] == "text":
        return "-"
    try:
        messages = [json.loads(line)["content"] for line in sys.stdin if line.strip()]
        parts = [[{"text": each}] if isinstance(each, str) else each for each in messages]
        texts = ["".join(part["text"] for part in each) for each in parts]
    except (ValueError, KeyError, TypeError) as error:
        raise CommandError(f"Standard input is no message a line, as stream-json has them: {error!r}.", USAGE) from None
    if len(texts) != 1:
        raise CommandError(f"--print takes one message, not {len(texts)}; --wire takes as many as you like.", USAGE)
    return texts[0]


def _run_sould(arguments: list[str]) -> int:
    """The exit code of `sould run`."""
    from sould.daemon.cli.run.command import run  # noqa: PLC0415 -- only for those who print

    try:
        run.main(arguments, "sould run", standalone_mode=False)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else FAILED
    return 0


def _kimi_exit_code(code: int) -> int:
    """As kimi-cli has them: 0, 1 and 75."""
    return FAILED if code in (APPROVAL, NO_MODEL) else code
