"""What clients ask of a review: the parameters of all methods below `_sould/review` (docs/review-clients.md).

Read as `rpc.params` says, with one difference: what says which hunks a decision is about must fit. Taken for absent, it would
make a decision about more than the user saw.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from sould.agents.clients.params import Inbound, Lenient

MOST_NAMED = 10_000
"""Hunks or paths in one request."""
LONGEST_REASON = 2_000
LONGEST_COMMENT = 10_000
"""Characters."""

Number: TypeAlias = Annotated[int, Field(strict=True, ge=1)]
HunkNumber: TypeAlias = Number | Annotated[int, Field(strict=True, le=-1)]
"""Below 0: of what is still streaming."""
LineNumber: TypeAlias = Annotated[int, Field(strict=True, ge=0)]
Flag: TypeAlias = Annotated[bool, Field(strict=True)]
Paths: TypeAlias = Annotated[list[str], Field(max_length=MOST_NAMED)]


class ProjectParams(Inbound):
    """Which project: that of the directory `cwd`, which is absolute; without it, that of the first path named."""

    cwd: str | None = None


class ListReviewParams(ProjectParams):
    """`_sould/review/list`: all that is pending, or what all of these hold for. `paths`: files, or directories with what is in them.

    `absent`: also hunks whose text is not in its file now. `answers`: only what changed since comments were sent last.
    """

    paths: Paths = Field(default_factory=list)
    session_id: str = ""
    turn_id: str = ""
    absent: Flag = False
    answers: Flag = False


class NamedHunk(Inbound):
    """A hunk by its id. `digest`: what was seen of it; when it is another by now, nothing is done about it."""

    id: HunkNumber
    digest: str = ""


class DecisionParams(ProjectParams):
    """`_sould/review/keep`, `reject`: the hunks named, or all of some paths, of a session, of a turn, or of the project (`all`).

    `lines`: of one hunk, only these of its current lines, counted from 0, the second not included. `baseLines`:
    the lines of its `base` that go with them; without them, all go with the first of its lines. `choice`: see `LeftHunk`.
    `reason`: what the agent is told of a reject.
    """

    hunks: Annotated[list[NamedHunk], Field(max_length=MOST_NAMED)] = Field(default_factory=list[NamedHunk])
    paths: Paths = Field(default_factory=list)
    session_id: str = ""
    turn_id: str = ""
    all: Flag = False
    lines: tuple[LineNumber, LineNumber] | None = None
    base_lines: tuple[LineNumber, LineNumber] | None = None
    choice: Literal["drop", "mine", "leave", "replace"] | None = None
    reason: Lenient[str] = ""


class UndoParams(ProjectParams):
    """`_sould/review/undo`: take the decisions about these hunks back."""

    hunks: Annotated[list[NamedHunk], Field(min_length=1, max_length=MOST_NAMED)]


class RejectedParams(ProjectParams):
    """`_sould/review/rejected`: of the project, or of some paths."""

    paths: Paths = Field(default_factory=list)


class CommentParams(ProjectParams):
    """`_sould/review/comment`: `text` about a `hunk`, or about `lines` of the file `path`, from 0, the second not included.

    `id`: in place of this comment, which is not sent yet; with an empty `text` it is taken out.
    """

    text: Annotated[str, Field(max_length=LONGEST_COMMENT)]
    id: Number | None = None
    hunk: Number | None = None
    path: str | None = None
    lines: tuple[LineNumber, LineNumber] | None = None


class SendCommentsParams(ProjectParams):
    """`_sould/review/comments/send`: these comments, or all; to this session, or the one that wrote what they are about.

    `send` false: the client sends the message itself.
    """

    ids: Annotated[list[Number], Field(max_length=MOST_NAMED)] = Field(default_factory=list)
    session_id: str = ""
    send: Flag = True


class FileParams(ProjectParams):
    """`_sould/review/base`: of one file."""

    path: str


# --- what a client has open ---------------------------------------------------------------------------------------------


class PositionParams(Inbound):
    """A place in a text: `line` from 0, `character` in UTF-16 code units from the line's beginning."""

    line: LineNumber
    character: LineNumber


class RangeParams(Inbound):
    """From `start` up to `end`, which is not included and not before it."""

    start: PositionParams
    end: PositionParams


class ChangeParams(Inbound):
    """`text` is what stands in `range` now; without `range`, it is the whole text."""

    range: RangeParams | None = None
    text: str


class ReportParams(ProjectParams):
    """`_sould/review/report`: what the client has open.

    `open`: with `text`, unless it is what the disk holds. `change`: with `text`, or with `changes`, each relative to the text after
    those before it. `save`, `close`; `focus`: the user looks at this client. `version` goes up with every change; an older one
    than known is ignored. `unsaved`: of `open` and `change`, whether the text is another one than the disk's.
    """

    event: Literal["open", "change", "save", "focus", "close"]
    path: str | None = None
    version: LineNumber | None = None
    text: str | None = None
    changes: Annotated[list[ChangeParams], Field(max_length=MOST_NAMED)] = Field(default_factory=list[ChangeParams])
    unsaved: Flag | None = None


class WriteAnswer(Inbound):
    """What a client answers to `_sould/review/write`: `written`, and whether it saved the file; or `outdated`: it has another version.

    `version`: of its buffer now; `text`: what it holds, when that is not what was to be written.
    """

    outcome: Literal["written", "outdated"]
    saved: Lenient[bool] = False
    version: Lenient[int | None] = None
    text: Lenient[str | None] = None
