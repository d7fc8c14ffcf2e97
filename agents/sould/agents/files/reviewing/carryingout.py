"""Decisions carried out: what each makes of its file, one after the other, and then that done on disk.

A decision is in the log before it is carried out here, and settled after. Who calls holds the file.
"""

import os
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.filenames import Reach
from sould.agents.base.workspace import FileChangedError, WorkspaceError
from sould.agents.files.edits.blobs import BlobMissingError
from sould.agents.files.edits.editlog import Decided
from sould.agents.files.edits.outcomes import change_of, decided_change_of, outcome, outcomes_at_once
from sould.agents.files.edits.ownership import ALONE
from sould.agents.files.edits.project import Project
from sould.agents.files.review.file import TrackedFile
from sould.agents.files.review.filedecisions import DecidedFile, Effect, PutContent, PutText, creates, removes
from sould.agents.files.reviewing.answers import DecidedHunk, Outcome, failed, together
from sould.agents.files.reviewing.files import ReviewFiles
from sould.agents.files.reviewing.listing import ReviewedHunk


class DecisionStep(Struct, frozen=True):
    """A decision with what the file is after it."""

    event: Decided
    hunk: ReviewedHunk | None
    done: DecidedFile
    was_in_base: bool

    def told(self, part: int) -> DecidedHunk:
        """What whoever decided is told of it; see `DecidedHunk.part`."""
        event, after = self.event, self.done.file
        last = event.verdict == "reject" and not self.was_in_base and (after.in_base or not after.exists)
        fate = "" if not last else "stays" if after.exists else "gone"
        stayed = self.done.stayed
        return DecidedHunk(event.hunk_id, self.hunk, event.verdict, stayed, path=event.path, new_file=fate, part=part)

    @property
    def only_text(self) -> bool:
        """Nothing but text is written."""
        return all(isinstance(effect, PutText) for effect in self.done.effects)


def _in_one_write(steps: Sequence[DecisionStep]) -> Sequence[DecisionStep]:
    """As many of the first as come to one write at most."""
    count = next((n for n, step in enumerate(steps) if not step.only_text), len(steps))
    return steps[: max(1, count)]


def _effects_of(steps: Sequence[DecisionStep]) -> list[Effect]:
    """What is to happen on disk; writes of one text after the other are the last one."""
    merged: list[Effect] = []
    for effect in (effect for step in steps for effect in step.done.effects):
        last = merged[-1] if merged else None
        if isinstance(effect, PutText) and isinstance(last, PutText) and last.path == effect.path:
            merged[-1] = replace(last, after=effect.after)
        else:
            merged.append(effect)
    return [each for each in merged if not _is_nothing(each)]


def _is_nothing(effect: Effect) -> bool:
    """A file comes back and goes again."""
    return isinstance(effect, PutText) and effect.before is None and effect.after is None


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
            run = _in_one_write(todo)
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
        effects = _effects_of(run)
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
        if isinstance(done, DecidedFile):
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
