"""What a session's calls were found to have done to files, kept in the logs of the projects the files belong to, as the calls' own.

What edits of the session, which are in the logs already, or decisions explain is left out. Nothing here looks for changes.
"""

from collections.abc import Collection, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.liveconfig import LiveConfig
from sould.agents.files.edits.editlog import Captured
from sould.agents.files.edits.project import Project
from sould.agents.files.edits.state import Edit
from sould.agents.files.projects.attributed import captured
from sould.agents.files.projects.borrowing import BorrowedProjects
from sould.agents.files.projects.changes import Change, explained, halves
from sould.agents.files.review.hunk import AgentCall
from sould.agents.files.reviewing.listing import ReviewedHunk, listed
from sould.agents.files.reviewing.settlerule import settle_rule


class FoundChanges(Struct, frozen=True):
    """Of one session."""

    session_id: str
    borrowed: BorrowedProjects
    config: LiveConfig

    @property
    def unreviewed(self) -> bool:
        """Nothing that agents do is to be reviewed."""
        return settle_rule(self.config) == "never"

    async def keep(self, changes: Sequence[Change], since: int, call: AgentCall) -> list[Change]:
        """See `WatchedFiles.note`."""
        left = await self._unexplained(changes, since)
        met: dict[Path, tuple[ReviewedHunk, ...]] = {}
        allowed = self.unreviewed
        for project, found in left:
            paths = {str(change.path) for change in found}
            before = self._of_others(project, paths)
            drafts: list[Captured] = [captured(change, call, allowed=allowed) for change in found]
            await project.record(drafts, since)
            for path, hunks in (_met(before, _pending(project, paths), call) if before else {}).items():
                met[Path(path)] = hunks
        return [replace(change, met=met.pop(change.path, ())) for _, found in left for change in found]

    async def make_sure(self, call: AgentCall) -> None:
        """See `WatchedFiles.make_sure`."""
        for project in self.borrowed:
            await project.make_sure(call.session_id, call.turn_id, call.call_id)

    async def _unexplained(self, changes: Sequence[Change], since: int) -> list[tuple[Project, list[Change]]]:
        """By project."""
        own: dict[Path, Sequence[Edit]] = {}
        for project in self.borrowed:
            own |= project.edits_since(self.session_id, since)
        left: dict[int, tuple[Project, list[Change]]] = {}
        roots: dict[Path, Project] = {}
        for found in changes:
            left_of_it = explained(found, own.get(found.path, ()))
            for change in (half for each in left_of_it for half in halves(each)):
                parent = change.path.parent
                if parent not in roots:
                    roots[parent] = await self.borrowed.of(change.path)
                project = roots[parent]
                if change.before_mode == change.after_mode and project.review.is_decided(
                    str(change.path), change.after, since
                ):
                    continue  # a reject that did not wait for the command
                left.setdefault(id(project), (project, []))[1].append(change)
        return list(left.values())

    def _of_others(self, project: Project, paths: Collection[str]) -> list[ReviewedHunk]:
        return [each for each in _pending(project, paths) if self.session_id not in each.sessions]


def _pending(project: Project, paths: Collection[str]) -> list[ReviewedHunk]:
    state = project.review.state
    known = [path for path in paths if path in state.files]
    return [hunk for file in listed(state, {}, known) for hunk in file.hunks] if known else []


def _met(
    before: Sequence[ReviewedHunk], after: Sequence[ReviewedHunk], call: AgentCall
) -> dict[str, tuple[ReviewedHunk, ...]]:
    """Those that a call has changed or ended, by file."""
    now = {hunk.id: hunk for hunk in after}
    found: dict[str, tuple[ReviewedHunk, ...]] = {}
    for hunk in before:
        there = now.get(hunk.id)
        if there is None or any(_is(agent, call) for agent in there.agents):
            found[hunk.path] = (*found.get(hunk.path, ()), hunk)
    return found


def _is(agent: AgentCall, call: AgentCall) -> bool:
    return (agent.session_id, agent.turn_id, agent.call_id) == (call.session_id, call.turn_id, call.call_id)
