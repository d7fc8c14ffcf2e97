"""What a session's calls were found to have done to files, kept in the logs of the projects the files belong to, as the calls' own.

What edits of the session, which are in the logs already, or decisions explain is left out. Nothing here looks for changes.
"""

from collections.abc import Collection, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.edits.editlog import Captured
from sould.agents.files.edits.project import Project
from sould.agents.files.edits.state import LoggedEdit
from sould.agents.files.projects.borrowing import BorrowedProjects
from sould.agents.files.projects.changes import CallChange, explained, halves
from sould.agents.files.projects.projects import Projects
from sould.agents.files.review.hunk import AgentCall
from sould.agents.files.reviewing.gitreview import settle_rule
from sould.agents.files.reviewing.listing import ReviewedHunk, listed


def captured(change: CallChange, call: AgentCall, *, allowed: bool) -> Captured:
    """A change that was found, as the call's. `allowed`: it is not to be reviewed."""
    return replace(
        Captured.of_call(call, change.path, change.before, change.after),
        before_mode=change.before_mode,
        after_mode=change.after_mode,
        shared=change.shared,
        unsure=change.unsure,
        ran=change.ran,
        secret=change.secret,
        allowed=allowed,
    )


class FoundChanges(Struct, frozen=True):
    """Of one session."""

    session_id: str
    borrowed: BorrowedProjects
    projects: Projects

    @property
    def unreviewed(self) -> bool:
        """Nothing that agents do is to be reviewed."""
        return settle_rule(self.projects.config) == "never"

    @property
    def touched(self) -> Collection[Path]:
        """The files that agents changed and editors have open."""
        edited = (path for project in self.borrowed for path in project.edits())
        return {*edited, *self.projects.buffers.opened_files()}

    async def keep(self, changes: Sequence[CallChange], since: int, call: AgentCall) -> list[CallChange]:
        """Keep the changes as the call's, but for what edits since the mark (`moment`) explain; what is left.

        Raises:
            OSError, SouldError: they could not be kept.
        """
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
        """What was kept of the call and may have been the user's was the call's. Raises OSError: that could not be kept."""
        for project in self.borrowed:
            await project.make_sure(call.session_id, call.turn_id, call.call_id)

    async def _unexplained(self, changes: Sequence[CallChange], since: int) -> list[tuple[Project, list[CallChange]]]:
        """By project."""
        own: dict[Path, Sequence[LoggedEdit]] = {}
        for project in self.borrowed:
            own |= project.edits_since(self.session_id, since)
        left: dict[int, tuple[Project, list[CallChange]]] = {}
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
