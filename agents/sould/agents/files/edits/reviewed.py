"""The files of one project under review, live: its events are folded here the moment they are known.

What happened on disk becomes an event here, too; nothing here writes a file of the user's.
"""

import contextlib
import stat
import time
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.diskfile import digest_of
from sould.agents.files.directories.nodes import Held, is_link, ref_of
from sould.agents.files.directories.refs import DIRECTORY, UNKEPT, link_ref, target_in
from sould.agents.files.edits.blobs import BlobMissingError, BlobStore
from sould.agents.files.edits.editlog import (
    Captured,
    Checkpoint,
    Decided,
    Event,
    Intent,
    MadeSure,
    Noted,
    Settled,
    UserChanged,
)
from sould.agents.files.edits.filefold import ranges_between
from sould.agents.files.edits.moments import moment
from sould.agents.files.edits.reviewstate import ReviewState, below
from sould.agents.files.edits.texts import Texts
from sould.agents.files.review.difference import LineEdit, edits_between
from sould.agents.files.review.file import ENDS, TrackedFile, ended
from sould.agents.files.review.lines import Lines, alike, line_end
from sould.agents.files.review.useredit import How

_REVIEWED: Final = (0, stat.S_IFREG, stat.S_IFLNK)
"""What is reviewed; 0 where only the permissions are known."""
MOST_COMPARED: Final = 200
"""Files that vanished in one call times files that appeared in it, but for equal ones, beyond which only those are taken for moved."""


_CHECKPOINT: Final = msgspec.json.Decoder(ReviewState)


ChangedBy: TypeAlias = Literal["user", "agents", "program"]
"""`program`: one that an agent left running in the background, or the user; nobody can tell."""


Follower: TypeAlias = Callable[[str], None]
"""Takes a file under review that changed."""


EditReader: TypeAlias = Callable[[str, TrackedFile | None, TrackedFile | None, ChangedBy], None]
"""Tells a session what others made of a file under review: its path, before and after, and who.

None before: it was not under review; after: it is elsewhere by now.
"""


class _Change(Struct, frozen=True):
    """What an event is about to change in a file, as those see it who read the file."""

    path: str
    by: ChangedBy
    known_to: Collection[str] = ()
    """The sessions that did it, or are told in another way."""


class Followers:
    """Who is told of the paths under review that changed."""

    def __init__(self) -> None:
        self._all: list[Follower] = []

    @contextlib.contextmanager
    def following(self, follower: Follower) -> Generator[None]:
        """Tell it, as long as the block lasts."""
        self._all.append(follower)
        try:
            yield
        finally:
            self._all.remove(follower)

    def tell(self, path: str) -> None:
        """Something changed there."""
        for each in tuple(self._all):
            each(path)


class KeptReview(Struct, frozen=True, array_like=True):
    """The state of a review, and where the log has the events of each file."""

    state: ReviewState
    places: dict[str, list[int]]


class ReviewedFiles:
    """See the module. All but `prepared` and `captured` belong to the event loop."""

    def __init__(self, store: BlobStore) -> None:
        self.state = ReviewState()
        self.texts = Texts(store)
        self.followers = Followers()
        self._carried_out: dict[str, int] = {}
        """When a decision about each file was last, in the order of edits."""
        self.readers: dict[str, EditReader] = {}
        """Of live sessions, by id."""
        self._places: dict[str, list[int]] = {}
        self._open: dict[int, str] = {}
        """The files of writes and decisions of which the log does not say yet what they came to, by number."""
        self._store = store

    def relocate(self, before: str, now: str) -> None:
        """The project's root was the one directory and is the other."""
        if before == now:
            return
        self.state.relocate(before, now)
        self._places = {below(path, before, now): places for path, places in self._places.items()}
        self._open = {n: below(path, before, now) for n, path in self._open.items()}

    def kept(self) -> KeptReview:
        """As it is now, to be kept."""
        return KeptReview(self.state.copy(), {path: [*starts] for path, starts in self._places.items()})

    def restore(self, kept: KeptReview) -> None:
        """Begin as `kept` was made."""
        self.state, self._places = kept.state, kept.places
        announced = {n: intent.path for n, intent in kept.state.announced.items()}
        self._open = announced | {n: decision.path for n, decision in kept.state.to_carry_out.items()}

    def begin_at(self, checkpoint: Checkpoint, root: str, now: str) -> None:
        """Begin with what an event says that all before come to; the project was at `root` then, and is elsewhere now."""
        self.state = _CHECKPOINT.decode(checkpoint.review)
        if root != now:
            self.state.relocate(root, now)

    def begin_again(self, state: ReviewState, events: Sequence[Event], starts: Sequence[int]) -> None:
        """The log was rewritten: this is what it comes to, and where its events are."""
        self.state = state
        self._places.clear()
        self._open.clear()
        self.note_places(events, starts)

    def fold(self, event: Event, start: int | None = None) -> None:
        """Take an event; `start` is where it begins in the log, when that is known."""
        change = self._change(event) if self.readers else None
        before = self.state.files.get(change.path) if change is not None else None
        if isinstance(event, Settled) and event.written and event.n in self.state.to_carry_out:
            self._carried_out[self.state.to_carry_out[event.n].path] = moment()
        path = self.state.apply(event, self.texts)
        if change is not None:
            self._tell(change, before)
        if start is not None:
            self._note_place(event, start)
        for each in self._changed_by(event, path):
            self.followers.tell(each)

    def _changed_by(self, event: Event, path: str) -> Sequence[str]:
        """The files of which an event, that is about this one, changed what is shown."""
        if isinstance(event, MadeSure):
            return self.state.with_part_of((event.session_id, event.turn_id, event.call_id))
        return [path] if path else []

    def fold_at_once(self, events: Iterable[Settled]) -> int:
        """Take as many of the first events as can be taken in one pass over a text; how many: 0, or several."""
        rest = iter(events)
        first = next(rest, None)
        decision = self.state.to_carry_out.get(first.n) if first is not None else None
        if first is None or decision is None or not first.written:
            return 0
        change = self._change(first) if self.readers else None
        before = self.state.files.get(decision.path)
        count = self.state.settle_at_once([first, *rest])
        if count:
            self._carried_out[decision.path] = moment()
            if change is not None:
                self._tell(change, before)
            self.followers.tell(decision.path)
        return count

    def _tell(self, change: _Change, before: TrackedFile | None) -> None:
        after = self.state.files.get(change.path)
        for reader in [each for name, each in self.readers.items() if name not in change.known_to]:
            reader(change.path, before, after, change.by)

    def _change(self, event: Event) -> _Change | None:
        match event:
            case UserChanged():
                return _Change(event.path, "user")
            case Captured(reviewed=True, unsure=True):
                return _Change(event.moved_from or event.path, "program")
            case Captured(reviewed=True):
                return _by_agent(event, event.moved_from or event.path)
            case Settled(written=True) if event.n in self.state.announced:
                intent = self.state.announced[event.n]
                return _by_agent(intent, intent.path)
            case Settled(written=True) if event.n in self.state.to_carry_out:
                decision = self.state.to_carry_out[event.n]
                return _Change(decision.path, "user", known_to=self.state.told_of(decision))
            case _:
                return None

    def note_places(self, events: Sequence[Event], starts: Sequence[int]) -> None:
        """The log has these events there."""
        for event, start in zip(events, starts, strict=True):
            self._note_place(event, start)

    def _note_place(self, event: Event, start: int) -> None:
        match event:
            case Captured(moved_from=before) if before:
                self._places[event.path] = [*self._places.get(before, ()), start]
            case Intent() | UserChanged() | Decided() | Noted():
                self._places.setdefault(event.path, []).append(start)
                if not isinstance(event, Captured | UserChanged | Noted):
                    self._open[event.n] = event.path
            case Settled(n=n) if n in self._open:
                self._places.setdefault(self._open.pop(n), []).append(start)
            case _:
                pass

    def places(self, path: str) -> Sequence[int]:
        """Where the log has the events of a file, in order."""
        return self._places.get(path, ())

    # --- what is about to be written, or was found ----------------------------------------------------------------------

    def is_decided(self, path: str, after: str | None, since: int) -> bool:
        """Whether a file holds this because of a decision that was carried out since `moment` gave the mark."""
        return self._carried_out.get(path, -1) >= since and not self.differs(path, after)

    def differs(self, path: str, ref: str | None) -> bool:
        """Whether a file under review is known to hold something else than this; None: nothing. A directory is no content."""
        file = self.state.files.get(path)
        if file is None or ref == DIRECTORY:
            return False
        known = digest_held(file)
        target = target_in(known) if known is not None else None
        return ref != known and (target is None or ref != digest_of(target))

    def found(self, path: str, held: Held, how: How) -> UserChanged | None:
        """What somebody who is no agent made of a path under review, where this stands now; None: it is as it was known. Blocks."""
        file = self.state.files.get(path)
        if file is None:
            return None
        lines = self.texts.hold(held) if isinstance(held, bytes) else () if held is None else None
        return difference(file, lines, ref_of(held) or "", how, there=held is not None)

    def mode_found(self, path: str, mode: int | None, n: int) -> Sequence[UserChanged]:
        """Event `n`, where it matters for a file under review that it has these permissions; None: nobody knows them."""
        file = self.state.files.get(path)
        if file is None or mode is None or not file.exists or file.user_set_mode(mode) == file:
            return ()
        found = UserChanged(n=n, path=path, how="disk", whole="mode", content=f"{mode:o}", timestamp=time.time())
        return (replace(found, first_id=self.state.next_id),)

    def prepared(
        self, intent: Intent, before: bytes | None, after: bytes | None, becomes: TrackedFile | None = None
    ) -> Intent:
        """A write that is about to begin, with what it changes; of one that takes edits back, what the file `becomes`. Blocks."""
        links = is_link(intent.before_mode) or is_link(intent.after_mode)
        is_known = _is_reviewed(intent) or (becomes is not None and DIRECTORY in intent.refs)
        if not is_known or (links and becomes is None):
            return intent
        old = self.texts.hold(before) if before is not None else ()
        new = self.texts.hold(after) if after is not None else ()
        changed = ranges_between(old, new) if old is not None and new is not None and not links else None
        whole = self.texts.hold_file(becomes) if becomes is not None else ""
        return replace(intent, reviewed=True, changed=changed, becomes=whole)

    def captured(self, drafts: Sequence[Captured]) -> list[Captured]:
        """Changes that a call was found to have made, with what they changed in the files as they were known. Blocks."""
        was_or_is_folder = {each.path for each in drafts if DIRECTORY in each.refs}
        moved = self._moved([each for each in drafts if _is_reviewed(each) and each.path not in was_or_is_folder])
        sources = frozenset(each.path for each in moved.values())
        return [self._captured(each, moved, sources) for each in drafts]

    def _captured(self, draft: Captured, moved: Mapping[str, Captured], sources: Collection[str]) -> Captured:
        if draft.path in sources and draft.after is None:
            return draft  # the other half of a move
        if not _is_reviewed(draft, known=draft.path in self.state.files):
            return draft
        source = moved.get(draft.path)
        if source is not None:
            known = self._known(source.path, source.before)
            draft = replace(draft, moved_from=source.path, moved_before=known or "")
            before = known
        else:
            before = self._known(draft.path, draft.refs[0])
        if before == UNKEPT:
            return draft
        after = draft.refs[1]
        old = self.texts.lines(before) if before is not None else ()
        new = self.texts.lines(after) if after is not None else ()
        changed = ranges_between(old, new) if old is not None and new is not None else None
        if source is None:
            draft = self._with_before(draft, before)
        return replace(draft, reviewed=True, changed=changed)

    def _with_before(self, draft: Captured, ref: str | None) -> Captured:
        """A change of what the review knows by this name."""
        target = target_in(ref) if ref is not None else None
        if target is None:
            return replace(draft, before=ref, before_link="")
        return replace(draft, before=self._store.put(target, sync=False), before_link=ref or "")

    def with_links(self, drafts: Sequence[Captured]) -> list[Captured]:
        """The changes with the names of the links in them. Blocks."""
        return [
            replace(
                each,
                before_link=self._link(each.before, each.before_mode),
                after_link=self._link(each.after, each.after_mode),
            )
            if is_link(each.before_mode) or is_link(each.after_mode)
            else each
            for each in drafts
        ]

    def _link(self, digest: str | None, mode: int | None) -> str:
        """The name of a link whose target is known; "" of anything else."""
        if digest is None or not is_link(mode):
            return ""
        try:
            return link_ref(self._store.get(digest))
        except (BlobMissingError, OSError):
            return ""

    def _known(self, path: str, before: str | None) -> str | None:
        """How the review names what a file held as far as it knows, kept; `before` where it knows nothing."""
        file = self.state.files.get(path)
        if file is None:
            return before
        if not file.exists:
            return None
        if file.content:
            return file.content
        data = "".join(file.text.current).encode()
        self.texts.hold(data)
        return self._store.put(data, sync=False, secret=path in self.state.secret)

    def _moved(self, drafts: Sequence[Captured]) -> dict[str, Captured]:
        """The files that appeared in a call and are others that vanished in it, by path."""
        gone: dict[str | None, list[Captured]] = {}
        for each in reversed(drafts):
            if each.after is None and not each.before_link:
                gone.setdefault(each.before, []).append(each)
        moved: dict[str, Captured] = {}
        changed: list[Captured] = []
        for each in drafts:
            if each.before is None and not each.after_link and each.path not in self.state.files:
                if same := gone.get(each.after):
                    moved[each.path] = same.pop()
                else:
                    changed.append(each)
        left = sorted((each for some in gone.values() for each in some), key=lambda each: each.n)
        return moved | (self._moved_and_changed(left, changed) if len(left) * len(changed) <= MOST_COMPARED else {})

    def _moved_and_changed(self, gone: list[Captured], new: Iterable[Captured]) -> dict[str, Captured]:
        moved: dict[str, Captured] = {}
        for each in new:
            alike = (other for other in gone if self._alike(other.before or "", each.after or ""))
            if (same := next(alike, None)) is not None:
                gone.remove(same)
                moved[each.path] = same
        return moved

    def _alike(self, before: str, after: str) -> bool:
        old, new = self.texts.lines(before), self.texts.lines(after)
        return bool(old and new) and alike(old or (), new or ())


def digest_held(file: TrackedFile) -> str | None:
    """Of what a file under review is known to hold, or where the link that it is leads; None where there is none."""
    return (file.content or digest_of("".join(file.text.current).encode())) if file.exists else None


def difference(file: TrackedFile, lines: Lines | None, digest: str, how: How, *, there: bool) -> UserChanged | None:
    """What makes a file under review what is there now: `lines` of a text, None of anything else, which `digest` names."""
    event = UserChanged(n=0, path=file.path, how=how, timestamp=time.time())
    if not there:
        return replace(event, whole="deleted") if file.exists else None
    if file.exists and file.content == digest:
        return None
    if lines is None:
        return replace(event, whole="replaced", content=digest)
    if not file.exists or file.content:
        return replace(event, whole="made", edits=(LineEdit(0, 0, lines),) if lines else ())
    ends = file.line_ends_to(line_end(lines))
    edits = edits_between(ended(file.text, ENDS[ends]).current if ends else file.text.current, lines)
    return replace(event, edits=edits, content=ends) if edits or ends else None


def _by_agent(event: Intent, path: str) -> _Change:
    return _Change(path, "agents" if event.session_id else "user", (event.session_id,))


def _is_reviewed(event: Intent, *, known: bool = False) -> bool:
    """Regular files or links on both sides, of which it is known what they held; `known`: the review knows that itself."""
    unusable = {DIRECTORY, UNKEPT}
    contents = {event.after} if known else {event.before, event.after}
    links = (target_in(ref or "") is not None for ref in event.refs)
    if isinstance(event, Captured) and [*links] != [is_link(event.before_mode), is_link(event.after_mode)]:
        return False  # where one leads is not known
    modes = [mode for mode in (event.before_mode, event.after_mode) if mode is not None]
    return contents.isdisjoint(unusable) and all(stat.S_IFMT(mode) in _REVIEWED for mode in modes)
