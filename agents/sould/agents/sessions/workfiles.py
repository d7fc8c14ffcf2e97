"""What the files are to the agents of a session, put together: the disk and the clients' buffers, recorded, judged."""

from functools import partial

from sould.agents.base.environment import Environment
from sould.agents.base.errors import SessionNotFoundError
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.base.process.guard import ProcessGuard
from sould.agents.base.workspace import Command, RunningCommand
from sould.agents.files.projects.capture import Capture
from sould.agents.files.projects.clientfiles import ClientFiles
from sould.agents.files.projects.findingwords import FindingWords
from sould.agents.files.projects.lookedat import LookedAt
from sould.agents.files.projects.othersessions import OtherSessions
from sould.agents.files.projects.sessionfiles import Author, SessionFiles
from sould.agents.files.reviewing.gitreview import certain_within
from sould.agents.journal.log import SessionLog
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.sessions.services import HostServices, Permission, WorkFiles
from sould.agents.sessions.settings.workspace_info import Workplace
from sould.agents.sessions.store.store import SessionStore, StoredSession
from sould.agents.soul.change_capture import tell_found_late
from sould.agents.soul.dmail.dmail import Mailbox
from sould.agents.soul.timetravel.rewind import Rewinder
from sould.agents.tools.editor.newproblems import NewProblems
from sould.agents.tools.editor.site import Site


def make_files(
    host: HostServices,
    stored: StoredSession,
    log: SessionLog,
    workplace: Workplace,
    permission: Permission,
    mailbox: Mailbox,
) -> WorkFiles:
    """What the session's agents open and change, also by the programs they run."""
    environment, projects = workplace.environment, host.files.projects
    disk = local_workspace(host.guard, workplace)
    clients = ClientFiles(disk, projects.buffers)
    temporary = environment.variables.get("TMPDIR", "")
    author = Author(
        stored.info.id, stored.directory, environment.home, permission.approval, environment.umask, temporary
    )
    files = SessionFiles(disk, projects, author, clients)
    limits, names = host.configuration.live.now.capture, partial(_session_name, host.storage.store)
    looked_at = LookedAt(
        projects, stored.directory, environment.variables, host.policy.own, limits, permission.approval
    )
    words = FindingWords(files.projects, stored.info.id, limits.max_files, names)
    is_certain_within = partial(certain_within, host.configuration.live)
    capture = Capture(files.found, files.commands, looked_at, words, host.files.writers, is_certain_within)
    capture.tell(partial(tell_found_late, log))
    files.watch(capture)
    others = OtherSessions(stored.info.id, files.projects, names, permission.presence, projects.at_work)
    site = partial(site_of, workplace, permission.approval, clients, stored.info.id)
    problems = NewProblems(host.editors, site, files.projects)
    judged = CallFiles(files, permission.approval, projects.locks, looks=files.untold, others=others, problems=problems)
    return WorkFiles(judged, files, clients, Rewinder(log, files, mailbox), others)


def local_workspace(guard: ProcessGuard, workplace: Workplace) -> LocalWorkspace:
    """The disk, and commands under the daemon's guard."""
    opening, environment = workplace.opening, workplace.environment
    run = partial(run_command, guard, environment)
    return LocalWorkspace(opening.cwd, workplace.directories, run, environment.home, umask=opening.umask)


def _session_name(store: SessionStore, session_id: str) -> str:
    """What people call a session. Blocks."""
    try:
        return store.find(session_id).info.title or session_id
    except SessionNotFoundError:
        return session_id


def site_of(workplace: Workplace, approval: Approval, clients: ClientFiles, session_id: str) -> Site:
    return Site(
        workplace.opening.cwd,
        tuple(workplace.directories),
        workplace.environment.variables,
        approval.trust == "trusted",
        session_id,
        clients.asking,
    )


async def run_command(guard: ProcessGuard, environment: Environment, command: Command) -> RunningCommand:
    """Start the exact text of `command.line`.

    Raises:
        CommandStartError: nothing was started.
    """
    return await guard.start(
        [environment.shell, "--noprofile", "--norc", "-c", command.line],
        command.cwd,
        {**environment.variables, **command.variables},
        timeout=command.timeout,
        umask=environment.umask,
    )
