"""The editor tools, declared once: for the soul, for other agents over MCP, and for the clients that serve them.

A description is what models read and stays the same to the byte. Nothing here knows who serves a tool.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct
from pydantic import BaseModel

from sould.agents.llm.provider import ToolSpec
from sould.agents.toolapi.base import parameters_schema
from sould.agents.tools.editor import params, results
from sould.agents.tools.editor.errors import ErrorCode

ToolClass: TypeAlias = Literal["read", "show", "write", "run"]
"""`read`: changes nothing. `show`: the user sees something. `write`: comes to edits of files. `run`: anything may happen."""

_ALWAYS: Final[tuple[ErrorCode, ...]] = ("no_editor", "invalid", "not_supported", "timeout", "failed", "denied")
_FILE: Final[tuple[ErrorCode, ...]] = (*_ALWAYS, "not_found")
_PLACE: Final[tuple[ErrorCode, ...]] = (*_FILE, "ambiguous", "busy", "untrusted_workspace")


class EditorTool(Struct, frozen=True, dict=True):
    """A tool. `own`: the soul has it already, by another name, so that it is for other agents only."""

    name: str
    does: ToolClass
    params: type[BaseModel]
    result: type[results.Shape]
    description: str
    codes: tuple[ErrorCode, ...] = _FILE
    own: bool = False

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments; to be read only."""
        return parameters_schema(self.params)

    @cached_property
    def spec(self) -> ToolSpec:
        """As a model sees it."""
        return ToolSpec(self.name, self.description, self.schema)


def _by_name(tools: Iterable[EditorTool]) -> dict[str, EditorTool]:
    return {tool.name: tool for tool in tools}


CATALOGUE: Final = _by_name(
    (
        EditorTool(
            "editor_state",
            "read",
            params.EditorState,
            results.State,
            "What the user has open in the editor: the active file, cursor, selection, open files. Says `shared: false` "
            "where the user does not share it.",
            _ALWAYS,
        ),
        EditorTool(
            "editor_open",
            "show",
            params.EditorOpen,
            results.Opened,
            "Open a file in the user's editor, at a place. For the user to look at; it tells you nothing. It does not "
            "take the focus unless the user asked for that.",
            _PLACE,
        ),
        EditorTool(
            "editor_highlight",
            "show",
            params.EditorHighlight,
            results.Shown,
            "Mark lines in the user's editor, each with a note, in an order to walk through.",
        ),
        EditorTool(
            "editor_ask",
            "show",
            params.EditorAsk,
            results.Asked,
            "Ask the user with a form in the editor, and wait for the answer.",
            _ALWAYS,
            own=True,
        ),
        EditorTool(
            "doc_read",
            "read",
            params.DocRead,
            results.Document,
            "Read a file as the user sees it, unsaved changes included; or as it is on disk; or as the user accepted "
            "it last (`base`).",
            _FILE,
            own=True,
        ),
        EditorTool(
            "doc_edit",
            "write",
            params.DocEdit,
            results.Nothing,
            "Edit files, unsaved ones included: exact replacements, or whole new texts. Each file is edited as a whole "
            "or not at all. The user reviews the change hunk by hunk.",
            (*_FILE, "stale", "ambiguous"),
            own=True,
        ),
        EditorTool(
            "doc_save",
            "write",
            params.DocSave,
            results.Saved,
            "Have the user's editor save files that hold unsaved text.",
        ),
        EditorTool(
            "doc_format",
            "write",
            params.DocFormat,
            results.Nothing,
            "Format a file, or some lines of it, as the project does.",
            (*_FILE, "stale", "busy"),
        ),
        EditorTool(
            "diagnostics",
            "read",
            params.Diagnostics,
            results.Problems,
            "Errors and warnings that the editor and its language servers show. Quicker than a build; name files, or a scope.",
            (*_FILE, "busy", "untrusted_workspace"),
        ),
        EditorTool(
            "quick_fixes",
            "read",
            params.QuickFixesParams,
            results.QuickFixes,
            "What the language server offers to do at a place: fixes for its problems, refactorings, imports.",
            _PLACE,
        ),
        EditorTool(
            "apply_quick_fix",
            "write",
            params.ApplyQuickFix,
            results.Nothing,
            "Do what `quick_fixes` offered, by its id. The user reviews the change.",
            (*_ALWAYS, "not_found", "stale"),
        ),
        EditorTool(
            "symbols",
            "read",
            params.SymbolsParams,
            results.Symbols,
            "The symbols of a file (its outline), or those of the project whose name has `query`, with their places. "
            "Better than a text search to find where something is defined.",
            _PLACE,
        ),
        EditorTool(
            "definition",
            "read",
            params.DefinitionParams,
            results.Locations,
            "Where the symbol at a place is defined, declared, typed or implemented; dependencies included.",
            _PLACE,
        ),
        EditorTool(
            "references",
            "read",
            params.ReferencesParams,
            results.AllReferences,
            "Where the symbol at a place is used. Knows scopes and imports, which a text search does not.",
            _PLACE,
        ),
        EditorTool(
            "hierarchy",
            "read",
            params.HierarchyParams,
            results.Hierarchy,
            "Who calls a function, what it calls, or the types above or below a type.",
            _PLACE,
        ),
        EditorTool(
            "hover",
            "read",
            params.HoverParams,
            results.Hover,
            "The type, signature and documentation of the symbol at a place.",
            _PLACE,
        ),
        EditorTool(
            "rename",
            "write",
            params.Rename,
            results.Nothing,
            "Rename the symbol at a place, everywhere it is used, by the language server. The user reviews the change.",
            (*_PLACE, "stale"),
        ),
        EditorTool(
            "move_symbol",
            "write",
            params.MoveSymbol,
            results.Nothing,
            "Move the symbol at a place into another file, and mend what uses it. The user reviews the change.",
            (*_PLACE, "stale"),
        ),
        EditorTool(
            "safe_delete",
            "write",
            params.SafeDelete,
            results.AllReferences,
            "Delete the symbol at a place if nothing uses it; else say what does.",
            (*_PLACE, "stale"),
        ),
        EditorTool(
            "tests_list",
            "read",
            params.TestsList,
            results.Tests,
            "The tests that the user's editor knows, with their ids.",
        ),
        EditorTool(
            "tests_run",
            "run",
            params.TestsRun,
            results.TestRun,
            "Run tests in the user's editor, and say which failed and how.",
            (*_FILE, "busy"),
        ),
        EditorTool(
            "tasks_list",
            "read",
            params.TasksList,
            results.Tasks,
            "The tasks of the project that the user's editor can run.",
            _ALWAYS,
        ),
        EditorTool(
            "task_run",
            "run",
            params.TaskRunParams,
            results.TaskRun,
            "Run a task of the project in the user's editor, by its name.",
            (*_ALWAYS, "not_found", "busy"),
        ),
        EditorTool(
            "terminal_read",
            "read",
            params.TerminalRead,
            results.TerminalText,
            "What a terminal of the user's editor shows, if the user shares it.",
            (*_ALWAYS, "not_found"),
        ),
        EditorTool(
            "scm",
            "read",
            params.ScmParams,
            results.Scm,
            "The files that differ from what git has, with their patches; or from what the user accepted last (`base`).",
            _ALWAYS,
            own=True,
        ),
        EditorTool(
            "review",
            "read",
            params.ReviewParams,
            results.ReviewState,
            "Which changes of agents wait for their user's review. Asks the user for it, explains changes to them, and says "
            "what was decided.",
            (*_FILE, "busy"),
        ),
        EditorTool(
            "notebook",
            "read",
            params.Notebook,
            results.NotebookCells,
            "The cells of a notebook (.ipynb): what they are, their source, and what came of them when they ran.",
        ),
        EditorTool(
            "notebook_edit",
            "write",
            params.NotebookEdit,
            results.Nothing,
            "Replace, insert or delete a cell of a notebook (.ipynb). The outputs of a code cell that changes go. The "
            "user reviews the change.",
            (*_FILE, "stale"),
        ),
        EditorTool(
            "notebook_run",
            "run",
            params.NotebookRun,
            results.NotebookCells,
            "Run cells of a notebook in the user's editor, with the kernel that is chosen there, and say what they show.",
            (*_FILE, "busy"),
        ),
        EditorTool(
            "debug",
            "run",
            params.Debug,
            results.DebugState,
            "Debug in the user's editor: set breakpoints, start, step, and look at the stack and its variables.",
            (*_FILE, "busy"),
        ),
        EditorTool(
            "editor_command",
            "run",
            params.EditorCommand,
            results.CommandRun,
            "Run a command of the user's editor that its user has allowed.",
            (*_ALWAYS, "not_found"),
        ),
    )
)
"""By name, in the order in which they are offered."""
