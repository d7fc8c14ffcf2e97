"""Decisions about a file: about its hunks, and about what happened to it as a whole. Pure.

What is to happen on disk comes back as values, with what is expected there: who carries them out does so only if it is.
"""

from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.review.decisions import Decided, Decision, Refusal, Verdict, decided
from sould.agents.review.file import ENDS, FileChange, TrackedFile, ended
from sould.agents.review.lines import Lines


class PutText(Struct, frozen=True):
    """Write a text where another one is; None: no file. Directories that were made for it go when they are empty."""

    path: str
    expected: Lines | None
    wanted: Lines | None


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
ConflictChoice: TypeAlias = Literal["replace", "leave"]


class Conflict(Struct, frozen=True):
    """Something of the user's is where the decision would put something. It may be replaced where `replaceable`."""

    change: FileChange
    path: str
    replaceable: bool


class Done(Struct, frozen=True):
    """The file after a decision, and what is to happen on disk."""

    file: TrackedFile
    effects: tuple[Effect, ...] = ()
    stayed: Lines = ()
    """Lines of the user that a reject left."""


def decide_hunk(file: TrackedFile, decision: Decision) -> Done | Refusal:
    """Keep or reject a hunk or a part of it."""
    answer = decided(file.text, decision)
    if not isinstance(answer, Decided):
        return answer
    after = replace(file, text=answer.text, in_base=file.in_base or decision.verdict == "keep")
    if not after.in_base and not after.text.hunks:
        stays = bool(after.text.current)
        adds = tuple(change for change in after.changes if change.kind == "add")
        if stays or not adds:
            after = replace(after, exists=stays, in_base=stays)
            after = replace(after, changes=tuple(each for each in after.changes if each not in adds))
    if after.exists and after.text.current == file.text.current:
        return Done(after, (), answer.stayed)
    wanted = after.text.current if after.exists else None
    return Done(after, (PutText(file.path, file.text.current, wanted),), answer.stayed)


def decide_change(
    file: TrackedFile, change: FileChange, verdict: Verdict, *, occupied: bool = False, choice: ConflictChoice = "leave"
) -> Done | Conflict:
    """Keep or reject a pending change of the file as a whole. `occupied`: something is at the path a rename came from."""
    others = tuple(each for each in file.changes if each is not change)
    if verdict == "keep":
        return Done(replace(file, changes=others, in_base=file.in_base if change.kind != "add" else True))
    rest = replace(file, changes=others)
    match change.kind:
        case "rename":
            if occupied:
                return Conflict(change, change.before, replaceable=False)
            return Done(replace(rest, path=change.before), (Move(file.path, change.before),))
        case "mode":
            return Done(rest, (SetMode(file.path, change.before),))
        case "line_ends":
            text = ended(file.text, ENDS[change.before])
            return Done(replace(rest, text=text), (PutText(file.path, file.text.current, text.current),))
        case "add":
            if file.text.current:
                return Done(replace(rest, in_base=True))
            return Done(replace(rest, exists=False), (PutText(file.path, (), None),))
        case "delete" | "content":
            return _brought_back(file, rest, change, choice)


def _brought_back(file: TrackedFile, rest: TrackedFile, change: FileChange, choice: ConflictChoice) -> Done | Conflict:
    """What was deleted, or became other bytes."""
    is_as_left = not file.exists if change.kind == "delete" else file.exists and file.content == change.after
    if not is_as_left and choice == "leave":
        return Conflict(change, file.path, replaceable=True)
    old = change.text or file.text
    text = replace(old, next_id=file.text.next_id)
    is_text = not change.before or bool(old.current)
    after = replace(rest, text=text, exists=True, in_base=True, content="" if is_text else change.before)
    if change.before or file.content:
        return Done(after, (PutContent(file.path, file.content, change.before),))
    return Done(after, (PutText(file.path, file.text.current if file.exists else None, text.current),))
