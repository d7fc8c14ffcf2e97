"""Opening a session's skills: where they are for this client, and which the user's trust allows."""

import asyncio
from collections.abc import Sequence

from sould.agents.liveconfig import LiveConfig
from sould.agents.opening.opening import Opening
from sould.agents.permissions.trust import TrustStore
from sould.agents.skills.catalog import SkillCatalog
from sould.agents.skills.discovery import Root, skill_roots
from sould.agents.skills.scripts import TrustedScripts


async def open_catalog(trust: TrustStore, opening: Opening, config: LiveConfig) -> SkillCatalog:
    """The catalogue of a session, looked through once."""

    def roots() -> Sequence[Root]:
        current = config.now
        return skill_roots(
            opening.cwd, opening.environment, current.extra_skill_dirs, merge=current.merge_all_available_skills
        )

    accepted = TrustedScripts(trust, opening.cwd)
    catalog = SkillCatalog(roots, accepted.refusal)
    await asyncio.to_thread(catalog.refresh)
    return catalog
