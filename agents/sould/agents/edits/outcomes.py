"""What becomes of a file by a decision of the log, or why nothing does. Pure: the log has only those that were possible then."""

from msgspec.structs import replace

from sould.agents.edits.editlog import Decided
from sould.agents.review.decisions import Decided as DecidedHunk
from sould.agents.review.decisions import Decision, HunkStale, Refusal, taken_back
from sould.agents.review.file import DecidedChange, FileChange, TrackedFile
from sould.agents.review.filedecisions import (
    ChangeAbsent,
    ChangeDecided,
    Conflict,
    Done,
    PutText,
    change_taken_back,
    decide_change,
    decide_hunk,
)


def outcome(
    file: TrackedFile, event: Decided, *, occupied: bool = False
) -> Done | Refusal | Conflict | ChangeDecided | ChangeAbsent:
    """What becomes of a file by a decision, or why nothing does. `occupied`: see `decide_change`."""
    change = change_of(file, event.hunk_id)
    decided = decided_change_of(file, event.hunk_id)
    if event.verdict == "undo" and decided is not None:
        return change_taken_back(file, decided, occupied=occupied)
    if event.verdict == "undo":
        answer = taken_back(file.text, event.hunk_id)
        if not isinstance(answer, DecidedHunk):
            return answer
        after = replace(file, text=answer.text, exists=True)
        put = (PutText(file.path, file.text.current if file.exists else None, answer.text.current),)
        return Done(after, put if answer.text.current != file.text.current else ())
    if change is not None:
        if event.digest and event.digest != change.digest:
            return HunkStale(None)
        chosen = "replace" if event.choice == "replace" else "leave"
        return decide_change(file, change, event.verdict, occupied=occupied, choice=chosen)
    if decided is not None:
        return ChangeDecided(decided)
    if any(each.id == event.hunk_id for each in file.absent):
        return ChangeAbsent()
    choice = event.choice if event.choice != "replace" else None
    return decide_hunk(
        file, Decision(event.verdict, event.hunk_id, event.digest, event.lines, choice, event.base_lines)
    )


def change_of(file: TrackedFile, number: int) -> FileChange | None:
    """The change of the file as a whole that has this id."""
    return next((change for change in file.changes if change.id == number), None)


def decided_change_of(file: TrackedFile, number: int) -> DecidedChange | None:
    """The decision about the change of the file as a whole that has this id, unless it is pending again."""
    return next((each for each in reversed(file.decided) if each.change.id == number), None)
