"""What clients are told of the inbox: the shapes of all answers and notifications below `_sould/inbox` (docs/inbox-clients.md).

Values only. `docs/schemas/inbox` is generated from here and from `params`; a field is there unless it says a default. Texts come
from models, repositories and servers: whoever shows one at a terminal makes it harmless first, but for `lines`, which are.
"""

from typing import Any, Literal, TypeAlias

from msgspec import field

from sould.agents.base.shape import Shape
from sould.agents.permissions.actions import Scope

InboxKind: TypeAlias = Literal["approval", "question", "form"]
Outcome: TypeAlias = Literal[
    "approved",
    "approved_for_session",
    "approved_for_project",
    "approved_always",
    "rejected",
    "answered",
    "declined",
    "dismissed",
    "cancelled",
    "expired",
]


class InboxSession(Shape, frozen=True):
    """Who asks. `project` is the root of the project of its directory `cwd`.

    `open` false: nobody has opened it since sould was restarted. The answer does so, with the environment of who answers.
    """

    id: str
    title: str
    cwd: str
    project: str
    open: bool = True


class OfferedScope(Shape, frozen=True):
    """How far an approval may reach. `label` fits a button; `remembers` is a sentence about what is not asked again, "" for nothing.

    `project` and `always` outlive the session.
    """

    scope: Scope
    label: str
    remembers: str = ""


class AskedCommand(Shape, frozen=True):
    """A command, with each character that prints nothing as a mark; it runs in `directory`."""

    command: str
    directory: str
    language: str = "bash"


class AskedEdit(Shape, frozen=True):
    """A change of a file. `part`: the texts are only parts of it, from these lines on, counted from 1.

    `cut`: the texts are too long for a list; `show` has them.
    """

    path: str
    before: str
    after: str
    before_start: int = 1
    after_start: int = 1
    part: bool = False
    is_new: bool = False
    cut: bool = False


class AskedOption(Shape, frozen=True):
    """One choice."""

    label: str
    description: str = ""


class AskedQuestion(Shape, frozen=True):
    """One question. Without options it takes words, which may begin with `default`; `words`: what they are offered as beside options."""

    question: str
    header: str = ""
    body: str = ""
    options: tuple[AskedOption, ...] = ()
    several: bool = False
    words: str = ""
    default: str = ""


class InboxItem(Shape, frozen=True):
    """A request that nobody has answered.

    `title` is one line, `lines` the rest of it as text for a terminal, `more` how many of these were left out. `asker` is the
    subagent that asks, "" for the agent itself. An approval has `scopes`; a `form` is a MCP server's, and the same as `questions`.
    """

    id: str
    kind: InboxKind
    session: InboxSession
    since: str
    title: str
    lines: tuple[str, ...] = ()
    more: int = 0
    asker: str = ""
    tool_call_id: str = ""
    action: str = ""
    """The kind of thing that is to be allowed, such as `run command`."""
    commands: tuple[AskedCommand, ...] = ()
    edits: tuple[AskedEdit, ...] = ()
    scopes: tuple[OfferedScope, ...] = ()
    questions: tuple[AskedQuestion, ...] = ()
    form: dict[str, Any] = field(default_factory=dict[str, Any])


class InboxList(Shape, frozen=True):
    """The answer to `list`, and to `subscribe`: what waits longest first."""

    items: tuple[InboxItem, ...]


class EndedItem(Shape, frozen=True):
    """A request that waits no more: `outcome`, by whom ("" when nobody answered) and when; `words` are what was said with it."""

    id: str
    session_id: str
    outcome: Outcome
    by: str
    at: str
    words: str = ""


class InboxChanged(Shape, frozen=True):
    """The notification `_sould/inbox/changed`: what waits since the last one, or is another now, and what waits no more.

    `everything`: ask for the whole list again.
    """

    items: tuple[InboxItem, ...] = ()
    ended: tuple[EndedItem, ...] = ()
    everything: bool = False


class Answered(Shape, frozen=True):
    """The answer to `answer`, a sentence of it in `message`. `taken`: yours is what counts, as `ended` says.

    `already_answered`: somebody was faster, as `ended` says. `ended`: it was cancelled with its turn, or what it was about changed.
    `unknown`: nothing of this id waits, and it is not known that anything did.
    """

    outcome: Literal["taken", "already_answered", "ended", "unknown"]
    message: str
    ended: EndedItem | None = None
