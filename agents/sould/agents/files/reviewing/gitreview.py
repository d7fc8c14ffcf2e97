"""What it means for the files under review that git moved: what the user staged or committed is kept, by git.

A hunk is settled when git has it now and had not before, by whoever moved it but an agent's own command: of that it is
noted only. That git moves text in and out of the working tree is never a decision.
"""

import asyncio
import contextlib
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from sould.agents.base.config import ReviewSettings, SettleRule
from sould.agents.base.errors import ConfigError
from sould.agents.base.liveconfig import LiveConfig
from sould.agents.files.edits.editlog import Decided, Noted
from sould.agents.files.edits.outcomes import outcome
from sould.agents.files.edits.project import Project
from sould.agents.files.review.file import TrackedFile
from sould.agents.files.review.filedecisions import DecidedFile
from sould.agents.files.review.staging import HunkPart
from sould.agents.files.review.useredit import How
from sould.agents.files.reviewing.activity import Activities, RootActivity
from sould.agents.files.reviewing.gitreading import Known, Moved, Past, noted, read_moved, stands

BY_GIT = "git"
"""Who decided, in the log."""
JUST_NOW: Final = 10.0
"""Seconds ago: what a command that has just ended wrote was noted within them."""


def settle_rule(config: LiveConfig) -> SettleRule:
    """The rule that holds now; the usual one where the configuration was never read without a mistake."""
    try:
        return config.look().review.settle
    except ConfigError:
        return "decision"


def certain_within(config: LiveConfig) -> float:
    """See `settle_rule`: the seconds of a command from which on what changed meanwhile may be the user's."""
    try:
        return config.look().review.certain_within
    except ConfigError:
        return ReviewSettings().certain_within


class GitReview:
    """Of one project."""

    def __init__(self, project: Project, activities: Activities, config: LiveConfig) -> None:
        self._project = project
        self._config = config
        self._activities = activities
        self._known: dict[str, Known] = {}
        self._moved: dict[str, Moved] = {}
        self._following = contextlib.ExitStack()
        self._following.enter_context(project.review.followers.following(self._note))

    def close(self) -> None:
        """Know of no more changes."""
        self._following.close()

    @property
    def activity(self) -> RootActivity:
        """What goes on at the project's root."""
        return self._activities.at(self._project.root)

    @property
    def _files(self) -> Mapping[str, TrackedFile]:
        return self._project.review.state.files

    def _note(self, path: str) -> None:
        """The review of a file changed: git stands like this when something of it begins to be pending."""
        file = self._files.get(path)
        if file is None or not is_pending(file):
            self._known.pop(path, None)
        elif path not in self._known:
            activity = self.activity
            moment = activity.began if activity.busy else activity.git.now()
            if moment is not None and moment.commit is not None:
                self._known[path] = Known(moment, moment.commit)

    # --- by the user, or a program nobody knows -----------------------------------------------------------------------

    async def prepare(self, paths: Collection[str]) -> Collection[str]:
        """See of which of the files git has another version than when they were looked at: they are to be looked at now, and settled."""
        if self.activity.busy:
            return ()
        moved = await self._read(paths)
        self._moved = {path: each for path, each in self._moved.items() if each.concerns} | moved
        self._known |= {path: each.known for path, each in moved.items() if not each.concerns}
        return [path for path, each in moved.items() if each.concerns]

    def how(self, path: str, data: bytes | None) -> How:
        """How the file, which holds `data` on disk, came to be so, if it was changed."""
        moved = self._moved.get(path)
        return "git" if moved is not None and (moved.moves_text or moved.has_staged(path, data)) else "disk"

    async def settle(self, path: str) -> None:
        """Keep what of the file, which is held and was looked at, has come into git."""
        moved = self._moved.pop(path, None)
        if moved is None or not moved.concerns:
            return
        found = await self._newly_in(path, moved)
        await self._keep_all(path, found.items())
        await self._keep_parts(path, moved)
        if path in self._files and is_pending(self._files[path]):
            self._known[path] = moved.known  # not before: whoever looks meanwhile waits until it is kept
            if path in self._project.review.state.git:
                await self._keep_note(path, moved.known)

    # --- by an agent's own command ------------------------------------------------------------------------------------

    async def note_agent(self) -> None:
        """What moved since the files were looked at was moved by an agent's command, which has ended: note what it brought into git."""
        moved = await self._read(self._files)
        told = await self._told(moved)
        for path, each in moved.items():
            self._moved.pop(path, None)
            found = await self._newly_in(path, each)
            self._known[path] = each.known
            if settle_rule(self._config) == "commit":
                await self._keep_all(path, ((number, how) for number, how in found.items() if how == "committed"))
                found = {number: how for number, how in found.items() if how != "committed"}
            is_told_wrong = told.get(path, "") not in ("", each.known.commit)
            if found or is_told_wrong or path in self._project.review.state.git:
                await self._keep_note(path, each.known, tuple(found))

    async def _told(self, paths: Iterable[str]) -> dict[str, str]:
        """What git's log of HEAD, which has whole seconds, will tell the next daemon of files that were written just now."""
        past = {path: self._past(path).written for path in paths}
        latest = time.time() - JUST_NOW
        written = {path: int(seconds) for path, seconds in past.items() if seconds is not None and seconds > latest}
        git = self.activity.git
        commits = {second: await asyncio.to_thread(git.commit_at, second) for second in {*written.values()}}
        return {path: commits[second] for path, second in written.items()}

    async def note_taken_back(self, path: str) -> None:
        """Decisions about the file were taken back: what git has of it now is no reason to keep that again, for any daemon."""
        file = self._files.get(path)
        if file is None or not is_pending(file):
            return
        known = await asyncio.to_thread(stands, self.activity.git, self._project.root, file)
        if known is not None:
            self._known[path] = known
            await self._keep_note(path, known)

    async def _keep_note(self, path: str, known: Known, ids: tuple[int, ...] = ()) -> None:
        mark, stood = "committed" if ids else "seen", noted(known, time.time())
        with contextlib.suppress(OSError):  # then the next daemon takes it for the user's
            event = Noted(n=self._project.next_n, path=path, mark=mark, ids=ids, git=stood)
            await self._project.append(event, sync=True)

    # --- what git has -------------------------------------------------------------------------------------------------

    async def _newly_in(self, path: str, moved: Moved) -> dict[int, str]:
        state = self._project.review.state
        while (file := self._files.get(path)) is not None:
            found = await asyncio.to_thread(moved.newly_in, file, frozenset(state.committed))
            if self._files.get(path) is file:
                return found
        return {}

    async def _keep_all(self, path: str, found: Iterable[tuple[int, str]]) -> None:
        waiting = {each.hunk_id for each in self._project.review.state.to_carry_out.values()}
        drafts = [self._keep(path, number, how) for number, how in found if number not in waiting]
        if drafts:
            with contextlib.suppress(OSError):  # then it stays pending
                events = await self._project.append_numbered(drafts)
                await self._project.settle_all([each.n for each in events], written=True)

    async def _keep_parts(self, path: str, moved: Moved) -> None:
        """Of hunks that are pending still, the lines that came into git without the others."""
        file = self._files.get(path)
        if file is None or not file.text.has_hunks or file.path != path:
            return
        found = await asyncio.to_thread(moved.parts_newly_in, file)
        if self._files.get(path) is not file:
            return
        waiting = {each.hunk_id for each in self._project.review.state.to_carry_out.values()}
        drafts = [
            draft
            for number, parts in found.items()
            if number not in waiting
            for draft in _of_parts(file, number, parts)
        ]
        if drafts:
            with contextlib.suppress(OSError):  # then they stay pending
                events = await self._project.append_numbered(drafts)
                await self._project.settle_all([each.n for each in events], written=True)

    def _keep(self, path: str, number: int, why: str) -> Decided:
        file = self._files[path]
        placed = file.text.pending(number)
        changes = (change.digest for change in file.changes if change.id == number)
        digest = placed.hunk.digest if placed is not None else next(changes, "")
        return Decided(
            n=0, path=path, verdict="keep", hunk_id=number, digest=digest, by=BY_GIT, reason=why, timestamp=time.time()
        )

    async def _read(self, paths: Collection[str]) -> dict[str, Moved]:
        files = [file for path in paths if (file := self._files.get(path)) is not None and is_pending(file)]
        past = {file.path: self._past(file.path) for file in files if file.path not in self._known}
        known = {file.path: self._known[file.path] for file in files if file.path in self._known}
        root = self._project.root
        return await asyncio.to_thread(read_moved, self.activity.git, root, files, known, past)

    def _past(self, path: str) -> Past:
        edits = self._project.edits_of(Path(path))
        return Past(edits[-1].timestamp if edits else None, self._project.review.state.git.get(path))


def _of_parts(file: TrackedFile, number: int, parts: Sequence[HunkPart]) -> Iterator[Decided]:
    """The decisions that keep parts of a hunk, from the lowest to the highest: what is left above keeps the hunk's number."""
    for part in reversed(parts):
        placed = file.text.pending(number)
        if placed is None:
            return
        digest, lines = placed.hunk.digest, part.lines
        draft = Decided(
            n=0, path=file.path, verdict="keep", hunk_id=number, digest=digest, lines=lines, base_lines=part.base_lines,
            by=BY_GIT, reason="staged", timestamp=time.time(),
        )  # fmt: skip
        done = outcome(file, draft)
        if not isinstance(done, DecidedFile):
            return
        file = done.file
        yield draft


def is_pending(file: TrackedFile) -> bool:
    """Something of it is to be decided, or will be when its text is back."""
    return bool(file.changes or file.absent) or file.text.has_hunks or file.text.has_missing
