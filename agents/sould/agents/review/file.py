"""A file under review: its text with hunks, and what happened to it as a whole. A fold over events, pure (D40).

Being made, deleted, renamed, given another mode, other line ends or other bytes are changes of the file, with ids of the same
kind as hunks have. What is to happen on disk is a value beside the new state (`filedecisions`), never done here.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.review.difference import LineEdit, edits_between
from sould.agents.review.hunk import AgentCall, Hunk, Line, Part, Same
from sould.agents.review.lines import LineEnd, Lines, with_end
from sould.agents.review.text import ReviewedText
from sould.agents.review.useredit import How

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

    @property
    def digest(self) -> str:
        """What a decision names beside the id: as a hunk's, over what was and what is."""
        return hashlib.sha256(f"{self.kind}\n{self.before}\n{self.after}".encode()).hexdigest()[:16]


class GoneText(Struct, frozen=True):
    """What a file held that somebody who is no agent took away: it may be back (`git stash`)."""

    text: ReviewedText
    in_base: bool


class DecidedChange(Struct, frozen=True, gc=False):
    """A change of the file as a whole that was kept or rejected."""

    change: FileChange
    verdict: Literal["keep", "reject"]
    over: ReviewedText | None = None
    """What somebody had put there since, and the reject replaced because it was told to."""
    over_content: str = ""


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
    """Of a file that does not exist, where hunks went with it."""
    decided: tuple[DecidedChange, ...] = ()
    """The latest last."""
    absent: tuple[FileChange, ...] = ()
    """Deletions of files that are there again (`git stash`): pending when they go once more."""

    def pending_change(self, kind: Kind) -> FileChange | None:
        """What agents did to the file in this respect and nobody decided about."""
        return next((change for change in self.changes if change.kind == kind), None)

    @property
    def earlier_texts(self) -> Iterator[ReviewedText]:
        """What agents took away as a whole, with its hunks: a reject brings it back."""
        return (change.text for change in self.changes if change.text is not None)

    def numbered(self, first: int) -> "TrackedFile":
        """The same; what is new from now on gets ids from `first` on."""
        return replace(self, text=replace(self.text, next_id=first))

    # --- agents -----------------------------------------------------------------------------------------------------

    def agent_wrote(self, edits: Sequence[LineEdit], agent: AgentCall, *, allowed: bool = False) -> "TrackedFile":
        """An agent changed the text of the file."""
        return replace(self, text=self.text.agent_wrote(edits, agent, allowed=allowed))

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
        gone = replace(self, text=self._emptied(), exists=False, content="", absent=())
        if allowed or self._is_agents_alone:
            return replace(gone, in_base=False, changes=tuple(each for each in self.changes if each.kind == "delete"))
        # a deletion that is pending already was of what stood there before somebody made the file again: both can be had back
        change = FileChange(gone.text.next_id, "delete", self.content, "", (agent,), self.text)
        text = replace(gone.text, next_id=change.id + 1)
        return replace(gone, text=text, changes=(*self.changes, change))

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
        """An agent put other bytes in the place of bytes, one of which are no text: digests."""
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
        made = replace(self, exists=True, in_base=True, gone=None)
        if self.gone is not None and self.gone.text.current == lines:
            return replace(made, text=replace(self.gone.text, next_id=self.text.next_id), in_base=self.gone.in_base)
        return replace(made, text=replace(self.text, parts=(Same(lines),) if lines else ()))

    def user_deleted(self) -> "TrackedFile":
        """Somebody deleted the file: all its hunks are gone with it. Where an agent's deletion was absent, that is back."""
        same = (each for each in self.absent if each.text is not None and each.text.current == self.text.current)
        deleted = next(same, None)
        if deleted is not None:
            others = tuple(each for each in self.absent if each is not deleted)
            changes = (*self.changes, replace(deleted, text=self.text))
            return replace(self, text=self._emptied(), exists=False, content="", changes=changes, absent=others)
        edits = [LineEdit(0, len(self.text.current), ())] if self.text.current else []
        text = self.text.user_wrote(edits, "disk")
        gone = GoneText(self.text, self.in_base) if self.text.has_hunks else None
        return replace(self, text=text, exists=False, in_base=False, content="", gone=gone)

    def user_renamed(self, path: str) -> "TrackedFile":
        """Somebody moved the file to another path, whatever agents had done before."""
        return replace(self, path=path, changes=tuple(each for each in self.changes if each.kind != "rename"))

    def user_replaced(self, content: str) -> "TrackedFile":
        """Somebody put other bytes there that are no text: a digest."""
        return replace(self, text=self._emptied(), content=content)

    # --- parts ------------------------------------------------------------------------------------------------------

    @property
    def _is_agents_alone(self) -> bool:
        """Agents made it, and nobody else wrote a word of it."""
        lines = (line for each in self.text.hunks for line in each.hunk.lines)
        return not self.in_base and not self.text.base and not any(line.own or line.mixed for line in lines)

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
        others = tuple(each for each in self.changes if each is not deleted)
        return replace(self, text=text, exists=True, in_base=True, content=deleted.before, changes=others)


def ended(text: ReviewedText, end: LineEnd) -> ReviewedText:
    """The text with this end for every line that has one."""

    def part(of: Part) -> Part:
        return Same(with_end(of.lines, end)) if isinstance(of, Same) else hunk(of)

    def hunk(of: Hunk) -> Hunk:
        return replace(of, base=with_end(of.base, end), lines=tuple(line(each) for each in of.lines))

    def line(of: Line) -> Line:
        return replace(of, text=with_end((of.text,), end)[0])

    away = tuple(replace(each, hunk=hunk(each.hunk)) for each in text.away)
    return replace(text, parts=tuple(part(each) for each in text.parts), away=away)
