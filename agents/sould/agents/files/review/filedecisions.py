"""Decisions about a file: about its hunks, and about what happened to it as a whole. Pure.

What is to happen on disk comes back as values, with what is expected there: who carries them out does so only if it is.
"""

from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.review.decisions import Decided, Decision, Refusal, Verdict, decided
from sould.agents.files.review.file import ENDS, MOST_DECIDED, DecidedChange, FileChange, TrackedFile, ended
from sould.agents.files.review.hunk import is_same_text
from sould.agents.files.review.lines import Lines, line_end
from sould.agents.files.review.text import ReviewedText


class PutText(Struct, frozen=True):
    """Write a text where another one is; None: no file. Directories that were made for it go when they are empty.

    The texts are as the review has them: that of a large file is put together when it is written, not for each decision.
    """

    path: str
    before: ReviewedText | None
    after: ReviewedText | None

    @property
    def expected(self) -> Lines | None:
        """What must be there."""
        return self.before.current if self.before is not None else None

    @property
    def wanted(self) -> Lines | None:
        """What is to be there."""
        return self.after.current if self.after is not None else None


class PutContent(Struct, frozen=True):
    """Write bytes, by digest, where others are; "": no file."""

    path: str
    expected: str
    wanted: str


class Move(Struct, frozen=True):
    """Move the file; nothing is at the other path."""

    path: str
    to: str


class SetMode(Struct, frozen=True):
    """Give the file these permissions, octal."""

    path: str
    mode: str


Effect: TypeAlias = PutText | PutContent | Move | SetMode


def removes(effect: Effect) -> bool:
    """Whether no file is at its path after it."""
    return isinstance(effect, Move) or (
        effect.after is None if isinstance(effect, PutText) else isinstance(effect, PutContent) and not effect.wanted
    )


def creates(effect: Effect) -> bool:
    """Whether it writes a text where no file was."""
    return isinstance(effect, PutText) and effect.before is None


ConflictChoice: TypeAlias = Literal["replace", "leave"]


class Conflict(Struct, frozen=True):
    """Something of the user's is where the decision would put something. It may be replaced where `replaceable`."""

    change: FileChange
    path: str
    replaceable: bool


class ChangeDecided(Struct, frozen=True):
    """Somebody was first with this change."""

    decision: DecidedChange


class ChangeAbsent(Struct, frozen=True):
    """The file is as it was before the change, for as long as that lasts."""


class DecidedFile(Struct, frozen=True):
    """The file after a decision, and what is to happen on disk."""

    file: TrackedFile
    effects: tuple[Effect, ...] = ()
    stayed: Lines = ()
    """Lines of the user that a reject left."""
    hunk_id: int = 0
    """Of what was decided, when it is lines of a text: a part of a hunk has its own, to undo it by."""


def decide_hunk(file: TrackedFile, decision: Decision) -> DecidedFile | Refusal:
    """Keep or reject a hunk or a part of it."""
    answer = decided(file.text, decision)
    if not isinstance(answer, Decided):
        return answer
    after = replace(file, text=answer.text, in_base=file.in_base or decision.verdict == "keep")
    if not after.in_base and not after.text.hunks:
        stays = after.text.has_lines
        adds = tuple(change for change in after.changes if change.kind == "add")
        if stays or not adds:
            after = replace(after, exists=stays, in_base=stays)
            after = replace(after, changes=tuple(each for each in after.changes if each not in adds))
    if after.exists and is_same_text(after.text.parts, file.text.parts):
        return DecidedFile(after, (), answer.stayed, answer.hunk.id)
    wanted = after.text if after.exists else None
    return DecidedFile(after, (PutText(file.path, file.text, wanted),), answer.stayed, answer.hunk.id)


def decide_change(
    file: TrackedFile, change: FileChange, verdict: Verdict, *, in_the_way: str = "", choice: ConflictChoice = "leave"
) -> DecidedFile | Conflict:
    """Keep or reject a pending change of the file as a whole. `in_the_way`: the path of what stands where a file is to be."""
    done = _decided_change(file, change, verdict, in_the_way=in_the_way, choice=choice)
    if isinstance(done, Conflict):
        return done
    decision = DecidedChange(change, verdict)
    if verdict == "reject" and change.kind == "delete" and file.exists:
        decision = replace(decision, over=file.text, over_content=file.content)
    known = (*file.decided, decision)[-MOST_DECIDED:]
    return replace(done, file=replace(done.file, decided=known))


def _decided_change(
    file: TrackedFile, change: FileChange, verdict: Verdict, *, in_the_way: str, choice: ConflictChoice
) -> DecidedFile | Conflict:
    others = tuple(each for each in file.changes if each is not change)
    if verdict == "keep":
        return DecidedFile(replace(file, changes=others, in_base=file.in_base if change.kind != "add" else True))
    rest = replace(file, changes=others)
    match change.kind:
        case "rename":
            if in_the_way:
                return Conflict(change, in_the_way, replaceable=False)
            return DecidedFile(replace(rest, path=change.before), (Move(file.path, change.before),))
        case "mode":
            return DecidedFile(rest, (SetMode(file.path, change.before),))
        case "line_ends":
            text = ended(file.text, ENDS[change.before])
            return DecidedFile(replace(rest, text=text), (PutText(file.path, file.text, text),))
        case "add":
            if file.text.base or file.content != change.after:  # somebody else's, too
                return DecidedFile(replace(rest, in_base=True))
            if file.text.has_lines:  # it goes with the last hunk of its text
                return DecidedFile(rest)
            if file.content:
                return DecidedFile(replace(rest, exists=False, content=""), (PutContent(file.path, file.content, ""),))
            return DecidedFile(replace(rest, exists=False), (PutText(file.path, file.text, None),))
        case "delete" if in_the_way:
            return Conflict(change, in_the_way, replaceable=False)
        case "delete" | "content":
            return _brought_back(file, rest, change, choice)


def _brought_back(
    file: TrackedFile, rest: TrackedFile, change: FileChange, choice: ConflictChoice
) -> DecidedFile | Conflict:
    """What was deleted, or became other bytes."""
    is_as_left = not file.exists if change.kind == "delete" else file.exists and file.content == change.after
    if not is_as_left and choice == "leave":
        return Conflict(change, file.path, replaceable=True)
    old = change.text or file.text
    text = replace(old, next_id=file.text.next_id)
    is_text = not change.before or old.has_lines
    after = replace(rest, text=text, exists=True, in_base=True, content="" if is_text else change.before)
    after = after.without_deletion(change) if change.kind == "delete" else after
    if change.before or file.content:
        return DecidedFile(after, (PutContent(file.path, file.content, change.before),))
    return DecidedFile(after, (PutText(file.path, file.text if file.exists else None, text),))


def change_taken_back(file: TrackedFile, decision: DecidedChange, *, in_the_way: str = "") -> DecidedFile | Conflict:
    """Undo the decision about a change: it is pending again, when the file is as the decision left it.

    `in_the_way`: the path of what stands where a renamed file is to be.
    """
    change = decision.change
    known = tuple(each for each in file.decided if each is not decision)
    before = replace(file, changes=(*file.changes, change), decided=known)
    if decision.verdict == "keep":
        before = replace(before, in_base=file.in_base and change.kind != "add")
        return DecidedFile(before) if _is_as_changed(file, change) else Conflict(change, file.path, replaceable=False)
    if change.kind == "rename" and in_the_way:
        return Conflict(change, in_the_way, replaceable=False)
    return _changed_again(file, before, decision) or Conflict(change, file.path, replaceable=False)


def _is_as_changed(file: TrackedFile, change: FileChange) -> bool:
    """The file is as the change left it, as far as that shows."""
    match change.kind:
        case "rename":
            return file.path == change.after
        case "mode":
            return file.exists
        case "line_ends":
            return line_end(file.text.current) == ENDS[change.after]
        case "delete":
            return not file.exists
        case "add":
            return file.exists and not file.text.has_lines and file.content == change.after
        case "content":
            return file.exists and file.content == change.after


def _changed_again(file: TrackedFile, before: TrackedFile, decision: DecidedChange) -> DecidedFile | None:
    """A rejected change, made once more, or what it had been told to replace; None where the file is another one by now."""
    change, over = decision.change, decision.over
    match change.kind:
        case "rename" if file.path == change.before:
            return DecidedFile(replace(before, path=change.after), (Move(change.before, change.after),))
        case "mode" if file.exists:
            return DecidedFile(before, (SetMode(file.path, change.after),))
        case "line_ends" if line_end(file.text.current) == ENDS[change.before]:
            text = ended(file.text, ENDS[change.after])
            return DecidedFile(replace(before, text=text), (PutText(file.path, file.text, text),))
        case "add" if file.exists and not file.in_base:  # its text was not decided about yet
            return DecidedFile(before)
        case "add" if not file.exists:
            made = replace(before, exists=True, in_base=False, content=change.after)
            empty = PutText(file.path, None, made.text)
            return DecidedFile(made, (PutContent(file.path, "", change.after) if change.after else empty,))
        case "delete" if over is not None and file.exists and _is_back(file, change):
            there = replace(before, text=replace(over, next_id=file.text.next_id), content=decision.over_content)
            if file.content or there.content:
                return DecidedFile(there, (PutContent(file.path, file.content, there.content),))
            return DecidedFile(there, (PutText(file.path, file.text, over),))
        case "delete" if file.exists and _is_back(file, change):
            gone = replace(before, exists=False, text=_emptied(file), content="")
            put = PutText(file.path, file.text, None)
            return DecidedFile(gone, (PutContent(file.path, file.content, "") if file.content else put,))
        case "content" if file.exists and change.before and _is_before(file, change):
            replaced = replace(before, text=_emptied(file), content=change.after)
            return DecidedFile(replaced, (PutContent(file.path, change.before, change.after),))
        case _:
            return None


def _is_back(file: TrackedFile, change: FileChange) -> bool:
    """The file is what the reject of its deletion brought back."""
    return change.text is not None and file.text.current == change.text.current and file.content == change.before


def _is_before(file: TrackedFile, change: FileChange) -> bool:
    """The file is what the reject of other bytes brought back: bytes, or a text."""
    if not file.content and change.text is not None:
        return file.text.current == change.text.current
    return file.content == change.before


def _emptied(file: TrackedFile) -> ReviewedText:
    return replace(file.text, parts=(), away=())
