"""What a session does about changed skills at the beginning of a turn."""

import asyncio
from collections.abc import Callable

from sould.agents.journal.context import Context
from sould.agents.journal.log import SessionLog
from sould.agents.soul.skills.catalog import SkillCatalog
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import ContextNote, Notification, SessionChanged
from sould.agents.wire.notice import notice


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
