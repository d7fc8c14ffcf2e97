"""`sould agents list|explain`: which agents there are here, and what one of them is made of.

Reads the same files as the daemon and asks nobody; what depends on the editor or the model is said to depend on it.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import click

from sould.agents.environment import PROVIDER_KEYS, Environment
from sould.agents.errors import SouldError
from sould.agents.soul.catalog import AgentCatalog, problem_of
from sould.agents.soul.conditions import Situation
from sould.agents.soul.spec import AgentSpec
from sould.agents.wire.messages import SubagentCreated
from sould.agents.wire.records import read_records
from sould.daemon.cli.control import running
from sould.daemon.cli.helptext import Group
from sould.daemon.cli.output import CommandError, table, visible
from sould.daemon.cli.trust import trust_store
from sould.daemon.paths import Paths


@click.group(cls=Group)
def agents() -> None:
    """List the agents of this directory, and explain one.

    An agent is a YAML file: which prompt, which tools, which subagents. Yours are in ~/.config/sould/agents, a
    project's in .sould/agents and .agents (used once you trust the project). docs/agents.md describes the format.

    Examples:
      sould agents list
      sould agents explain default
      sould run --agent default "hello"
    """


@agents.command(name="list")
@click.option("--session", default="", metavar="ID", help="The types of subagents that were made in this session.")
def list_agents(session: str) -> None:
    """List the agents: name, where it is from, and its file.

    Examples:
      sould agents list
      sould agents list --session 01JD
    """
    if session:
        click.echo(table(_made_in(session)))
        return
    catalog = _catalog()
    rows: list[tuple[str, str, str]] = []
    for file in catalog.files().values():
        problem = problem_of(catalog, file)
        rows.append((file.name, file.origin, f"cannot be used: {visible(problem)}" if problem else str(file.path)))
    click.echo(table(rows))


@agents.command()
@click.argument("name")
@click.option("--model-capability", "model", multiple=True, help="Judge conditions as if the model had it.")
@click.option("--client-capability", "client", multiple=True, help="Judge conditions as if the editor had it.")
def explain(name: str, model: tuple[str, ...], client: tuple[str, ...]) -> None:
    """Say what the agent NAME (or the file at that path) is made of here, and why a tool is not offered.

    Example:
      sould agents explain default
    """
    catalog = _catalog()
    try:
        spec = catalog.load(catalog.find(name))
    except SouldError as error:
        raise CommandError(error.message) from error
    variables = dict(os.environ)
    environment = Environment(variables, provider_keys=PROVIDER_KEYS)
    now = Situation(Path.cwd(), environment, variables, frozenset(model), frozenset(client))
    click.echo("\n".join(_explained(spec, now)))


def _made_in(session: str) -> list[tuple[str, str, str]]:
    with running() as daemon:
        journal = Path(daemon.sessions_show(session).directory) / "wire.jsonl"
    made = (record.message for record in read_records(journal))
    kinds = {message.name: message for message in made if isinstance(message, SubagentCreated)}
    if not kinds:
        raise CommandError(f"No types of subagents were made in session {session}.")
    return [
        (visible(kind.name), "session", f"{visible(kind.description)} ({', '.join(map(visible, kind.tools))})")
        for kind in kinds.values()
    ]


def _catalog() -> AgentCatalog:
    paths = Paths(os.environ)
    accepted = Path(paths.state) / "agents.json"
    return AgentCatalog(Path(paths.config) / "agents", Path.cwd(), trust_store(paths), accepted)


def _explained(spec: AgentSpec, now: Situation) -> Iterator[str]:
    fields = spec.fields
    yield f"{spec.name}: {fields.when_to_use}" if fields.when_to_use else spec.name
    yield f"files: {', '.join(map(str, spec.document.files))}"
    yield f"prompt: {fields.system_prompt_path}"
    if fields.model:
        yield f"model: {fields.model}"
    yield "tools:"
    for tool in spec.tools(now):
        yield f"  - {tool.path}" + (f" -- not offered: {tool.reason} ({tool.place})" if tool.reason else "")
    if fields.subagents:
        yield "subagents:"
        for name, entry in fields.subagents.items():
            yield f"  - {name}: {entry.description or entry.path}"
