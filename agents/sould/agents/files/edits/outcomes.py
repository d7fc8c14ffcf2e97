"""What becomes of a file by a decision of the log, or why nothing does. Pure: the log has only those that were possible then."""

from collections.abc import Sequence
from itertools import takewhile

from msgspec.structs import replace

from sould.agents.files.edits.editlog import Decided
from sould.agents.files.review.atonce import FEWEST, decided_at_once, taken_back_at_once
from sould.agents.files.review.decisions import Decided as DecidedHunk
from sould.agents.files.review.decisions import Decision, HunkStale, Refusal, Verdict, taken_back
from sould.agents.files.review.file import DecidedChange, FileChange, TrackedFile
from sould.agents.files.review.filedecisions import (
    ChangeAbsent,
    ChangeDecided,
    Conflict,
    DecidedFile,
    PutText,
    change_taken_back,
    decide_change,
    decide_hunk,
)
from sould.agents.files.review.hunk import is_same_text


def outcome(
    file: TrackedFile, event: Decided, *, in_the_way: str = ""
) -> DecidedFile | Refusal | Conflict | ChangeDecided | ChangeAbsent:
    """What becomes of a file by a decision, or why nothing does. `in_the_way`: see `decide_change`."""
    change = change_of(file, event.hunk_id)
    decided = decided_change_of(file, event.hunk_id)
    if event.verdict == "undo" and decided is not None:
        return change_taken_back(file, decided, in_the_way=in_the_way)
    if event.verdict == "undo":
        answer = taken_back(file.text, event.hunk_id)
        if not isinstance(answer, DecidedHunk):
            return answer
        after = replace(file, text=answer.text, exists=True)
        put = (PutText(file.path, file.text if file.exists else None, answer.text),)
        return DecidedFile(after, () if is_same_text(answer.text.parts, file.text.parts) else put)
    if change is not None:
        if event.digest and event.digest != change.digest:
            return HunkStale(None)
        chosen = "replace" if event.choice == "replace" else "leave"
        return decide_change(file, change, event.verdict, in_the_way=in_the_way, choice=chosen)
    if decided is not None:
        return ChangeDecided(decided)
    if any(each.id == event.hunk_id for each in file.absent):
        return ChangeAbsent()
    return decide_hunk(file, _decision(event))


def outcomes_at_once(file: TrackedFile, events: Sequence[Decided]) -> Sequence[DecidedFile]:
    """What becomes of a file by as many of the first decisions as can be carried out at once: the same for each, and one write.

    Only of hunks of a text that was there before agents changed it. Nothing where that are not several.
    """
    if not file.exists or not file.in_base or file.content or len(events) < FEWEST:
        return ()
    whole = {each.id for each in (*file.changes, *file.absent)} | {each.change.id for each in file.decided}
    about_text = takewhile(lambda each: each.hunk_id not in whole, events)
    is_undo = events[0].verdict == "undo"
    alike = [*takewhile(lambda each: (each.verdict == "undo") == is_undo, about_text)]
    at_once = (
        taken_back_at_once(file.text, [each.hunk_id for each in alike])
        if is_undo
        else decided_at_once(file.text, [*map(_decision, alike)])
    )
    if at_once is None:
        return ()
    after = replace(file, text=at_once.text)
    *others, last = [
        DecidedFile(after, (), stayed, event.hunk_id) for event, stayed in zip(events, at_once.stayed, strict=False)
    ]
    put = () if is_same_text(file.text.parts, after.text.parts) else (PutText(file.path, file.text, after.text),)
    return [*others, replace(last, effects=put)]


def _decision(event: Decided) -> Decision:
    """A keep or a reject of a hunk."""
    verdict: Verdict = "keep" if event.verdict == "keep" else "reject"
    choice = event.choice if event.choice != "replace" else None
    return Decision(verdict, event.hunk_id, event.digest, event.lines, choice, event.base_lines)


def mode_held(file: TrackedFile) -> int | None:
    """The permissions that the last change of them, or the last decision about one, left; None: there was none."""
    pending = file.pending_change("mode")
    if pending is not None:
        return int(pending.after, 8)
    decided = next((each for each in reversed(file.decided) if each.change.kind == "mode"), None)
    if decided is None:
        return None
    return int(decided.change.before if decided.verdict == "reject" else decided.change.after, 8)


def change_of(file: TrackedFile, number: int) -> FileChange | None:
    """The change of the file as a whole that has this id."""
    return next((change for change in file.changes if change.id == number), None)


def decided_change_of(file: TrackedFile, number: int) -> DecidedChange | None:
    """The decision about the change of the file as a whole that has this id, unless it is pending again."""
    return next((each for each in reversed(file.decided) if each.change.id == number), None)
