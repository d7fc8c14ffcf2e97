"""A file under review: its text with hunks, and what happened to it as a whole. A fold over events, pure (D40).

Being made, deleted, renamed, given another mode, other line ends or other bytes are changes of the file, with ids of the same
kind as hunks have. What is to happen on disk is a value beside the new state (`filedecisions`), never done here.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.review.difference import LineEdit, edits_between
from sould.agents.files.review.hunk import AgentCall, Hunk, Line, Part, Same
from sould.agents.files.review.lines import LineEnd, Lines, alike, line_end, with_end
from sould.agents.files.review.text import ReviewedText
from sould.agents.files.review.useredit import How

Kind: TypeAlias = Literal["add", "delete", "rename", "mode", "line_ends", "content"]

NAMES: Final[dict[LineEnd, str]] = {"\n": "lf", "\r\n": "crlf", "\r": "cr"}
"""What a change of line ends calls them."""
ENDS: Final[dict[str, LineEnd]] = {name: end for end, name in NAMES.items()}


class FileChange(Struct, frozen=True, gc=False):
    """Something that agents did to a file as a whole.

    `before` and `after` are paths, octal modes, names of line ends or digests, "" where nothing is. `text` is what a file held
    that was deleted or became binary, with its hunks.
    """

    id: int
    kind: Kind
    before: str
    after: str
    agents: tuple[AgentCall, ...]
    text: ReviewedText | None = None
    in_base: bool = True
    """False: it deleted what an agent had made, and nothing of that was kept."""

    @property
    def digest(self) -> str:
        """What a decision names beside the id: as a hunk's, over what was and what is."""
        return hashlib.sha256(f"{self.kind}\n{self.before}\n{self.after}".encode()).hexdigest()[:16]


class GoneText(Struct, frozen=True):
    """What a file held that somebody who is no agent took away, or made bytes of that are no text: it may be back (`git stash`)."""

    text: ReviewedText
    in_base: bool
    content: str = ""
    """The digest of what is no text."""
    changes: tuple[int, ...] = ()
    """The ids of the changes that were pending then, but for deletions: they are absent."""


class DecidedChange(Struct, frozen=True, gc=False):
    """A change of the file as a whole that was kept or rejected."""

    change: FileChange
    verdict: Literal["keep", "reject"]
    over: ReviewedText | None = None
    """What somebody had put there since, and the reject replaced because it was told to."""
    over_content: str = ""


EXECUTABLE: Final = 0o100
"""For its owner."""
MOST_DECIDED: Final = 50
"""Decided changes that a file remembers, so that such a decision can be taken back."""


class TrackedFile(Struct, frozen=True, gc=False):
    """One path. `text` is empty for a file that does not exist or is not text; it also counts the ids."""

    path: str
    text: ReviewedText
    exists: bool = True
    in_base: bool = True
    """False: an agent made it, and nothing of it was kept."""
    content: str = ""
    """The digest of a file that is not text."""
    changes: tuple[FileChange, ...] = ()
    gone: GoneText | None = None
    """Of a file that does not exist, or is no text now, where hunks or changes went with that."""
    decided: tuple[DecidedChange, ...] = ()
    """The latest last."""
    absent: tuple[FileChange, ...] = ()
    """Changes of the file as a whole that are not so now (`git stash`): pending when it is as they left it once more."""

    def pending_change(self, kind: Kind) -> FileChange | None:
        """What agents did to the file in this respect and nobody decided about."""
        return next((change for change in self.changes if change.kind == kind), None)

    @property
    def earlier_texts(self) -> Iterator[ReviewedText]:
        """What agents took away as a whole, with its hunks: a reject brings it back."""
        return (change.text for change in self.changes if change.text is not None)

    @property
    def unreadable(self) -> ReviewedText | None:
        """Its text with its hunks, where somebody made bytes of it that are no text: they are pending when it is a text again."""
        return self._taken.text if self._taken is not None else None

    def numbered(self, first: int) -> "TrackedFile":
        """The same; what is new from now on gets ids from `first` on."""
        return replace(self, text=replace(self.text, next_id=first))

    # --- agents -----------------------------------------------------------------------------------------------------

    def agent_wrote(self, edits: Sequence[LineEdit], agent: AgentCall, *, allowed: bool = False) -> "TrackedFile":
        """An agent changed the text of the file. An empty one that agents had made is an addition again."""
        after = replace(self, text=self.text.agent_wrote(edits, agent, allowed=allowed))
        is_addition = not (after.in_base or after.text.parts or after.content or after.pending_change("add"))
        return after._changed("add", "", "", agent) if is_addition else after

    def agent_made(self, lines: Lines, agent: AgentCall, *, allowed: bool = False) -> "TrackedFile":
        """An agent made the file, which did not exist. To one that it had deleted, that is an edit of what it had deleted."""
        deleted = self.pending_change("delete")
        restored = self._restored(lines) or (self._restored(deleted.text.current) if deleted and deleted.text else None)
        if restored is not None:
            return restored.agent_wrote(edits_between(restored.text.current, lines), agent, allowed=allowed)
        made = replace(self, exists=True, in_base=allowed, gone=None)
        if not lines and not allowed:
            return made._changed("add", "", "", agent)
        return made.agent_wrote([LineEdit(0, 0, lines)] if lines else [], agent, allowed=allowed)

    def agent_deleted(self, agent: AgentCall, *, allowed: bool = False) -> "TrackedFile":
        """An agent deleted the file. One that agents had made, and nobody else wrote to, is as if it had never been."""
        gone = replace(self, text=self._emptied(), exists=False, content="", absent=())._put_aside(
            *self._additions(self.changes)
        )
        if allowed or self._is_agents_alone:
            return replace(gone, in_base=False, changes=tuple(each for each in self.changes if each.kind == "delete"))
        # a deletion that is pending already was of what stood there before somebody made the file again: both can be had back
        change = FileChange(gone.text.next_id, "delete", self.content, "", (agent,), self.text, self.in_base)
        text = replace(gone.text, next_id=change.id + 1)
        return replace(gone, text=text, changes=(*gone.changes, change))

    def agent_renamed(self, path: str, agent: AgentCall, *, allowed: bool = False) -> "TrackedFile":
        """An agent moved the file to another path."""
        moved = replace(self, path=path)
        return moved if allowed or not self.in_base else moved._changed("rename", self.path, path, agent)

    def agent_set_mode(self, before: int, after: int, agent: AgentCall, *, allowed: bool = False) -> "TrackedFile":
        """An agent changed the permissions of the file."""
        return self if allowed or not self.in_base else self._changed("mode", f"{before:o}", f"{after:o}", agent)

    def agent_changed_line_ends(self, to: LineEnd, before: LineEnd, agent: AgentCall) -> "TrackedFile":
        """An agent gave all lines another end; they all had the same one."""
        return replace(self, text=ended(self.text, to))._changed("line_ends", NAMES[before], NAMES[to], agent)

    def agent_replaced(self, before: str, after: str, agent: AgentCall, *, allowed: bool = False) -> "TrackedFile":
        """An agent put other bytes in the place of bytes, one of which are no text: digests. Of one it had deleted, in its place."""
        deleted = self.pending_change("delete") if not self.exists else None
        there = self._restored(deleted.text.current) if deleted is not None and deleted.text is not None else None
        if there is not None:
            was = there.content or _digest(there.text)
            return there.agent_replaced(was, after, agent, allowed=allowed)
        pending = self.pending_change("content")
        if pending is not None and pending.text is not None and _digest(pending.text) == pending.before == after:
            text = replace(pending.text, next_id=self.text.next_id)
            others = tuple(each for each in self.changes if each is not pending)
            return replace(self, text=text, content="", changes=others, gone=None)
        replaced = replace(self, text=self._emptied(), exists=True, content=after)
        if self._is_agents_alone:
            return replace(replaced, in_base=True) if allowed else replaced._changed("add", "", after, agent)
        if allowed:
            return replaced
        return replaced._changed("content", before, after, agent)._with_text("content", self.text)

    # --- the user, and programs nobody knows ---------------------------------------------------------------------------

    def user_wrote(self, edits: Sequence[LineEdit], how: How = "typed", *, returning: bool = True) -> "TrackedFile":
        """Somebody who is no agent changed the text of the file."""
        return replace(self, text=self.text.user_wrote(edits, how, returning=returning))

    def user_made(self, lines: Lines, how: How = "typed") -> "TrackedFile":
        """Somebody made the file, which did not exist.

        With the text of one that an agent had deleted, that is undone, or absent unless somebody typed it; with that of one
        that had gone otherwise, its hunks are back.
        """
        restored = self._restored(lines)
        if restored is not None:
            undone = () if how == "typed" else (each for each in self.changes if each not in restored.changes)
            return replace(restored, absent=(*self.absent, *undone))
        if self.exists:
            return self._as_text_again(lines, how)
        back = self._back(lines, "")
        made = replace(self, exists=True, in_base=True, gone=None)
        return back or replace(made, text=replace(self.text, parts=(Same(lines),) if lines else ()))

    def user_deleted(self) -> "TrackedFile":
        """Somebody deleted the file: all its hunks are gone with it. Where an agent's deletion was absent, that is back."""
        deleted = next(filter(self._is_deletion_of_this, self.absent), None)
        if deleted is not None:
            others = tuple(each for each in self.absent if each is not deleted)
            changes = (*self.changes, replace(deleted, text=self.text))
            return replace(self, text=self._emptied(), exists=False, content="", changes=changes, absent=others)
        edits = [LineEdit(0, len(self.text.current), ())] if self.text.current else []
        text = self.text.user_wrote(edits, "git")  # nothing stands in the place of its hunks
        went = [change for change in self.changes if change.kind != "delete"]
        gone = GoneText(self.text, self.in_base, self.content, tuple(change.id for change in went))
        after = replace(self, text=text, exists=False, in_base=False, content="")
        return replace(after, gone=gone if self.text.has_hunks or went else self._taken)._put_aside(*went)

    def user_renamed(self, path: str) -> "TrackedFile":
        """Somebody moved the file to another path, whatever agents had done before."""
        return replace(self, path=path, changes=tuple(each for each in self.changes if each.kind != "rename"))

    def user_replaced(self, content: str) -> "TrackedFile":
        """Somebody put other bytes there that are no text: a digest. They may be those from before a change, or those it left."""
        if not self.exists:
            deleted = next((each for each in reversed(self.changes) if _brings_back(each, content)), None)
            there = replace(self, text=self._emptied(), exists=True, in_base=True, content=content, gone=None)
            return there._put_aside(deleted) if deleted is not None else self._back((), content) or there
        taken = GoneText(self.text, self.in_base) if self.text.has_hunks or self.text.has_missing else self._taken
        replaced = replace(self, text=self._emptied(), content=content, gone=taken)
        left = next((each for each in self.absent if each.kind == "content" and each.after == content), None)
        if left is not None:
            return replaced._pending_again(replace(left, text=self.text) if self.text.current else left)
        pending = self.pending_change("content")
        return replaced._put_aside(pending) if pending is not None and pending.before == content else replaced

    def user_changed_line_ends(self, name: str) -> "TrackedFile":
        """Somebody gave the lines the ends they had before a change, or those it had given them."""
        after = replace(self, text=ended(self.text, ENDS[name]))
        left = next((each for each in self.absent if each.kind == "line_ends" and each.after == name), None)
        if left is not None:
            return after._pending_again(left)
        pending = self.pending_change("line_ends")
        return after._put_aside(pending) if pending is not None else after

    def line_ends_to(self, end: LineEnd | None) -> str:
        """The name of these ends, when a change of the file had them replaced, or brought them, and it has the others now."""
        known = [each for each in (*self.changes, *self.absent) if each.kind == "line_ends"]
        now = line_end(self.text.current) if known else None
        ways = [(each.after, each.before) if each in self.changes else (each.before, each.after) for each in known]
        return next((to for of, to in ways if now == ENDS[of] and end == ENDS[to]), "")

    def user_set_mode(self, mode: int) -> "TrackedFile":
        """Somebody gave the file these permissions: those from before a change, those it left, or others."""
        left = next(
            (each for each in self.absent if each.kind == "mode" and _has_mode(mode, each.after, each.before)), None
        )
        if left is not None and self.pending_change("mode") is None:
            return self._pending_again(left)
        pending = self.pending_change("mode")
        is_undone = pending is not None and _has_mode(mode, pending.before, pending.after)
        return self._put_aside(pending) if pending is not None and is_undone else self

    # --- parts ------------------------------------------------------------------------------------------------------

    @property
    def _is_agents_alone(self) -> bool:
        """Agents made it, and nobody else wrote a word of it, or may have."""
        hunks = [each.hunk for each in self.text.hunks]
        if (
            self.in_base
            or self.text.base
            or any(agent.unsure for each in (*self.changes, *hunks) for agent in each.agents)
        ):
            return False
        return not any(line.own or line.mixed for hunk in hunks for line in hunk.lines)

    def without_deletion(self, deletion: FileChange) -> "TrackedFile":
        """As what was deleted was before, an addition that is not decided about included."""
        others = tuple(each for each in self.changes if each is not deletion)
        back = () if deletion.in_base else self._additions(self.absent)
        return replace(self, changes=others, in_base=deletion.in_base)._pending_again(*back)

    @staticmethod
    def _additions(changes: Iterable[FileChange]) -> Iterable[FileChange]:
        return [each for each in changes if each.kind == "add"]

    def _put_aside(self, *changes: FileChange) -> "TrackedFile":
        """With pending changes absent."""
        others = tuple(each for each in self.changes if each not in changes)
        return replace(self, changes=others, absent=(*self.absent, *changes))

    def _pending_again(self, *changes: FileChange) -> "TrackedFile":
        """With absent changes pending, as they are by now."""
        ids = {each.id for each in changes}
        others = tuple(each for each in self.absent if each.id not in ids)
        return replace(self, changes=(*self.changes, *changes), absent=others)

    def _back(self, lines: Lines, content: str) -> "TrackedFile | None":
        """As before somebody deleted it, when this is what it held then."""
        gone = self.gone
        if gone is None or (gone.text.current, gone.content) != (lines, content):
            return None
        text = replace(gone.text, next_id=self.text.next_id)
        there = replace(self, text=text, exists=True, in_base=gone.in_base, content=content, gone=None)
        return there._pending_again(*(each for each in self.absent if each.id in gone.changes))

    @property
    def _taken(self) -> GoneText | None:
        """Its text, with hunks, where somebody made bytes of it that are no text."""
        return self.gone if self.exists and self.content else None

    def _as_text_again(self, lines: Lines, how: How) -> "TrackedFile":
        """A file whose bytes were no text holds this text; it may be the one from before they came, or one made of that."""
        pending = self.pending_change("content")
        if pending is not None and pending.text is not None and alike(pending.text.current, lines):
            text = replace(pending.text, next_id=self.text.next_id)
            there = replace(self, text=text, content="", gone=None)._put_aside(pending)
            return there.user_wrote(edits_between(text.current, lines), how)
        if self._taken is not None:
            text = replace(self._taken.text, next_id=self.text.next_id)
            there = replace(self, text=text, content="", in_base=self._taken.in_base, gone=None)
            return there.user_wrote(edits_between(text.current, lines), how)
        return replace(self, in_base=True, content="", text=replace(self.text, parts=(Same(lines),) if lines else ()))

    def _is_deletion_of_this(self, change: FileChange) -> bool:
        """Whether it deleted what the file holds now."""
        if change.kind != "delete":
            return False
        return change.before == self.content and (change.text is None or change.text.current == self.text.current)

    def _emptied(self) -> ReviewedText:
        return replace(self.text, parts=(), away=())

    def _changed(self, kind: Kind, before: str, after: str, agent: AgentCall) -> "TrackedFile":
        """With a change, or with more of the one of this kind, which ends where all is as it was before it."""
        known = self.pending_change(kind)
        if known is None:
            change = FileChange(self.text.next_id, kind, before, after, (agent,))
            text = replace(self.text, next_id=self.text.next_id + 1)
            return replace(self, text=text, changes=(*self.changes, change))
        others = tuple(each for each in self.changes if each is not known)
        if known.before == after and kind not in ("add", "delete"):
            return replace(self, changes=others)
        agents = tuple(dict.fromkeys((*known.agents, agent)))
        return replace(self, changes=(*others, replace(known, after=after, agents=agents)))

    def _with_text(self, kind: Kind, text: ReviewedText) -> "TrackedFile":
        """With the text that the change took away, unless it did not begin with one."""
        changes = (replace(each, text=each.text or text) if each.kind == kind else each for each in self.changes)
        return replace(self, changes=tuple(changes))

    def _restored(self, lines: Lines) -> "TrackedFile | None":
        """As before it was deleted, when these lines are the text that it had."""
        deletions = (each for each in reversed(self.changes) if each.kind == "delete" and each.text is not None)
        deleted = next((each for each in deletions if each.text is not None and each.text.current == lines), None)
        if deleted is None or deleted.text is None:
            return None
        text = replace(deleted.text, next_id=self.text.next_id)
        return replace(self, text=text, exists=True, content=deleted.before).without_deletion(deleted)


def _digest(text: ReviewedText) -> str:
    return hashlib.sha256("".join(text.current).encode()).hexdigest()


def _brings_back(change: FileChange, content: str) -> bool:
    """Whether these are the bytes of what it deleted."""
    return change.kind == "delete" and change.before == content


def _has_mode(mode: int, wanted: str, other: str) -> bool:
    """Whether permissions are the wanted ones of two: git knows only whether its owner may run a file."""
    if (int(wanted, 8) ^ int(other, 8)) & EXECUTABLE:
        return mode & EXECUTABLE == int(wanted, 8) & EXECUTABLE
    return mode == int(wanted, 8)


def ended(text: ReviewedText, end: LineEnd) -> ReviewedText:
    """The text with this end for every line that has one."""

    def part(of: Part) -> Part:
        if isinstance(of, Hunk):
            return hunk(of)
        lines = with_end(of.lines, end)
        return of if lines is of.lines else Same(lines)

    def hunk(of: Hunk) -> Hunk:
        return replace(of, base=with_end(of.base, end), lines=tuple(line(each) for each in of.lines))

    def line(of: Line) -> Line:
        return replace(of, text=with_end((of.text,), end)[0])

    away = tuple(replace(each, hunk=hunk(each.hunk)) for each in text.away)
    return replace(text, parts=tuple(part(each) for each in text.parts), away=away)
