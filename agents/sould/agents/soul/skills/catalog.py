"""The skills of one session: found when it opens, looked for again at every turn.

The model is told the names, descriptions and places; it reads a skill when it needs it. The system prompt is frozen,
so a change is told as a note, which keeps the provider's cache.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from sould.agents.base.filechanges import FileChanges, Stamp
from sould.agents.base.gitplaces import repository_marks
from sould.agents.base.liveconfig import LiveConfig
from sould.agents.journal.context import Context
from sould.agents.journal.log import SessionLog
from sould.agents.permissions.trust import TrustStore
from sould.agents.soul.session_request import SessionRequest
from sould.agents.soul.skills.discovery import (
    WAITS,
    Accept,
    FoundSkills,
    Root,
    TrustedScripts,
    candidates,
    discover,
    skill_roots,
)
from sould.agents.soul.skills.skill import Skill
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import ContextNote, Notification, SessionChanged
from sould.agents.wire.notice import notice

LIST_BUDGET = 16_000
"""Characters of the list the model is given."""
NONE = "No skills found."


class SkillSource(Protocol):
    """Where a session looks for skills."""

    def roots(self) -> Sequence[Root]:
        """The directories, the strongest first; they are about to be looked through."""
        ...

    @property
    def stamp(self) -> Stamp | None:
        """How everything stood then that decides which skills there are; None: look again each time."""
        ...

    @property
    def unchanged(self) -> bool:
        """Nothing that decides which skills there are has changed since `roots`. Quick; in doubt, something has."""
        ...


class SkillCatalog:
    """Reading is synchronous file work; callers on the event loop use a thread."""

    def __init__(self, source: SkillSource, accept: Accept) -> None:
        self._source = source
        self._accept = accept
        self._found = self._told_of = FoundSkills({}, ())
        """Those there are, and those there were when changes were told last."""
        self._places: tuple[Path, ...] = ()
        self._told: set[str] = set()
        self._known_at = -1
        """The generation of the context in which the model was last seen to know the list."""

    @property
    def skills(self) -> Mapping[str, Skill]:
        """By name, the strongest of each name."""
        return self._found.skills

    @property
    def problems(self) -> tuple[str, ...]:
        """What was found and cannot be used, or is used as something else."""
        return self._found.problems

    @property
    def remarks(self) -> tuple[str, ...]:
        """What else is not as it should be; of no weight unless somebody misses a skill."""
        return self._found.remarks

    @property
    def places(self) -> tuple[Path, ...]:
        """The directories outside the project in which skills were found; the model may read them without asking."""
        return self._places

    def known_in(self, generation: int) -> bool:
        """Whether the model was last seen to know the list in this generation of its context."""
        return self._known_at == generation

    def note_known(self, generation: int) -> None:
        """The model knows the list in this generation of its context."""
        self._known_at = generation

    @property
    def stamp(self) -> Stamp | None:
        """How everything stood that was looked at last; None: look again each time."""
        return self._source.stamp

    @property
    def unchanged(self) -> bool:
        """There is nothing to look at again. Quick; in doubt, there is."""
        return self._source.unchanged

    @property
    def current(self) -> bool:
        """As `unchanged`, and nothing is to be told."""
        return self._told_of is self._found and self.unchanged

    def refresh(self) -> str:
        """Look again. What changed since the last time, as one sentence for people and the model; "" when nothing did."""
        before = self._told_of
        self.look()
        self._told_of = self._found
        return _changes(before, self._found)

    def look(self) -> None:
        """Look again, of which nobody is told before `refresh`."""
        roots = self._source.roots()
        self._places = tuple(root.path for root in roots if root.scope != "project")
        self._found = discover(roots, self._accept)

    def new_problems(self) -> tuple[str, ...]:
        """Problems this has not yet returned; each is told once a session. What waits for trust is none of them."""
        return tuple(problem for problem in self.problems if not problem.endswith(WAITS) and self.is_news(problem))

    def is_news(self, said: str) -> bool:
        """Whether this is said for the first time in the session."""
        if said in self._told:
            return False
        self._told.add(said)
        return True

    def describe(self) -> str:
        """The list as the model is given it."""
        if not self.skills:
            return NONE
        room = LIST_BUDGET
        lines: list[str] = []
        for skill in self.skills.values():
            line = f"- {skill.name}: {skill.description} (`{skill.path}`)"
            room -= len(line) + 1
            if room < 0:
                lines.append(f"- … and {len(self.skills) - len(lines)} more; the user can list them with /skills.")
                break
            lines.append(line)
        return "\n".join(lines)


def _changes(before: FoundSkills, after: FoundSkills) -> str:
    told: list[str] = []
    old, new = before.skills, after.skills
    for verb, names in (
        ("new", [name for name in new if name not in old]),
        ("changed", [name for name in new if name in old and new[name] != old[name]]),
        ("gone", [name for name in old if name not in new]),
    ):
        if names:
            told.append(f"{verb}: {', '.join(names)}")
    return "; ".join(told)


async def renew_skills(catalog: SkillCatalog, log: SessionLog, lists: Callable[[str], bool]) -> None:
    """Take up changed skills: the model is given the new list, people are told what changed (D23).

    So it is when they changed while the session was closed, or when a compaction took the newest list. `lists` says
    whether the agent's prompt lists skills at all.
    """
    changed = "" if catalog.current else await asyncio.to_thread(catalog.refresh)
    problems = catalog.new_problems()
    if problems:
        log.publish(_notice("Problems with skills", "\n".join(problems), severity="warning"))
    if changed:
        log.publish(ContextNote(text=f"The skills have changed ({changed}). Now there are:\n{catalog.describe()}"))
        log.publish(SessionChanged(commands=True))
        log.publish(_notice("The skills have changed", changed))
    elif not catalog.known_in(log.context.generation) and _is_news(catalog.describe(), log.context, lists):
        log.publish(ContextNote(text=f"The skills are not those listed before. Now there are:\n{catalog.describe()}"))
    catalog.note_known(log.context.generation)


def _is_news(listing: str, context: Context, lists: Callable[[str], bool]) -> bool:
    if listing in context.system_prompt:
        return False
    said = (part.text for message in context.messages for part in message.content if isinstance(part, TextPart))
    return not any(listing in text for text in said) and lists(listing)


def _notice(title: str, body: str, *, severity: str = "info") -> Notification:
    return notice("skills", title, body, severity=severity)


class SkillPlaces:
    """Where a session's skills may be, and whether what decides which it has is as it was. A `SkillSource`."""

    def __init__(self, trust: TrustStore, opening: SessionRequest, config: LiveConfig, changes: FileChanges) -> None:
        self._trust = trust
        self._opening = opening
        self._config = config
        self._changes = changes
        self._chosen = self._choices
        self.stamp: Stamp | None = None
        """See `SkillSource`."""

    def roots(self) -> Sequence[Root]:
        """See `SkillSource`."""
        self._chosen = extra, merge = self._choices
        cwd, environment = self._opening.cwd, self._opening.environment
        files = (*repository_marks(cwd), *self._trust.files(cwd))
        upwards = self._changes.stamp(files)
        stamp = self._changes.stamp(files, candidates(cwd, environment, extra))
        # else the candidates may be those of another moment
        self.stamp = stamp if self._changes.holds(upwards) else None
        return skill_roots(cwd, environment, extra, merge=merge)

    @property
    def unchanged(self) -> bool:
        """See `SkillSource`."""
        return self._chosen == self._choices and self._changes.holds(self.stamp)

    @property
    def _choices(self) -> tuple[Sequence[str], bool]:
        now = self._config.now
        return now.extra_skill_dirs, now.merge_all_available_skills


async def open_catalog(
    trust: TrustStore, opening: SessionRequest, config: LiveConfig, changes: FileChanges
) -> SkillCatalog:
    """The catalogue of a session, looked through once."""
    accepted = TrustedScripts(trust, opening.cwd)
    catalog = SkillCatalog(SkillPlaces(trust, opening, config, changes), accepted.refusal)
    await asyncio.to_thread(catalog.refresh)
    return catalog
