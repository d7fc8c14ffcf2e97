"""The labor market of a session: which kinds of subagents there are, and the agents that were ever started.

Fixed kinds come from the spec of whoever starts them, dynamic ones from `CreateSubagent`; those are in the session's
journal, so they survive a restart. Nothing here runs an agent.
"""

import re
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import ValidationError

from sould.agents.base.errors import JournalFullError, SouldError, why_refused
from sould.agents.base.liveconfig import LiveConfig
from sould.agents.base.parsed import Parsed
from sould.agents.base.privatefile import write_private
from sould.agents.journal.log import SessionLog
from sould.agents.soul.catalog import TEMPLATE, AgentCatalog
from sould.agents.soul.hooks.engine import Hooks
from sould.agents.soul.loop import AgentLoop
from sould.agents.soul.model_call import CallIds
from sould.agents.soul.spec import AgentSpec, ToolEntry, builtin_spec
from sould.agents.soul.unfinished import Unfinished
from sould.agents.toolapi.background import BackgroundTasks
from sould.agents.toolapi.base import AgentSource
from sould.agents.toolapi.loading import same_tool
from sould.agents.toolapi.sources import ToolSources
from sould.agents.wire.messages import SubagentCreated

BELOW = ("Agent", "CreateSubagent", "SetTodoList")
"""Tools a subagent has only when its own file lists them (D32)."""
EXTERNAL = "mcp:"
"""Before the name of an MCP tool, or a pattern of names, among the tools of a dynamic kind."""
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_RECORD = "agent.json"


class SubagentError(SouldError):
    """A subagent cannot be started or went wrong; the sentence is for the model that asked for it."""

    kind = "subagent"


class AgentRecord(Parsed):
    """What is kept of a subagent beside its journal, so that it can be resumed."""

    kind: str
    description: str = ""
    model: str = ""
    depth: int = 1
    lineage: tuple[str, ...] = ()


class SubagentStart(Struct, frozen=True):
    """What a subagent is made of."""

    id: str
    record: AgentRecord
    spec: AgentSpec
    source: AgentSource
    goes_on: bool = False
    """It was at work when the last daemon stopped, and waited for an approval."""


class SubagentBuilder(Protocol):
    """How a session makes its subagents."""

    async def open_log(self, directory: Path, *, new: bool) -> SessionLog:
        """The journal in a directory."""
        ...

    async def build(self, start: SubagentStart, log: SessionLog, market: "LaborMarket") -> AgentLoop:
        """A subagent with this journal, over what its session shares.

        Raises:
            SouldError: it cannot be made.
        """
        ...


class LaborMarket(Struct, dict=True):
    """One per session; `log` is the session's own. Injectable."""

    log: SessionLog
    directory: Path
    config: LiveConfig
    catalog: AgentCatalog
    builder: SubagentBuilder
    tasks: BackgroundTasks
    hooks: Hooks
    sources: ToolSources = field(default_factory=ToolSources)
    """The session's, for all its agents."""
    unfinished: Unfinished = field(default_factory=Unfinished)
    """What the last daemon left waiting for approval, and this one goes on with."""
    _taken_up: set[str] = field(default_factory=set[str])
    _working: dict[str, SessionLog | None] = field(default_factory=dict[str, SessionLog | None])
    _above: dict[str, str] = field(default_factory=dict[str, str])
    """For which agent each of those works that have worked since the daemon began."""

    @cached_property
    def call_ids(self) -> CallIds:
        """Of the calls of all agents of the session."""
        return CallIds(self.log)

    @property
    def dynamic(self) -> Mapping[str, SubagentCreated]:
        """The kinds that `CreateSubagent` made."""
        return self.log.context.subagents

    def create(self, made: SubagentCreated, taken: Mapping[str, object]) -> None:
        """A new kind; `taken` are the fixed ones.

        Raises:
            SubagentError: the name cannot be used.
        """
        if not NAME.fullmatch(made.name):
            raise SubagentError(f"{made.name!r} is no name: letters, digits, - and _, beginning with a letter.")
        if made.name in taken:
            raise SubagentError(f"There is a subagent type {made.name} already; choose another name.")
        known = self.dynamic.get(made.name)
        if known is not None and known.creator != made.creator:
            raise SubagentError(f"The subagent type {made.name} was made by another agent; choose another name.")
        self.log.publish(made)

    def spec_of(self, kind: str, fixed: AgentSpec, creator: str) -> AgentSpec:
        """The spec of a kind that an agent with the spec `fixed` may start. `creator`: that agent's id, "" for the main one.

        What an agent that only looks starts only looks, too.

        Raises:
            SubagentError: there is no such kind for it. ConfigError, InvalidToolError: its file is wrong.
        """
        spec = self._spec_of(kind, fixed, creator)
        if not fixed.fields.read_only:
            return spec
        return replace(spec, fields=spec.fields.model_copy(update={"read_only": True}))

    def _spec_of(self, kind: str, fixed: AgentSpec, creator: str) -> AgentSpec:
        entry = fixed.fields.subagents.get(kind)
        if entry is not None:
            return _as_subagent(self._load(entry.path))
        made = {name: made for name, made in self.dynamic.items() if made.creator == creator}
        if kind in made:
            spec = _of_made(made[kind])
            self.catalog.check(spec)
            return spec
        known = ", ".join((*fixed.fields.subagents, *made)) or "none"
        raise SubagentError(f"There is no subagent type {kind!r}; there are: {known}.")

    def _load(self, path: Path) -> AgentSpec:
        return self.catalog.load(self.catalog.at(path))

    def purpose(self, path: Path) -> str:
        """What the file of a kind says it is for; "" when it cannot be used, which is said when one is started."""
        try:
            return self._load(path).fields.when_to_use
        except SouldError:
            return ""

    def go_on_with(self, unfinished: Unfinished) -> None:
        """What the last daemon left waiting for approval; told once, when the session is opened."""
        self.unfinished = unfinished

    def take_up(self, call_id: str) -> str:
        """The subagent that goes on with its work for a call that is run again after a restart, told once; else ""."""
        agent_id = "" if call_id in self._taken_up else self.unfinished.going_on(call_id)
        self._taken_up.add(call_id)
        return agent_id

    def enter(self, agent_id: str, above: str) -> None:
        """The agent works now, for the one `above` it. Raises SubagentError when it does already."""
        if agent_id in self._working:
            raise SubagentError(f"The agent {agent_id} is working already; wait for its result.")
        self._working[agent_id], self._above[agent_id] = None, above

    def at_work(self, agent_id: str) -> str:
        """See `Ancestry`."""
        while agent_id and agent_id not in self._working:
            agent_id = self._above.get(agent_id, "")
        return agent_id

    def opened(self, agent_id: str, log: SessionLog) -> None:
        """The agent that works now has opened its journal."""
        self._working[agent_id] = log

    def freeze(self, agents: Collection[str]) -> None:
        """Nothing more is recorded of these: the next daemon goes on with them (D16)."""
        for agent_id in agents:
            log = self._working.get(agent_id)
            if log is not None:
                log.channel.freeze()

    def leave(self, agent_id: str) -> None:
        """It does not work any more."""
        self._working.pop(agent_id, None)

    def find(self, agent_id: str) -> tuple[Path, AgentRecord]:
        """An agent that was started in this session before; looked up, never joined (D15).

        Raises:
            SubagentError: there is none.
        """
        known = {path.name: path for path in self.directory.iterdir()} if self.directory.is_dir() else {}
        try:
            path = known[agent_id]
            return path, AgentRecord.model_validate_json((path / _RECORD).read_bytes())
        except (KeyError, OSError, ValidationError):
            raise SubagentError(f"There is no agent {agent_id!r} in this session that could be resumed.") from None

    def settle(self, agent_id: str, record: AgentRecord) -> Path:
        """The directory of a new agent, with its record.

        Raises:
            JournalFullError: the disk refuses.
        """
        path = self.directory / agent_id
        try:
            path.mkdir(mode=0o700, parents=True)
            write_private(path / _RECORD, record.model_dump_json().encode())
        except OSError as error:
            raise JournalFullError(f"A new agent cannot be stored in {path}: {why_refused(error)}.") from error
        return path


def can_go_on(agent_id: str) -> str:
    """What a model is told about a subagent whose call was cut off."""
    return f"The subagent {agent_id} remembers what it did: `resume` with that id goes on with it."


def _as_subagent(spec: AgentSpec) -> AgentSpec:
    return spec.without([name for name in BELOW if not any(same_tool(name, path) for path in spec.own_tools)])


def _of_made(made: SubagentCreated) -> AgentSpec:
    template = builtin_spec(TEMPLATE)
    fields = template.fields.model_copy(
        update={
            "name": made.name,
            "when_to_use": made.description,
            "system_prompt_args": {"ROLE_ADDITIONAL": made.system_prompt},
            "tools": tuple(ToolEntry(tool=path) for path in made.tools if not path.startswith(EXTERNAL)),
            "mcp_tools": tuple(path.removeprefix(EXTERNAL) for path in made.tools if path.startswith(EXTERNAL)),
        }
    )
    return replace(template, fields=fields, own_name=made.name, own_tools=made.tools)
