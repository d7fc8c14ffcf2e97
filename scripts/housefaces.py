"""What a face may know of a session or a project: its port, the values the port takes and gives, and no more.

Pure functions over module names; `house.py` reads the files and prints.
"""

FACES = ("acp/", "editors/", "daemon/")
COMPOSITION_ROOT = "daemon/sould/daemon/process/compose.py"
"""Makes the host that everybody else sees through a port."""

BEHIND_PORTS = ("sessions", "turns", "settings", "commands", "soul", "edits", "reviewing", "projects")
"""Packages that hold sessions and projects together; all others are services or plain data."""

MAY_IMPORT: dict[str, str] = {
    "sessions.port": "one live session",
    "sessions.hostport": "all sessions",
    "sessions.inbox": "what waits for a person in them",
    "sessions.ownworktrees": "worktrees that sessions have of their own, as they are",
    "sessions.pages": "what was said in one session, read in pages",
    "projects.port": "one project",
    "reviewing.orders.Order": "a value: what `ProjectPort.decide` is asked for",
    "reviewing.listing": "values: what `ProjectPort.review` gives",
    "reviewing.answers": "values: what `ProjectPort.decide` gives",
    "sessions.faces": "what a face gets for a connection, and leaves to the next daemon",
    "sessions.pendingprompts": "the prompts that a client waits for, over restarts",
    "operations": "what an operation of a port comes to",
    "commands.slash.SlashCommand": "a value: a command on offer",
    "settings.options.SessionOption": "a value: an option as clients show it",
    "settings.options.Choice": "a value: one of an option's values",
    "turns.turns.Prompt": "what `SessionPort.prompt` gives, to wait for",
    "turns.turns.INTERRUPTED": "how such a turn's end is told",
    "turns.queueing.Edited": "what `SessionPort.edit_prompt` gives",
    "turns.operating.OperationCancelledError": "what an operation raises that was cancelled",
    "settings.trusting": "`sould trust`: the user's decision about a directory, with no session",
    "settings.standingrules": "`sould rules`: the rules that hold in a directory, with no session",
    "projects.authors.BY_AGENT": "`sould trust`: how what an agent wrote is told",
    "projects.authors.OF_OTHERS": "`sould trust`: how what others can write is told",
    "soul.catalog": "`sould agents`: the agents' files, with no session",
    "soul.conditions": "`sould agents`: as above",
    "soul.spec": "`sould agents`: as above",
}
"""Modules, packages and names of theirs, each with what it is to a face."""

_BEHIND = tuple(f"sould.agents.{package}." for package in BEHIND_PORTS)
_ALLOWED = tuple(f"sould.agents.{name}." for name in MAY_IMPORT)


def past_ports(path: str, names: list[str]) -> list[str]:
    """Of the dotted names that a file imports (with what is taken from a module), those that a face may not know."""
    if not path.startswith(FACES) or path == COMPOSITION_ROOT:
        return []
    return [name for name in names if f"{name}.".startswith(_BEHIND) and not f"{name}.".startswith(_ALLOWED)]
