"""What can be done with a session that is no turn: each operation given the parts of the session that it is about."""

from msgspec import Struct

from sould.agents.journal.log import SessionLog
from sould.agents.mcp.session import SessionServers
from sould.agents.sessions.operations.applying import Applying
from sould.agents.sessions.operations.committing import Committing
from sould.agents.sessions.operations.context import ModelContext
from sould.agents.sessions.operations.directories import AddedDirectories
from sould.agents.sessions.operations.reviews import SessionReview
from sould.agents.sessions.operations.sharing import Sharing
from sould.agents.sessions.operations.travel import TimeTravel
from sould.agents.sessions.services import SessionServices
from sould.agents.sessions.store.entry import SessionEntry
from sould.agents.soul.soul import Soul


class Operations(Struct, frozen=True):
    """What can be done with a session that is no turn."""

    travel: TimeTravel
    context: ModelContext
    sharing: Sharing
    directories: AddedDirectories
    review: SessionReview
    applying: Applying
    committing: Committing


def make_operations(
    services: SessionServices, log: SessionLog, entry: SessionEntry, soul: Soul, mcp: SessionServers
) -> Operations:
    """What can be done with the session that is no turn."""
    workplace, compactor = services.workplace, soul.compactor
    context = ModelContext(log, compactor, mcp.server_of)
    disk = services.files.clients.disk
    return Operations(
        TimeTravel(log, services.files.rewinder, compactor),
        context,
        Sharing(services.stored, services.host.storage.store, context, disk, services.permission.approval),
        AddedDirectories(log, entry, workplace.directories, workplace.environment.home, soul, mcp, context),
        SessionReview(services.stored.info.id, workplace.opening.cwd, services.files.recorded, log),
        Applying(services.files.judged, services.permission.approval, context),
        Committing(
            workplace.opening.cwd,
            services.files.recorded,
            services.permission.approval,
            workplace.environment.variables,
        ),
    )
