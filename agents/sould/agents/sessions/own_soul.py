"""Our own agent as the soul of a session: read from an agent file, with its tools and its subagents."""

import asyncio

from sould.agents.journal.log import SessionLog
from sould.agents.sessions.children import FOLDER, SessionSubagents
from sould.agents.sessions.services import HostServices, SessionServices
from sould.agents.sessions.settings.agents import DEFAULT, SessionAgent, first_spec, use_model
from sould.agents.sessions.settings.state import SessionState
from sould.agents.sessions.souls import build_soul
from sould.agents.soul.catalog import AgentCatalog
from sould.agents.soul.loop import StepExtension
from sould.agents.soul.reminders import TaskReminder
from sould.agents.soul.session_request import SessionRequest
from sould.agents.soul.subagents.crew import Crew
from sould.agents.soul.subagents.market import LaborMarket
from sould.agents.toolapi.background import BackgroundTasks, IdleListener
from sould.agents.tools.todo import TodoList


async def make_agent(
    services: SessionServices,
    log: SessionLog,
    state: SessionState,
    todos: TodoList,
    extensions: tuple[StepExtension, ...],
    listener: IdleListener,
) -> SessionAgent:
    """The session's agent, with its model where the user chose none."""
    models, opening = services.model.models, services.workplace.opening
    agents = _catalog(services.host, opening, state)
    name, spec, problem = await asyncio.to_thread(first_spec, agents, state.agent or DEFAULT)
    if not (opening.model or state.model):
        await use_model(models, spec)
    market = make_market(
        services, log, agents, BackgroundTasks(log, services.directory, services.host.configuration.live, listener)
    )
    crew = Crew(market, log, spec, services.mailbox.connect("", log))
    extensions = (TaskReminder(market.tasks), *extensions)
    soul = build_soul(services, spec, log, todos, crew, extensions, services.permission.presence)
    return SessionAgent(agents, soul, spec, name, services.workplace, models, crew, problem)


def make_market(
    services: SessionServices, log: SessionLog, catalog: AgentCatalog, tasks: BackgroundTasks
) -> LaborMarket:
    """The subagents of the session."""
    return LaborMarket(
        log=log,
        directory=services.directory / FOLDER,
        config=services.host.configuration.live,
        catalog=catalog,
        builder=SessionSubagents(services),
        tasks=tasks,
        hooks=services.hooks,
        sources=services.sources,
    )


def _catalog(host: HostServices, opening: SessionRequest, state: SessionState) -> AgentCatalog:
    folder = host.configuration.directory / "agents"
    return AgentCatalog(folder, opening.cwd, host.policy.trust, state.agent_files)
