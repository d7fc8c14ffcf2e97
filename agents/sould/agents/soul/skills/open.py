"""Opening a session's skills: where they are for this client, and which the user's trust allows."""

import asyncio
from collections.abc import Sequence

from sould.agents.base.filechanges import FileChanges, Stamp
from sould.agents.base.gitplaces import repository_marks
from sould.agents.base.liveconfig import LiveConfig
from sould.agents.permissions.trust import TrustStore
from sould.agents.soul.session_request import SessionRequest
from sould.agents.soul.skills.catalog import SkillCatalog
from sould.agents.soul.skills.discovery import Root, candidates, skill_roots
from sould.agents.soul.skills.scripts import TrustedScripts


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
