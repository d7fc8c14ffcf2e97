"""Our own agent as the soul of a session: it follows an agent file, with tools and with subagents."""

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from sould.agents.sessions.children import FOLDER, SessionSubagents
from sould.agents.sessions.loop_builder import build_loop
from sould.agents.sessions.retiredtools import RetiredTools
from sould.agents.sessions.settings.agents import DEFAULT, AgentOption, SessionAgent, first_spec, use_model
from sould.agents.sessions.settings.modeloptions import model_options
from sould.agents.sessions.soulfactory import SoulBasis
from sould.agents.sessions.turns.recovery import take_up, take_up_task
from sould.agents.soul.catalog import AgentCatalog
from sould.agents.soul.compaction.compactor import Compactor
from sould.agents.soul.loop import AgentLoop, Ending
from sould.agents.soul.model_call import ModelCaller
from sould.agents.soul.reminders import TaskReminder
from sould.agents.soul.skills.renewal import renew_skills
from sould.agents.soul.soul import OpenWork, Resumed
from sould.agents.soul.subagents.crew import Crew
from sould.agents.soul.subagents.market import LaborMarket
from sould.agents.soul.turn import Turn
from sould.agents.soul.unfinished import Unfinished
from sould.agents.toolapi.toolset import Toolset
from sould.agents.wire.content import UserInput


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

    def steer(self, user_input: UserInput) -> None:
        """See `Soul`: delivered before the next step."""
        self.steps.steering.append(user_input)

    def undelivered(self) -> Sequence[UserInput]:
        """See `Soul`."""
        given = tuple(self.steps.steering)
        self.steps.steering.clear()
        return given

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


async def make_own_soul(basis: SoulBasis) -> OwnSoul:
    """A `SoulFactory`. The agent's model is the one its file names, where the user chose none."""
    services, log, state = basis.services, basis.log, basis.state
    models, opening = services.model.models, services.workplace.opening
    folder = services.host.configuration.directory / "agents"
    catalog = AgentCatalog(folder, opening.cwd, services.host.policy.trust, state.agent_files)
    name, spec, problem = await asyncio.to_thread(first_spec, catalog, state.agent or DEFAULT)
    if not (opening.model or state.model):
        await use_model(models, spec)
    crew = Crew(_market(basis, catalog), log, spec, services.mailbox.connect("", log))
    extensions = (TaskReminder(basis.work.tasks), *basis.extensions)
    steps = build_loop(services, spec, log, basis.work.todos, crew, extensions, services.permission.presence)
    toolset = steps.tools.toolset
    agent = SessionAgent(catalog, log, toolset, spec, name, services.workplace, models, crew, problem)
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
