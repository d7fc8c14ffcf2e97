"""Which hunks and changes of a file under review a version has that git knows, of a commit or of the index. Pure.

What the user staged or committed needs no review.

Where nobody can say it stays undecided: what git keeps in another form than the disk (a filter, another encoding) is
compared as it is, but for line ends, which git converts.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from sould.agents.files.directories.nodes import held_in, is_link, ref_of
from sould.agents.files.edits.texts import as_lines
from sould.agents.files.review.difference import LineEdit, edits_between
from sould.agents.files.review.file import FileChange, TrackedFile
from sould.agents.files.review.hunk import PlacedHunk
from sould.agents.files.review.lines import Lines, line_end, with_end, without_ends
from sould.agents.files.review.text import ReviewedText

_EXECUTABLE = 0o100


class GitVersion(Struct, frozen=True):
    """A file as git has it. `data`: None where that cannot be had."""

    mode: int
    data: bytes | None

    @property
    def digest(self) -> str:
        """Of the data, or where a link leads, "" where that cannot be had."""
        return ref_of(held_in(self.data, self.mode)) or ""


Versions = Mapping[str, GitVersion]
"""By resolved path; what is not in it, git does not have there."""


def ids_in(file: TrackedFile, versions: Versions) -> frozenset[int]:
    """The ids of what is pending in the file and is so in the versions."""
    changes = {change.id for change in file.changes if _has(file, change, versions)}
    lines = lines_in(file, versions)
    if lines is None:
        return frozenset(changes)
    return frozenset(changes | {placed.hunk.id for placed in hunks_in(file.text, lines)})


def lines_in(file: TrackedFile, versions: Versions) -> Lines | None:
    """The text of the file in the versions, with the line ends it has on disk; None: there is none, there or here."""
    version = versions.get(file.path)
    data = version.data if version is not None and not is_link(version.mode) else None
    lines = as_lines(data) if data is not None else None
    if lines is None or not file.exists or file.content:
        return None
    return _ended(lines, file.text.current)


def _has(file: TrackedFile, change: FileChange, versions: Versions) -> bool:
    version = versions.get(file.path)
    if version is None:
        return change.kind == "delete" and not file.exists
    match change.kind:
        case "add":
            return not file.content or version.digest == file.content
        case "delete":
            return False
        case "rename":
            return change.before not in versions
        case "mode":
            before, after = int(change.before, 8), int(change.after, 8)
            return before & _EXECUTABLE != after & _EXECUTABLE == version.mode & _EXECUTABLE
        case "line_ends":
            return version.data == "".join(file.text.current).encode()
        case "content":
            return version.digest == change.after


def _ended(lines: Lines, like: Lines) -> Lines:
    """Git may have other line ends than the disk: those are a matter of their own."""
    end, wanted = line_end(lines), line_end(like)
    return with_end(lines, wanted) if wanted is not None and end is not None and end != wanted else lines


def hunks_in(text: ReviewedText, version: Lines) -> Iterator[PlacedHunk]:
    """The pending hunks that `version`, of the same file, has at their place."""
    hunks = text.hunks
    if hunks:
        edits = edits_between(text.current, version)
        yield from (each for each in hunks if _is_in(each, edits, hunks))


def _is_in(placed: PlacedHunk, edits: Sequence[LineEdit], hunks: Sequence[PlacedHunk]) -> bool:
    """No difference between the two texts lies in the hunk, or puts lines of base beside it."""
    touching = [edit for edit in edits if edit.start <= placed.stop and placed.start <= edit.stop]
    if any(edit.start < placed.stop and placed.start < edit.stop for edit in touching):
        return False
    replaced = (edit for edit in touching if edit.start < edit.stop and not _is_of_another(edit, hunks))
    around = not placed.hunk.lines and any(replaced)
    base = set(without_ends(placed.hunk.base))  # the last line of base has an end where something else stands below it
    return not around and all(base.isdisjoint(without_ends(edit.lines)) for edit in touching)


def _is_of_another(edit: LineEdit, hunks: Sequence[PlacedHunk]) -> bool:
    """The difference is that the version has not a hunk which has current lines."""
    wanted = (edit.start, edit.stop, without_ends(edit.lines))
    return any((each.start, each.stop, without_ends(each.hunk.base)) == wanted for each in hunks)
