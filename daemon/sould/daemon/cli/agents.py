"""`sould agents list|explain`: which agents there are here, and what one of them is made of.

Reads the same files as the daemon and asks nobody; what depends on the editor or the model is said to depend on it.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

import sould.agents.tools as api
from sould.agents.base.config import can_search
from sould.agents.base.environment import Environment
from sould.agents.base.errors import SouldError
from sould.agents.journal.records import read_records
from sould.agents.llm.registry import KEY_VARIABLES
from sould.agents.soul.catalog import TEMPLATE, AgentCatalog, AgentFile
from sould.agents.soul.spec import AgentSpec, SubagentEntry, ToolChoice
from sould.agents.soul.tool_conditions import Situation
from sould.agents.toolapi.decorator import SERVICES, InvalidToolError
from sould.agents.toolapi.loading import same_tool
from sould.agents.toolapi.toolset import check_tool
from sould.agents.wire.messages import SubagentCreated
from sould.daemon.cli.output import CommandError, CommandGroup, plural, table, visible
from sould.daemon.cli.running import DaemonError, NotRunningError, RunningDaemon, running
from sould.daemon.cli.trust import trust_store
from sould.daemon.configuration.configuration import load
from sould.daemon.methods import ListSessions, ShowSession
from sould.daemon.paths import Paths

_LATEST = 10
"""Sessions that are looked through."""


@click.group(cls=CommandGroup)
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
@click.option("--session", default="", metavar="ID", help="The subagent types created in this session.")
def list_agents(session: str) -> None:
    """List the agents: name, where it is from, and its file, or why it cannot be used here.

    The types of subagents that were made in the latest sessions of this directory follow, while a daemon runs.

    Examples:
      sould agents list
      sould agents list --session 01JD
    """
    if session:
        click.echo(table(_made_in(session)))
        return
    catalog, now = _catalog(), _here(frozenset(), frozenset())
    rows: list[tuple[str, str, str]] = []
    for file in catalog.files().values():
        if file.name != TEMPLATE:
            problem = _problem(catalog, file, now)
            rows.append((file.name, file.origin, f"cannot be used: {visible(problem)}" if problem else str(file.path)))
    click.echo(table([*rows, *_made_here()]))


def _problem(catalog: AgentCatalog, file: AgentFile, now: Situation) -> str:
    """Why an agent cannot be used here; "" when it can."""
    try:
        found = _tool_problems(catalog.load(file), now)
    except SouldError as error:
        return error.message
    return next((f"{problem} ({tool.place})" for tool, problem in found.items()), "")


def _made_here() -> list[tuple[str, str, str]]:
    """The types of subagents that were made in the latest sessions of this directory, if a daemon runs."""
    try:
        with RunningDaemon.connect() as daemon:
            here = [row.id for row in daemon.ask(ListSessions(str(Path.cwd()), limit=_LATEST)).sessions]
            journals = {session: Path(daemon.ask(ShowSession(session)).directory) / "wire.jsonl" for session in here}
    except (NotRunningError, DaemonError):
        return []
    return [
        (name, f"session {session}", words) for session, journal in journals.items() for name, words in _made(journal)
    ]


@agents.command()
@click.argument("name")
@click.option("--model-capability", "model", multiple=True, help="Judge conditions as if the model had it.")
@click.option("--client-capability", "client", multiple=True, help="Judge conditions as if the editor had it.")
def explain(name: str, model: tuple[str, ...], client: tuple[str, ...]) -> None:
    """Say what the agent NAME (or the file at that path) is made of here, and why a tool is not offered.

    It ends with exit code 1 when a tool cannot be loaded, because the agent cannot be used then.

    Conditions are judged by this directory and environment, the default model, and no editor.

    Examples:
      sould agents explain default
      sould agents explain default --client-capability questions
    """
    catalog, now = _catalog(), _here(frozenset(model), frozenset(client))
    try:
        spec = catalog.load(catalog.choose(name))
    except SouldError as error:
        raise CommandError(error.message) from error
    problems = _tool_problems(spec, now)
    click.echo(visible("\n".join(_explained(catalog, spec, now, problems))))
    if problems:
        raise CommandError(f"{spec.name} cannot be used: {plural(len(problems), 'tool')} of it cannot be loaded.")


def _here(model: frozenset[str], client: frozenset[str]) -> Situation:
    """What conditions are judged by: this directory and environment, the default model, and what the options add."""
    variables = dict(os.environ)
    settings = load(Paths(variables), variables).config
    default = settings.models.get(settings.default_model or "")
    return Situation(
        Path.cwd(),
        Environment(variables, provider_keys=KEY_VARIABLES),
        variables,
        frozenset[str](default.capabilities if default is not None else ()) | model,
        client,
        frozenset({"web_search"} if can_search(settings.services) else ()),
    )


def _made_in(session: str) -> list[tuple[str, str, str]]:
    with running() as daemon:
        journal = Path(daemon.ask(ShowSession(session)).directory) / "wire.jsonl"
    rows = [(name, "session", words) for name, words in _made(journal)]
    if not rows:
        raise CommandError(f"No subagent types were created in session {session}.")
    return rows


def _made(journal: Path) -> Iterator[tuple[str, str]]:
    """Name and description of each type that was made."""
    try:
        if SubagentCreated.__name__.encode() not in journal.read_bytes():
            return  # most sessions made none, and parsing a journal takes a hundred times as long
    except OSError:
        return
    made = (record.message for record in read_records(journal))
    for kind in {message.name: message for message in made if isinstance(message, SubagentCreated)}.values():
        yield visible(kind.name), f"{visible(kind.description)} ({', '.join(map(visible, kind.tools))})"


def _catalog() -> AgentCatalog:
    paths = Paths(os.environ)
    return AgentCatalog(Path(paths.config) / "agents", Path.cwd(), trust_store(paths))


def _explained(
    catalog: AgentCatalog, spec: AgentSpec, now: Situation, problems: Mapping[ToolChoice, str]
) -> Iterator[str]:
    fields = spec.fields
    yield f"{spec.name}: {fields.when_to_use}" if fields.when_to_use else spec.name
    yield f"files: {', '.join(map(str, spec.document.files))}"
    yield f"prompt: {fields.system_prompt_path}"
    if fields.model:
        yield f"model: {fields.model}{_unknown_model(spec)}"
    tools = spec.tools(now)
    yield "tools:"
    for tool in tools:
        yield f"  - {tool.path}{_standing(tool, problems.get(tool, ''))}"
    if spec.idle():
        yield f"in allowed_tools or exclude_tools, but not a tool: {', '.join(map(visible, spec.idle()))}"
    if fields.mcp_tools is None:
        yield "MCP tools: all of the session"
    else:
        yield f"MCP tools: {', '.join(map(visible, fields.mcp_tools)) or 'none'}"
    if fields.subagents and not any(same_tool("Agent", tool.path) and not tool.reason for tool in tools):
        yield f"subagents: none, because it does not have the tool Agent ({', '.join(map(visible, fields.subagents))} are named)"
    elif fields.subagents:
        yield "subagents:"
        for name, entry in fields.subagents.items():
            yield f"  - {name}: {_subagent(catalog, entry, now)} ({entry.path})"


def _unknown_model(spec: AgentSpec) -> str:
    """Models that are only found in an editor's environment are not known here."""
    settings = load(Paths(os.environ), os.environ).config
    if spec.fields.model in settings.models:
        return ""
    known = ", ".join(settings.models) or "none"
    return (
        f" -- not in the configuration, which has {known}: the session's model answers ({spec.document.place('model')})"
    )


def _subagent(catalog: AgentCatalog, entry: SubagentEntry, now: Situation) -> str:
    """What it is for, or why it cannot be started."""
    file = catalog.at(entry.path)
    problem = _problem(catalog, file, now)
    if problem:
        return f"cannot be used: {problem}"
    return entry.description or catalog.load(file).fields.when_to_use or "no description"


def _standing(tool: ToolChoice, problem: str) -> str:
    if tool.reason:
        return f" -- not offered: {tool.reason} ({tool.place})"
    if problem:
        return f" -- cannot be used: {problem} ({tool.place})"
    return f" -- when {tool.condition}" if tool.condition else ""


def _tool_problems(spec: AgentSpec, now: Situation) -> Mapping[ToolChoice, str]:
    """Why tools that are offered now cannot be loaded, for each of them; nothing is made of them.

    Imports the modules that the tools are in, as a session would; whoever calls has seen to it that they are trusted.
    """
    services: dict[Any, object] = {getattr(api, name): None for name in SERVICES.split(", ")}
    names: dict[str, str] = {}
    problems: dict[ToolChoice, str] = {}
    for choice in spec.tools(now):
        try:
            if not choice.reason:
                check_tool(choice.path, services, names)
        except InvalidToolError as error:
            problems[choice] = error.message
    return problems
