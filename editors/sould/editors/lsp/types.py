"""The shapes of the protocol as far as they are spoken here, read and written: fields of LSP 3.18, what is not read left out.

Written by hand because lsprotocol's types cost 16 MB and a third of a second of a processor, in every daemon that serves one
editor; the tests judge all that is sent by those.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from msgspec import ValidationError, convert, to_builtins

from sould.agents.base.lsp import Position, Range, TextEdit
from sould.agents.base.rpc.errors import INVALID_PARAMS, RpcError
from sould.agents.base.shape import Shape

Json: TypeAlias = dict[str, Any]
T = TypeVar("T")

ERROR, WARNING, INFO = 1, 2, 3
"""`MessageType`."""
HINT = 4
"""`DiagnosticSeverity`."""


class TextDocument(Shape, frozen=True):
    """A document by its URI."""

    uri: str


# --- what editors tell --------------------------------------------------------------------------------------------------


class TextDocumentItem(Shape, frozen=True):
    """A document that is opened."""

    uri: str
    version: int
    text: str


class DidOpenParams(Shape, frozen=True):
    """`textDocument/didOpen`."""

    text_document: TextDocumentItem


class VersionedTextDocument(Shape, frozen=True):
    """A document as it is now."""

    uri: str
    version: int


class ContentChange(Shape, frozen=True):
    """`text` is what stands in `range` now; without `range`, it is the whole text."""

    text: str
    range: Range | None = None


class DidChangeParams(Shape, frozen=True):
    """`textDocument/didChange`. Each change is relative to the text after those before it."""

    text_document: VersionedTextDocument
    content_changes: tuple[ContentChange, ...]


class DocumentParams(Shape, frozen=True):
    """`textDocument/didClose`, `codeLens`: about a document."""

    text_document: TextDocument


class DidSaveParams(Shape, frozen=True):
    """`textDocument/didSave`, with all of the text where the editor does as it was asked."""

    text_document: TextDocument
    text: str | None = None


class DidChangeConfigurationParams(Shape, frozen=True):
    """`workspace/didChangeConfiguration`."""

    settings: Any = None


class FoldersEvent(Shape, frozen=True):
    """Roots that are no more, and new ones."""

    added: tuple[TextDocument, ...] = ()
    removed: tuple[TextDocument, ...] = ()


class DidChangeFoldersParams(Shape, frozen=True):
    """`workspace/didChangeWorkspaceFolders`."""

    event: FoldersEvent


class ProgressCancelParams(Shape, frozen=True):
    """`window/workDoneProgress/cancel`."""

    token: int | str


# --- what editors ask ---------------------------------------------------------------------------------------------------


class CodeActionContext(Shape, frozen=True):
    """Diagnostics are passed on as they are."""

    diagnostics: tuple[Json, ...] = ()
    only: tuple[str, ...] | None = None


class CodeActionParams(Shape, frozen=True):
    """`textDocument/codeAction`."""

    text_document: TextDocument
    range: Range
    context: CodeActionContext


class ExecuteCommandParams(Shape, frozen=True):
    """`workspace/executeCommand`."""

    command: str
    arguments: tuple[Any, ...] | None = None


class ContentParams(Shape, frozen=True):
    """`workspace/textDocumentContent`."""

    uri: str


# --- what they are answered -----------------------------------------------------------------------------------------------


class Command(Shape, frozen=True):
    """What a lens or an action runs."""

    title: str
    command: str
    arguments: Sequence[Any]


class CodeLens(Shape, frozen=True):
    """A command above a line."""

    range: Range
    command: Command


class CodeAction(Shape, frozen=True):
    """A command in a menu."""

    title: str
    kind: str
    command: Command
    diagnostics: Sequence[Json] | None = None
    is_preferred: bool = False


class ContentRefreshParams(Shape, frozen=True):
    """`workspace/textDocumentContent/refresh`."""

    uri: str


class ContentResult(Shape, frozen=True):
    """The text of a document that the server has."""

    text: str


# --- what they are told and asked -----------------------------------------------------------------------------------------


class Diagnostic(Shape, frozen=True):
    """A hunk among the problems."""

    range: Range
    message: str
    severity: int
    source: str
    code: str


class PublishDiagnosticsParams(Shape, frozen=True):
    """`textDocument/publishDiagnostics`: all of a document."""

    uri: str
    diagnostics: Sequence[Diagnostic]


class AnnotatedTextEdit(TextEdit, frozen=True):
    """`annotation_id`: of what it is for."""

    annotation_id: str = ""


class DocumentVersion(Shape, frozen=True):
    """The version of a document that edits are for."""

    uri: str
    version: int


class TextDocumentEdit(Shape, frozen=True):
    """All edits of a document are about the text before them."""

    text_document: DocumentVersion
    edits: Sequence[TextEdit]


class ChangeAnnotation(Shape, frozen=True):
    """What edits are for."""

    label: str


class WorkspaceEdit(Shape, frozen=True):
    """`changes` for editors without `document_changes`."""

    changes: Mapping[str, Sequence[TextEdit]] | None = None
    document_changes: Sequence[TextDocumentEdit] | None = None
    change_annotations: Mapping[str, ChangeAnnotation] | None = None


class ApplyEditParams(Shape, frozen=True):
    """`workspace/applyEdit`."""

    label: str
    edit: WorkspaceEdit


class ConfigurationItem(Shape, frozen=True):
    """Settings of one section, for a place."""

    section: str
    scope_uri: str | None = None


class ConfigurationParams(Shape, frozen=True):
    """`workspace/configuration`."""

    items: Sequence[ConfigurationItem]


class ShowMessageParams(Shape, frozen=True):
    """`window/showMessage`."""

    type: int
    message: str


class MessageAction(Shape, frozen=True):
    """A button."""

    title: str


class ShowMessageRequestParams(Shape, frozen=True):
    """`window/showMessageRequest`. `token`: ours, for clients that are told with it that nobody needs the answer any more."""

    type: int
    message: str
    actions: Sequence[MessageAction]
    token: str = ""


class ShowDocumentParams(Shape, frozen=True):
    """`window/showDocument`."""

    uri: str
    external: bool
    take_focus: bool
    selection: Range | None = None


class ProgressBegin(Shape, frozen=True, tag_field="kind", tag="begin"):
    """`$/progress`: work begins."""

    title: str
    cancellable: bool


class ProgressReport(Shape, frozen=True, tag_field="kind", tag="report"):
    """It goes on."""

    message: str
    cancellable: bool


class ProgressEnd(Shape, frozen=True, tag_field="kind", tag="end"):
    """It is over."""

    message: str


# --- to and from JSON ---------------------------------------------------------------------------------------------------


def read(kind: type[T], raw: object) -> T:
    """A value that the editor sent. Raises RpcError."""
    try:
        return convert(raw, kind)
    except ValidationError as error:
        sentence = f"These are no parameters as the protocol has them: {error}."
        raise RpcError(INVALID_PARAMS, sentence, {"kind": "invalid_params"}) from error


def written(value: object) -> Any:
    """As it is sent."""
    return to_builtins(value)


def range_of(start: int, start_character: int, stop: int, stop_character: int) -> Range:
    """From one place to another, which is not included."""
    return Range(Position(start, start_character), Position(stop, stop_character))
