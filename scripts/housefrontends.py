"""What a frontend may know of a session or a project: its port, the values the port takes and gives, and no more.

Pure functions over module names; `house.py` reads the files and prints.
"""

FRONTENDS = ("acp/", "editors/", "daemon/")
COMPOSITION_ROOT = "daemon/sould/daemon/process/compose.py"
"""Makes the host that everybody else sees through a port."""

BEHIND_PORTS = ("sessions", "soul", "files.edits", "files.reviewing", "files.projects")
"""Packages that hold sessions and projects together; all others are services or plain data."""

MAY_IMPORT: dict[str, str] = {
    "sessions.port": "one live session",
    "sessions.hostport": "all sessions",
    "sessions.storedsessions": "those that are kept, live or not, and what was said in one, read in pages",
    "sessions.inbox": "what waits for a person in them",
    "sessions.ownworktrees": "worktrees that sessions have of their own, as they are",
    "files.projects.port": "one project",
    "files.reviewing.orders.Order": "a value: what `ProjectPort.review.decide` is asked for",
    "files.reviewing.listing": "values: what `ProjectPort` gives",
    "files.reviewing.answers": "values: what `ProjectPort.review.decide` gives",
    "files.reviewing.shapes": "values: what is sent of a review",
    "files.reviewing.shown": "the same, made of the values above",
    "sessions.pendingprompts": "the prompts that a client waits for, over restarts",
    "sessions.operations": "what an operation of a port comes to",
    "sessions.commands.slash.SlashCommand": "a value: a command on offer",
    "sessions.settings.options.SessionOption": "a value: an option as clients show it",
    "sessions.settings.options.OptionChoice": "a value: one of an option's values",
    "sessions.turns.turns.Prompt": "what `SessionPort.turns.prompt` gives, to wait for",
    "sessions.turns.turns.INTERRUPTED": "how such a turn's end is told",
    "sessions.turns.queueing.Edited": "what `SessionPort.queue.edit` gives",
    "sessions.turns.operating.OperationCancelledError": "what an operation raises that was cancelled",
    "sessions.loops.state": "loops, as they are kept",
    "sessions.settings.trusting": "`sould trust`: the user's decision about a directory, with no session",
    "sessions.settings.standingrules": "`sould rules`: the rules that hold in a directory, with no session",
    "files.projects.authors.BY_AGENT": "`sould trust`: how what an agent wrote is told",
    "files.projects.authors.OF_OTHERS": "`sould trust`: how what others can write is told",
    "sessions.store": "what is kept of sessions, as it is read without one",
    "sessions.worktrees": "git worktrees, with no session",
    "soul.session_request": "what a client asks for when it opens a session",
    "soul.mcp_over_client": "MCP over the client's own connection",
    "soul.hooks.events": "names of hook events",
    "soul.skills": "skills as they are found, with no session",
    "soul.flows": "flows, as they are drawn",
    "soul.timetravel.outcome": "values: what a restore came to",
    "soul.timetravel.timeline": "values: the checkpoints of a session",
    "soul.catalog": "`sould agents`: the agents' files, with no session",
    "soul.tool_conditions": "`sould agents`: as above",
    "soul.spec": "`sould agents`: as above",
}
"""Modules, packages and names of theirs, each with what it is to a frontend."""

_BEHIND = tuple(f"sould.agents.{package}." for package in BEHIND_PORTS)
_ALLOWED = tuple(f"sould.agents.{name}." for name in MAY_IMPORT)


def past_ports(path: str, names: list[str]) -> list[str]:
    """Of the dotted names that a file imports (with what is taken from a module), those that a frontend may not know."""
    if not path.startswith(FRONTENDS) or path == COMPOSITION_ROOT:
        return []
    return [name for name in names if f"{name}.".startswith(_BEHIND) and not f"{name}.".startswith(_ALLOWED)]
