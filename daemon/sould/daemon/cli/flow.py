"""`sould flow check|show`: look at a flow without running it. Needs no daemon."""

import difflib
import os
import sys
import textwrap
from pathlib import Path

import click

from sould.agents.base.errors import SouldError
from sould.agents.soul.flows.graph import Edge, Flow, FlowError, Node
from sould.agents.soul.flows.mermaid import to_mermaid
from sould.agents.soul.flows.source import read_flow
from sould.agents.soul.skills.discovery import FoundSkills, discover, skill_roots
from sould.agents.soul.skills.skill import is_skill_file
from sould.daemon.cli.output import FAILED, CommandError, CommandGroup, plural, visible
from sould.daemon.configuration.configuration import load
from sould.daemon.paths import Paths

_WIDTH = 64
_MARKS = {"begin": "●", "end": "◉", "task": "▢", "decision": "◇"}
_FLOW = click.argument("flow_", metavar="NAME|FILE")


@click.group(cls=CommandGroup)
def flow() -> None:
    """Check and show flows: procedures drawn as Mermaid or D2 graphs, run by `/flow:NAME` in a session.

    NAME is one of the flows that `/skills` lists here. FILE is Markdown with one fenced `mermaid` or `d2` block (a flow
    skill), or a .mmd, .mermaid or .d2 file. What is drawn and does not count is a warning on standard error.

    Examples:
      sould flow check .agents/skills/release/SKILL.md
      sould flow show release
    """


@flow.command()
@_FLOW
def check(flow_: str) -> None:
    """Say what is wrong with a flow: one line each, with line and column. Exit code 1 when something is.

    Example:
      sould flow check .agents/skills/release/SKILL.md
    """
    file, found = _read(flow_)
    steps = found.steps()
    decisions = sum(step.kind == "decision" for step in steps)
    counted = f"{plural(len(steps), 'step')}, {plural(decisions, 'decision')} among them"
    ignored = f", {plural(len(found.warnings), 'construct')} ignored" if found.warnings else ""
    click.echo(visible(f"{file}: {counted}; no problems found{ignored}."))


@flow.command()
@_FLOW
@click.option("--mermaid", is_flag=True, help="Only the normalised Mermaid.")
def show(flow_: str, *, mermaid: bool) -> None:
    """Draw a flow as text, and print it as normalised Mermaid.

    Examples:
      sould flow show pull-request
      sould flow show --mermaid release.d2 > release.mmd
    """
    _, found = _read(flow_)
    if not mermaid:
        click.echo(visible(_draw(found)))
    click.echo(visible(to_mermaid(found)), nl=False)


def _read(named: str) -> tuple[Path, Flow]:
    """The file of a flow, and what it means; what is passed over is said."""
    file = _file(named)
    try:
        found = read_flow(file)
    except FlowError as error:
        for problem in error.problems:
            click.echo(visible(f"{file}:{problem}"), err=True)
        sys.exit(FAILED)
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
    except SouldError as error:
        raise CommandError(error.message) from error
    for warning in found.warnings:
        click.echo(visible(f"{file}:{warning.place.line}:{warning.place.column}: warning: {warning.message}"), err=True)
    return file, found


def _file(named: str) -> Path:
    """A file of that path, the skill in that directory, or the flow of that name."""
    path = Path(named)
    if path.is_dir():
        path = next((each for each in sorted(path.iterdir()) if is_skill_file(each.name)), path)
    if path.exists() and not path.is_dir():
        return path
    config = load(Paths(os.environ), os.environ).config
    roots = skill_roots(Path.cwd(), os.environ, config.extra_skill_dirs, merge=config.merge_all_available_skills)
    found = discover(roots, lambda _: "")  # nothing of it is run, so what waits for trust may be looked at
    name = named.removeprefix("/").removeprefix("flow:")
    skill = found.skills.get(name)
    if skill is None or not skill.flow:
        raise CommandError(_missing(name, found))
    return skill.path


def _missing(name: str, found: FoundSkills) -> str:
    other = found.skills.get(name)
    if other is not None:
        return f"{name} is a skill, not a flow ({other.path}): its front matter lacks `type: flow`. {other.mistake}".strip()
    about = next((said for said in (*found.problems, *found.remarks) if name in said), "")
    flows = [skill.name for skill in found.skills.values() if skill.flow]
    near = difflib.get_close_matches(name, flows, 1)
    known = f"Did you mean {near[0]}?" if near else f"The flows here are {', '.join(flows)}."
    return f"There is no file and no flow {name!r}. {about or known}"


def _draw(flow: Flow) -> str:
    """Every node in the order in which it is reached, its prompt, and where each edge leads."""
    order = [flow.begin, *flow.steps(), *(node for node in flow.nodes.values() if node.kind == "end")]
    numbers = {node.id: number for number, node in enumerate(order)}
    leaving: dict[str, list[Edge]] = {}
    for edge in flow.edges:
        leaving.setdefault(edge.source, []).append(edge)
    lines: list[str] = []
    for number, node in enumerate(order):
        lines += _box(node, number)
        out = leaving.get(node.id, [])
        following = order[number + 1].id if number + 1 < len(order) else ""
        if len(out) == 1 and out[0].target == following:
            lines.append("   │")
            continue
        for index, edge in enumerate(out):
            corner = "└" if index == len(out) - 1 else "├"
            label = f" {' '.join(edge.label.split())} " if edge.label else ""
            target = flow.nodes[edge.target]
            lines.append(f"   {corner}─{label}→ {_name(target, numbers[target.id])}")
        if out:
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _box(node: Node, number: int) -> list[str]:
    if node.kind in ("begin", "end"):
        return [f" {_MARKS[node.kind]} {node.kind.upper()}"]
    wrapped = [line for part in node.label.splitlines() for line in textwrap.wrap(part, _WIDTH) or [""]]
    head, *rest = wrapped or [""]
    return [f" {_MARKS[node.kind]} {number}. {head}", *(f"      {line}" for line in rest)]


def _name(node: Node, number: int) -> str:
    return node.kind.upper() if node.kind in ("begin", "end") else f"{number}. {node.id}"
