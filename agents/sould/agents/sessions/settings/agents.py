"""Which agent a session is: chosen by the user, read from its spec, and taken up anew at the next turn when it changed.

A spec that cannot be used leaves the session as it was, and says so once.
"""

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct, field

from sould.agents.base.errors import OptionError, SouldError
from sould.agents.base.importing import load_here
from sould.agents.journal.log import SessionLog
from sould.agents.sessions.settings.models import SessionModels
from sould.agents.sessions.settings.options import OptionChoice, SessionOption
from sould.agents.sessions.settings.state import SessionState
from sould.agents.sessions.settings.workspace_info import Workplace
from sould.agents.soul.catalog import SUBAGENTS, AgentCatalog, AgentFile
from sould.agents.soul.spec import BUILTIN, AgentSpec, builtin_path, builtin_spec, load_spec, ships
from sould.agents.soul.specfile import digests, stamps
from sould.agents.soul.subagents.crew import Crew
from sould.agents.soul.tool_conditions import Situation
from sould.agents.toolapi.toolset import Toolset
from sould.agents.wire.messages import GivenPrompt, SystemPrompt
from sould.agents.wire.notice import notice

DEFAULT = "default"
_ABOUT = {
    DEFAULT: "Reads, changes and runs what is in your project; the one for most work.",
    "okabe": "As the default agent, and it can send messages to its own past to spare itself a detour.",
}
"""The builtin agents that people choose: their files are not read for a list of them."""


class SessionAgent(Struct):
    """The agent of one session. `problem`: why it is not the one that was chosen; people are told at the next turn."""

    catalog: AgentCatalog
    log: SessionLog
    toolset: Toolset
    spec: AgentSpec
    name: str
    workplace: Workplace
    models: SessionModels
    crew: Crew
    problem: str = ""
    _next: AgentSpec | None = None
    _made_of: Mapping[Path, str] = field(default_factory=dict[Path, str])
    """The agent's files by content, those that ship with sould by what the disk says."""
    _stamps: tuple[object, ...] = ()
    """The files of `spec` as they were when it was read: most turns look no further."""
    _fallen_back: bool = False
    """The chosen agent is a project's that is not trusted any more."""
    _told: set[str] = field(default_factory=set[str])
    _missed: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        stale = self.log.context.prompt_made_of != self.spec.made_of  # it changed while the session was closed
        self._made_of = {} if stale else _made_of(self.spec)
        if self.spec.ships and not stale:  # others may have been written since they were read: the first turn looks
            self._stamps = stamps(self.spec.files)

    def choose(self, name: str) -> AgentSpec:
        """Be another agent from the next turn on; `name` may be the path of an agent file.

        Raises:
            OptionError: there is none, or it cannot be used.
        """
        try:
            spec = self.catalog.load(self.catalog.choose(name))
            paths, places = self._offered(spec)
            self.toolset.rebuild(paths, places, patterns=spec.fields.mcp_tools)
        except SouldError as error:
            raise OptionError(error.message) from error
        self._next = spec
        self.name = name
        return spec

    def read_ahead(self, name: str, *, chosen: bool = False) -> None:
        """Parse the agent's files, so that `choose` and `refresh` find them parsed. `chosen`: by the user's own word. Blocks."""
        with contextlib.suppress(SouldError):  # which `choose` and `refresh` say
            file = self.catalog.choose(name) if chosen else self.catalog.find(name)
            self.catalog.read_ahead(self.catalog.load(file))

    @property
    def unchanged(self) -> bool:
        """`refresh` would find nothing to do, if the configuration, the model and the user's trust are as they were."""
        waiting = self._next is not None or self._fallen_back or self.problem
        return not waiting and not self.spec.looks_around and stamps(self.spec.files) == self._stamps

    async def refresh(self) -> None:
        """At the beginning of a turn: take up what was chosen, what changed on disk, and what conditions now allow."""
        if self.problem:
            self._tell("The chosen agent cannot be used; the default agent is used instead", self.problem)
            self.problem = ""
        if not self.spec.ships or self._is_due():
            await asyncio.to_thread(self.read_ahead, self.name)
        self._take_up()
        missing = missing_model(self.models, self.spec)
        if missing and missing not in self._missed:
            self._missed.add(missing)
            self._tell("The agent names a model that is not configured", missing)

    def _take_up(self) -> None:
        if not self._is_due():
            return
        try:
            self._become(self._next or self.catalog.load(self.catalog.find(self.name)))
            self._fallen_back = False
        except SouldError as error:
            if self.catalog.withdrawn(self.spec):
                self._become(self.catalog.load(self.catalog.find(DEFAULT)))
                self._fallen_back = True
                self._tell(
                    "You no longer trust this project; the default agent is used instead of its own", error.message
                )
            else:
                self._tell("This agent cannot be reloaded; the session keeps the version it has", error.message)

    def _is_due(self) -> bool:
        return (
            self._next is not None
            or self._fallen_back
            or stamps(self.spec.files) != self._stamps
            or self._offered(self.spec)[0] != self.toolset.loaded_from
            or self.catalog.withdrawn(self.spec)
        )

    def _become(self, spec: AgentSpec) -> None:
        files, (paths, places) = _made_of(spec), self._offered(spec)
        self._stamps = stamps(spec.files)
        if files == self._made_of and paths == self.toolset.loaded_from:
            self._next = None
            return
        tools = self.toolset.rebuild(paths, places, patterns=spec.fields.mcp_tools)
        prompt = self._prompt(spec) if files != self._made_of else None
        self.crew.work_by(spec)
        self.toolset.replace_with(tools)
        if prompt is not None:
            self.log.publish(prompt)
            if self._next is None and spec.document.path == self.spec.document.path:
                changed = ", ".join(str(path) for path in self._changed(files))
                self._tell(f"The agent {spec.name} has changed", f"Reloaded, because these changed: {changed}.")
        self.spec, self._next, self._made_of = spec, None, files

    def _changed(self, now: Mapping[Path, str]) -> Iterator[Path]:
        before = self._made_of
        return (path for path in now if before.get(path) != now[path] and (before or not path.is_relative_to(BUILTIN)))

    def tell_anew(self) -> None:
        """What the prompt says of the session is not true any more: render it once more."""
        self.log.publish(self._prompt(self.spec))

    def instruct(self, given: GivenPrompt | None) -> None:
        """See `Soul`. What is known already is not said again: the prompt stays as it is, byte by byte."""
        if given not in (None, self.log.context.prompt_given):
            self.log.publish(self.workplace.system_prompt(self.spec, given))

    def lists(self, text: str) -> bool:
        """Whether the agent's prompt would hold this text, were it rendered now."""
        try:
            return text in self._prompt(self.spec).text
        except (SouldError, OSError):
            return False

    def _prompt(self, spec: AgentSpec) -> SystemPrompt:
        return self.workplace.system_prompt(spec, self.log.context.prompt_given)

    def _offered(self, spec: AgentSpec) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return offered_paths(spec, self.workplace.situation(self.models.info))

    def _tell(self, title: str, body: str) -> None:
        if body in self._told:
            return
        self._told = {body}
        self.log.publish(notice("agent", title, body))


class AgentOption:
    """The `agent` option of one session: a name, or the path of an agent's file."""

    def __init__(self, agent: SessionAgent, models: SessionModels, state: SessionState) -> None:
        self._agent = agent
        self._models = models
        self._state = state

    def option(self) -> SessionOption:
        """See `OptionSource`."""
        choices = [_choice(file) for name, file in self._agent.catalog.files().items() if name not in SUBAGENTS]
        if self._agent.name not in {choice.value for choice in choices}:
            choices.append(OptionChoice(self._agent.name, _named(self._agent.spec.name)))
        description = "The agent of this session, from the next turn on."
        return SessionOption("agent", "Agent", "_agent", description, self._agent.name, tuple(choices), takes_any=True)

    async def choose(self, value: str, client_id: str) -> None:
        """See `OptionSource`. The agent comes with the model that its spec names."""
        await asyncio.to_thread(self._agent.read_ahead, value, chosen=True)
        await use_model(self._models, self._agent.choose(value))
        self._state.choose_agent(value, self._agent.catalog.chosen)


async def first_spec(catalog: AgentCatalog, name: str) -> tuple[str, AgentSpec, str]:
    """The agent a session begins or goes on with, and why it is not the one that was chosen ("": it is)."""
    if name == DEFAULT and (file := catalog.find(name)).origin == "builtin":  # most are, and `load_default` has read it
        return name, catalog.load(file), ""
    return await asyncio.to_thread(_first_spec, catalog, name)


def _first_spec(catalog: AgentCatalog, name: str) -> tuple[str, AgentSpec, str]:
    try:
        spec = catalog.load(catalog.find(name))
    except SouldError as error:
        if name == DEFAULT:
            raise
        return DEFAULT, catalog.load(catalog.find(DEFAULT)), error.message
    if spec.document.path != builtin_path(DEFAULT):  # what that one starts was read by `load_default`
        catalog.read_ahead(spec)
    return name, spec, ""


def load_default() -> None:
    """Read the agent that most sessions have with those it starts, and import its tools: the first session waits for neither."""
    spec = builtin_spec(DEFAULT)
    for entry in spec.fields.subagents.values():
        load_spec(entry.path)
    offered = (tool.path for tool in spec.tools() if not tool.reason and not tool.condition)
    load_here(*(path.rpartition(":")[0] for path in offered))


async def use_model(models: SessionModels, spec: AgentSpec) -> None:
    """Let the agent have the model its spec names, where this session offers it."""
    wanted = offered_model(models, spec)
    if wanted:
        await models.prefer(wanted)


def missing_model(models: SessionModels, spec: AgentSpec) -> str:
    """That another model answers than the one a spec names, and where that is named; "" when none is named, or no model can be used."""
    if not spec.fields.model or not models.available or offered_model(models, spec):
        return ""
    known = ", ".join(info.key for info in models.available)
    said = f"there is no model {spec.fields.model!r} in this session, so its own answers; there are {known}."
    return spec.document.error(said, "model").message


def offered_model(models: SessionModels, spec: AgentSpec) -> str:
    """The model that a spec names; "" when it names none or this session does not offer it."""
    wanted = spec.fields.model
    return wanted if wanted in {info.key for info in models.available} else ""


def _made_of(spec: AgentSpec) -> Mapping[Path, str]:
    return {path: str(stamps((path,))) if ships(path) else digests((path,))[path] for path in spec.files}


def offered_paths(spec: AgentSpec, situation: Situation) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The paths of the tools that are offered, and where each was written."""
    offered = [tool for tool in spec.tools(situation) if not tool.reason]
    return tuple(tool.path for tool in offered), tuple(tool.place for tool in offered)


def _choice(file: AgentFile) -> OptionChoice:
    return OptionChoice(
        file.name, _named(file.name), _ABOUT.get(file.name, "") if file.origin == "builtin" else f"From {file.path}"
    )


def _named(name: str) -> str:
    return "Default agent" if name == DEFAULT else f"Agent {name}"
