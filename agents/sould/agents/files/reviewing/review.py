"""What a user does with the changes under review: keep, reject, take a decision back. Never a prompt, never a turn (D41).

A decision is on disk before anything is done about it, and is done when its file is as it says; what was cut off is done when
the project is opened. Nobody who was second undoes what the first one did.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import groupby
from pathlib import Path

from msgspec.structs import replace

from sould.agents.base.filelocks import FileLocks
from sould.agents.base.filenames import names_among
from sould.agents.files.directories.folderevents import FolderEvents
from sould.agents.files.edits.editlog import Decided
from sould.agents.files.edits.project import Project
from sould.agents.files.edits.reviewed import Follower
from sould.agents.files.reviewing.answers import (
    DecidedHunk,
    DecisionListener,
    DecisionNews,
    LeftHunk,
    Outcome,
    failed,
    refused,
    shared,
    still_streaming,
    together,
    undecided,
    unsure,
)
from sould.agents.files.reviewing.carryingout import CarryingOut, Refused, steps_of
from sould.agents.files.reviewing.comments import ReviewComments
from sould.agents.files.reviewing.files import ReviewFiles
from sould.agents.files.reviewing.gitreview import GitReview
from sould.agents.files.reviewing.listing import ReviewedHunk, Selection
from sould.agents.files.reviewing.looking import LookingReview
from sould.agents.files.reviewing.orders import Order
from sould.agents.files.reviewing.watcher import ReviewWatcher


class Review(LookingReview):
    """Of one project. `files` are the user's, `locks` hold each of them while something is decided about it."""

    def __init__(
        self, project: Project, locks: FileLocks, files: ReviewFiles, git: GitReview, events: FolderEvents
    ) -> None:
        super().__init__(project, locks, files, git)
        self._following = 0
        self.comments = ReviewComments(project, files)
        self.listeners: dict[str, DecisionListener] = {}
        """Of live sessions, by id."""
        self._held: set[str] = set()
        """Sessions whose agents work on files just now."""
        self._carrying_out = CarryingOut(project, files, self.look)
        self.watcher = ReviewWatcher(self, project.review, self.git, self.saves, events)

    @contextmanager
    def following(self, follower: Follower) -> Generator[None]:
        """Tell it of each file whose review changes, as long as the block lasts, also when others change it."""
        self._following += 1
        try:
            with self._project.review.followers.following(follower), self.watcher.attended():
                yield
        finally:
            self._following -= 1

    @property
    def followed(self) -> bool:
        """Somebody is told what changes."""
        return self._following > 0

    async def aclose(self) -> None:
        """Take what was typed last; nothing may follow."""
        await self.watcher.aclose()  # first: it may hold a file, and wait for whoever looks for changes
        await super().aclose()
        self.git.close()

    # --- steps of a turn ---------------------------------------------------------------------------------------------

    def step_begins(self, session_id: str) -> None:
        """From now on what the session wrote is not taken from under it: rejects wait."""
        self._held.add(session_id)

    def step_over(self, session_id: str) -> None:
        """Nothing of the session's agents works on files now: what waited may be carried out."""
        self._held.discard(session_id)

    async def step_ended(self, session_id: str) -> None:
        """`step_over`, and what waited is done."""
        self.step_over(session_id)
        await self.carry_out_waiting()

    def _waiting(self) -> list[Decided]:
        """The decisions that wait for nobody any more."""
        return [each for each in self._project.review.state.to_carry_out.values() if self._is_due(each)]

    def _is_due(self, event: Decided) -> bool:
        return event.n in self._project.review.state.to_carry_out and self._held.isdisjoint(event.sessions)

    async def carry_out_waiting(self) -> None:
        """Carry out the decisions that wait for nobody any more."""
        if self._waiting():
            await self.git.activity.find()
        for path, events in groupby(
            sorted(self._waiting(), key=lambda each: (os.path.isdir(each.path), each.path, each.n)),
            key=lambda each: each.path,
        ):
            async with self._holding(path):
                chosen = [each for each in events if self._is_due(each)]
                if not chosen:  # whoever opened the project was carrying them out just now
                    continue
                await self.look(path, {session for each in chosen for session in each.sessions})
                file = self._files.get(path)
                gone: list[Refused] = [(each, None) for each in chosen]
                steps, stale = steps_of(file, chosen, self.pending_in(path)) if file is not None else ([], gone)
                state = self._project.review.state
                left = [refused(each.hunk_id, answer, state, path) for each, answer in stale]
                await self._project.settle_all([each.n for each, _ in stale], written=False)
                done = await self._carrying_out.do(path, steps)
                self._tell_of_waiting(chosen, together([done, Outcome(left=tuple(left))]))

    def _tell_of_waiting(self, events: Sequence[Decided], outcome: Outcome) -> None:
        """What became of decisions that waited, to each session's clients as those of one after the other."""
        for by in dict.fromkeys(each.by for each in events):
            own = [each for each in events if each.by == by]
            ids = {each.hunk_id for each in own}
            done = tuple(each for each in outcome.done if each.id in ids)
            chosen = Outcome(done, tuple(each for each in outcome.left if each.id in ids))
            sessions = frozenset(name for each in own for name in each.sessions)
            self._tell(DecisionNews(self.root, by, chosen, sessions, waited=True))

    def _tell(self, news: DecisionNews) -> None:
        for name, listener in tuple(self.listeners.items()):
            if name in news.sessions and name != news.answered_in:
                listener(news)

    # --- decisions ---------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _holding(self, path: str) -> AsyncGenerator[None]:
        """Hold a file, and where decisions about it may move it to: nobody is to write there in between."""
        while True:
            held = self._ways(path)
            async with self._locks.editing(Path(path), *held):
                if self._ways(path) <= held:  # nobody moved it while it was waited for
                    yield
                    return

    def _ways(self, path: str) -> set[Path]:
        """The other ends of a file's renames, pending and decided."""
        file = self._files.get(path)
        changes = (*file.changes, *(each.change for each in file.decided)) if file is not None else ()
        return {Path(end) for each in changes if each.kind == "rename" for end in (each.before, each.after)}

    async def decide(self, order: Order) -> Outcome:
        """Do all of it that can be done; the rest is named, with what is needed to go on."""
        await self.git.activity.find()
        if not order.selection.ids:
            await self.look_at_all()  # some may be back in their files
        outcome = await self._decide(order)
        outcome = together([outcome, await self._decide_again(order, outcome), await self._keep_twins(order, outcome)])
        if outcome.done:
            sessions = frozenset(self._part_in(outcome))
            self._tell(DecisionNews(self.root, order.by, outcome, sessions, order.answered_in))
        return outcome

    async def _decide(self, order: Order) -> Outcome:
        outcomes: list[Outcome] = []
        # what came into a directory goes before it gives way
        for path in await asyncio.to_thread(sorted, self._paths(order), key=os.path.isdir):
            async with self._holding(path):
                await self.look(path, self._sessions(path))
                outcomes.append(await self._decide_held(path, order))
        streaming = self.upcoming.find(order.selection)
        outcomes.append(Outcome(left=tuple(map(still_streaming, streaming))))
        answered = {each.id for outcome in outcomes for each in (*outcome.done, *outcome.left)}
        unknown = [number for number in order.selection.ids if number not in answered]
        outcomes.append(Outcome(left=tuple(refused(number, None, self._project.review.state) for number in unknown)))
        return together(outcomes)

    async def _decide_again(self, order: Order, first: Outcome) -> Outcome:
        """A deleted file that is back has the hunks it had: who rejected everything rejected these, too."""
        if order.selection.ids or not any(each.hunk and each.hunk.kind in ("delete", "content") for each in first.done):
            return Outcome()
        seen = {each.id for each in (*first.done, *first.left)}
        back = [each for file in self.pending(order.selection) for each in file.hunks if each.id not in seen]
        ids = tuple(each.id for each in back if not each.unsure)
        left = Outcome(left=tuple(unsure(each) for each in back if each.unsure))
        return together([await self._decide(replace(order, selection=Selection(ids))), left] if ids else [left])

    async def _keep_twins(self, order: Order, first: Outcome) -> Outcome:
        """What was kept of a file is kept under its other names (hard links), too: to reject it there would take it out of the file."""
        if order.verdict != "keep":
            return Outcome()
        kept = {
            (each.path, each.hunk.digest) for each in first.done if each.hunk is not None and each.hunk.kind == "text"
        }
        names = await asyncio.to_thread(_other_names, {path for path, _ in kept}, tuple(self._files))
        twins = ((path, hunk) for path, name in names for hunk in self.pending_in(name).values())
        ids = {hunk.id for path, hunk in twins if (path, hunk.digest) in kept}
        return await self._decide(replace(order, selection=Selection(tuple(ids)))) if ids else Outcome()

    def _part_in(self, outcome: Outcome) -> set[str]:
        """The sessions whose agents had a part in what was decided."""
        state = self._project.review.state
        events = [
            *state.to_carry_out.values(),
            *(state.verdicts[each.id] for each in outcome.done if each.id in state.verdicts),
        ]
        ids = {each.id for each in outcome.done}
        seen = {session for each in outcome.done if each.hunk is not None for session in each.hunk.sessions}
        return seen | {session for each in events if each.hunk_id in ids for session in each.sessions}

    def _paths(self, order: Order) -> list[str]:
        """The files an order is about; of one that names hunks, also those in which they are not pending any more."""
        if order.selection.ids:
            ids = frozenset(order.selection.ids)
            return sorted(path for path in self._files if not ids.isdisjoint(self._ids_in(path)))
        return [each.path for each in self.pending(order.selection)]

    def _ids_in(self, path: str) -> set[int]:
        file = self._files.get(path)
        if file is None:
            return set()
        pending = {number for each in file.text.hunks for number in each.hunk.ids}
        away = {number for each in file.text.away for number in each.hunk.ids}
        changes = {change.id for change in (*file.changes, *file.absent)} | {each.change.id for each in file.decided}
        return pending | away | changes

    def _sessions(self, path: str) -> set[str]:
        file = self._files.get(path)
        return {session for each in file.text.hunks for session in each.hunk.sessions} if file is not None else set()

    async def _decide_held(self, path: str, order: Order) -> Outcome:
        """In one file, which is held; once more what failed because somebody typed just then."""
        before = self._files.get(path)
        first = await self._decide_in(path, order)
        ids = tuple(each.id for each in first.left if each.why == "failed")
        now = self._files.get(path)
        if not ids or before is None or now is None or now.text.current == before.text.current:
            return first
        others = tuple(each for each in first.left if each.id not in ids)
        return together(
            [Outcome(first.done, others), await self._decide_in(path, replace(order, selection=Selection(ids)))]
        )

    async def _decide_in(self, path: str, order: Order) -> Outcome:
        """In one file, which is held, once."""
        state = self._project.review.state
        file = self._files.get(path)
        if file is None:
            return Outcome()
        shown = self.pending_in(path)
        chosen, left = self._chosen(path, order, shown)
        withdrawn = await self._withdraw(path, chosen) if order.verdict == "undo" else dict[int, DecidedHunk]()
        drafts = [
            order.draft(path, number, hunk, state.verdicts.get(number))
            for number, hunk in chosen
            if number not in withdrawn
        ]
        decided_before = {each.hunk_id for each in state.to_carry_out.values()}
        left += [refused(each.hunk_id, None, state) for each in drafts if each.hunk_id in decided_before]
        drafts = [each for each in drafts if each.hunk_id not in decided_before]
        deferred = {
            each.hunk_id for each in drafts if each.verdict == "reject" and not self._held.isdisjoint(each.sessions)
        }
        steps, stale = steps_of(file, [each for each in drafts if each.hunk_id not in deferred], shown)
        # those stay in the file for now, whatever is decided of the others
        deferred_steps, deferred_stale = steps_of(file, [each for each in drafts if each.hunk_id in deferred], shown)
        steps, stale = [*steps, *deferred_steps], [*stale, *deferred_stale]
        pending = {number: hunk for number, hunk in chosen if hunk is not None and order.verdict == "undo"}
        left += [
            undecided(pending[each.hunk_id]) if each.hunk_id in pending else refused(each.hunk_id, answer, state, path)
            for each, answer in stale
        ]
        try:
            events = await self._project.append_numbered([step.event for step in steps])
        except OSError as error:
            return Outcome(
                tuple(withdrawn.values()), (*left, *(failed(step.event, step.hunk, error) for step in steps))
            )
        steps = [replace(step, event=event) for step, event in zip(steps, events, strict=True)]
        immediate = [step for step in steps if step.event.hunk_id not in deferred]
        waiting = tuple(
            DecidedHunk(step.event.hunk_id, step.hunk, order.verdict, waits=True, path=path)
            for step in steps
            if step.event.hunk_id in deferred
        )
        outcome = await self._carrying_out.do(path, immediate)
        if order.verdict == "undo" and outcome.done:
            for each in {path, *(step.done.file.path for step in immediate)}:
                await self.git.note_taken_back(each)
        return together([Outcome((*withdrawn.values(), *waiting), tuple(left)), outcome])

    async def _withdraw(self, path: str, chosen: Iterable[tuple[int, ReviewedHunk | None]]) -> dict[int, DecidedHunk]:
        """Rejects of these that still wait are not carried out any more."""
        waiting = {each.hunk_id: each.n for each in self._project.review.state.to_carry_out.values()}
        found = {number: DecidedHunk(number, hunk, "undo", path=path) for number, hunk in chosen if number in waiting}
        await self._project.settle_all([waiting[number] for number in found], written=False)
        return found

    def _chosen(
        self, path: str, order: Order, pending: Mapping[int, ReviewedHunk]
    ) -> tuple[list[tuple[int, ReviewedHunk | None]], list[LeftHunk]]:
        """The hunks of a file that an order is about, as they are now, of those that are pending."""
        if order.selection.ids:
            known = self._ids_in(path)
            ids = [number for number in order.selection.ids if number in known]
            return sorted(((number, pending.get(number)) for number in ids), key=_turn), []
        chosen = [each for each in pending.values() if order.selection.has(each)]
        others = [shared(each, order.selection) for each in chosen if order.selection.others_in(each)]
        alone = [each for each in chosen if not order.selection.others_in(each)]
        left = [each for each in alone if each.unsure and order.verdict == "reject"]
        sure = [(each.id, each) for each in alone if each not in left]
        return sorted(sure, key=_turn), [*others, *map(unsure, left)]


def _turn(chosen: tuple[int, ReviewedHunk | None]) -> tuple[bool, int]:
    """A rename goes last: until then the file is where it is. The last deletion goes first: it took away what stood there last."""
    kind = chosen[1].kind if chosen[1] is not None else ""
    return kind == "rename", -chosen[0] if kind == "delete" else 0


def _other_names(paths: Iterable[str], known: Sequence[str]) -> list[tuple[str, str]]:
    """Each path with its other names (hard links) among the known paths. Blocks."""
    return [(path, name) for path in paths for name in names_among(known, path)]
