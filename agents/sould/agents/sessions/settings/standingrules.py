"""The rules that hold in a directory, with no session: what its user wrote, and what they allowed beyond one (`sould rules`).

Reads files of the user's only; changes nothing. Blocks.
"""

from datetime import datetime
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from sould.agents.files.projects.projects import Projects
from sould.agents.permissions.remembered import Entry, ProjectKey, Remembered
from sould.agents.permissions.rules import Rule, RulesError, read_entries
from sould.agents.sessions.settings.projectmemory import project_key

Reach: TypeAlias = Literal["user", "project", "always"]


class StandingRule(Struct, frozen=True):
    """One rule, and where it is written. `entry`: the answer that made it; None: its user wrote it."""

    reach: Reach
    rule: Rule
    file: Path
    line: int
    entry: Entry | None = None
    holds: bool = True
    """Here: not, when it is another project's."""


class StandingRules(Struct, frozen=True):
    """Of one directory. `problems`: files that cannot be used, each in a sentence. `project`: its root, if it is in one."""

    rules: tuple[StandingRule, ...]
    problems: tuple[str, ...]
    project: Path | None


def standing_rules(config: Path, kept: Remembered, state: Path, directory: Path, home: Path) -> StandingRules:
    """All there are, those of other projects last. `config`: where the user's own rules are; `directory` is resolved."""
    key = project_key(Projects(state), directory, home)
    found: list[StandingRule] = []
    problems: list[str] = []
    for look in (lambda: _answers(kept, key), lambda: _own(config / "rules.toml")):
        try:
            found += look()
        except RulesError as error:
            problems.append(error.message)
    found.sort(key=lambda each: (not each.holds, ("project", "always", "user").index(each.reach)))
    return StandingRules(tuple(found), tuple(problems), key.root if key else None)


def _own(file: Path) -> list[StandingRule]:
    today = datetime.now().astimezone().date()
    entries = read_entries(file)
    return [StandingRule("user", each.as_rule(), file, line) for line, each in entries if not each.is_over(today)]


def _answers(kept: Remembered, key: ProjectKey | None) -> list[StandingRule]:
    found: list[StandingRule] = []
    for line, entry in kept.entries():
        holds = entry.is_in(key)
        rule = entry.rule_in(key.root if key is not None and holds and entry.scope == "project" else None)
        found.append(StandingRule(entry.scope, rule, kept.path, line, entry, holds))
    return found
