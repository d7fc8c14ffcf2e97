"""How an answer for the session is worded: on its button in a few words, and exactly. Says what a rule covers, decides nothing."""

from typing import Final

from sould.agents.permissions.programs import Changed, runs_code
from sould.agents.permissions.rules import Rule
from sould.agents.permissions.shelltext import Argv, read_loosely
from sould.agents.permissions.visible import columns_of, file_name, visible
from sould.agents.wire.display import DiffBlock

BUTTON: Final = 40
"""Columns of a button: more are cut by editors, each in its own way."""
ALSO_CHANGED: Final = "Allow this session, also when it changes"
PLACE: Final = 24
"""Characters of a directory shown beside a command: what is allowed is the command."""


def button(rule: Rule) -> str:
    """What the button says that remembers this rule for the session."""
    if rule.tool == "edit":
        return "Allow edits this session" if rule.cwd == "workspace" else "Allow changes to it this session"
    if rule.tool == "read":
        return "Allow reading it this session"
    if rule.tool == "fetch":
        return _quoting(" ".join(rule.argv))
    return _quoting(_command(rule) if rule.tool == "shell" else rule.tool.removeprefix("mcp:"))


def exactly(rule: Rule) -> str:
    """All that the rule covers; a command itself stands in the question."""
    if rule.tool == "edit":
        return "edits in this workspace" if rule.cwd == "workspace" else f"changes to {visible(file_name(rule.path))}"
    if rule.tool == "read":
        return f"reading {visible(file_name(rule.path))}"
    if rule.tool == "fetch":
        return f"fetching from {visible(' '.join(rule.argv))}"
    if rule.tool == "shell":
        where = visible(file_name(rule.cwd))
        where = where if len(where) <= PLACE else f"…{where[-PLACE:]}"  # its end tells places apart
        return f"exactly this command in {where}{_until(rule)}"
    return f"calls of {visible(rule.tool.removeprefix('mcp:'))}"


def told(change: Changed) -> str:
    """A sentence about a program that is not what it was."""
    name = visible(file_name(change.now.path.name))
    if not change.now.digest:
        return f"{name} is gone since you allowed this for the session."
    return f"{name} {'changed' if change.before.digest else 'is new'} since you allowed this for the session."


def difference(change: Changed) -> DiffBlock | None:
    """What changed in it; None where it is no text."""
    before, now = (each.text if each.digest else "" for each in (change.before, change.now))
    if before is None or now is None:
        return None
    return DiffBlock(path=str(change.now.path), old_text=before, new_text=now, is_new=not change.before.digest)


def _until(rule: Rule) -> str:
    """What ends it, or that nothing does although the agent can change what it runs (D48)."""
    names = dict.fromkeys(file_name(each.path.name) for each in rule.programs or () if each.digest)
    if names:
        return f", until {visible(' or '.join(names))} itself changes"
    if runs_code(_commands(rule)):
        return ", also when the agent changes the code that it runs"
    return ""


def _commands(rule: Rule) -> tuple[Argv, ...]:
    return (rule.argv,) if rule.argv else read_loosely(rule.line, runners=False)


def _command(rule: Rule) -> str:
    return " ".join(map(_quoted, rule.argv)) if rule.argv else rule.line


def _quoted(word: str) -> str:
    plain = word and all(char.isalnum() or char in "-_./=:,+@%^" for char in word)
    return word if plain else "'" + word.replace("'", "'\\''") + "'"


def _quoting(text: str) -> str:
    """The text between backticks, its end left out where there is no room for it."""
    shown = visible(" ".join(file_name(text).split()))
    room = BUTTON - len("Allow `` this session")
    if columns_of(shown) > room:
        while columns_of(shown) > room - 1:
            shown = shown[:-1]
        shown = f"{shown.rstrip()}…"
    return f"Allow `{shown}` this session"
