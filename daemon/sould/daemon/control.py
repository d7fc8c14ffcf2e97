"""The control frontend: what `sould status|stop|restart|sessions|…` ask of a running daemon, as one table.

JSON-RPC 2.0, one object a line, on the socket itself. `CONTROL` lists every method with the model of its parameters
and of its answer; `ControlClient` calls them by these types. Errors carry one sentence fit for a user and `data.kind`.
"""

from typing import Any, Literal

from msgspec import field

from sould.daemon.jsonvalues import JsonValues


class ControlModel(JsonValues, frozen=True):
    """Base: unknown keys of a newer or older side are ignored."""


class Nothing(ControlModel, frozen=True):
    """No parameters, or an answer that only says "done"."""


class Pong(ControlModel, frozen=True):
    """`ping`: the process behind the socket. `of_agent`: an agent runs who asks, or nobody can tell; None: an older daemon."""

    version: str
    protocol: tuple[int, int]
    pid: int
    start_ticks: int
    boot_id: str
    uptime_s: float
    of_agent: bool | None = None


class ConnectionInfo(ControlModel, frozen=True):
    """One connection. `pid` and `client` are what the other side says of itself."""

    id: str
    frontend: str = field(name="face")
    pid: int
    client: str
    cwd: str
    age_s: float
    buffered_bytes: int
    sessions: tuple[str, ...]


class Asked(ControlModel, frozen=True):
    """One question; without options it takes the user's own words, which may begin with a `default`."""

    question: str
    options: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    """What options mean, where that is said."""
    several: bool = False
    """Several options may be chosen."""
    words: str = ""
    """What the user's own words are offered as, behind the last option; "" when they are not."""
    default: str = ""


class LastingScope(ControlModel, frozen=True):
    """An approval that outlives its session: how far it reaches, and what it covers, in a sentence."""

    scope: Literal["project", "always"]
    remembers: str


class Waiting(ControlModel, frozen=True):
    """A request that waits for a person (a `program`: for a client's tool or hook). `title` is one line, `lines` the rest."""

    id: str
    session: str
    kind: Literal["approval", "question", "program"]
    title: str
    who: str = ""
    """The subagent that asks; "" for the agent itself."""
    lines: tuple[str, ...] = ()
    more: int = 0
    """Lines left out."""
    scope: str = ""
    """What approving for the session covers, in a sentence; "" when that is not offered."""
    changed: bool = False
    """It was approved for the session, but what it runs is another by now."""
    lasting: tuple[LastingScope, ...] = ()
    questions: tuple[Asked, ...] = ()
    form: dict[str, Any] = field(default_factory=dict[str, Any])
    """Of an MCP server: the `ServerForm`, whose fields are the questions in the same order. An answer of "" leaves one out."""


class SessionState(ControlModel, frozen=True):
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
    waiting: tuple[Waiting, ...] = ()
    prompts: tuple[str, ...] = ()
    """The queued prompts, next first, the beginning of each."""


class LoopInfo(ControlModel, frozen=True):
    """One loop that is under way: `standing` says that it runs, or what it waits for."""

    session: str
    cwd: str
    standing: str
    completed: int
    runs: int | None
    """Iterations in all; None without a limit."""
    prompt: str


class Memory(ControlModel, frozen=True):
    """Of the daemon process alone. `pss_bytes` is 0 where the system does not say."""

    rss_bytes: int
    pss_bytes: int


class McpState(ControlModel, frozen=True):
    """One MCP server of the daemon."""

    name: str
    state: str
    trouble: str
    tools: int
    sessions: int
    """How many use it now."""
    pid: int | None = None


class LanguageServerState(ControlModel, frozen=True):
    """One language server that the daemon runs. `memory_bytes`: with all that it started."""

    name: str
    root: str
    pid: int
    memory_bytes: int
    unused_s: float
    """Since it was asked last."""


class ProjectState(ControlModel, frozen=True):
    """One project that is open: in a session in memory, or in a client."""

    root: str
    sessions: int
    running: int
    """Sessions in which a turn runs."""
    waiting: int
    """Requests that wait for a person."""
    hunks: int
    """Hunks to be reviewed."""


class Counts(ControlModel, frozen=True):
    """`counts`: the same of all projects, for a status bar."""

    running: int
    waiting: int
    hunks: int


class Status(ControlModel, frozen=True):
    """`status`: everything `sould status` prints."""

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
    repairs: dict[str, int] = {}  # noqa: RUF012 -- msgspec copies it
    """How often conversations were mended because a model's server refused them, by what was done."""


class Force(ControlModel, frozen=True):
    """`force`: running turns are cancelled (journaled) instead of waited for."""

    force: bool = False


class Leaving(ControlModel, frozen=True):
    """The daemon has begun to leave; it hangs up when it is gone. `running_turns` are ended as interrupted."""

    pid: int
    running_turns: int
    turns: tuple[str, ...] = ()
    """Each in words: its project and session, and what it asks."""


class IfIdle(ControlModel, frozen=True):
    """`shutdown_if_idle`: `leaving` says whether it does so now; else it will when its running turns have ended."""

    leaving: bool
    running_turns: int
    version: str
    pid: int


class ListParams(ControlModel, frozen=True):
    """`sessions.list`: newest first; `cursor` from the page before."""

    cwd: str | None = None
    cursor: str | None = None
    limit: int = 50
    archived: bool = False
    """Include archived sessions."""


class SessionRow(ControlModel, frozen=True):
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


class SessionPage(ControlModel, frozen=True):
    """`sessions.list`."""

    sessions: tuple[SessionRow, ...]
    next_cursor: str | None


class SearchParams(ControlModel, frozen=True):
    """`sessions.search`: sessions that have every word of `query` in their title or in what was said, newest first."""

    query: str
    cwd: str | None = None
    limit: int = 20
    archived: bool = False
    """Include archived sessions."""


class FoundRow(ControlModel, frozen=True):
    """A session that was found; `snippet` is one line of what was said around the words."""

    session: SessionRow
    snippet: str


class Found(ControlModel, frozen=True):
    """`sessions.search`."""

    sessions: tuple[FoundRow, ...]


class SessionId(ControlModel, frozen=True):
    """A session's id, or the beginning of it when only one session begins so."""

    id: str


class RenameParams(ControlModel, frozen=True):
    """`sessions.rename`: `id` as in `SessionId`; an empty title goes back to none."""

    id: str
    title: str


class ArchiveParams(ControlModel, frozen=True):
    """`sessions.archive`: `id` as in `SessionId`; `archived` false takes it back into the lists."""

    id: str
    archived: bool = True


class ForkParams(SessionId, frozen=True):
    """`sessions.fork`: the new session is opened in the environment that the client said hello with.

    `cwd`: where it works; "" for where the other one does.
    """

    cwd: str = ""


class PruneParams(ControlModel, frozen=True):
    """`sessions.prune`: what was last used more than `older_than` seconds ago and is larger than `larger_than` bytes."""

    older_than: float | None = None
    larger_than: int | None = None
    only: tuple[str, ...] | None = None
    """Of these ids; None: of all."""
    dry_run: bool = False


class PrunedRow(ControlModel, frozen=True):
    """One session that prune met. `reason`: why it stays; "" when it went, or would go."""

    session: SessionRow
    size: int
    """In bytes."""
    reason: str = ""


class PruneReport(ControlModel, frozen=True):
    """`sessions.prune`: oldest first."""

    removed: tuple[PrunedRow, ...]
    left: tuple[PrunedRow, ...]


class SessionDetail(ControlModel, frozen=True):
    """`sessions.show` and `sessions.export`: the caller reads `wire.jsonl` in `directory` itself."""

    session: SessionRow
    directory: str
    state: SessionState | None
    """None when the session is not in memory."""


class RequestId(ControlModel, frozen=True):
    """The beginning of a request's id."""

    id: str


class AnswerParams(ControlModel, frozen=True):
    """`requests.answer`: `answers` in the order of the questions; none of them dismisses a question."""

    id: str
    decision: Literal["approve", "approve_for_session", "reject", "answer"]
    feedback: str = ""
    answers: tuple[str, ...] = ()
    also_changed: bool = False
    """For the session, also when what the command runs changes again."""
    lasting: Literal["", "project", "always"] = ""
    """For longer than the session."""


class Answered(ControlModel, frozen=True):
    """What became of it. `already`: `by` was faster."""

    session: str
    title: str
    outcome: Literal["accepted", "already"]
    by: str = ""
    answers: tuple[str, ...] = ()
    """What a question was answered with: labels, or words."""


class WorktreesParams(ControlModel, frozen=True):
    """`worktrees.list`: those of the repository that `cwd` is in; None: of all."""

    cwd: str | None = None


class WorktreeRow(ControlModel, frozen=True):
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


class WorktreeList(ControlModel, frozen=True):
    """`worktrees.list`: oldest first."""

    worktrees: tuple[WorktreeRow, ...]


class WorktreeParams(ControlModel, frozen=True):
    """`worktrees.restore`: by its name, which counts in the repository that `cwd` is in."""

    name: str
    cwd: str


class MergeWorktreeParams(WorktreeParams, frozen=True):
    """`worktrees.merge`; `undecided`: also hunks that nobody decided on there."""

    undecided: bool = False


class RemoveWorktreeParams(WorktreeParams, frozen=True):
    """`worktrees.remove`; `force`: with what is neither committed nor reviewed."""

    force: bool = False


class RemovedWorktree(ControlModel, frozen=True):
    """`worktrees.remove`. `branch`: the one that stays; "" when it had no commit of its own and is gone, too."""

    path: str
    branch: str


class LeftOutFile(ControlModel, frozen=True):
    """A file that was not brought over, and why."""

    name: str
    reason: str


class MergedWorktree(ControlModel, frozen=True):
    """`worktrees.merge`: files by their names there. `pending`: how many have hunks there that were not brought."""

    repository: str
    branch: str
    files: tuple[str, ...]
    left: tuple[LeftOutFile, ...]
    pending: int


class FsckParams(ControlModel, frozen=True):
    """`fsck`: one session, or all."""

    id: str | None = None


class FsckProblem(ControlModel, frozen=True):
    """One finding. `error`: something is lost or unreadable; `repaired`: it was fixed at an earlier open."""

    session: str
    file: str
    severity: Literal["error", "warning", "repaired"]
    problem: str


class FsckReport(ControlModel, frozen=True):
    """`fsck`: clean when no problem is an error."""

    sessions: int
    records: int
    problems: tuple[FsckProblem, ...]


CONTROL: dict[str, tuple[type[ControlModel], type[ControlModel]]] = {
    "ping": (Nothing, Pong),
    "status": (Nothing, Status),
    "counts": (Nothing, Counts),
    "stop": (Force, Leaving),
    "restart": (Force, Leaving),
    "shutdown_if_idle": (Nothing, IfIdle),
    "reload": (Nothing, Nothing),
    "sessions.list": (ListParams, SessionPage),
    "sessions.show": (SessionId, SessionDetail),
    "sessions.search": (SearchParams, Found),
    "sessions.rename": (RenameParams, SessionRow),
    "sessions.archive": (ArchiveParams, SessionRow),
    "sessions.fork": (ForkParams, SessionRow),
    "sessions.prune": (PruneParams, PruneReport),
    "sessions.delete": (SessionId, Nothing),
    "sessions.export": (SessionId, SessionDetail),
    "sessions.cancel": (SessionId, Nothing),
    "requests.show": (RequestId, Waiting),
    "requests.answer": (AnswerParams, Answered),
    "worktrees.list": (WorktreesParams, WorktreeList),
    "worktrees.restore": (WorktreeParams, WorktreeRow),
    "worktrees.merge": (MergeWorktreeParams, MergedWorktree),
    "worktrees.remove": (RemoveWorktreeParams, RemovedWorktree),
    "fsck": (FsckParams, FsckReport),
}
"""Method -> (parameters, answer)."""
