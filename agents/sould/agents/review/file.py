"""A file under review: its text with hunks, and what happened to it as a whole. A fold over events, pure (D40).

Being made, deleted, renamed, given another mode, other line ends or other bytes are changes of the file, with ids of the same
kind as hunks have. What is to happen on disk is a value beside the new state (`filedecisions`), never done here.
"""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.review.difference import LineEdit
from sould.agents.review.hunk import AgentCall, Hunk, Line, Part, Same
from sould.agents.review.lines import LineEnd, Lines, with_end
from sould.agents.review.text import ReviewedText
from sould.agents.review.useredit import How

Kind: TypeAlias = Literal["add", "delete", "rename", "mode", "line_ends", "content"]

NAMES: Final[dict[LineEnd, str]] = {"\n": "lf", "\r\n": "crlf", "\r": "cr"}
"""What a change of line ends calls them."""
ENDS: Final[dict[str, LineEnd]] = {name: end for end, name in NAMES.items()}


class FileChange(Struct, frozen=True):
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


class TrackedFile(Struct, frozen=True):
    """One path. `text` is empty for a file that does not exist or is not text; it also counts the ids."""

    path: str
    text: ReviewedText
    exists: bool = True
    in_base: bool = True
    """False: an agent made it, and nothing of it was kept."""
    content: str = ""
    """The digest of a file that is not text."""
    changes: tuple[FileChange, ...] = ()

    def pending_change(self, kind: Kind) -> FileChange | None:
        """What agents did to the file in this respect and nobody decided about."""
        return next((change for change in self.changes if change.kind == kind), None)

    def numbered(self, first: int) -> "TrackedFile":
        """The same; what is new from now on gets ids from `first` on."""
        return replace(self, text=replace(self.text, next_id=first))

    # --- agents -----------------------------------------------------------------------------------------------------

    def agent_wrote(self, edits: Sequence[LineEdit], agent: AgentCall, *, allowed: bool = False) -> "TrackedFile":
        """An agent changed the text of the file."""
        return replace(self, text=self.text.agent_wrote(edits, agent, allowed=allowed))

    def agent_made(self, lines: Lines, agent: AgentCall, *, allowed: bool = False) -> "TrackedFile":
        """An agent made the file, which did not exist. One that it had deleted is as that change says."""
        deleted = self.pending_change("delete")
        if deleted is not None and deleted.text is not None and deleted.text.current == lines:
            return self._without(deleted, replace(deleted.text, next_id=self.text.next_id))
        made = replace(self, exists=True, in_base=allowed)
        if not lines and not allowed:
            return made._changed("add", "", "", agent)
        return made.agent_wrote([LineEdit(0, 0, lines)] if lines else [], agent, allowed=allowed)

    def agent_deleted(self, agent: AgentCall, *, allowed: bool = False) -> "TrackedFile":
        """An agent deleted the file. One that agents had made, and nobody else wrote to, is as if it had never been."""
        gone = replace(self, text=self._emptied(), exists=False, content="")
        if allowed or (not self.in_base and not self.text.base):
            return replace(gone, in_base=False, changes=())
        before = gone._changed("delete", self.content, "", agent)
        return before._with_text("delete", self.text)

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
        replaced = replace(self, text=self._emptied(), content=after)
        if allowed or (not self.in_base and not self.text.base):
            return replaced
        return replaced._changed("content", before, after, agent)._with_text("content", self.text)

    # --- the user, and programs nobody knows ---------------------------------------------------------------------------

    def user_wrote(self, edits: Sequence[LineEdit], how: How = "typed", *, returning: bool = True) -> "TrackedFile":
        """Somebody who is no agent changed the text of the file."""
        return replace(self, text=self.text.user_wrote(edits, how, returning=returning))

    def user_made(self, lines: Lines) -> "TrackedFile":
        """Somebody made the file, which did not exist. With the text of one that an agent had deleted, that is undone."""
        deleted = self.pending_change("delete")
        if deleted is not None and deleted.text is not None and deleted.text.current == lines:
            return self._without(deleted, replace(deleted.text, next_id=self.text.next_id))
        text = replace(self.text, parts=(Same(lines),) if lines else ())
        return replace(self, text=text, exists=True, in_base=True)

    def user_deleted(self) -> "TrackedFile":
        """Somebody deleted the file: all its hunks are gone with it."""
        edits = [LineEdit(0, len(self.text.current), ())] if self.text.current else []
        return replace(self, text=self.text.user_wrote(edits, "disk"), exists=False, in_base=False, content="")

    def user_renamed(self, path: str) -> "TrackedFile":
        """Somebody moved the file to another path, whatever agents had done before."""
        return replace(self, path=path, changes=tuple(each for each in self.changes if each.kind != "rename"))

    def user_replaced(self, content: str) -> "TrackedFile":
        """Somebody put other bytes there that are no text: a digest."""
        return replace(self, text=self._emptied(), content=content)

    # --- parts ------------------------------------------------------------------------------------------------------

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

    def _without(self, change: FileChange, text: ReviewedText) -> "TrackedFile":
        """As before a change that took the text away."""
        others = tuple(each for each in self.changes if each is not change)
        return replace(self, text=text, exists=True, in_base=True, content=change.before, changes=others)


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
