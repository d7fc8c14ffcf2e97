"""The decision: may this action go ahead, must a person be asked, or is it refused?

`decide` never asks anybody, and looks at the machine only through the `PolicyContext` it is given and at what a command
that an answer allowed runs (`programs`).
Order: deny rules, then what the mode forbids, then the protections nothing overrides (secrets first), then ask rules, allow rules
(answers' included), then the mode's default. Doubt is always `ask`. Parsing a command is not a sandbox: in `full` mode only
what the text shows is protected.
"""

import os
from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.filenames import ONE_NAME
from sould.agents.permissions.actions import (
    Action,
    CallExternal,
    EditFile,
    FetchPage,
    ReadFile,
    RepeatCall,
    RunCommand,
)
from sould.agents.permissions.binding import MOST_PLACES, is_bound
from sould.agents.permissions.harmless import SEARCHES, harmless
from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.programs import ChangedProgram, Programs, changed, programs
from sould.agents.permissions.protected import change_is_protected, decides_for_the_user, read_is_protected
from sould.agents.permissions.rules import (
    ANY_WORD,
    ANY_WORDS,
    Decision,
    Rule,
    Rules,
    argv_matches,
    argv_resembles,
    path_matches,
    place_is,
    place_matches,
)
from sould.agents.permissions.secretnames import likelihood
from sould.agents.permissions.secrets import secret_file
from sould.agents.permissions.shelltext import Argv, Reading, read_loosely, read_strictly, words_of

Mode: TypeAlias = Literal["plan", "ask", "review", "auto", "full"]
"""D20. `auto` needs a sandbox; there is none yet, so it is never offered."""

MODES: tuple[Mode, ...] = ("plan", "ask", "review", "auto", "full")

_LOOKING = "in plan mode and for read-only agents"
"""Why something is refused in plan mode, and to agents that never change anything."""
_MOVES = frozenset({"cd", "pushd", "popd"})

READ_SECRET = "read secret"  # noqa: S105 -- a name, too
EDIT_SECRET = "edit secret"  # noqa: S105 -- a name
EDIT_ALL_NAMES = "edit all names"
"""Tools of rules that only a yes of this session makes; no file can name them."""
A_YES = "your answer holds for this file until the session ends"
OTHER_NAMES = "{} has other names outside the project (hard links), under which it would change, too"
MAIN_CHECKOUT = "{} is in the main checkout, and this session works in a worktree: there the file to change is {}"
UNDO_ENDS = "its old content is kept in memory only, so undo ends with the daemon"

Trust: TypeAlias = Literal["unknown", "trusted", "restricted"]


class Verdict(Struct, frozen=True):
    """`reason` is one clause for people and the model. `scope_offer`: the rule that "for session" would remember, if any.

    `grant`: what any yes settles for the rest of the session, as the question says.
    """

    decision: Decision
    reason: str = ""
    scope_offer: Rule | None = None
    grant: Rule | None = None
    searches: bool = False
    """Allowed because it only looks, into files that it does not name: it is to be kept from secrets."""
    changes: tuple[ChangedProgram, ...] = ()
    """What the session would have allowed, had it stayed as it was."""
    all_names: bool = False
    """Of an edit, with a yes: names of the file outside the project change, too, as `reason` says or a person said before."""
    reads: Decision = "ask"
    """Of an edit that `reads` first: whether it may."""
    secret: str = ""
    """Of an edit: why the file is one."""


def decide(action: Action, rules: Rules, trust: Trust, mode: Mode, where: PolicyContext) -> Verdict:
    """Judge one action. A restricted workspace gets at most `ask`; `auto` acts as `review` until there is a sandbox."""
    mode = _capped(mode, trust)
    match action:
        case ReadFile():
            secret = action.secret or secret_file(action.path.names, where)
            return _judge_read(action, secret, rules, mode, where)
        case EditFile():
            return _judge_edit(action, rules, mode, where)
        case RunCommand():
            return _Command(action, rules, mode, where).judge()
        case CallExternal():
            return _judge_external(action, rules, mode)
        case FetchPage():
            return _judge_fetch(action, rules, mode)
        case RepeatCall():
            return (
                Verdict("allow")
                if mode == "full"
                else Verdict("ask", "the same call brought the same result each time")
            )


def may_search(action: RunCommand) -> bool:
    """Whether a command is one that looks into files it does not name, by its text alone: judging it may take seconds."""
    return _searches(read_strictly(action.line))


def _searches(reading: Reading) -> bool:
    return any(argv[0] in SEARCHES for argv in reading.commands)


def _capped(mode: Mode, trust: Trust) -> Mode:
    if trust == "restricted" and mode != "plan":
        return "ask"
    return "review" if mode == "auto" else mode


# --- files ----------------------------------------------------------------------------------------------------------------------


def _judge_read(action: ReadFile, secret: str, rules: Rules, mode: Mode, where: PolicyContext) -> Verdict:
    path, names = action.path.path, action.path.names
    if any(_path_rule("deny", "read", name, rules, where) for name in names):
        return Verdict("deny", f"a rule forbids reading {action.path.written}")
    granted = is_granted(path, rules, READ_SECRET, EDIT_SECRET)
    if secret and not granted:
        return Verdict("ask", f"{secret}; {A_YES}", grant=Rule("allow", READ_SECRET, path=str(path)))
    if where.readable_unasked(path):
        return Verdict("allow")
    if reason := next(filter(None, (read_is_protected(name, where) for name in names)), ""):
        return Verdict("ask", reason)
    if any(_path_rule("ask", "read", name, rules, where) for name in names):
        return Verdict("ask", f"a rule asks before {path} is read")
    if secret or action.path.inside or mode == "full":
        return Verdict("allow")
    tools = ("read", "edit") if action.to_edit else ("read",)
    if any(_path_rule("allow", tool, path, rules, where) for tool in tools):
        return Verdict("allow")
    return Verdict("ask", f"{path} is outside the workspace", _path_offer("read", path))


def _judge_edit(action: EditFile, rules: Rules, mode: Mode, where: PolicyContext) -> Verdict:
    """By all names of the file, which change with it. In `full` those outside the project are not asked about: they stay as they are."""
    path = action.path.path
    links = where.names_of(path) if action.operation == "modify" else ONE_NAME
    names = (*action.path.names, *links.inside)
    secret = action.secret or secret_file(names, where)
    verdict = replace(_judge_names(action, names, secret, rules, mode, where), secret=secret)
    if action.reads:
        reading = _judge_read(ReadFile(action.path, to_edit=True), secret, rules, mode, where)
        verdict = replace(verdict, reads=reading.decision)
    if not links.elsewhere or verdict.decision == "deny":
        return verdict
    reason = OTHER_NAMES.format(path)
    if verdict.decision == "ask":
        return replace(verdict, reason="; ".join(filter(None, (verdict.reason, reason))), all_names=True)
    if is_granted(path, rules, EDIT_ALL_NAMES):
        return replace(verdict, all_names=True)
    if mode == "full":
        return verdict
    grant = Rule("allow", EDIT_ALL_NAMES, path=str(path))
    return replace(verdict, decision="ask", reason=f"{reason}; {A_YES}", grant=grant, all_names=True)


def _judge_names(
    action: EditFile, names: Collection[Path], secret: str, rules: Rules, mode: Mode, where: PolicyContext
) -> Verdict:
    path, inside = action.path.path, action.path.inside
    if any(_path_rule("deny", "edit", name, rules, where) for name in names):
        return Verdict("deny", f"a rule forbids changing {action.path.written}")
    if mode == "plan":
        return Verdict("deny", f"{_LOOKING}, no file is changed")
    if not where.inside(path) and (meant := where.in_worktree(path)):
        return Verdict("deny", MAIN_CHECKOUT.format(path, meant))
    granted = is_granted(path, rules, EDIT_SECRET)
    if secret and not granted:
        reasons = (f"{secret}; {UNDO_ENDS}, and {A_YES}", action.others)
        return Verdict("ask", "; ".join(filter(None, reasons)), grant=Rule("allow", EDIT_SECRET, path=str(path)))
    if action.others:
        return Verdict("ask", action.others)
    if reason := next(filter(None, (change_is_protected(name, where) for name in names)), ""):
        return Verdict("ask", reason)
    offer = Rule("allow", "edit", cwd="workspace") if inside else _path_offer("edit", path)
    if any(_path_rule("ask", "edit", name, rules, where) for name in names):
        return Verdict("ask", f"a rule asks before {path} is changed")
    if action.encoding and mode != "full":
        return Verdict("ask", f"it is in {action.encoding}, and what is not in UTF-8 cannot be kept or rejected later")
    if secret or mode == "full" or (inside and mode == "review") or _path_rule("allow", "edit", path, rules, where):
        return Verdict("allow")
    return Verdict("ask", "" if inside else f"{path} is outside the workspace", offer)


def is_granted(path: Path, rules: Rules, *tools: str) -> bool:
    """Whether a person said yes to this very file in this session; rules of a file or for a workspace say nothing here."""
    return any(rule.path == str(path) for tool in tools for rule in rules.of("allow", tool))


def _path_rule(decision: Decision, tool: str, path: Path, rules: Rules, where: PolicyContext) -> bool:
    return any(
        place_matches(rule.cwd, path, where) and (not rule.path or path_matches(rule.path, path, where))
        for rule in rules.of(decision, tool)
        if decision != "allow" or not rule.sandbox
    )


def _path_offer(tool: str, path: Path) -> Rule | None:
    return None if any(char in str(path) for char in "*?") else Rule("allow", tool, path=str(path))


def _judge_external(action: CallExternal, rules: Rules, mode: Mode) -> Verdict:
    tool = f"mcp:{action.name}"
    if any(rules.of("deny", tool)):
        return Verdict("deny", f"a rule forbids {action.name}")
    if mode == "plan" and not action.looks:
        return Verdict("deny", f"{_LOOKING}, no external tool is called")
    if any(rules.of("ask", tool)):
        return Verdict("ask", f"a rule asks before {action.name} is called")
    allowing = (rule for rule in rules.of("allow", tool) if not rule.sandbox)
    if mode == "full" or action.looks or any(rule.definition in ("", action.definition) for rule in allowing):
        return Verdict("allow")
    return Verdict("ask", "", Rule("allow", tool, definition=action.definition))


def _judge_fetch(action: FetchPage, rules: Rules, mode: Mode) -> Verdict:
    def ruled(decision: Decision) -> bool:
        return any(not rule.argv or rule.argv == (action.host,) for rule in rules.of(decision, "fetch"))

    if ruled("deny"):
        return Verdict("deny", f"a rule forbids fetching from {action.host}")
    if ruled("ask"):
        return Verdict("ask", f"a rule asks before anything is fetched from {action.host}")
    if mode == "full" or ruled("allow"):
        return Verdict("allow")
    return Verdict("ask", "", Rule("allow", "fetch", argv=(action.host,)))


def named_paths(action: RunCommand, where: PolicyContext) -> list[Path]:
    """Every path that a word of a command may mean."""
    return _Command(action, Rules(), "ask", where).named_paths


def _as_named(word: str, cwd: Path) -> Path:
    return Path(os.path.normpath(os.path.join(cwd, word)))


# --- commands --------------------------------------------------------------------------------------------------------------------


class _Command:
    """One command line being judged."""

    def __init__(self, action: RunCommand, rules: Rules, mode: Mode, where: PolicyContext) -> None:
        self.line = action.line
        self.cwd = action.cwd
        self.rules = rules
        self.mode = mode
        self.where = where
        self.reading: Reading = read_strictly(action.line)
        self.changes: dict[tuple[Path, str], ChangedProgram] = {}

    def judge(self) -> Verdict:
        if denied := self._denied():
            return Verdict("deny", denied)
        if self._is_harmless():
            asked = self._asked(harmless=True)
            return Verdict("ask", asked) if asked else Verdict("allow", searches=_searches(self.reading))
        if self.mode == "plan":
            return Verdict(
                "deny",
                f"{_LOOKING}, only commands that are known to change nothing are run, on files of the project without secrets",
            )
        if (
            reason := self._touches_protected()
            or decides_for_the_user((*self.reading.commands, *read_loosely(self.line)))
            or self._asked()
            or self._may_hide_denied()
        ):
            return Verdict("ask", reason)
        if self.mode == "full" or self._allowed():
            return Verdict("allow")
        if self.changes:
            return Verdict("ask", "", self._offer(), changes=tuple(self.changes.values()))
        problem = self.reading.problem
        return Verdict("ask", f"asked because {problem}" if problem else "", self._offer())

    def _denied(self) -> str:
        shell = [rule for rule in self.rules.of("deny", "shell") if place_matches(rule.cwd, self.cwd, self.where)]
        for argv in (*self.reading.commands, *read_loosely(self.line)):
            if any(not rule.argv or argv_resembles(rule.argv, argv) for rule in shell):
                return f"a rule forbids {' '.join(argv)[:200]}"
        for path in self.named_paths:
            if any(_path_rule("deny", tool, path, self.rules, self.where) for tool in ("read", "edit")):
                return f"a rule forbids {path}"
        return ""

    def _may_hide_denied(self) -> str:
        """A text that cannot be read for certain may run what a rule forbids."""
        if self.reading.problem and any(self.rules.of("deny", "shell")):
            return f"warning: {self.reading.problem}, so it may run something that your rules forbid"
        return ""

    def _asked(self, *, harmless: bool = False) -> str:
        asking = [rule for rule in self.rules.of("ask", "shell") if place_matches(rule.cwd, self.cwd, self.where)]
        for argv in (*self.reading.commands, *read_loosely(self.line)):
            if any(not rule.argv or argv_resembles(rule.argv, argv) for rule in asking):
                return f"a rule asks before {' '.join(argv)[:200]} is run"
        tools = ("read",) if harmless else ("read", "edit")
        rules = Rules(tuple(rule for tool in tools for rule in self.rules.of("ask", tool) if rule.path))
        for path in self.named_paths if rules.rules else ():
            if any(_path_rule("ask", tool, path, rules, self.where) for tool in tools):
                return f"a rule asks about {path}"
        return ""

    def _touches_protected(self) -> str:
        for path in self.named_paths:
            names = (path, *self.where.other_names(path))
            if reason := secret_file(names, self.where) or change_is_protected(path, self.where, named=True):
                return reason
            if reason := read_is_protected(path, self.where):
                return reason
        return ""

    @cached_property
    def named_paths(self) -> list[Path]:
        """Every path that a word of the text may mean, as resolved and as written."""
        paths: dict[Path, None] = {}
        places = self._places()
        for word in words_of(self.line):
            for piece in {word, word.rpartition("=")[2], word.strip(",")}:
                path = self._expanded(piece)
                if path:
                    for place in places:
                        paths[self.where.resolve(path, place)] = None
                        paths[_as_named(path, place)] = None
        return list(paths)

    def _places(self) -> list[Path]:
        """The directories that the text's words may be seen from: where it begins, and where its `cd`s may lead."""
        places = [self.cwd]
        for argv in read_loosely(self.line):
            if argv[0] in _MOVES and len(places) < MOST_PLACES:
                word = self._expanded(next((word for word in argv[1:] if not word.startswith("-")), "~"))
                places += [self.where.resolve(word, place) for place in places if word]
        return list(dict.fromkeys(places))

    def _expanded(self, word: str) -> str:
        """A word as a path with the home directory filled in; "" when it can name none."""
        start, slash, rest = word.partition("/")
        path = f"{self.where.home}{slash}{rest}" if start in ("~", "$HOME", "${HOME}") else word
        return path if "\0" not in path and len(path) < 4096 else ""

    def _is_harmless(self) -> bool:
        if self.reading.problem:
            return False
        cwd = self.cwd
        for position, argv in enumerate(self.reading.commands):
            if argv[0] == "cd" and position == 0:
                target = self._harmless_cd(argv)
                if target is None:
                    return False
                cwd = target
            elif not self._shows_only(argv, cwd):
                return False
        return True

    def _harmless_cd(self, argv: Argv) -> Path | None:
        """Where `cd` leads when that is certain: one plain word, inside the workspace, and what follows runs only there."""
        operators = self.reading.operators
        if operators and (operators[0] != "&&" or not set(operators) <= {"&&", "|"}):
            return None
        if len(argv) != 2 or argv[1].startswith("-") or ".." in argv[1].split("/"):
            return None
        target = self.where.resolve(argv[1], self.cwd)
        return target if self.where.inside(target) else None

    def _shows_only(self, argv: Argv, cwd: Path) -> bool:
        known = harmless(argv)
        if known is None:
            return False
        if not known.builtin:
            program = self.where.find(argv[0])
            if program is None or self.where.inside(program):
                return False
        if known.repository != "nothing":
            hidden = self._is_hidden if known.repository == "contents" else self._is_outside
            if not self.where.plain_repository(cwd, hidden):
                return False
        if known.history and not self.where.plain_history(cwd, self._was_hidden):
            return False
        for word in known.files:
            path = self.where.resolve(word, cwd)
            names = (path, _as_named(word, cwd), *self.where.other_names(path))
            if not self.where.inside(path) or any(read_is_protected(name, self.where) for name in names):
                return False
            if secret_file(names, self.where):
                return False
        return self.where.inside(cwd)

    def _is_outside(self, path: Path) -> bool:
        return not self.where.inside(path)

    def _is_hidden(self, path: Path) -> bool:
        if self._is_outside(path):
            return True
        return likelihood(path, self.where) != "no" and bool(secret_file((path,), self.where))

    def _was_hidden(self, path: Path) -> bool:
        """By its name: what it held is nowhere to be looked into."""
        return likelihood(path, self.where) == "certain"

    def _allowed(self) -> bool:
        if any(rule.line == self.line and self._holds(rule, self.cwd) for rule in self._allowing(self.cwd)):
            return True
        if self.reading.problem:
            return False
        cwd, commands = self.cwd, self.reading.commands
        if commands[0][0] == "cd" and len(commands) > 1:
            target = self._harmless_cd(commands[0])
            if target is None:
                return False
            cwd, commands = target, commands[1:]
        if len(commands) > 1 and any(_MOVES & set(argv[:2]) for argv in commands):
            return False  # each was allowed where it stood, and not where the other leads
        patterns = [rule for rule in self._allowing(cwd) if not rule.line]
        return all(
            any((not rule.argv or argv_matches(rule.argv, argv)) and self._holds(rule, cwd) for rule in patterns)
            or self._shows_only(argv, cwd)
            for argv in commands
        )

    def _holds(self, rule: Rule, cwd: Path) -> bool:
        """Whether what the rule's command runs is what it was when somebody allowed it (D48)."""
        if rule.programs is None:
            return True
        if not self._is_bound:
            return False
        differ = changed(rule.programs, self._programs(rule, cwd))
        self.changes.update({(each.now.path, each.now.part): each for each in differ})
        return not differ

    def _programs(self, rule: Rule, cwd: Path) -> Programs:
        return programs((rule.argv,), (cwd,), self.where) if rule.argv else self.programs()

    def programs(self) -> Programs:
        """All that the line runs and that can be rewritten, as it is now."""
        return programs(read_loosely(self.line, runners=False), self._places(), self.where)

    def _allowing(self, cwd: Path) -> list[Rule]:
        return [
            rule for rule in self.rules.of("allow", "shell") if not rule.sandbox and place_is(rule.cwd, cwd, self.where)
        ]

    @cached_property
    def _is_bound(self) -> bool:
        """Whether all that the line runs is known: what a part of it writes, another may run."""
        return is_bound(self.line, self._places(), self.programs(), self.where)

    def _offer(self) -> Rule | None:
        """Exactly this command here (D29): its words when they are known, else its text. None: no more than once."""
        if not self._is_bound:
            return None
        commands = self.reading.commands
        if len(commands) == 1 and not {ANY_WORD, ANY_WORDS} & set(commands[0]):
            rule = Rule("allow", "shell", argv=commands[0], cwd=str(self.cwd))
        else:
            rule = Rule("allow", "shell", line=self.line, cwd=str(self.cwd))
        return replace(rule, programs=self._programs(rule, self.cwd))


def programs_run(action: Action, where: PolicyContext) -> Programs:
    """What a command runs that can be rewritten, as it is now; nothing for other actions."""
    return _Command(action, Rules(), "ask", where).programs() if isinstance(action, RunCommand) else ()
