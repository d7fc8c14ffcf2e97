"""What clients are told of a review: the shapes of all answers and notifications below `_sould/review` (docs/review-clients.md).

Values only. `docs/schemas/review` is generated from here and from `params`; a field is there unless it says a default.
Lines are counted from 0; every text of a line has its line end.
"""

from typing import Literal, TypeAlias

from sould.agents.base.shape import Shape

HunkKind: TypeAlias = Literal["text", "add", "delete", "rename", "mode", "line_ends", "content"]
HunkState: TypeAlias = Literal[
    "pending", "rejecting", "streaming", "absent", "stale", "kept", "rejected", "undone", "ended"
]
LeftReason: TypeAlias = Literal[
    "needs_choice",
    "hunk_stale",
    "still_streaming",
    "already_decided",
    "not_there",
    "unknown",
    "conflict",
    "shared",
    "unsure",
    "changed",
    "failed",
]
Verdict: TypeAlias = Literal["keep", "reject", "undo"]


class Nothing(Shape, frozen=True):
    """An answer that says only that it is done, or a notification that says all by its name."""


class ShownAgent(Shape, frozen=True):
    """A tool call that had a part in a hunk."""

    session_id: str
    turn_id: str
    tool_call_id: str
    subagent: str = ""
    model: str = ""


class ShownLine(Shape, frozen=True):
    """A current line. `mixed`: an agent's, with words of the user; `agent`: which of the hunk's `agents` wrote it."""

    text: str
    author: Literal["agent", "user", "mixed"]
    agent: int | None = None


class ShownHunk(Shape, frozen=True):
    """What is decided about as one: lines that became others (`kind` text), or something that happened to the whole file.

    `base` became `lines`; they begin at line `baseStart` of what the user accepted, and at line `start` of the file. Of other
    kinds `before` and `after` say what happened: paths, octal modes, names of line ends, digests of contents; of symbolic links
    `link:` and where they lead, with `%` escapes.
    """

    id: int
    digest: str
    path: str
    kind: HunkKind
    state: HunkState
    start: int
    base_start: int
    base: tuple[str, ...]
    lines: tuple[ShownLine, ...]
    agents: tuple[ShownAgent, ...]
    before: str = ""
    after: str = ""
    committed: bool = False
    """An agent's own command committed it."""
    unsure: bool = False
    """The user may have written it, while a program of the agent ran: decide about it by its id, it is left by all other rejects."""
    shown_in: str = ""
    """The editor that lets its user review it already: "in review in Zed"."""
    earlier: bool = False
    """It was so when comments were sent last: no answer to them."""
    before_size: int | None = None
    """Bytes of the content `before`, where that is no text and still known."""
    after_size: int | None = None
    """The same of `after`."""
    problems: tuple[str, ...] = ()
    """Errors that it brought, as an editor or a language server said when it was written."""


def texts_of(hunk: ShownHunk) -> tuple[str, ...]:
    """Its current lines."""
    return tuple(line.text for line in hunk.lines)


class ShownFile(Shape, frozen=True):
    """A file with what is to be reviewed in it, from the top; `hunks` is empty when nothing is any more.

    `streaming` is what running calls are about to write into it: of each, `lines` are to replace
    the lines `base` at `start` of the file as it is. Nothing of it can be decided about, and its ids, which are below 0, end with it.
    """

    path: str
    exists: bool
    hunks: tuple[ShownHunk, ...]
    unsaved: bool = False
    """What it holds is in an editor only."""
    unsaved_in: tuple[str, ...] = ()
    """The names of the editors that have that text."""
    is_new: bool = False
    """An agent made it, and nothing of it was kept."""
    streaming: tuple[ShownHunk, ...] = ()


class ShownComment(Shape, frozen=True):
    """What a user has to say to the agent, not sent yet. `code` began at line `start` of the file when it was made.

    `hunk`: the hunk it is about; without it, it is about these lines.
    """

    id: int
    path: str
    start: int
    code: tuple[str, ...]
    text: str
    by: str
    at: str
    hunk: int | None = None


class ShownRound(Shape, frozen=True):
    """When comments were sent last, and to which session; "" when the client sent them itself."""

    revision: int
    session_id: str
    by: str
    at: str


class ReviewList(Shape, frozen=True):
    """The answer to `list`, and to `subscribe`. `revision` counts what happened in the project."""

    root: str
    revision: int
    files: tuple[ShownFile, ...]
    comments: tuple[ShownComment, ...] = ()
    round: ShownRound | None = None


class DoneHunk(Shape, frozen=True):
    """It is decided, and `hunk` was so before. `stayed`: lines of the user that a reject left in the file.

    `waits`: it is carried out when the running step of the agent ends. `newFile`: what became of a file that agents had made,
    when this rejected the last of it. `part`: the id that the `lines` it was about have since, to undo it by; else that is `id`.
    """

    id: int
    path: str
    verdict: Verdict
    hunk: ShownHunk | None = None
    stayed: tuple[str, ...] = ()
    waits: bool = False
    new_file: Literal["", "gone", "stays"] = ""
    part: int = 0

    @property
    def undone_by(self) -> int:
        """The id by which it can be taken back."""
        return self.part or self.id


class LeftHunk(Shape, frozen=True):
    """Nothing was done about it. `message` is for people, the rest what is needed to go on.

    `needs_choice`: words of the user are in the lines `mixed`: say `drop`, `mine` or `leave` as `choice`. `hunk_stale`: it is
    `present` now, or has ended. `already_decided`: `by` whom, `at` which time, and what it is now (`state`). `conflict`: something
    of the user's is at `path`; say `replace` where `choices` has it. `shared`: other turns or sessions had a part in it, `unsure`:
    the user may have; name the hunk. `still_streaming`: not written yet. `not_there`: not in the file. `changed`: cannot be undone.
    """

    id: int
    path: str
    why: LeftReason
    message: str
    present: ShownHunk | None = None
    mixed: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    by: str = ""
    at: str = ""
    state: str = ""
    can_undo: bool = False
    """Of `already_decided`: `undo` takes that back."""


class ReviewOutcome(Shape, frozen=True):
    """The answer to `keep`, `reject` and `undo`: what is done, and what is not."""

    done: tuple[DoneHunk, ...]
    left: tuple[LeftHunk, ...]


class ShownDecision(Shape, frozen=True):
    """Who decided what, and when. `waits`: it is not carried out yet."""

    id: int
    path: str
    verdict: Verdict
    by: str
    at: str
    reason: str = ""
    waits: bool = False


class ReviewChanged(Shape, frozen=True):
    """The notification `_sould/review/changed`: what is another since the last one.

    `files` are as they are now; `others` changed as well, and are too large or too many to be sent: list them. `everything`:
    ask for the whole list again. `comments`: all that are not sent yet, null when they are as they were.
    """

    root: str
    revision: int
    files: tuple[ShownFile, ...] = ()
    others: tuple[str, ...] = ()
    everything: bool = False
    decisions: tuple[ShownDecision, ...] = ()
    comments: tuple[ShownComment, ...] | None = None
    round: ShownRound | None = None


class Base(Shape, frozen=True):
    """The answer to `base`: the text as the user accepted it, null when the file is not under review, or no text."""

    path: str
    text: str | None


class Reported(Shape, frozen=True):
    """The answer to `report`.

    `outdated`: a later version is known. `needsText`: the text that the ranges are relative to is not known: send all of it.
    `tooLarge`: the text is not kept. In the last two cases the file counts as unsaved, and is not written to.
    """

    outcome: Literal["taken", "outdated", "needsText", "tooLarge"]


class Write(Shape, frozen=True):
    """The request `_sould/review/write` to a client with `buffers`: put `text` in place of `version` of a file it has open.

    `save`: the file was saved, so save it; else leave it unsaved.
    """

    path: str
    version: int
    text: str
    save: bool


class RejectedHunk(Shape, frozen=True):
    """A hunk that is in its file no more, with its text, and who decided that, null when nobody did.

    `undo` brings one back that was rejected or undone, as long as what is there now is what was there then.
    """

    hunk: ShownHunk
    decision: ShownDecision | None = None


class Dropped(Shape, frozen=True):
    """A text of the user that a reject dropped because `replace` was chosen."""

    path: str
    text: str
    decision: ShownDecision | None = None


class Left(Shape, frozen=True):
    """What an editor held unsaved of a file when it ended, and the file does not hold. `by`: the editor."""

    path: str
    text: str
    by: str
    at: str


class Rejected(Shape, frozen=True):
    """The answer to `rejected`: by path, what went last at the end."""

    hunks: tuple[RejectedHunk, ...]
    dropped: tuple[Dropped, ...] = ()
    unsaved: tuple[Left, ...] = ()


class Commented(Shape, frozen=True):
    """The answer to `comment`: as it is kept, null when it was taken out."""

    comment: ShownComment | None


class SentComments(Shape, frozen=True):
    """The answer to `comments/send`.

    `sent`: `sessionId` has the prompt, and a round begins; it was opened for that when it was closed. `returned`: send `prompt`
    yourself; a round begins. `closed`: there is no session `sessionId` any more: say another one, or `send: false`; nothing was done.
    `nothing`: there is no comment.
    """

    outcome: Literal["sent", "returned", "closed", "nothing"]
    session_id: str = ""
    prompt: str = ""
    round: ShownRound | None = None
