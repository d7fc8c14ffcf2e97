"""What users have to say to agents about a project's changes: gathered in its log, and sent as one message. Never a prompt by itself.

With a message a round begins: what agents write from then on is the answer, and hunks that it does not touch are `earlier`.
"""

import re
import time
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from sould.agents.base.workspace import WorkspaceError
from sould.agents.files.edits.editlog import Commented, CommentsSent
from sould.agents.files.edits.project import Project
from sould.agents.files.review.lines import Lines, split
from sould.agents.files.reviewing.files import ReviewFiles
from sould.agents.files.reviewing.listing import ReviewedHunk, listed

MOST_COMMENTS: Final = 200
"""Open ones of a project."""
MOST_CODE: Final = 200
"""Lines that go with a comment."""
_BACKQUOTES: Final = re.compile(r"`{3,}")


class Comment(Struct, frozen=True):
    """One that is not sent yet. `code` began at line `start` of the file, counted from 0, when it was made; `at` is in seconds."""

    id: int
    path: str
    hunk_id: int
    start: int
    code: Lines
    text: str
    by: str
    at: float


class Round(Struct, frozen=True):
    """When comments were sent last: `n` counts what happened in the project. `session_id` "": the client sends them itself."""

    n: int
    session_id: str
    by: str
    at: float


class NothingThereError(Exception):
    """What was to be commented on is not there. The text is one sentence."""


class ReviewComments:
    """Of one project."""

    def __init__(self, project: Project, files: ReviewFiles) -> None:
        self._project = project
        self._files = files

    @property
    def open(self) -> Sequence[Comment]:
        """Those that are not sent yet, oldest first."""
        return [_comment(each) for each in self._project.review.state.comments.values()]

    @property
    def round(self) -> Round | None:
        """The last one."""
        sent = self._project.review.state.round
        return Round(sent.n, sent.session_id, sent.by, sent.timestamp) if sent is not None else None

    async def about_hunk(self, hunk_id: int, text: str, by: str, replaces: int = 0) -> Comment:
        """Say something about a hunk. Raises OSError, NothingThereError."""
        hunk = self._hunk(hunk_id)
        if hunk is None:
            raise NothingThereError(f"no hunk {hunk_id} is to be reviewed")
        code = hunk.texts or hunk.base
        return await self._put(hunk.path, hunk_id, hunk.start, code, text, by, replaces)

    async def about_lines(self, path: Path, lines: tuple[int, int], text: str, by: str, replaces: int = 0) -> Comment:
        """Say something about lines of a file, counted from 0, the second not included. Raises OSError, NothingThereError."""
        if not path.is_relative_to(self._project.root):
            raise NothingThereError(f"{path} is not in {self._project.root}")
        content = await self._lines(path)
        code = content[lines[0] : lines[1]] if content is not None else ()
        if not code:
            raise NothingThereError(f"{path} has no lines {lines[0]} to {lines[1]}")
        return await self._put(str(path), 0, lines[0], code, text, by, replaces)

    async def remove(self, number: int, by: str) -> None:
        """Take one out that is not sent yet. Raises OSError."""
        known = self._project.review.state.comments.get(number)
        if known is not None:
            await self._append(self._event(known.path, 0, 0, (), "", by, number))

    async def message(self, ids: Collection[int] = ()) -> tuple[Sequence[int], str]:
        """Which of the open comments (all, where none is named), and what the agent is told."""
        chosen = [each for each in self.open if not ids or each.id in ids]
        parts = [await self._part(place, each) for place, each in enumerate(chosen, 1)]
        head = "Comments of a review. Answer each: change the code accordingly, or say why not."
        return [each.id for each in chosen], "\n\n".join((head, *parts)) if parts else ""

    async def sent(self, ids: Iterable[int], session_id: str, by: str) -> Round:
        """The agent has these: a round begins, before anything else happens. Raises OSError."""
        now = time.time()
        event = CommentsSent(n=self._project.next_n, ids=tuple(ids), session_id=session_id, by=by, timestamp=now)
        await self._project.append(event, sync=True)
        for file in tuple(self._project.review.state.pending()):
            self._project.review.followers.tell(file.path)
        return Round(event.n, session_id, by, now)

    def sessions_of(self, ids: Collection[int]) -> list[str]:
        """Whose agents wrote what these comments are about, or the files they are about; the last one last."""
        comments = [each for each in self.open if each.id in ids]
        hunks = {each.hunk_id for each in comments}
        paths = {each.path for each in comments}
        found = [each for each in self._hunks() if each.id in hunks] or [
            each for each in self._hunks() if each.path in paths
        ]
        return [*dict.fromkeys(agent.session_id for hunk in found for agent in hunk.agents)]

    def _hunks(self) -> list[ReviewedHunk]:
        state = self._project.review.state
        return [hunk for file in listed(state, {}, state.files) for hunk in file.hunks]

    def _hunk(self, hunk_id: int) -> ReviewedHunk | None:
        return next((each for each in self._hunks() if each.id == hunk_id), None)

    async def _put(
        self, path: str, hunk_id: int, start: int, code: Lines, text: str, by: str, replaces: int
    ) -> Comment:
        if path in self._project.review.state.secret:
            code = ()  # nothing of it is written anywhere
        if len(self._project.review.state.comments) >= MOST_COMMENTS and not replaces:
            raise NothingThereError(f"{MOST_COMMENTS} comments wait: send them first")
        event = self._event(path, hunk_id, start, code[:MOST_CODE], text, by, replaces)
        await self._append(event)
        return _comment(event)

    def _event(self, path: str, hunk_id: int, start: int, code: Lines, text: str, by: str, replaces: int) -> Commented:
        return Commented(
            n=self._project.next_n,
            path=path,
            hunk_id=hunk_id,
            start=start,
            code=code,
            text=text,
            by=by,
            replaces=replaces,
            timestamp=time.time(),
        )

    async def _append(self, event: Commented) -> None:
        await self._project.append(event, sync=True)

    async def _part(self, place: int, comment: Comment) -> str:
        """One comment with its path, its lines as they are now, and the code; lines are counted from 1, as agents do."""
        now = await self._now(comment)
        name = Path(comment.path)
        path = name.relative_to(self._project.root) if name.is_relative_to(self._project.root) else name
        start, code, changed = now
        first, last = start + 1, start + max(1, len(code))
        where = f"{path}:{first}" if first == last else f"{path}:{first}-{last}"
        note = " (the code has changed since; it was:)" if changed else ""
        fence = "`" * max([3, *(len(each) + 1 for each in _BACKQUOTES.findall("".join(code)))])
        shown = "".join(code).rstrip("\r\n")
        quoted = f"\n{fence}\n{shown}\n{fence}" if code else ""
        return f"{place}. {where}{note}{quoted}\n{comment.text}"

    async def _now(self, comment: Comment) -> tuple[int, Lines, bool]:
        hunk = self._hunk(comment.hunk_id) if comment.hunk_id else None
        if hunk is not None and hunk.texts:
            return hunk.start, hunk.texts[:MOST_CODE], False
        content = await self._lines(Path(comment.path)) or ()
        size = len(comment.code)
        places = [at for at in range(len(content) - size + 1) if content[at : at + size] == comment.code]
        nearest = min(places, key=lambda at: abs(at - comment.start), default=None)
        return (nearest, comment.code, False) if nearest is not None else (comment.start, comment.code, True)

    async def _lines(self, path: Path) -> Lines | None:
        """A text as its user sees it, None where there is none."""
        try:
            data = await self._files.content(path)
            return split(data.decode()) if data is not None else None
        except (WorkspaceError, OSError, UnicodeDecodeError):
            return None


def _comment(event: Commented) -> Comment:
    return Comment(event.n, event.path, event.hunk_id, event.start, event.code, event.text, event.by, event.timestamp)
