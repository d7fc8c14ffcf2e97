"""`sould kimi`: the command line of kimi-cli. What programs start, `--wire` and `info`, is answered before this is loaded.

Everything here is another command of ours, said in the words of kimi-cli.
"""

import importlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from itertools import starmap
from typing import Any, Final, NoReturn, cast

import click

from sould.agents.base.errors import OptionError
from sould.daemon.cli.output import USAGE, Command, CommandError, complain
from sould.daemon.wire.kimi import OPTIONS, read_kimi_arguments

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
    click.Option(
        ["--input-format"], type=click.Choice(("text", "stream-json")), help="text, or stream-json: a message a line."
    ),
    click.Option(
        ["--output-format"], type=click.Choice(("text", "stream-json")), help="text, or stream-json: a message a line."
    ),
    click.Option(
        ["--final-message-only", "final"], is_flag=True, help="Print the last message, and nothing before it."
    ),
    click.Option(["--quiet"], is_flag=True, help="The same as --print --output-format text --final-message-only."),
    click.Option(["--acp"], is_flag=True, help="The same as `sould acp`."),
)
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
        if "--wire" in args and {"--print", "--quiet", "--acp"}.intersection(args):
            raise CommandError("--wire cannot be combined with --print, --quiet or --acp.", USAGE)
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
    from sould.daemon.cli.kimiprint import KimiPrint, PrintFormat  # noqa: PLC0415 -- the commands do without

    asks_nothing = said["prints"] or said["quiet"]
    if not asks_nothing and (said["final"] or said["input_format"] or said["output_format"]):
        raise CommandError("--input-format, --output-format and --final-message-only need --print.", USAGE)
    if said["quiet"] and said["output_format"] == "stream-json":
        raise CommandError("--quiet is --output-format text.", USAGE)
    prompt = said["prompt"].strip() if said["prompt"] is not None else None
    if prompt == "":
        raise CommandError("The prompt is empty.", USAGE)
    options = _options({**said, "afk": said["afk"] or asks_nothing})
    try:
        read_kimi_arguments(tuple(options), os.getcwd(), os.environ)
    except OptionError as error:
        raise CommandError(str(error), USAGE) from None
    if said["skills"]:  # said as the bridge says it
        os.environ["SOULD_SKILLS_DIRS"] = os.pathsep.join(map(os.path.abspath, said["skills"]))
    form = PrintFormat(stream=said["output_format"] == "stream-json", final=said["final"] or said["quiet"])
    KimiPrint(options, form).run(_prompts(prompt, stream=said["input_format"] == "stream-json"))
    sys.exit(0)


def _options(said: Mapping[str, Any]) -> list[str]:
    """The options that concern a session, as the daemon reads them."""
    options: list[str] = []
    for option in OPTIONS:
        name, value = option.opts[0], said[option.name or ""]
        if isinstance(value, bool):
            options += [name] if value else option.secondary_opts[:1]
        else:
            options += [f"{name}={each}" for each in (value if option.multiple else (value,)) if each not in (None, "")]
    return options


def _prompts(given: str | None, *, stream: bool) -> Iterator[str]:
    """The prompt of the command line, then what standard input has: in text its whole, else a message each line."""
    if given is not None:
        yield given
    if not stream and (given is not None or os.isatty(0)):
        return
    with open(0, encoding="utf-8", errors="replace", closefd=False) as source:
        yield from filter(None, starmap(_text_of, enumerate(source, 1)) if stream else [source.read().strip()])


def _text_of(number: int, line: str) -> str:
    """The text of a user's message; "" for all else, which is passed over with a word."""
    try:
        message = json.loads(line) if line.strip() else {"role": "user", "content": ""}
        content = message["content"] or ""
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        texts = [_whole(part["text"]) for part in parts if part["type"] == "text"]
        if message["role"] == "user":
            if len(texts) < len(parts):
                complain(f"Line {number}: only its text is read.")
            return "\n".join(texts).strip()
        complain(f"Line {number} is passed over: only messages of the role 'user' are prompts.")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        complain(f'Line {number} is passed over: it is no message such as {{"role":"user","content":"Hello."}}.')
    return ""


def _whole(text: str) -> str:
    """The text. Raises ValueError for half of a surrogate pair, AttributeError for what is no text."""
    text.encode()
    return text
