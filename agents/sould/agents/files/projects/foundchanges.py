"""What a session's calls were found to have done to files, kept in the logs of the projects the files belong to, as the calls' own.

What edits of the session, which are in the logs already, or decisions explain is left out. Nothing here looks for changes.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.liveconfig import LiveConfig
from sould.agents.base.workspace import Command, Expected, RunningCommand, TextFile
from sould.agents.files.edits.editlog import Captured
from sould.agents.files.edits.project import Project
from sould.agents.files.edits.state import LoggedEdit
from sould.agents.files.projects.borrowing import BorrowedProjects
from sould.agents.files.projects.capture import Capture
from sould.agents.files.projects.changes import CallChange, explained, halves
from sould.agents.files.review.hunk import AgentCall
from sould.agents.files.reviewing.listing import ReviewedHunk, listed
from sould.agents.files.reviewing.settlerule import settle_rule


class Writing(Struct, frozen=True):
    """In whose name a file is changed. `allowed`: a person saw the difference and said yes before.

    `all_names`: names of the file outside the project (hard links) may change with it, as a person said.
    """

    call: AgentCall
    allowed: bool = False
    all_names: bool = False


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


class RecordingFiles(Protocol):
    """A session's files, which remember in whose name they are changed."""

    capture: Capture | None

    async def write(self, path: Path, text: str, *, expected: Expected, writing: Writing) -> TextFile:
        """As `Workspace.write_text`, in this name."""
        ...

    async def remove(self, path: Path, *, expected: str, writing: Writing) -> None:
        """As `Workspace.delete`, in this name."""
        ...

    async def run(self, command: Command) -> RunningCommand:
        """As `Workspace.run`."""
        ...


class CallChanges(Struct, frozen=True):
    """What one call does to a session's files."""

    files: RecordingFiles
    writing: Writing

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """Write in the name of this call."""
        return await self.files.write(path, text, expected=expected, writing=self.writing)

    async def delete(self, path: Path, *, expected: str) -> None:
        """Delete in the name of this call."""
        await self.files.remove(path, expected=expected, writing=self.writing)

    async def run(self, command: Command) -> RunningCommand:
        """As the session's files; what it does to files is this call's, also after the call has ended."""
        capture = self.files.capture
        if capture is None:
            return await self.files.run(command)
        return await capture.running(self.writing.call, lambda: self.files.run(command))


class FoundChanges(Struct, frozen=True):
    """Of one session."""

    session_id: str
    borrowed: BorrowedProjects
    config: LiveConfig

    @property
    def unreviewed(self) -> bool:
        """Nothing that agents do is to be reviewed."""
        return settle_rule(self.config) == "never"

    async def keep(self, changes: Sequence[CallChange], since: int, call: AgentCall) -> list[CallChange]:
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
