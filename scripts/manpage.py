"""Write docs/sould.1, the manual page, from the help of the commands."""

import sys
from pathlib import Path

import click

from sould.daemon.cli.main import COMMANDS, cli
from sould.daemon.hello import VERSION

PAGE = Path(__file__).parent.parent / "docs" / "sould.1"


def page() -> str:
    """The page in the language of man(7)."""
    context = click.Context(cli, info_name="sould")
    lines = [
        f'.TH SOULD 1 "" "sould {VERSION}" "User Commands"',
        ".SH NAME",
        r"sould \- a coding agent in the background, for every editor",
        ".SH SYNOPSIS",
        r".B sould",
        r"[\fICOMMAND\fR] [\fIOPTIONS\fR]",
        ".SH DESCRIPTION",
        *_text(cli.help or ""),
        ".SH COMMANDS",
    ]
    for name, entry in COMMANDS.items():
        command = cli.get_command(context, name)
        assert command is not None
        lines += [f".SS sould {_escaped(name)}", _escaped(entry.summary), *_text(command.help or "")]
        lines += [line for parameter in command.params for line in _option(parameter, context)]
    lines += [".SH SEE ALSO", r"\fBsould\fR \fICOMMAND\fR \fB\-\-help\fR, \fBsould doctor\fR"]
    return "\n".join(lines) + "\n"


def _option(parameter: click.Parameter, context: click.Context) -> list[str]:
    shown = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
    return [] if shown is None else [".TP", rf"\fB{_escaped(shown[0])}\fR", _escaped(" ".join(shown[1].split()))]


def _text(text: str) -> list[str]:
    """Paragraphs; those that keep their lines do so here."""
    lines = list[str]()
    for paragraph in text.replace("\f", "").split("\n\n"):
        kept = paragraph.startswith("\b\n")
        body = [_escaped(line) for line in paragraph.removeprefix("\b\n").splitlines() if line.strip()]
        lines += [".PP", *([".nf", *body, ".fi"] if kept else body)]
    return lines


def _escaped(text: str) -> str:
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    sys.stdout.write(f"{PAGE.name}: written\n")
