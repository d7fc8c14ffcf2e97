"""What a session does about changed skills at the beginning of a turn."""

import asyncio
import secrets
import time

from sould.agents.skills.catalog import SkillCatalog
from sould.agents.wire.log import SessionLog
from sould.agents.wire.messages import ContextNote, Notification, SessionChanged


async def renew_skills(catalog: SkillCatalog, log: SessionLog) -> None:
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
