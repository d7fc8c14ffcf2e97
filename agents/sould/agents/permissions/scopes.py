"""How far an answer may reach, in words: on its button in a few, and exactly. The same for every frontend. Decides nothing."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from sould.agents.permissions.actions import Scope
from sould.agents.permissions.programs import ChangedProgram, runs_code
from sould.agents.permissions.rules import ANY_WORD, ANY_WORDS, Rule
from sould.agents.permissions.shelltext import Argv, read_loosely
from sould.agents.permissions.visible import columns_of, file_name, visible
from sould.agents.wire.display import DiffBlock, ShellBlock
from sould.agents.wire.messages import ApprovalRequest, ApprovalResponse, Lasts, OutputSource

BUTTON: Final = 40
"""Columns of a button: more are cut by editors, each in its own way."""
ONCE: Final = "Allow once"
FORWARD: Final = "Pass on"
"""Of what a call brought, which its model has not seen."""
REJECT: Final = "Reject"
WITHHOLD: Final = "Withhold"
ALSO_CHANGED: Final = "Allow this session, also when it changes"
_ALSO_CHANGED: Final = "This session runs this command without asking, also when what it runs changes again."
_FOR_SESSION: Final = "Allow this session"
"""Of a request that an earlier version left behind."""
_QUOTES: Final = str.maketrans({"“": "\\u201c", "”": "\\u201d"})
LONGEST_COMMAND: Final = 20_000
"""Characters of a command that its user writes anew."""
PLACE: Final = 24
"""Characters of a directory shown beside a command: what is allowed is the command."""


LASTING: Final[Mapping[Scope, Lasts]] = {"project": "project", "always": "always"}
"""Those that outlive the session."""


class Offered(Struct, frozen=True):
    """One approval that a request takes. `label` fits a button; `remembers` says in a sentence what is not asked again, "" for nothing."""

    scope: Scope
    label: str
    remembers: str = ""


def offered(request: ApprovalRequest) -> tuple[Offered, ...]:
    """All approvals that a request takes, the most careful first."""
    return tuple(_offered(request))


def _offered(request: ApprovalRequest) -> Iterator[Offered]:
    yield Offered("once", ONCE if request.held is None else FORWARD)
    if request.scope:
        yield Offered("session", request.scope_button or _FOR_SESSION, request.scope)
    if request.scope and request.changed:
        yield Offered("session_also_changed", ALSO_CHANGED, _ALSO_CHANGED)
    for each in request.lasting:
        yield Offered(each.scope, each.button, each.remembers)


def rejection(request: ApprovalRequest) -> str:
    """What the button says that rejects it."""
    return REJECT if request.held is None else WITHHOLD


def approved(request: ApprovalRequest, scope: Scope, text: str | None = None, *, words: str = "") -> ApprovalResponse:
    """The answer that gives this approval, which the request must take. `text`: see `ApprovalResponse`; `words`: for the agent.

    One that lasts is one for the session, too: that is all of it to those who know no other.
    """
    return ApprovalResponse(
        request_id=request.id,
        response="approve" if scope == "once" else "approve_for_session",
        feedback=words.strip(),
        also_changed=scope == "session_also_changed",
        lasting=LASTING.get(scope, ""),
        text=text,
    )


def is_command(request: ApprovalRequest) -> bool:
    """Whether a command waits, which its user may write anew."""
    return request.action == "run command" and sum(isinstance(block, ShellBlock) for block in request.display) == 1


def may_be_rewritten(request: ApprovalRequest, line: str) -> bool:
    """Whether this can be run in place of the command that waits."""
    return is_command(request) and bool(line.strip()) and "\0" not in line and len(line) <= LONGEST_COMMAND


def button(rule: Rule) -> str:
    """What the button says that remembers this rule for the session."""
    return _button(rule, "Allow ", " this session")


def lasting_button(rule: Rule, lasts: Lasts) -> str:
    """What the button says that remembers this rule beyond it."""
    return _button(rule, "Allow ", " in this project") if lasts == "project" else _button(rule, "Always allow ", "")


def _button(rule: Rule, before: str, after: str) -> str:
    if rule.tool == "edit":
        return f"{before}{'changes to it' if rule.path else 'edits'}{after}"
    if rule.tool == "read":
        return f"{before}reading it{after}"
    if rule.tool == "fetch":
        return _quoting(" ".join(rule.argv), before, after)
    return _quoting(_command(rule) if rule.tool == "shell" else rule.tool.removeprefix("mcp:"), before, after)


def output_named(sources: Sequence[OutputSource]) -> str:
    """What came back, within a sentence."""
    hosts = " and ".join(source.host for source in sources if source.host)
    return f"what came from {visible(hosts)}" if hosts else "its output"


def output_button(sources: Sequence[OutputSource]) -> str:
    """What the button says that passes all such outputs on for the session."""
    return _quoting(_sources(sources), "Pass on from ", " this session") if sources else ""


def output_scope(sources: Sequence[OutputSource]) -> str:
    """What that lets the session do, in a sentence."""
    return f"This session passes on what comes from {visible(_sources(sources))} without asking." if sources else ""


def _sources(sources: Sequence[OutputSource]) -> str:
    return " and ".join(source.host or source.tool.removeprefix("mcp:") for source in sources)


def lasting_words(rule: Rule, root: Path | None) -> str:
    """What the rule lets the sessions of a project do, or all sessions when there is none, in a sentence."""
    return f"Every session{f' in {_path(str(root))}' if root is not None else ''} {_does(rule, root)}."


def session_words(rule: Rule) -> str:
    """What the rule lets its session do, in a sentence; a command itself stands in the question."""
    return f"This session {_does(rule, None)}."


def _does(rule: Rule, root: Path | None) -> str:
    if rule.tool == "edit" and not rule.path:
        return f"edits files {_place(rule.cwd, root)} without asking, except secrets and protected files"
    if rule.tool in ("edit", "read"):
        return f"{'changes' if rule.tool == 'edit' else 'reads'} {_path(rule.path)} without asking"
    if rule.tool == "fetch":
        return f"fetches from {visible(' '.join(rule.argv))} without asking"
    if rule.tool == "shell":
        return f"runs this command {_place(rule.cwd, root, PLACE)} without asking{_until(rule)}"
    return f"calls {visible(rule.tool.removeprefix('mcp:'))} without asking"


def _place(cwd: str, root: Path | None, room: int | None = None) -> str:
    if root is not None and cwd == str(root):
        return "there"
    if cwd == "workspace":
        return "in this workspace"
    where = _path(cwd)
    where = where if room is None or len(where) <= room else f"…{where[-room:]}"  # its end tells places apart
    return f"in {where or 'any directory'}"


def about(rule: Rule) -> str:
    """What a rule is about, in a line of a list: any rule, also one that its user wrote."""
    tool = rule.tool
    words = " ".join(word if word in (ANY_WORD, ANY_WORDS) else _quoted(word) for word in rule.argv) or rule.line
    what = visible(file_name(words or rule.path))
    where = "" if not rule.cwd else " in the workspace" if rule.cwd == "workspace" else f" in {_path(rule.cwd)}"
    named = f"{tool} {what}".rstrip() if tool != "edit" or what else "edit files"
    return f"{named}{where}{_until(rule) if tool == 'shell' and rule.programs is not None else ''}"


def stated(rule: Rule) -> str:
    """All that a rule says, in a line of a list."""
    if rule.decision is None:
        return f"ask before the model sees output of {about(rule)}"
    return f"{rule.decision} {about(rule)}{', and ask before the model sees its output' if rule.output else ''}"


def told(change: ChangedProgram) -> str:
    """A sentence about a program that is not what it was."""
    name = _path(change.now.path.name)
    if not change.now.digest:
        return f"{name} is gone since you allowed this."
    return f"{name} {'changed' if change.before.digest else 'is new'} since you allowed this."


def difference(change: ChangedProgram) -> DiffBlock | None:
    """What changed in it; None where it is no text."""
    before, now = (each.text if each.digest else "" for each in (change.before, change.now))
    if before is None or now is None:
        return None
    return DiffBlock(path=str(change.now.path), old_text=before, new_text=now, is_new=not change.before.digest)


def _until(rule: Rule) -> str:
    """What ends it, or that nothing does although the agent can change what it runs (D48)."""
    names = dict.fromkeys(file_name(each.path.name) for each in rule.programs or () if each.digest)
    bound = visible(" or ".join(names))
    if runs_code(_commands(rule)):
        return f", also when the agent changes {f'other code than {bound}' if names else 'the code that it runs'}"
    return f" until {bound} changes" if names else ""


def _commands(rule: Rule) -> tuple[Argv, ...]:
    return (rule.argv,) if rule.argv else read_loosely(rule.line, runners=False)


def _command(rule: Rule) -> str:
    return " ".join(map(_quoted, rule.argv)) if rule.argv else rule.line


def _quoted(word: str) -> str:
    plain = word and all(char.isalnum() or char in "-_./=:,+@%^" for char in word)
    return word if plain else "'" + word.replace("'", "'\\''") + "'"


def _path(path: str) -> str:
    return visible(file_name(path))


def _quoting(text: str, before: str, after: str) -> str:
    """The text in quotes, which nothing in it closes, its end left out where there is no room for it: a button shows no Markdown."""
    shown = visible(" ".join(file_name(text).split())).translate(_QUOTES)
    room = BUTTON - len(f"{before}“”{after}")
    if columns_of(shown) > room:
        while columns_of(shown) > room - 1:
            shown = shown[:-1]
        shown = f"{shown.rstrip()}…"
    return f"{before}“{shown}”{after}"
