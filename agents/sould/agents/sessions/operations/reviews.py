"""The review as a session's user has it: of all projects the session works in, with numbers that name one hunk each.

Every order is one of `Review` (D41); nothing here is a turn or asks a model. Others' decisions about what the session's
agents did are told to its clients, one line each.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.edits.ownership import ALONE
from sould.agents.files.edits.reviewstate import LeftText
from sould.agents.files.projects.sessionfiles import SessionFiles
from sould.agents.files.review.decisions import Choice
from sould.agents.files.review.filedecisions import ConflictChoice
from sould.agents.files.reviewing.answers import DecisionNews, Outcome
from sould.agents.files.reviewing.listing import EVERYTHING, FileReview, ReviewedHunk, Selection
from sould.agents.files.reviewing.orders import Order
from sould.agents.files.reviewing.review import Review
from sould.agents.files.reviewing.shapes import Verdict
from sould.agents.files.reviewing.shown import shown_outcome
from sould.agents.journal.log import SessionLog
from sould.agents.sessions.operations.reviewtext import Names, news_of
from sould.agents.wire.notice import notice, to_review

ALONE_PREFIX: Final = "elsewhere:"
"""Before the numbers of files that belong to no project."""


class HunkName(Struct, frozen=True):
    """A hunk as people name it: `3`, or `lib:3` in another project than the session's own."""

    prefix: str
    id: int


class ReviewedProject(Struct, frozen=True):
    """What is pending in one project, and what its hunks are called."""

    names: Names
    files: Sequence[FileReview]
    left: Mapping[str, LeftText] = {}
    """What editors held unsaved when they ended, by path."""

    @property
    def hunks(self) -> Sequence[ReviewedHunk]:
        """Of all files."""
        return [hunk for file in self.files for hunk in file.hunks]


class SessionReview:
    """Of one session, whose own directory is `directory`."""

    def __init__(self, session_id: str, directory: Path, files: SessionFiles, log: SessionLog) -> None:
        self._session_id = session_id
        self._directory = directory
        self._files = files
        self._log = log
        self._shown: dict[HunkName, ReviewedHunk] = {}
        """As the clients saw them last."""
        self._prefixes: dict[Path, str] = {}
        files.projects.tell(self._heard)

    async def pending(self) -> Sequence[ReviewedProject]:
        """What is pending, as the files are now, and what calls of the session are about to write.

        The session's own project comes first. Raises OSError, SouldError.
        """
        projects: list[ReviewedProject] = []
        reviews = await self._reviews()
        await self._files.foreseen.find()
        for prefix, review in reviews:
            await review.look_at_all()
            pending = review.upcoming.beside(review.pending(), EVERYTHING)
            files = [each for each in pending if self._is_about(review, each)]
            ran = {hunk.id: hunk.ran for file in files for hunk in file.hunks}
            known = ReviewedProject(replace(self._names(prefix), ran=ran), files)
            projects.append(known if review.root == ALONE else replace(known, left=review.left(EVERYTHING)))
        return projects

    async def decided(self) -> Sequence[HunkName]:
        """What was kept or rejected, or will be, and can be taken back as far as is known. Raises OSError, SouldError."""
        reviews = await self._reviews()
        known = [(prefix, each) for prefix, review in reviews for each in review.decisions(0)]
        return [HunkName(prefix, each.id) for prefix, each in known if each.verdict != "undo"]

    def tell_turn(self, turn_id: str) -> None:
        """A turn has ended: how much it left to review, if anything; not what an editor lets its user review by itself."""
        files = [
            file for review in self._files.projects.reviews() for file in review.pending(Selection(turn_id=turn_id))
        ]
        counts = [count for count in map(_to_review, files) if count]
        if counts:
            self._log.publish(to_review(len(counts), sum(counts)))

    def note_shown(self, project: ReviewedProject, hunks: Iterable[ReviewedHunk]) -> None:
        """The clients saw these: what an agent changes from now on is not decided unseen."""
        self._shown |= {HunkName(project.names.prefix, hunk.id): hunk for hunk in hunks}

    async def decide(
        self,
        verdict: Verdict,
        chosen: Collection[HunkName],
        by: str,
        *,
        choice: Choice | ConflictChoice | None = None,
        reason: str = "",
    ) -> Sequence[tuple[Names, Outcome]]:
        """Keep, reject, or take such a decision back; project by project. Raises OSError, SouldError."""
        outcomes: list[tuple[Names, Outcome]] = []
        for prefix, review in await self._reviews():
            ids = tuple(sorted(each.id for each in chosen if each.prefix == prefix))
            if not ids:
                continue
            await review.look_at_all()
            order = Order(verdict, Selection(ids), by, reason, choice, self._digests(prefix, review, ids))
            outcome = await review.decide(replace(order, answered_in=self._session_id))
            self._note_present(prefix, outcome)
            outcomes.append((self._names(prefix), outcome))
        return outcomes

    async def text(self, path: str) -> Sequence[str]:
        """The lines of a file as its user sees it. Raises WorkspaceError."""
        return (await self._files.read_text(Path(path))).text.splitlines(keepends=True)

    async def deleted(self, path: str) -> str:
        """The text, as its user accepted it, of a file that agents deleted; "" where there is none."""
        reviews = [review for _, review in await self._reviews() if review.deleted(path)]
        return await reviews[0].base(path) or "" if reviews else ""

    async def _reviews(self) -> Sequence[tuple[str, Review]]:
        """With the prefix of their numbers, each once."""
        own, *others = await self._files.projects.open_reviews()
        self._prefixes = {own.root: ""}
        for root in sorted(review.root for review in others):
            usual = _usual_prefix(root)
            taken = sum(prefix.startswith(usual[:-1]) for prefix in self._prefixes.values())
            self._prefixes[root] = f"{usual[:-1]}-{taken + 1}:" if usual in self._prefixes.values() else usual
        return [(self._prefixes[review.root], review) for review in (own, *others)]

    def _is_about(self, review: Review, file: FileReview) -> bool:
        """Of the files that belong to no project, those of the session and those in its directory."""
        mine = any(self._session_id in hunk.sessions for hunk in (*file.hunks, *file.streaming))
        return review.root != ALONE or mine or Path(file.path).is_relative_to(self._directory)

    def _names(self, prefix: str) -> Names:
        return Names(self._directory, prefix, self._session_id)

    def _digests(self, prefix: str, review: Review, ids: Collection[int]) -> dict[int, str]:
        """What the user saw of hunks that an agent has changed since; what they changed themselves they know."""
        present = {hunk.id: hunk for file in review.pending(Selection(tuple(ids))) for hunk in file.hunks}
        digests: dict[int, str] = {}
        for number, hunk in present.items():
            shown = self._shown.get(HunkName(prefix, number), hunk)
            digests[number] = hunk.digest if shown.agents == hunk.agents else shown.digest
        return digests

    def _note_present(self, prefix: str, outcome: Outcome) -> None:
        """Whoever is told that a hunk is another one by now may decide about that one next."""
        self._shown |= {HunkName(prefix, left.id): left.present for left in outcome.left if left.present is not None}

    def _heard(self, news: DecisionNews) -> None:
        usual = "" if self._directory.is_relative_to(news.root) else _usual_prefix(news.root)
        names = self._names(self._prefixes.get(news.root, usual))
        for title, body in news_of(news.by, shown_outcome(news.outcome), names, waited=news.waited):
            self._log.publish(notice("review", title, body))


def _to_review(file: FileReview) -> int:
    """Hunks of a file; that it was made is no further one beside its text."""
    hunks = [hunk for hunk in file.hunks if not hunk.shown_in]
    return len([hunk for hunk in hunks if hunk.kind != "add"]) or len(hunks)


def _usual_prefix(root: Path) -> str:
    """Of the numbers of another project than the session's own."""
    return ALONE_PREFIX if root == ALONE else f"{root.name}:"
