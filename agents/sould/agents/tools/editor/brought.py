"""Which problems the changes brought that wait for review, whoever says what is wrong. Asks nobody.

What stands in a line of an agent's is new with the line; what a write broke elsewhere in its file was noted at its hunk then
(`newproblems`). What it broke in other files nobody knows.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from sould.agents.files.reviewing.listing import FileReview, ReviewedHunk
from sould.agents.tools.editor.backends import Reader
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.newproblems import is_noted
from sould.agents.tools.editor.results import Problem, Problems


async def files_of(hunks: Collection[int], reader: Reader) -> list[Path]:
    """The files that hunks are in.

    Raises:
        EditorToolError: not_found: one of them does not wait for review.
    """
    pending = list(_hunks(await reader.pending(())))
    missing = sorted(set(hunks) - {hunk.id for hunk in pending})
    if missing:
        raise EditorToolError(
            "not_found", f"No hunk {', '.join(map(str, missing))} waits for review; it may be settled."
        )
    return list(dict.fromkeys(Path(hunk.path) for hunk in pending if hunk.id in hunks))


async def marked(problems: Problems, since: Collection[int], reader: Reader) -> Problems:
    """With those marked that hunks brought; if hunks are named in `since`, those that they brought, and no others."""
    paths = dict.fromkeys(Path(each.file) for each in problems.items if each.file)
    if not paths:
        return problems
    hunks = [hunk for hunk in _hunks(await reader.pending(list(paths))) if not since or hunk.id in since]
    new = {at for hunk in hunks for at in _brought(hunk, problems.items)}
    items = [replace(each, is_new=at in new) for at, each in enumerate(problems.items)]
    if not since:
        return replace(problems, items=tuple(items))
    kept = tuple(each for each in items if each.is_new)
    return replace(problems, items=kept, counts=dict(Counter(each.severity for each in kept)))


def _hunks(files: Sequence[FileReview]) -> Iterator[ReviewedHunk]:
    return (hunk for file in files for hunk in file.hunks if hunk.state == "pending")


def _brought(hunk: ReviewedHunk, items: Sequence[Problem]) -> set[int]:
    """The places in `items` of what one hunk brought."""
    here = {at: each for at, each in enumerate(items) if each.file == hunk.path}
    lines = {hunk.start + at for at, line in enumerate(hunk.lines) if not line.own}
    found = {at for at, each in here.items() if each.range.start.line - 1 in lines}
    for noted in hunk.problems:
        same = [at for at, each in here.items() if is_noted(each, noted)]
        if same and found.isdisjoint(same):
            found.add(min(same, key=lambda at: abs(here[at].range.start.line - 1 - hunk.start)))
    return found
