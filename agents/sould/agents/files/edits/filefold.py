"""What one event of the log makes of the one file that it is about. Pure: what files held is asked of `FileContents`."""

from collections.abc import Iterable
from typing import Protocol

from sould.agents.files.edits.editlog import Intent, Range
from sould.agents.files.review.difference import LineEdit, edits_between
from sould.agents.files.review.file import TrackedFile
from sould.agents.files.review.hunk import AgentCall
from sould.agents.files.review.lines import Lines, line_end, with_end


class FileContents(Protocol):
    """What files held, by digest."""

    def lines(self, digest: str) -> Lines | None:
        """A text; None when it is none, such as a link, or nobody has it any more."""
        ...

    def file(self, digest: str) -> TrackedFile | None:
        """A file under review, as it was kept whole; None when nobody has it any more."""
        ...


def as_found(file: TrackedFile, lines: Lines, content: str, *, there: bool) -> TrackedFile:
    """The file as an event says that it was, whatever the events before it say."""
    if not there:
        return file.user_deleted() if file.exists else file
    if not file.exists:
        return file.user_replaced(content) if content else file.user_made(lines)
    if content:
        return file if file.content == content else file.user_replaced(content)
    same = file.text.current == lines
    return file if same else file.user_wrote(edits_between(file.text.current, lines), "disk")


def written(file: TrackedFile, event: Intent, agent: AgentCall, contents: FileContents) -> TrackedFile:
    """After a write of an agent that changed the content."""
    allowed = event.allowed
    before, after = event.refs
    if after is None:
        return file.agent_deleted(agent, allowed=allowed)
    new = contents.lines(after) if event.changed is not None else None
    if new is None or (file.content and file.exists):
        return file.agent_replaced(before or "", after, agent, allowed=allowed)
    if not file.exists:
        return file.agent_made(new, agent, allowed=allowed)
    old_end, new_end = line_end(file.text.current), line_end(new)
    if old_end is not None and new_end is not None and old_end != new_end:
        file = file.agent_changed_line_ends(new_end, old_end, agent)
    return file.agent_wrote(edits_of(event.changed or (), new), agent, allowed=allowed)


def edits_of(ranges: Iterable[Range], new: Lines) -> list[LineEdit]:
    """What a write changed, with its lines."""
    return [LineEdit(start, stop, new[low:high]) for start, stop, low, high in ranges]


def ranges_between(old: Lines, new: Lines) -> tuple[Range, ...]:
    """What turns a text into another one; where only line ends differ, that is not in it."""
    old_end, new_end = line_end(old), line_end(new)
    if old_end is not None and new_end is not None and old_end != new_end:
        old = with_end(old, new_end)
    ranges: list[Range] = []
    shift = 0
    for edit in edits_between(old, new):
        low = edit.start + shift
        ranges.append((edit.start, edit.stop, low, low + len(edit.lines)))
        shift += len(edit.lines) - (edit.stop - edit.start)
    return tuple(ranges)
