"""Our own agent as the soul of a session: it follows an agent file, with tools and with subagents."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from sould.agents.journal.log import SessionLog
from sould.agents.llm.costs import Costs
from sould.agents.llm.requests import not_taken
from sould.agents.sessions.loop_builder import build_loop
from sould.agents.sessions.services import HostServices, SessionServices
from sould.agents.sessions.settings.agents import (
    DEFAULT,
    AgentOption,
    SessionAgent,
    first_spec,
    missing_model,
    offered_model,
    use_model,
)
from sould.agents.sessions.settings.models import model_options
from sould.agents.sessions.soulfactory import SoulBasis
from sould.agents.sessions.told_once import RetiredTools
from sould.agents.sessions.turns.recovery import close_open_work, take_up, take_up_task
from sould.agents.soul.catalog import AgentCatalog
from sould.agents.soul.compaction.compactor import Compactor
from sould.agents.soul.loop import AgentLoop, Ending
from sould.agents.soul.model_call import ModelCaller
from sould.agents.soul.reminders import TaskReminder
from sould.agents.soul.session_request import SessionRequest
from sould.agents.soul.skills.catalog import renew_skills
from sould.agents.soul.soul import OpenWork, Resumed
from sould.agents.soul.subagents.crew import Crew
from sould.agents.soul.subagents.market import LaborMarket, SubagentStart
from sould.agents.soul.turn import Turn
from sould.agents.soul.unfinished import Unfinished
from sould.agents.toolapi.toolset import Toolset
from sould.agents.tools.todo import TodoList
from sould.agents.wire.content import UserInput
from sould.agents.wire.messages import GivenPrompt, Notification
from sould.agents.wire.notice import notice

FOLDER = "subagents"
"""Below the session's directory, where the store does not look for sessions."""


class SessionSubagents(Struct, frozen=True):
    """Builds the subagents of one session. A `SubagentBuilder`."""

    services: SessionServices
    _told: set[str] = field(default_factory=set[str])
    """Of which models that are not there."""

    async def open_log(self, directory: Path, *, new: bool) -> SessionLog:
        """See `SubagentBuilder`."""
        writer, cwd = self.services.host.storage.writer, self.services.workplace.opening.cwd
        if new:
            return await SessionLog.create(directory, writer, session_id=directory.name, cwd=cwd)
        return await SessionLog.open(directory, writer)

    async def build(self, start: SubagentStart, log: SessionLog, market: LaborMarket) -> AgentLoop:
        """See `SubagentBuilder`."""
        record, model = start.record, self.services.model
        wanted = record.model or offered_model(model.models, start.spec)
        missing = "" if wanted else missing_model(model.models, start.spec)
        if missing and missing not in self._told:
            self._told.add(missing)
            market.log.publish(_notice(missing))
        models = await model.models.other(wanted) if wanted else model.models
        phone = self.services.mailbox.connect(start.id, log)
        crew = Crew(market, log, start.spec, phone, record.depth, record.lineage)
        own = replace(self.services, model=replace(model, models=models, costs=Costs(above=model.costs)))
        loop = build_loop(own, start.spec, log, TodoList(), crew)
        _recover(start, log, loop, market.unfinished)
        return loop


def _notice(missing: str) -> Notification:
    title = "A subagent's file names a model that is not configured"
    return notice("agent", title, missing)


def _recover(start: SubagentStart, log: SessionLog, loop: AgentLoop, left: Unfinished) -> None:
    """A subagent that waited for an approval goes on with its turn; whatever else it left open is closed."""
    found = log.recovery
    if start.goes_on and found.open_turn is not None and any(call.id in left.calls for call in found.open_calls):
        take_up(log, loop, found, left)
    elif not found.clean:
        close_open_work(log, found)


class OwnSoul(Struct, frozen=True):
    """The main agent and those it starts. A `Soul` with every part."""

    agent: SessionAgent
    steps: AgentLoop
    model: ModelCaller
    compactor: Compactor
    toolset: Toolset
    retired: RetiredTools

    async def prepare(self, *, resumes: bool, unchanged: bool) -> None:
        """See `Soul`: its agent file and its skills may be others, also those a command then shows."""
        if unchanged and self.agent.unchanged:
            return
        await self.agent.refresh()
        await self.retired.tell(self.agent.spec)
        if not resumes:
            await renew_skills(self.agent.workplace.skills, self.steps.log, self.agent.lists)

    async def turn(self, turn: Turn) -> Ending:
        """See `Soul`."""
        return await self.steps.turn(turn)

    def not_taken(self, user_input: UserInput) -> str:
        """See `Soul`: what its model is not able to."""
        info = self.agent.models.info
        media = not_taken(user_input, info)
        return f"{info.model} takes no {media}" if media else ""

    def steer(self, user_input: UserInput) -> None:
        """See `Soul`: delivered before the next step."""
        self.steps.steering.append(user_input)

    def undelivered(self) -> Sequence[UserInput]:
        """See `Soul`."""
        given = tuple(self.steps.steering)
        self.steps.steering.clear()
        return given

    def instruct(self, given: GivenPrompt | None) -> None:
        """See `Soul`."""
        self.agent.instruct(given)

    def tell_anew(self) -> None:
        """See `Soul`."""
        self.agent.tell_anew()

    def resume(self, work: OpenWork) -> Resumed:
        """See `Soul`: a turn or a subagent in the background goes on where something of it waits for a person (D16)."""
        log, crew, found = self.steps.log, self.agent.crew, work.found
        crew.market.go_on_with(work.left)
        tasks = {call_id for call_id in work.left.requests if take_up_task(log, crew, work.expire, call_id)}
        if found.open_turn is None or not any(call.id in work.left.calls for call in found.open_calls):
            return Resumed(tasks)
        return Resumed(tasks, turn=True, cut_off=take_up(log, self.steps, found, work.left, work.lost))

    def leave(self, waiting: Unfinished) -> None:
        """See `Soul`."""
        self.agent.crew.market.freeze(waiting.agents)

    async def close(self) -> None:
        """See `Soul`: all it stands on is the session's, which ends it."""


class OwnSouls(Struct, frozen=True):
    """A `SoulFactory`."""

    async def require_model(self, services: HostServices, opening: SessionRequest) -> None:
        """See `SoulFactory`: some model is configured or found, with its key."""
        await services.models.providers.get(None, opening.environment)

    async def make(self, basis: SoulBasis) -> OwnSoul:
        """See `SoulFactory`: the agent's model is the one its file names, where the user chose none."""
        return await _make(basis)


async def _make(basis: SoulBasis) -> OwnSoul:
    services, log, state = basis.services, basis.log, basis.state
    models, opening = services.model.models, services.workplace.opening
    folder = services.host.configuration.directory / "agents"
    catalog = AgentCatalog(folder, opening.cwd, services.host.policy.trust, state.agent_files)
    name, spec, problem = await first_spec(catalog, state.agent or DEFAULT)
    if not (opening.model or state.model):
        await use_model(models, spec)
    crew = Crew(_market(basis, catalog), log, spec, services.mailbox.connect("", log))
    extensions = (TaskReminder(basis.work.tasks), *basis.extensions)
    presence, given = services.permission.presence, opening.system_prompt
    steps = build_loop(services, spec, log, basis.work.todos, crew, extensions, presence, given)
    toolset = steps.tools.toolset
    agent = SessionAgent(catalog, log, toolset, spec, name, services.workplace, models, crew, problem)
    agent.instruct(given)
    basis.options.offer(*model_options(models, state), AgentOption(agent, models, state))
    return OwnSoul(agent, steps, steps.model, steps.compactor, toolset, RetiredTools(services, log))


def _market(basis: SoulBasis, catalog: AgentCatalog) -> LaborMarket:
    """The subagents of the session."""
    services = basis.services
    return LaborMarket(
        log=basis.log,
        directory=services.directory / FOLDER,
        config=services.host.configuration.live,
        catalog=catalog,
        builder=SessionSubagents(services),
        tasks=basis.work.tasks,
        hooks=services.hooks,
        sources=services.sources,
    )
