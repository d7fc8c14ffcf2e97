"""The arguments of editor tools, checked once, whoever calls. Values only; the JSON Schemas that agents see are made of them.

Each text here is part of what models read, and stays the same to the byte: a change makes every prompt cache useless once.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from sould.agents.base.parsed import Parsed
from sould.agents.tools.editor import anchors

LONGEST_TEXT = 2_000_000
"""Characters of a text that is to be written."""
MOST_ITEMS = 200

File: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=4096, description="Relative to the project, or absolute.")
]
Files: TypeAlias = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=4096)]],
    Field(max_length=MOST_ITEMS, description="Relative to the project, or absolute."),
]
Line: TypeAlias = Annotated[int, Field(ge=1, le=10_000_000)]


class Given(BaseModel):
    """Base: camelCase outside; a name that the tool does not know is an error."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, alias_generator=to_camel, defer_build=True
    )


class Part(Parsed):
    """Base of what arguments are made of."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, alias_generator=to_camel)


class Anchor(Part):
    """Where in the file: {line, column}, or {symbol, lineText}, or {namePath}."""

    line: Line | None = Field(default=None, description="Counted from 1.")
    column: Line | None = Field(default=None, description="Counted from 1; without it, the first word of the line.")
    symbol: str = Field(default="", max_length=1000, description="A name, as it stands in the file.")
    line_text: str = Field(
        default="", max_length=4000, description="The text of a line that has `symbol`; copy it, do not make it up."
    )
    name_path: str = Field(default="", max_length=2000, description="The symbol by its names: `Class/method`.")

    @model_validator(mode="after")
    def _one_way(self) -> "Anchor":
        if (self.line is not None) + bool(self.symbol) + bool(self.name_path) != 1:
            raise ValueError("say one of: line (and column), symbol (and lineText), namePath")
        return self

    @property
    def value(self) -> anchors.AnchorPlace:
        """As it is resolved."""
        return anchors.AnchorPlace(self.line, self.column, self.symbol, self.line_text, self.name_path)


class Bounded(Given):
    """Base of tools whose answer may be long."""

    max_chars: int = Field(default=8_000, ge=500, le=100_000, description="Cut the answer there.")


class Listing(Bounded):
    """Base of tools that answer with a list."""

    limit: int = Field(default=100, ge=1, le=1_000, description="At most so many.")


class Anchored(Bounded):
    """Base of tools about one place."""

    file: File
    anchor: Anchor


class EditorState(Bounded):
    """`editor_state`."""

    include: list[Literal["open", "active", "selection", "visible", "terminals"]] = Field(
        default=["open", "active", "selection"], max_length=5
    )


class EditorOpen(Given):
    """`editor_open`."""

    file: File
    anchor: Anchor | None = None
    end_line: Line | None = Field(default=None, description="Select up to the end of this line.")
    column: Literal["active", "beside"] = "active"
    focus: bool = Field(default=False, description="Take the focus: only when the user asked for it in so many words.")
    preview: bool = True
    reason: str = Field(default="", max_length=500, description="One line for the user: why look here.")


class Highlight(Part):
    """An item of `editor_highlight`."""

    file: File
    start_line: Line
    end_line: Line
    note: str = Field(default="", max_length=1000)


class EditorHighlight(Given):
    """`editor_highlight`."""

    items: list[Highlight] = Field(min_length=1, max_length=50)
    title: str = Field(default="", max_length=200)
    ttl_sec: int = Field(default=0, ge=0, le=3_600, description="Take it away after so many seconds; 0: the user does.")


class EditorAsk(Given):
    """`editor_ask`."""

    message: str = Field(min_length=1, max_length=4000)
    form: dict[str, Any] = Field(description="A flat JSON Schema: an object of strings, numbers, booleans and enums.")


class DocRead(Bounded):
    """`doc_read`."""

    file: File
    start_line: Line = 1
    end_line: Line | None = None
    version: Literal["buffer", "disk", "base"] = Field(
        default="buffer",
        description="`buffer`: as the user sees it, unsaved changes included; `base`: as the user accepted it last.",
    )


class Replacement(Part):
    """A hunk of `doc_edit`."""

    old_text: str = Field(min_length=1, max_length=LONGEST_TEXT, description="Exact, and once in the file.")
    new_text: str = Field(max_length=LONGEST_TEXT)


class DocumentEdit(Part):
    """A file of `doc_edit`."""

    file: File
    expected_hash: str = Field(
        default="", max_length=64, description="`hash` of doc_read: refuse if it is another text now."
    )
    hunks: list[Replacement] = Field(default=[], max_length=MOST_ITEMS)
    new_text: str | None = Field(
        default=None, max_length=LONGEST_TEXT, description="The whole file, in place of hunks."
    )

    @model_validator(mode="after")
    def _one_way(self) -> "DocumentEdit":
        if bool(self.hunks) == (self.new_text is not None):
            raise ValueError("say either hunks or newText")
        return self


class DocEdit(Given):
    """`doc_edit`."""

    edits: list[DocumentEdit] = Field(min_length=1, max_length=50)
    title: str = Field(default="", max_length=200)


class DocSave(Given):
    """`doc_save`."""

    files: Files = Field(min_length=1)


class DocFormat(Bounded):
    """`doc_format`."""

    file: File
    start_line: Line | None = None
    end_line: Line | None = None
    organize_imports: bool = False


class Diagnostics(Listing):
    """`diagnostics`."""

    files: Files = Field(default=[])
    scope: Literal["open", "changed", "workspace"] = Field(default="open", description="Where no files are named.")
    min_severity: Literal["error", "warning", "information", "hint"] = "warning"
    wait_ms: int = Field(default=1_500, ge=0, le=30_000, description="For an analysis that still runs.")
    since_hunks: list[Annotated[int, Field(ge=0)]] = Field(
        default=[], max_length=MOST_ITEMS, description="Only what these hunks brought, which wait for review."
    )


class QuickFixesParams(Anchored):
    """`quick_fixes`."""

    end_line: Line | None = None
    only: list[str] = Field(default=[], max_length=20, description="Kinds: `quickfix`, `refactor`, `source` ...")


class ApplyQuickFix(Bounded):
    """`apply_quick_fix`."""

    id: str = Field(min_length=1, max_length=400, description="Of `quick_fixes`.")


class SymbolsParams(Listing):
    """`symbols`."""

    query: str = Field(default="", max_length=400, description="Part of a name, anywhere in the project.")
    file: str = Field(default="", max_length=4096, description="The outline of this file, in place of `query`.")
    kinds: list[str] = Field(default=[], max_length=30, description="`class`, `function`, `method` ...")
    depth: int = Field(default=1, ge=0, le=10)
    include_body: bool = False

    @model_validator(mode="after")
    def _some(self) -> "SymbolsParams":
        if not self.query and not self.file:
            raise ValueError("say a query or a file")
        return self


class DefinitionParams(Anchored):
    """`definition`."""

    kind: Literal["definition", "declaration", "type", "implementation"] = "definition"
    include_body: bool = False


class ReferencesParams(Anchored):
    """`references`."""

    limit: int = Field(default=100, ge=1, le=1_000, description="At most so many.")
    include_declaration: bool = False
    group_by: Literal["symbol", "file"] = "file"


class HierarchyParams(Anchored):
    """`hierarchy`."""

    kind: Literal["calls_in", "calls_out", "super", "sub"]
    depth: int = Field(default=1, ge=1, le=5)


class HoverParams(Anchored):
    """`hover`."""


class Rename(Anchored):
    """`rename`."""

    new_name: str = Field(min_length=1, max_length=400)
    dry_run: bool = Field(default=False, description="Say what would change, and change nothing.")


class MoveSymbol(Anchored):
    """`move_symbol`."""

    target: File


class SafeDelete(Anchored):
    """`safe_delete`."""

    force: bool = Field(default=False, description="Also when it is used.")


class TestsList(Listing):
    """`tests_list`."""

    files: Files = Field(default=[])
    query: str = Field(default="", max_length=400)


class TestsRun(Bounded):
    """`tests_run`."""

    ids: list[Annotated[str, Field(max_length=2000)]] = Field(default=[], max_length=MOST_ITEMS)
    files: Files = Field(default=[])
    timeout_sec: int = Field(default=300, ge=1, le=3_600)


class TasksList(Listing):
    """`tasks_list`."""


class TaskRunParams(Bounded):
    """`task_run`."""

    name: str = Field(min_length=1, max_length=400)
    timeout_sec: int = Field(default=300, ge=1, le=3_600)


class TerminalRead(Bounded):
    """`terminal_read`."""

    terminal_id: str = Field(default="", max_length=200)
    last_command: bool = True


class ScmParams(Listing):
    """`scm`."""

    scope: Literal["working", "staged", "base"] = Field(
        default="working", description="`base`: against what the user accepted last."
    )


class ReviewParams(Listing):
    """`review`."""

    action: Literal["list", "request", "explain"] = Field(
        default="list",
        description="`request`: ask the user to review, and say what was decided. `explain`: show `message` at the hunks.",
    )
    files: Files = Field(default=[])
    hunk_ids: list[Annotated[int, Field(ge=0)]] = Field(
        default=[], max_length=MOST_ITEMS, description="Only these, with what was decided about them."
    )
    message: str = Field(default="", max_length=1_000, description="For the user.")
    timeout_sec: int = Field(
        default=0, ge=0, le=3_600, description="`request`: wait so long until all of it is decided; 0: do not wait."
    )

    @model_validator(mode="after")
    def _whole(self) -> "ReviewParams":
        if self.action == "explain" and (not self.hunk_ids or not self.message):
            raise ValueError("say which hunks, and a message")
        return self


class Notebook(Listing):
    """`notebook`."""

    file: File
    cell: str = Field(default="", max_length=200, description="Only this one: its id, or its number, counted from 1.")
    outputs: bool = Field(default=False, description="Also what the cells printed and showed when they ran.")


class NotebookEdit(Bounded):
    """`notebook_edit`."""

    file: File
    action: Literal["replace", "insert", "delete"] = Field(
        default="replace", description="`insert`: a new cell behind `cell`, or before all others without one."
    )
    cell: str = Field(default="", max_length=200, description="Its id, or its number, counted from 1.")
    kind: Literal["code", "markdown", "raw"] | None = Field(
        default=None, description="Of a new cell: code without it. Of one that is replaced: as it is."
    )
    source: str = Field(default="", max_length=LONGEST_TEXT)

    @model_validator(mode="after")
    def _some(self) -> "NotebookEdit":
        if not self.cell and self.action != "insert":
            raise ValueError("say which cell")
        return self


class NotebookRun(Bounded):
    """`notebook_run`."""

    file: File
    cells: list[Annotated[str, Field(max_length=200)]] = Field(
        default=[], max_length=MOST_ITEMS, description="Ids, or numbers counted from 1, in the order to run them; all."
    )
    timeout_sec: int = Field(default=300, ge=1, le=3_600)


class Debug(Bounded):
    """`debug`."""

    action: Literal["start", "stop", "breakpoint", "step", "stack", "eval"]
    configuration: str = Field(
        default="", max_length=400, description="`start`: the name of a launch configuration; the first one."
    )
    file: str = Field(default="", max_length=4096, description="`breakpoint`: relative to the project, or absolute.")
    line: Line | None = None
    condition: str = Field(default="", max_length=2000, description="`breakpoint`: stop only if this is true.")
    remove: bool = Field(default=False, description="`breakpoint`: take it away.")
    step: Literal["over", "into", "out", "continue"] = "over"
    frame: int = Field(default=0, ge=0, le=1_000, description="`stack`, `eval`: which one; 0 is the innermost.")
    expression: str = Field(default="", max_length=8000, description="`eval`: in the frame.")
    timeout_sec: int = Field(default=60, ge=1, le=3_600, description="For the program to stop.")

    @model_validator(mode="after")
    def _whole(self) -> "Debug":
        if self.action == "breakpoint" and (not self.file or self.line is None):
            raise ValueError("a breakpoint has a file and a line")
        if self.action == "eval" and not self.expression:
            raise ValueError("say an expression")
        return self


class EditorCommand(Bounded):
    """`editor_command`."""

    command: str = Field(min_length=1, max_length=200)
    args: list[Any] = Field(default=[], max_length=20)
