"""Writes the JSON Schemas of Wire, of what is said below `_sould/review` and so on, and the table of editor tools.

`make schemas`. They are made of the types that the daemon reads and answers with, so that neither can say what the other does not.
With `check` nothing is written; what is not current is named.
"""

import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any, Final, cast

import msgspec
import wireschemas
from pydantic import BaseModel

from sould.acp import schema as acpparams
from sould.acp import shapes as acpshapes
from sould.acp.connection.following import TOOLS as FOLLOWED
from sould.agents.clients.editor import shapes as editorshapes
from sould.agents.clients.editor.client import STATE_TOOL
from sould.agents.clients.inbox import answering
from sould.agents.clients.inbox import shapes as inboxshapes
from sould.agents.clients.review import params
from sould.agents.files.reviewing import shapes
from sould.agents.tools.editor.catalogue import CATALOGUE
from sould.agents.tools.editor.site import ON_DISK
from sould.agents.tools.languageservers.backend import TOOLS as TOLD
from sould.editors.launchers import TOOLS as OPENED
from sould.editors.lsp.plaineditor import TOOLS as SHOWN

FOLDER: Final = Path(__file__).parents[1] / "docs" / "schemas"

DIALECT: Final = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
EXTENSION: Final = FOLDER.parents[1] / "vscode-extension" / "src" / "tools" / "serve.ts"
"""Which has a table of the tools that VS Code serves."""
PLUGIN: Final = FOLDER.parents[1] / "editors" / "nvim" / "lua" / "sould" / "tools.lua"
"""Which has one of those that Neovim serves."""
PACKAGE: Final = FOLDER.parents[1] / "editors" / "emacs" / "sould-window.el"
"""Which has one of those that Emacs serves."""
PAGE: Final = FOLDER.parent / "editors.md"
TABLE_FILE: Final = "../editors.md"
"""That page as a file below `FOLDER`."""
TABLE: Final = ("<!-- which editor tools there are: make schemas -->\n", "<!-- end of the table -->")
DOES: Final = {"read": "looks", "show": "shows", "write": "edits", "run": "runs"}

REQUESTS: Final[dict[str, tuple[type[BaseModel], type[msgspec.Struct]]]] = {
    "review/list": (params.ListReviewParams, shapes.ReviewList),
    "review/subscribe": (params.ProjectParams, shapes.ReviewList),
    "review/unsubscribe": (params.ProjectParams, shapes.Nothing),
    "review/keep": (params.DecisionParams, shapes.ReviewOutcome),
    "review/reject": (params.DecisionParams, shapes.ReviewOutcome),
    "review/undo": (params.UndoParams, shapes.ReviewOutcome),
    "review/base": (params.FileParams, shapes.Base),
    "review/rejected": (params.RejectedParams, shapes.Rejected),
    "review/comment": (params.CommentParams, shapes.Commented),
    "review/comments/send": (params.SendCommentsParams, shapes.SentComments),
    "review/report": (params.ReportParams, shapes.Reported),
    "inbox/list": (answering.InboxParams, inboxshapes.InboxList),
    "inbox/show": (answering.ShowParams, inboxshapes.InboxItem),
    "inbox/subscribe": (answering.InboxParams, inboxshapes.InboxList),
    "inbox/unsubscribe": (answering.InboxParams, shapes.Nothing),
    "editor/tools": (editorshapes.ToolsParams, editorshapes.OfferedTools),
    "editor/run": (editorshapes.RunParams, editorshapes.RunAnswer),
    "editor/state": (editorshapes.StateParams, shapes.Nothing),
    "session/archive": (acpparams.ArchiveParams, acpshapes.Archived),
    "session/apply": (acpparams.ApplyParams, acpshapes.Applied),
    "session/commit_message": (acpparams.CommitMessageParams, acpshapes.CommitMessage),
    "session/search": (acpparams.SearchParams, acpshapes.FoundSessions),
    "session/export": (acpparams.ExportParams, acpshapes.Exported),
    "session/imports": (acpparams.ImportsParams, acpshapes.KeptConversations),
    "session/import": (acpparams.ImportParams, acpshapes.Imported),
    "session/resources": (acpparams.ResourcesParams, acpshapes.SessionResources),
    "session/context": (acpparams.BreakdownParams, acpshapes.ContextBreakdown),
    "session/tasks": (acpparams.TasksParams, acpshapes.BackgroundTasks),
    "session/tasks/stop": (acpparams.TaskParams, acpshapes.BackgroundTasks),
    "session/tasks/output": (acpparams.TaskParams, acpshapes.TaskOutput),
    "files/search": (acpparams.FindFilesParams, acpshapes.FoundFiles),
    "editor/context": (editorshapes.ContextParams, editorshapes.Context),
    "session/transcript": (acpparams.TranscriptParams, acpshapes.Transcript),
    "inbox/answer": (answering.AnswerParams, inboxshapes.Answered),
    "queue": (acpparams.SessionParams, acpshapes.Queue),
    "queue/remove": (acpparams.WaitingParams, acpshapes.ChangedQueue),
    "queue/edit": (acpparams.WaitingEditParams, acpshapes.ChangedQueue),
    "queue/move": (acpparams.WaitingMoveParams, acpshapes.ChangedQueue),
    "timeline": (acpparams.TimelineParams, acpshapes.ShownTimeline),
    "rewind": (acpparams.RewindParams, acpshapes.Travelled),
    "undo": (acpparams.UndoTurnParams, acpshapes.Travelled),
    "redo": (acpparams.SessionParams, acpshapes.Travelled),
}
"""Of clients."""
NOTIFICATIONS: Final[dict[str, type[msgspec.Struct]]] = {
    "review/changed": shapes.ReviewChanged,
    "review/forgotten": shapes.Nothing,
    "editor/forgotten": editorshapes.Forgotten,
    "inbox/changed": inboxshapes.InboxChanged,
}
"""Of sould."""


def generated() -> dict[str, str]:
    """Every file by its path below `FOLDER`."""
    made: dict[str, Any] = {}
    for name, (asked, answered) in REQUESTS.items():
        made[f"{name}.params"] = _of_model(asked)
        made[f"{name}.result"] = _of_shape(answered)
    for name, told in NOTIFICATIONS.items():
        made[f"{name}.params"] = _of_shape(told)
    made["review/write.params"], made["review/write.result"] = _of_shape(shapes.Write), _of_model(params.WriteAnswer)
    made["editor/call.params"] = _of_shape(editorshapes.EditorCall)
    made["editor/call.result"] = _of_model(editorshapes.CallAnswer)
    schemas = {
        f"{_file(name)}.json": json.dumps(_named(name, schema), indent=2, ensure_ascii=False) + "\n"
        for name, schema in made.items()
    }
    wire = {**dict(wireschemas.models()), **{name: _of_shape(shape) for name, shape in wireschemas.shapes()}}
    for name, schema in wire.items():
        titled = {**DIALECT, **schema, "title": name.rpartition("/")[2]}
        schemas[f"{name}.json"] = json.dumps(titled, indent=2, ensure_ascii=False) + "\n"
    return {**schemas, "editor/catalogue.json": json.dumps(_catalogue(), indent=2, ensure_ascii=False) + "\n"}


def _catalogue() -> dict[str, Any]:
    """Every editor tool: what it is, its arguments and its result."""
    return {
        tool.name: {
            "does": tool.does,
            "description": tool.description,
            "errors": list(tool.codes),
            "arguments": tool.schema,
            "result": _of_shape(tool.result),
        }
        for tool in CATALOGUE.values()
    }


def _file(name: str) -> str:
    """Queue and time travel are those of a session."""
    area, _, method = name.partition("/")
    in_session = not method or area == "queue"
    return f"session/{name.replace('/', '.')}" if in_session else f"{area}/{method.replace('/', '.')}"


def _named(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    method, _, what = name.rpartition(".")
    title = f"_sould/{method}: {'parameters' if what == 'params' else 'result'}"
    return {**DIALECT, **schema, "title": title}


def _of_model(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema(by_alias=True)


def _of_shape(shape: type[msgspec.Struct]) -> dict[str, Any]:
    (schema,), definitions = msgspec.json.schema_components((shape,), ref_template="#/$defs/{name}")
    return _dedented({**schema, "$defs": definitions})


def _dedented(schema: Any) -> Any:
    """With descriptions as people write them: before Python 3.13 a docstring has the indentation of its code."""
    if isinstance(schema, list):
        return [_dedented(each) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    items = cast("dict[str, Any]", schema).items()
    return {
        name: inspect.cleandoc(each) if name == "description" and isinstance(each, str) else _dedented(each)
        for name, each in items
    }


def extension_tools() -> frozenset[str]:
    """What the table of the VS Code extension has, and what sould answers from what the extension told."""
    return _in_table(EXTENSION, "const TOOLS", "};", r"^  (\w+):")


def plugin_tools() -> frozenset[str]:
    """What the table of the Neovim plugin has, and what sould answers from what the plugin told."""
    return _in_table(PLUGIN, "local TOOLS", "}\n", r"^  (\w+) =")


def package_tools() -> frozenset[str]:
    """What the table of the Emacs package has, and what sould answers from what the package told."""
    return _in_table(PACKAGE, "(defconst sould-window-tools", "\n\n", r"^ +'?\(+\"(\w+)\"")


def _in_table(source: Path, head: str, end: str, entry: str) -> frozenset[str]:
    _, _, rest = source.read_text(encoding="utf-8").partition(head)
    table, _, _ = rest.partition(end)
    return frozenset({STATE_TOOL, *re.findall(entry, table, re.MULTILINE)})


def with_table(page: str) -> str:
    """The page about editors, with which tools there are and who can serve them."""
    above, _, rest = page.partition(TABLE[0])
    _, _, below = rest.partition(TABLE[1])
    served = [
        ("VS Code's extension", extension_tools()),
        ("Neovim, our plugin", plugin_tools()),
        ("Emacs, our package", package_tools()),
        ("an LSP editor without a plugin", SHOWN),
        ("an ACP client that follows", FOLLOWED),
        ("a launcher", OPENED),
        ("sould's language servers", TOLD),
        ("no editor", ON_DISK),
    ]
    head = ["tool", "it", "for sould's agents", *(f"by {name}" for name, _ in served)]
    rows = [
        [
            f"`{tool.name}`",
            DOES[tool.does],
            "" if tool.own else "yes",
            *("yes" if tool.name in has else "" for _, has in served),
        ]
        for tool in CATALOGUE.values()
    ]
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]
    return "\n".join([above + TABLE[0].rstrip("\n"), "", *lines, "", TABLE[1] + below])


def main(argument: str = "") -> int:
    """Write them, or say which are not current."""
    page = PAGE.read_text(encoding="utf-8")
    wanted = {**generated(), TABLE_FILE: with_table(page)}
    there = {str(path.relative_to(FOLDER)): path.read_text(encoding="utf-8") for path in FOLDER.glob("*/*.json")}
    there[TABLE_FILE] = page
    different = sorted(name for name in {*wanted, *there} if wanted.get(name) != there.get(name))
    if argument == "check":
        for name in different:
            print(f"{name} is not current: run `make schemas`")
        return 1 if different else 0
    for name in different:
        if name in wanted:
            (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
            (FOLDER / name).write_text(wanted[name], encoding="utf-8")
        else:
            (FOLDER / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
