"""What editor tools answer: the shapes of `data`, for every backend. Values only; docs/schemas/editor is made of them.

Paths are absolute here and resolved; lines and columns count from 1, columns in UTF-16 code units. The ends of ranges are not included.
"""

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from sould.agents.base.shape import Shape
from sould.agents.tools.editor.anchors import Position

Severity: TypeAlias = Literal["error", "warning", "information", "hint"]
Status: TypeAlias = Literal["passed", "failed", "errored", "skipped"]


class Span(Struct, frozen=True):
    """From `start` up to `end`."""

    start: Position
    end: Position


class Editor(Shape, frozen=True):
    """An editor window."""

    editor_id: str
    app: str
    workspace_folders: tuple[str, ...] = ()
    focused: bool = False


class Selection(Shape, frozen=True):
    """What is selected in the active file; `text` is cut at 8,000 characters."""

    range: Span
    text: str = ""


class ActiveFile(Shape, frozen=True):
    """The file the user looks at."""

    file: str
    language_id: str = ""
    cursor: Position | None = None
    selection: Selection | None = None
    visible: Span | None = None


class OpenFile(Shape, frozen=True):
    """A file that is open."""

    file: str
    dirty: bool = False


class Terminal(Shape, frozen=True):
    """A terminal that its user shares."""

    terminal_id: str
    title: str = ""


class State(Shape, frozen=True):
    """`editor_state`. `shared` false: the user shares nothing of this project, and nothing else is said."""

    shared: bool
    editors: tuple[Editor, ...] = ()
    active: ActiveFile | None = None
    open: tuple[OpenFile, ...] = ()
    terminals: tuple[Terminal, ...] = ()


class Opened(Shape, frozen=True):
    """`editor_open`. `by`: what opened it, as people call it.

    `pointed`: nothing says that it is open; `by` was told the place, and goes there if its user follows the agent.
    """

    opened: bool
    by: str = ""
    pointed: bool = False


class Shown(Shape, frozen=True):
    """`editor_highlight`: how many of the items."""

    shown: int


class Asked(Shape, frozen=True):
    """`editor_ask`."""

    action: Literal["accept", "decline", "cancel", "expired"]
    content: dict[str, Any] = {}  # noqa: RUF012 -- a Struct makes it anew


class Document(Shape, frozen=True):
    """`doc_read`. `hash`: sha256 of the whole text, for `expectedHash` of `doc_edit`; `lines`: how many the whole has."""

    file: str
    text: str
    hash: str
    lines: int
    start_line: int = 1
    dirty: bool = False
    eol: Literal["lf", "crlf"] = "lf"


class Saved(Shape, frozen=True):
    """`doc_save`: the files."""

    saved: tuple[str, ...]


class Problem(Shape, frozen=True):
    """A diagnostic. `is_new`: a change brought it that waits for review; in a file that was not changed nothing is."""

    file: str
    range: Span
    severity: Severity
    message: str
    code: str = ""
    source: str = ""
    is_new: bool = False


class Problems(Shape, frozen=True):
    """`diagnostics`: the worst first. `counts` by severity, also of those that are left out."""

    items: tuple[Problem, ...]
    counts: dict[str, int] = {}  # noqa: RUF012 -- as above
    still_analyzing: bool = False


class QuickFix(Shape, frozen=True):
    """One that `apply_quick_fix` may be called with."""

    id: str
    title: str
    kind: str = ""
    preferred: bool = False


class QuickFixes(Shape, frozen=True):
    """`quick_fixes`."""

    actions: tuple[QuickFix, ...]


class Symbol(Shape, frozen=True):
    """A symbol; `name_path` names those around it, too: `Class/method`. `selection_range` is its name's."""

    name: str
    name_path: str
    kind: str
    file: str
    range: Span
    selection_range: Span | None = None
    signature: str = ""
    body: str = ""

    @property
    def place(self) -> Position:
        """Where its name stands."""
        return (self.selection_range or self.range).start


class Symbols(Shape, frozen=True):
    """`symbols`, those of a file in its order."""

    symbols: tuple[Symbol, ...]


class Location(Shape, frozen=True):
    """A place; `preview` is its line."""

    file: str
    range: Span
    preview: str = ""
    body: str = ""


class Locations(Shape, frozen=True):
    """`definition`."""

    locations: tuple[Location, ...]


class Hit(Shape, frozen=True):
    """A line with a reference."""

    line: int
    text: str
    column: int = 1


class References(Shape, frozen=True):
    """The hits in one file, or in one symbol of it."""

    file: str
    hits: tuple[Hit, ...]
    name_path: str = ""


class AllReferences(Shape, frozen=True):
    """`references`. `total`: also of those that are left out."""

    total: int
    groups: tuple[References, ...]


class Related(Shape, frozen=True):
    """A symbol of a hierarchy, with those behind it."""

    name: str
    kind: str
    file: str
    range: Span
    items: tuple["Related", ...] = ()


class Hierarchy(Shape, frozen=True):
    """`hierarchy`."""

    items: tuple[Related, ...]


class Hover(Shape, frozen=True):
    """`hover`."""

    markdown: str
    signature: str = ""


class Test(Shape, frozen=True):
    """A test that can be run by its id."""

    id: str
    label: str
    file: str = ""
    line: int = 0


class Tests(Shape, frozen=True):
    """`tests_list`."""

    tests: tuple[Test, ...]


class TestFailure(Shape, frozen=True):
    """A test that did not pass."""

    id: str
    message: str
    status: Status = "failed"
    expected: str = ""
    actual: str = ""
    file: str = ""
    line: int = 0
    output: str = ""


class TestRun(Shape, frozen=True):
    """`tests_run`. `summary`: how many by status."""

    summary: dict[str, int]
    failures: tuple[TestFailure, ...] = ()


class Task(Shape, frozen=True):
    """A task of the project that can be run by its name."""

    name: str
    detail: str = ""


class Tasks(Shape, frozen=True):
    """`tasks_list`."""

    tasks: tuple[Task, ...]


class TaskRun(Shape, frozen=True):
    """`task_run`. `exit_code` absent: it still runs."""

    output_tail: str
    exit_code: int | None = None
    problems: tuple[Problem, ...] = ()


class TerminalText(Shape, frozen=True):
    """`terminal_read`."""

    output: str
    command: str = ""
    exit_code: int | None = None
    cwd: str = ""


class ScmFile(Shape, frozen=True):
    """A file that differs; `status` in git's letters."""

    file: str
    status: str
    patch: str = ""


class Scm(Shape, frozen=True):
    """`scm`. `branch`: which one is checked out, where a client knows."""

    files: tuple[ScmFile, ...]
    branch: str = ""


class PendingHunk(Shape, frozen=True):
    """A hunk that waits for its user's keep or reject."""

    hunk_id: int
    file: str
    start_line: int
    state: str
    removed: int = 0
    added: int = 0


class Verdict(Shape, frozen=True):
    """What was decided about a hunk: by whom, and why if they said so."""

    hunk_id: int
    file: str
    verdict: str
    by: str = ""
    reason: str = ""


class ReviewState(Shape, frozen=True):
    """`review`. `verdicts`: about the hunks that were named, or asked about."""

    pending: tuple[PendingHunk, ...]
    verdicts: tuple[Verdict, ...] = ()


class CellOutput(Shape, frozen=True):
    """What a cell showed when it ran. `kind`: `stream`, `error`, or a media type; what is no text is named only."""

    kind: str
    text: str = ""


class Cell(Shape, frozen=True):
    """A cell of a notebook; `number` counts from 1. `outputs`: where they were asked for."""

    number: int
    kind: Literal["code", "markdown", "raw"]
    source: str
    id: str = ""
    execution_count: int | None = None
    outputs: tuple[CellOutput, ...] = ()


class NotebookCells(Shape, frozen=True):
    """`notebook`, and `notebook_run`: the cells that ran. `total`: how many the notebook has."""

    file: str
    cells: tuple[Cell, ...]
    total: int
    language: str = ""


class Variable(Shape, frozen=True):
    """A variable of a frame, its value as a debugger writes it."""

    name: str
    value: str
    type: str = ""


class Frame(Shape, frozen=True):
    """A call that has not returned yet; `variables` of the one that was asked for."""

    name: str
    file: str = ""
    line: int = 0
    variables: tuple[Variable, ...] = ()


class DebugState(Shape, frozen=True):
    """`debug`: how the program stands after it. `value`: of an expression; `reason`: why it stopped, or how it ended.

    `output`: the end of what it has printed.
    """

    state: Literal["running", "stopped", "ended"]
    reason: str = ""
    frames: tuple[Frame, ...] = ()
    value: str = ""
    output: str = ""


class CommandRun(Shape, frozen=True):
    """`editor_command`."""

    result: Any = None


class Nothing(Shape, frozen=True):
    """Of tools whose answer is the edits they make."""
