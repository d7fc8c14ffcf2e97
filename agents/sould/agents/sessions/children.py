"""Subagents of a session: how their journals are opened and their souls are built over what the session shares."""

from dataclasses import replace
from pathlib import Path

from sould.agents.sessionlog.log import SessionLog
from sould.agents.sessions.shared import Shared
from sould.agents.sessions.souls import build_soul
from sould.agents.settings.agents import missing_model, offered_model
from sould.agents.soul.catalog import AgentCatalog
from sould.agents.soul.loop import Soul
from sould.agents.soul.subagents.crew import Crew
from sould.agents.soul.subagents.market import LaborMarket, SubagentStart
from sould.agents.soul.subagents.unfinished import Unfinished
from sould.agents.toolapi.background import BackgroundTasks
from sould.agents.tools.todo import TodoList
from sould.agents.turns.recovery import close_open_work, take_up
from sould.agents.wire.messages import Notification
from sould.agents.wire.notice import notice

FOLDER = "subagents"
"""Below the session's directory, where the store does not look for sessions."""


def labor_market(
    shared: Shared,
    log: SessionLog,
    catalog: AgentCatalog,
) -> LaborMarket:
    """The market of a session."""
    told: set[str] = set()

    async def open_log(directory: Path, new: bool) -> SessionLog:
        writer = shared.services.writer
        if new:
            return await SessionLog.create(directory, writer, session_id=directory.name, cwd=shared.opening.cwd)
        return await SessionLog.open(directory, writer)

    async def build(birth: SubagentStart, log: SessionLog) -> Soul:
        record = birth.record
        wanted = record.model or offered_model(shared.models, birth.spec)
        missing = "" if wanted else missing_model(shared.models, birth.spec)
        if missing and missing not in told:
            told.add(missing)
            market.log.publish(_notice(missing))
        models = await shared.models.other(wanted) if wanted else shared.models
        crew = Crew(market, log, birth.spec, birth.id, record.depth, record.lineage)
        soul = build_soul(replace(shared, models=models), birth.spec, log, TodoList(), crew)
        soul.model.meter.above = market.meter
        _recover(birth, log, soul, market.unfinished)
        return soul

    market = LaborMarket(
        log=log,
        directory=shared.directory / FOLDER,
        config=shared.services.config,
        load=lambda path: catalog.load(catalog.at(path)),
        check=catalog.check,
        build=build,
        open_log=open_log,
        tasks=BackgroundTasks(log, shared.directory, lambda: shared.services.config.now.background),
        hooks=shared.hooks,
        sources=shared.sources,
    )
    return market


def _notice(missing: str) -> Notification:
    title = "A subagent's file names a model that is not there"
    return notice("agent", title, missing)


def _recover(birth: SubagentStart, log: SessionLog, soul: Soul, left: Unfinished) -> None:
    """A subagent that waited for an approval goes on with its turn; whatever else it left open is closed."""
    found = log.recovery
    if birth.goes_on and found.open_turn is not None and any(call.id in left.calls for call in found.open_calls):
        take_up(log, soul, found, left)
    elif not found.clean:
        close_open_work(log, found)
