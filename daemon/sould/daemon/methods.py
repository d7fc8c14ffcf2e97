"""What the command line asks of a running daemon: the methods below `_sould/daemon`, each with its parameters and its answer.

JSON-RPC 2.0, one object a line, on the socket itself, after a hello with the frontend `control`. Errors carry one sentence fit
for a user and `data.kind`. Keys that a class does not know are left out, so that programs of two versions can talk.
"""

from typing import Any, ClassVar, Final, Generic, Literal, TypeVar

from msgspec import Struct, field
from msgspec.json import encode, format  # noqa: A004 -- its name there

from sould.agents.clients.inbox.shapes import InboxItem

AnswerT = TypeVar("AnswerT")
PREFIX: Final = "_sould/daemon/"


class Value(Struct, frozen=True):
    """Base of all that is sent."""

    def to_text(self, indent: int | None = None) -> str:
        """As JSON, in lines where an indentation is given."""
        text = encode(self)
        return (format(text, indent=indent) if indent else text).decode()


class DaemonCall(Value, Generic[AnswerT], frozen=True):
    """Base of the methods: an object is a call, its fields are the parameters."""

    method: ClassVar[str]
    """Its name below `PREFIX`."""
    answer: ClassVar[Any]
    """The type of the answer."""


class Done(Value, frozen=True):
    """An answer that says only that."""


class Pong(Value, frozen=True):
    """The process behind the socket. `of_agent`: an agent runs who asks, or nobody can tell; None: an older daemon."""

    version: str
    protocol: tuple[int, int]
    pid: int
    start_ticks: int
    boot_id: str
    uptime_s: float
    of_agent: bool | None = None


class ConnectionInfo(Value, frozen=True):
    """One connection. `pid` and `client` are what the other side says of itself."""

    id: str
    frontend: str = field(name="face")
    pid: int
    client: str
    cwd: str
    age_s: float
    buffered_bytes: int
    sessions: tuple[str, ...]


class SessionState(Value, frozen=True):
    """One session that is in memory."""

    id: str
    title: str
    cwd: str
    running: bool
    queued: int
    pending: int
    """Requests (approvals, questions) that wait for an answer."""
    mode: str
    model: str
    looping: bool = False
    """A loop is what runs."""
    waiting: tuple[InboxItem, ...] = ()
    prompts: tuple[str, ...] = ()
    """The queued prompts, next first, the beginning of each."""


class LoopInfo(Value, frozen=True):
    """One loop that is under way: `standing` says that it runs, or what it waits for."""

    session: str
    cwd: str
    standing: str
    completed: int
    runs: int | None
    """Iterations in all; None without a limit."""
    prompt: str


class Memory(Value, frozen=True):
    """Of the daemon process alone. `pss_bytes` is 0 where the system does not say."""

    rss_bytes: int
    pss_bytes: int


class McpState(Value, frozen=True):
    """One MCP server of the daemon."""

    name: str
    state: str
    trouble: str
    tools: int
    sessions: int
    """How many use it now."""
    pid: int | None = None


class LanguageServerState(Value, frozen=True):
    """One language server that the daemon runs. `memory_bytes`: with all that it started."""

    name: str
    root: str
    pid: int
    memory_bytes: int
    unused_s: float
    """Since it was asked last."""


class ProjectState(Value, frozen=True):
    """One project that is open: in a session in memory, or in a client."""

    root: str
    sessions: int
    running: int
    """Sessions in which a turn runs."""
    waiting: int
    """Requests that wait for a person."""
    hunks: int
    """Hunks to be reviewed."""


class Counts(Value, frozen=True):
    """The same of all projects, for a status bar."""

    running: int
    waiting: int
    hunks: int


class Status(Value, frozen=True):
    """Everything `sould status` prints."""

    version: str
    protocol: tuple[int, int]
    pid: int
    uptime_s: float
    memory: Memory
    threads: int
    descriptors: int
    descriptor_limit: int
    connections: tuple[ConnectionInfo, ...]
    sessions: tuple[SessionState, ...]
    running_turns: int
    guard_pid: int | None
    """The process that runs commands; None until the first command."""
    draining: str
    """Why the daemon is about to leave, "" when it is not."""
    package_changed: bool
    idle_exit_s: float
    runtime_dir: str
    state_dir: str
    log_file: str
    mcp: tuple[McpState, ...] = ()
    language_servers: tuple[LanguageServerState, ...] = ()
    loops: tuple[LoopInfo, ...] = ()
    config_file: str = ""
    """The configuration file it reads, whether or not it is there."""
    projects: tuple[ProjectState, ...] = ()
    counts: Counts = Counts(0, 0, 0)
    repairs: dict[str, int] = {}
    """How often conversations were mended because a model's server refused them, by what was done."""


class Leaving(Value, frozen=True):
    """The daemon has begun to leave, and hangs up when it is gone. `leaving` false: it does so when its running turns have ended."""

    pid: int
    running_turns: int
    turns: tuple[str, ...] = ()
    """Each in words: its project and session, and what it asks."""
    leaving: bool = True
    version: str = ""


class SessionRow(Value, frozen=True):
    """One stored session. `live`: it is in the daemon's memory. `created` and `updated` are wall seconds.

    `branch`: what git has checked out in its directory; only in lists, and "" where that is not known.
    """

    id: str
    cwd: str
    title: str
    created: float
    updated: float
    turns: int
    live: bool
    archived: bool = False
    branch: str = ""
    origin: str = ""
    """Where it was begun, or opened since: `run`, `wire`, `terminal`, `editor`; "" where nobody noted it."""


class SessionPage(Value, frozen=True):
    """Sessions, newest first; `next_cursor`: where the next page begins. `left_out`: on the first, how many have another origin."""

    sessions: tuple[SessionRow, ...]
    next_cursor: str | None
    left_out: int = 0


class FoundRow(Value, frozen=True):
    """A session that was found; `snippet` is one line of what was said around the words."""

    session: SessionRow
    snippet: str


class PrunedRow(Value, frozen=True):
    """One session that prune met. `reason`: why it stays; "" when it went, or would go."""

    session: SessionRow
    size: int
    """In bytes."""
    reason: str = ""


class PruneReport(Value, frozen=True):
    """What went and what stays, oldest first."""

    removed: tuple[PrunedRow, ...]
    left: tuple[PrunedRow, ...]


class SessionDetail(Value, frozen=True):
    """One session; all that was said so far is in `wire.jsonl` in `directory`, which the caller reads itself."""

    session: SessionRow
    directory: str
    state: SessionState | None
    """None when the session is not in memory."""


class WorktreeRow(Value, frozen=True):
    """A worktree that sessions have of their own. `uncommitted`: paths; None: git does not say. `hunks`: to be reviewed."""

    name: str
    removed: bool
    path: str
    repository: str
    branch: str
    made: float
    uncommitted: int | None
    hunks: int
    sessions: tuple[SessionRow, ...]
    """Newest first, archived ones too."""


class RemovedWorktree(Value, frozen=True):
    """A worktree that is gone. `branch`: the one that stays; "" when it had no commit of its own and is gone, too."""

    path: str
    branch: str


class LeftOutFile(Value, frozen=True):
    """A file that was not brought over, and why."""

    name: str
    reason: str


class MergedWorktree(Value, frozen=True):
    """What was brought over: files by their names there. `pending`: how many have hunks there that were not brought."""

    repository: str
    branch: str
    files: tuple[str, ...]
    left: tuple[LeftOutFile, ...]
    pending: int


class FsckProblem(Value, frozen=True):
    """One finding. `error`: something is lost or unreadable; `repaired`: it was fixed at an earlier open."""

    session: str
    file: str
    severity: Literal["error", "warning", "repaired"]
    problem: str


class FsckReport(Value, frozen=True):
    """Clean when no problem is an error."""

    sessions: int
    records: int
    problems: tuple[FsckProblem, ...]


# --- the methods --------------------------------------------------------------------------------------------------------


class Ping(DaemonCall[Pong], frozen=True):
    """Ask for the process behind the socket, and whom it takes us for: no namespace of ours hides that from it."""

    method = "ping"
    answer = Pong


class GetStatus(DaemonCall[Status], frozen=True):
    """Ask for all that `sould status` shows."""

    method = "status"
    answer = Status


class GetCounts(DaemonCall[Counts], frozen=True):
    """Ask for what a status bar shows."""

    method = "counts"
    answer = Counts


class Stop(DaemonCall[Leaving], frozen=True):
    """Stop after the running turns; with `force` they are cancelled (journaled) instead of waited for."""

    method = "stop"
    answer = Leaving
    force: bool = False


class Restart(DaemonCall[Leaving], frozen=True):
    """Start a new process that takes everything over, after the running turns or, with `force`, with them ended."""

    method = "restart"
    answer = Leaving
    force: bool = False


class ShutdownIfIdle(DaemonCall[Leaving], frozen=True):
    """Leave as soon as no turn runs."""

    method = "shutdown_if_idle"
    answer = Leaving


class Reload(DaemonCall[Done], frozen=True):
    """Read the user's configuration again at the next turn."""

    method = "reload"
    answer = Done


class ListSessions(DaemonCall[SessionPage], frozen=True):
    """List sessions, newest first; `cursor` from the page before."""

    method = "sessions/list"
    answer = SessionPage
    cwd: str | None = None
    cursor: str | None = None
    limit: int = 50
    archived: bool = False
    """Include archived sessions."""
    origin: Literal["editor", "terminal", "run", "wire", "any"] = "any"


class SearchSessions(DaemonCall[tuple[FoundRow, ...]], frozen=True):
    """Find sessions that have every word of `query` in their title or in what was said, newest first."""

    method = "sessions/search"
    answer = tuple[FoundRow, ...]
    query: str
    cwd: str | None = None
    limit: int = 20
    archived: bool = False
    """Include archived sessions."""


class ShowSession(DaemonCall[SessionDetail], frozen=True):
    """Show one session. `id`: its id, or the beginning of it when only one session begins so; so it is in all of these."""

    method = "sessions/show"
    answer = SessionDetail
    id: str


class RenameSession(DaemonCall[SessionRow], frozen=True):
    """Give a session another title; an empty one goes back to none."""

    method = "sessions/rename"
    answer = SessionRow
    id: str
    title: str


class ArchiveSession(DaemonCall[SessionRow], frozen=True):
    """Take a session out of the lists; `archived` false: back into them."""

    method = "sessions/archive"
    answer = SessionRow
    id: str
    archived: bool = True


class ForkSession(DaemonCall[SessionRow], frozen=True):
    """Begin a session with all of one; it is opened in the environment that the client said hello with.

    `cwd`: where it works; "" for where the other one does.
    """

    method = "sessions/fork"
    answer = SessionRow
    id: str
    cwd: str = ""


class PruneSessions(DaemonCall[PruneReport], frozen=True):
    """Delete what was last used more than `older_than` seconds ago and is larger than `larger_than` bytes."""

    method = "sessions/prune"
    answer = PruneReport
    older_than: float | None = None
    larger_than: int | None = None
    only: tuple[str, ...] | None = None
    """Of these ids; None: of all."""
    dry_run: bool = False


class DeleteSession(DaemonCall[Done], frozen=True):
    """Delete one session."""

    method = "sessions/delete"
    answer = Done
    id: str


class CancelSession(DaemonCall[Done], frozen=True):
    """Cancel what runs and waits in one session; nothing is fine."""

    method = "sessions/cancel"
    answer = Done
    id: str


class ListWorktrees(DaemonCall[tuple[WorktreeRow, ...]], frozen=True):
    """List worktrees of sessions, oldest first, of the repository that `cwd` is in; None: of all."""

    method = "worktrees/list"
    answer = tuple[WorktreeRow, ...]
    cwd: str | None = None


class RestoreWorktree(DaemonCall[WorktreeRow], frozen=True):
    """Make a worktree again. `name` counts in the repository that `cwd` is in; so it is in all of these."""

    method = "worktrees/restore"
    answer = WorktreeRow
    name: str
    cwd: str


class MergeWorktree(DaemonCall[MergedWorktree], frozen=True):
    """Take its changes over, as edits to be reviewed; `undecided`: also hunks that nobody decided on there."""

    method = "worktrees/merge"
    answer = MergedWorktree
    name: str
    cwd: str
    undecided: bool = False


class RemoveWorktree(DaemonCall[RemovedWorktree], frozen=True):
    """Take a worktree away; `force`: with what is neither committed nor reviewed."""

    method = "worktrees/remove"
    answer = RemovedWorktree
    name: str
    cwd: str
    force: bool = False


class CheckJournals(DaemonCall[FsckReport], frozen=True):
    """Check the files of one session, or of all."""

    method = "fsck"
    answer = FsckReport
    id: str | None = None


FIRST_RELEASE: Final = frozenset({"ping", "status", "stop", "restart", "shutdown_if_idle"})
"""Methods that daemons and command lines of sould 0.1 know as well, by these names alone."""
