"""Decisions carried out: what each makes of its file, one after the other, and then that done on disk.

A decision is in the log before it is carried out here, and settled after. Who calls holds the file.
"""

import os
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec.structs import replace

from sould.agents.base.filenames import Reach
from sould.agents.base.workspace import FileChangedError, WorkspaceError
from sould.agents.files.edits.blobs import BlobMissingError
from sould.agents.files.edits.editlog import Decided
from sould.agents.files.edits.outcomes import change_of, decided_change_of, outcome, outcomes_at_once
from sould.agents.files.edits.ownership import ALONE
from sould.agents.files.edits.project import Project
from sould.agents.files.review.file import TrackedFile
from sould.agents.files.review.filedecisions import Done, PutContent, creates, removes
from sould.agents.files.reviewing.answers import Outcome, failed, together
from sould.agents.files.reviewing.files import ReviewFiles
from sould.agents.files.reviewing.listing import ReviewedHunk
from sould.agents.files.reviewing.steps import DecisionStep, effects_of, in_one_write

Refused: TypeAlias = tuple[Decided, object]
"""A decision that cannot be carried out, and the answer that says why."""
Look: TypeAlias = Callable[[str], Awaitable[None]]
"""Takes what a file holds now."""


class CarryingOut:
    """In one project, whose files `files` are."""

    def __init__(self, project: Project, files: ReviewFiles, look: Look) -> None:
        self._project = project
        self._files = files
        self._look = look

    async def do(self, path: str, steps: Sequence[DecisionStep]) -> Outcome:
        """Carry out decisions that are on disk, in order; the file is held."""
        outcomes: list[Outcome] = []
        todo = list(steps)
        while todo:
            run = in_one_write(todo)
            try:
                await self._carry_out(path, run)
            except (WorkspaceError, OSError, BlobMissingError) as error:
                await self._project.settle_all([step.event.n for step in todo], written=False)
                if isinstance(error, FileChangedError):
                    await self._look(path)
                outcomes.append(Outcome(left=tuple(failed(step.event, step.hunk, error) for step in todo)))
                break
            await self._project.settle_all([step.event.n for step in run], written=True)
            state = self._project.review.state
            outcomes.append(Outcome(tuple(step.told(state.part(step.event)) for step in run)))
            todo = todo[len(run) :]
        if steps and self._files.serving(Path(path)) is not None:
            await self._look(path)  # an editor may have formatted it while it was saved
        return together(outcomes)

    async def _carry_out(self, path: str, run: Sequence[DecisionStep]) -> None:
        sessions = {session for step in run for session in step.event.sessions}
        effects = effects_of(run)
        made = [folder for each in filter(removes, effects) for folder in self._project.made_above(Path(each.path))]
        made += [Path(each.path) for each in effects if self._project.is_made_directory(Path(each.path))]
        is_new = any(creates(each) or isinstance(each, PutContent) for each in effects)
        mode = self._project.mode_before_deletion(Path(path)) if is_new else None
        directories = () if self._project.root == ALONE else (self._project.root,)
        reach = Reach(directories, self._project.was_written_in_place(Path(path)))
        await self._files.carry_out(effects, sessions, made, mode, reach)


def steps_of(
    file: TrackedFile, events: Sequence[Decided], shown: Mapping[int, ReviewedHunk]
) -> tuple[list[DecisionStep], list[Refused]]:
    """What each decision makes of the file, one after the other; and those that cannot be carried out then."""
    steps: list[DecisionStep] = []
    left: list[Refused] = []
    todo = deque(events)
    while todo:
        for done in outcomes_at_once(file, todo):
            event = todo.popleft()
            steps.append(DecisionStep(event, shown.get(event.hunk_id), done, file.in_base))
            file = done.file
        if not todo:
            break
        drafted = todo.popleft()
        event = _as_it_is(drafted, shown.get(drafted.hunk_id), file)
        done = outcome(file, event, in_the_way=_in_the_way(file, event))
        if isinstance(done, Done):
            steps.append(DecisionStep(event, shown.get(event.hunk_id), done, file.in_base))
            file = done.file
        else:
            left.append((event, done))
    return steps, left


def _in_the_way(file: TrackedFile, event: Decided) -> str:
    """The path of what stands where a decision is to move a file, or to bring one back; "" where nothing does."""
    change, decided = change_of(file, event.hunk_id), decided_change_of(file, event.hunk_id)
    if event.verdict == "undo":
        return _there(decided.change.after) if decided is not None and decided.change.kind == "rename" else ""
    if change is not None and change.kind == "delete" and event.verdict == "reject":
        return _around(file.path)
    return _there(change.before) if change is not None and change.kind == "rename" else ""


def _there(path: str) -> str:
    return path if os.path.lexists(path) else ""


def _around(path: str) -> str:
    """What is in a directory that has the place of a file, or a file that has the place of a directory above it."""
    above = next((folder for folder in Path(path).parents if os.path.lexists(folder)), Path("/"))
    if not above.is_dir():
        return str(above)
    inside = os.walk(path) if not os.path.islink(path) else ()
    return next((os.path.join(folder, name) for folder, _, names in inside for name in sorted(names)), "")


def _as_it_is(event: Decided, seen: ReviewedHunk | None, file: TrackedFile) -> Decided:
    """A decision about a hunk that those before it in the same order changed, as they do who bring a last line without end back."""
    now = file.text.pending(event.hunk_id)
    if seen is None or now is None or event.digest != seen.digest:
        return event
    return replace(event, digest=now.hunk.digest)
