"""`sould agents list|explain`: which agents there are here, and what one of them is made of.

Reads the same files as the daemon and asks nobody; what depends on the editor or the model is said to depend on it.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import click

from sould.agents.config import can_search
from sould.agents.environment import PROVIDER_KEYS, Environment
from sould.agents.errors import SouldError
from sould.agents.soul.catalog import TEMPLATE, AgentCatalog, problem_of
from sould.agents.soul.conditions import Situation
from sould.agents.soul.spec import AgentSpec, ToolChoice
from sould.agents.tools.decorator import InvalidToolError
from sould.agents.tools.loading import find_factory, resolve_alias, same_tool
from sould.agents.wire.messages import SubagentCreated
from sould.agents.wire.records import read_records
from sould.daemon.cli.control import running
from sould.daemon.cli.helptext import Group
from sould.daemon.cli.output import CommandError, table, visible
from sould.daemon.cli.trust import trust_store
from sould.daemon.configuration import load
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
        if file.name == TEMPLATE:
            continue
        problem = problem_of(catalog, file)
        rows.append((file.name, file.origin, f"cannot be used: {visible(problem)}" if problem else str(file.path)))
    click.echo(table(rows))


@agents.command()
@click.argument("name")
@click.option("--model-capability", "model", multiple=True, help="Judge conditions as if the model had it.")
@click.option("--client-capability", "client", multiple=True, help="Judge conditions as if the editor had it.")
def explain(name: str, model: tuple[str, ...], client: tuple[str, ...]) -> None:
    """Say what the agent NAME (or the file at that path) is made of here, and why a tool is not offered.

    Conditions are judged by this directory and environment, the default model, and no editor.

    Examples:
      sould agents explain default
      sould agents explain default --client-capability questions
    """
    catalog = _catalog()
    try:
        spec = catalog.load(catalog.choose(name))
    except SouldError as error:
        raise CommandError(error.message) from error
    click.echo(visible("\n".join(_explained(catalog, spec, _here(frozenset(model), frozenset(client))))))


def _here(model: frozenset[str], client: frozenset[str]) -> Situation:
    """What conditions are judged by: this directory and environment, the default model, and what the options add."""
    variables = dict(os.environ)
    settings = load(Paths(variables), variables).config
    default = settings.models.get(settings.default_model or "")
    return Situation(
        Path.cwd(),
        Environment(variables, provider_keys=PROVIDER_KEYS),
        variables,
        frozenset[str](default.capabilities if default is not None else ()) | model,
        client,
        frozenset({"web_search"} if can_search(settings.services) else ()),
    )


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
    return AgentCatalog(Path(paths.config) / "agents", Path.cwd(), trust_store(paths))


def _explained(catalog: AgentCatalog, spec: AgentSpec, now: Situation) -> Iterator[str]:
    fields = spec.fields
    yield f"{spec.name}: {fields.when_to_use}" if fields.when_to_use else spec.name
    yield f"files: {', '.join(map(str, spec.document.files))}"
    yield f"prompt: {fields.system_prompt_path}"
    if fields.model:
        yield f"model: {fields.model}{_unknown_model(spec)}"
    tools = spec.tools(now)
    yield "tools:"
    for tool in tools:
        yield f"  - {tool.path}{_standing(tool)}"
    if spec.idle():
        yield f"named by allowed_tools or exclude_tools, and none of the tools: {', '.join(map(visible, spec.idle()))}"
    if fields.mcp_tools is None:
        yield "MCP tools: all of the session"
    else:
        yield f"MCP tools: {', '.join(map(visible, fields.mcp_tools)) or 'none'}"
    if fields.subagents and not any(same_tool("Agent", tool.path) and not tool.reason for tool in tools):
        yield f"subagents: none, because it does not have the tool Agent ({', '.join(map(visible, fields.subagents))} are named)"
    elif fields.subagents:
        yield "subagents:"
        for name, entry in fields.subagents.items():
            yield f"  - {name}: {entry.description or _purpose(catalog, entry.path)} ({entry.path})"


def _unknown_model(spec: AgentSpec) -> str:
    """Models that are only found in an editor's environment are not known here."""
    settings = load(Paths(os.environ), os.environ).config
    if spec.fields.model in settings.models:
        return ""
    known = ", ".join(settings.models) or "none"
    return (
        f" -- not in the configuration, which has {known}: the session's model answers ({spec.document.place('model')})"
    )


def _purpose(catalog: AgentCatalog, path: Path) -> str:
    try:
        return catalog.load(catalog.at(path)).fields.when_to_use or "nothing is said of it"
    except SouldError as error:
        return f"cannot be used: {error.message}"


def _standing(tool: ToolChoice) -> str:
    if tool.reason:
        return f" -- not offered: {tool.reason} ({tool.place})"
    try:
        find_factory(resolve_alias(tool.path) or tool.path)
    except InvalidToolError as error:
        return f" -- cannot be used: {error.message} ({tool.place})"
    return f" -- while {tool.condition}" if tool.condition else ""
