"""Subagents of a session: how their journals are opened and their loops are built over what the session shares."""

from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from sould.agents.journal.log import SessionLog
from sould.agents.llm.costs import Costs
from sould.agents.sessions.loop_builder import build_loop
from sould.agents.sessions.services import SessionServices
from sould.agents.sessions.settings.agents import missing_model, offered_model
from sould.agents.sessions.turns.recovery import close_open_work, take_up
from sould.agents.soul.loop import AgentLoop
from sould.agents.soul.subagents.crew import Crew
from sould.agents.soul.subagents.market import LaborMarket, SubagentStart
from sould.agents.soul.unfinished import Unfinished
from sould.agents.tools.todo import TodoList
from sould.agents.wire.messages import Notification
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
