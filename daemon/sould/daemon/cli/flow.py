"""`sould flow check|show`: look at a flow without running it. Needs no daemon."""

import sys
from pathlib import Path

import click

from sould.agents.flows.drawing import draw
from sould.agents.flows.graph import Flow, FlowError
from sould.agents.flows.mermaid import to_mermaid
from sould.agents.flows.source import read_flow
from sould.daemon.cli.helptext import Group
from sould.daemon.cli.output import FAILED, plural, visible

_FILE = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))


@click.group(cls=Group)
def flow() -> None:
    """Check and show flows: procedures drawn as Mermaid or D2 graphs, run by `/flow:NAME` in a session.

    FILE is Markdown with one fenced `mermaid` or `d2` block (a flow skill), or a .mmd, .mermaid or .d2 file.

    Examples:
      sould flow check .agents/skills/release/SKILL.md
      sould flow show release.mmd
    """


@flow.command()
@_FILE
def check(file: Path) -> None:
    """Say what is wrong with a flow: one line each, with line and column. Exit code 1 when something is.

    Example:
      sould flow check .agents/skills/release/SKILL.md
    """
    steps = _read(file).steps()
    decisions = sum(step.kind == "decision" for step in steps)
    counted = f"{plural(len(steps), 'step')}, {plural(decisions, 'decision')} among them"
    click.echo(f"{file}: {counted}; nothing is wrong.")


@flow.command()
@_FILE
@click.option("--mermaid", is_flag=True, help="Only the normalised Mermaid.")
def show(file: Path, *, mermaid: bool) -> None:
    """Draw a flow as text, and print it as normalised Mermaid.

    Examples:
      sould flow show release.d2
      sould flow show --mermaid release.d2 > release.mmd
    """
    found = _read(file)
    if not mermaid:
        click.echo(visible(draw(found)))
    click.echo(visible(to_mermaid(found)), nl=False)


def _read(file: Path) -> Flow:
    try:
        return read_flow(file)
    except FlowError as error:
        for problem in error.problems:
            click.echo(visible(f"{file}:{problem}"), err=True)
        sys.exit(FAILED)
