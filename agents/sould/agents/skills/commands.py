"""Skills as slash commands, and what a session does about changed ones at the beginning of a turn."""

import asyncio
import secrets
import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from sould.agents.sessions.commands import Entry, SlashCommand, say
from sould.agents.skills.catalog import SkillCatalog
from sould.agents.skills.skill import Skill
from sould.agents.soul.loop import Ending
from sould.agents.wire.messages import ContextNote, Notification, SessionChanged

if TYPE_CHECKING:
    from sould.agents.sessions.session import Session
    from sould.agents.wire.log import SessionLog


def skill_commands(catalog: SkillCatalog) -> Iterator[Entry]:
    """`/skills`, and `/skill:NAME` for every skill that is no flow."""
    yield SlashCommand("skills", "List the skills of this session"), partial(_list, catalog)
    for skill in catalog.skills.values():
        if not skill.flow:
            command = SlashCommand(f"skill:{skill.name}", skill.description or "Use this skill", "what for (optional)")
            yield command, partial(_use, skill)


async def renew_skills(catalog: SkillCatalog, log: "SessionLog") -> None:
    """Take up changed skills: the model is given the new list, people are told what changed (D23)."""
    changed = await asyncio.to_thread(catalog.refresh)
    problems = catalog.new_problems()
    if problems:
        log.publish(_notice("Some skills cannot be used", "\n".join(problems), severity="warning"))
    if changed:
        log.publish(ContextNote(text=f"The skills have changed ({changed}). Now there are:\n{catalog.describe()}"))
        log.publish(SessionChanged(commands=True))
        log.publish(_notice("The skills have changed", changed))


def _notice(title: str, body: str, *, severity: str = "info") -> Notification:
    return Notification(
        id=secrets.token_hex(6), type="skills", title=title, body=body, severity=severity, created_at=time.time()
    )


async def _use(skill: Skill, session: "Session", request: str) -> Ending:
    session.log.publish(ContextNote(text=skill_prompt(skill, request)))
    return await session.soul.turn(session.current_turn)


def skill_prompt(skill: Skill, request: str) -> str:
    """What the model is told when the user calls for a skill. `$ARGUMENTS` in the skill is what the user added."""
    place = f"Its other files are in `{skill.directory}`." if skill.directory else ""
    body = skill.body.replace("$ARGUMENTS", request)
    parts = [
        f"The user asks you to use the skill `{skill.name}` (`{skill.path}`). Follow it now. {place}".strip(),
        body,
    ]
    if request and "$ARGUMENTS" not in skill.body:
        parts.append(f"What the user wants done with it: {request}")
    return "\n\n".join(parts)


async def _list(catalog: SkillCatalog, session: "Session", _: str) -> Ending:
    lines = [
        f"- `/{'flow' if skill.flow else 'skill'}:{skill.name}` ({skill.scope}) {skill.description}"
        for skill in catalog.skills.values()
    ]
    lines += [f"- not used: {problem}" for problem in catalog.problems]
    return say(session, "\n".join(lines) or "There are no skills.")
