"""Which answers may hold beyond their session, and how far: what is offered, what is kept, and what holds now.

In a project: the very rule that the session would remember. Always: only what does not depend on a project, which is a host, a
file outside of it, a command about the machine. Never secrets or protected files: these have no rule to offer. Decides nothing else.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.errors import SouldError
from sould.agents.base.tasks import run_shielded_in_thread
from sould.agents.permissions.policy import Action, CallExternal, EditFile, FetchPage, ReadFile, RunCommand, Trust
from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.programs import same_everywhere
from sould.agents.permissions.remembered import Entry, FindProject, ProjectKey, Remembered
from sould.agents.permissions.rules import Rule, Rules, RulesError, parse_entries
from sould.agents.permissions.scopes import lasting_button, lasting_words
from sould.agents.permissions.secrets import text_holds_secret
from sould.agents.wire.messages import ApprovalResponse, LastingScope, Lasts

TellUser: TypeAlias = Callable[[str], object]
"""Tells the user's clients a sentence, at the next occasion."""


class Offer(Struct, frozen=True):
    """One answer that would hold beyond the session: as it is shown, and what is kept when it is given."""

    shown: LastingScope
    rule: Rule
    project: ProjectKey | None


class Lasting(Struct, frozen=True):
    """Of one session."""

    kept: Remembered
    find_project: FindProject
    tell: TellUser

    def rules(self, action: Action, trust: Trust) -> Rules:
        """What earlier answers allow of such actions. Blocks.

        Raises:
            RulesError: the file is wrong; nothing in it counts.
        """
        rules = self.kept.rules(_tools_of(action), self.find_project)
        if trust != "restricted":
            return rules
        # a command may not be what it is elsewhere where the user trusts nothing
        return Rules(tuple(rule for rule in rules.rules if rule.tool != "shell" or rule.cwd))

    async def offers(self, action: Action, rule: Rule | None, trust: Trust, where: PolicyContext) -> tuple[Offer, ...]:
        """What may be answered beside `rule`, which the session would remember."""
        return await asyncio.to_thread(self._offers, action, rule, trust, where) if rule is not None else ()

    def _offers(self, action: Action, rule: Rule, trust: Trust, where: PolicyContext) -> tuple[Offer, ...]:
        try:
            self.kept.entries()
        except RulesError:
            return ()  # nothing could be added to it
        project = self.find_project()
        here = in_project(action, rule, where) if project is not None else None
        everywhere = always(action, rule, where) if trust != "restricted" else None
        found = [
            *([self._offer("project", here, project)] if here is not None else []),
            *([self._offer("always", everywhere, None)] if everywhere is not None else []),
        ]
        return tuple(each for each in found if _can_be_written(each))

    def _offer(self, lasts: Lasts, rule: Rule, project: ProjectKey | None) -> Offer:
        words = lasting_words(rule, project.root if project else None)
        return Offer(LastingScope(scope=lasts, button=lasting_button(rule, lasts), remembers=words), rule, project)

    async def keep(self, offers: Sequence[Offer], answer: ApprovalResponse) -> bool:
        """Save what was answered, if it was one of these; whether it is saved. When it cannot be, the user is told."""
        given = next((each for each in offers if each.shown.scope == answer.lasting), None)
        if given is None or answer.response != "approve_for_session":
            return False
        try:
            await run_shielded_in_thread(self.kept.keep, Entry.of(given.rule, given.project, answer.answered_by))
        except (SouldError, OSError) as error:
            self.tell(f"What you allowed holds for this session only: {error}")
            return False
        return True


def in_project(action: Action, rule: Rule, where: PolicyContext) -> Rule | None:
    """What all sessions of the project would remember; None: nothing."""
    match action:
        case EditFile(path=path):
            if rule.cwd != "workspace":
                return rule
            # another session's workspace may be another one
            return replace(rule, cwd=str(where.root)) if path.path.is_relative_to(where.root) else None
        case CallExternal():
            return rule if rule.definition else None
        case RunCommand(line=line):
            return None if text_holds_secret(line) else replace(rule, cwd=os.path.realpath(rule.cwd))
        case _:
            return rule


def always(action: Action, rule: Rule, where: PolicyContext) -> Rule | None:
    """What the sessions of all projects would remember; None: it depends on the project."""
    match action:
        case FetchPage():
            return rule
        case ReadFile(path=path):
            return None if path.inside else rule
        case RunCommand(line=line, cwd=cwd):
            same = rule.argv and not rule.programs and same_everywhere(rule.argv, cwd, where)
            return replace(rule, cwd="") if same and not text_holds_secret(line) else None
        case _:
            return None


def _can_be_written(offer: Offer) -> bool:
    """Names that are no text have no place in a file of texts."""
    entry = Entry.of(offer.rule, offer.project, "")
    try:
        return parse_entries(entry.written(), "", Entry) == ((1, entry),)
    except RulesError:
        return False


def _tools_of(action: Action) -> tuple[str, ...]:
    match action:
        case ReadFile(to_edit=to_edit):
            return ("read", "edit") if to_edit else ("read",)
        case EditFile():
            return ("edit",)
        case RunCommand():
            return ("shell",)
        case CallExternal(name=name):
            return (f"mcp:{name}",)
        case FetchPage():
            return ("fetch",)
        case _:
            return ()
