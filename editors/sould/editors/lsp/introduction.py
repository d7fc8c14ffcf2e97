"""What an editor says of itself in `initialize`, read by hand, as leniently as editors differ, and before sessions are loaded (D9).

What does not fit counts as absent. Nothing that the daemon has not loaded when it begins to listen may be
imported here.
"""

from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, cast

from msgspec import Struct, field

if TYPE_CHECKING:
    from sould.agents.base.lsp import PositionEncoding

Json: TypeAlias = dict[str, Any]
T = TypeVar("T")

ENCODINGS: Final[tuple["PositionEncoding", ...]] = ("utf-32", "utf-8", "utf-16")
"""Best first: what counts characters as we do."""
BASE_SCHEME: Final = "sould-base"
"""Of the URIs of files as their user accepted them."""
MOST_FOLDERS: Final = 100


class Settings(Struct, frozen=True):
    """What the user chose, in `initializationOptions`."""

    lenses: bool = True
    hints: bool = False
    """Hunks are also told as diagnostics of the lowest severity."""


class EditorCapabilities(Struct, frozen=True):
    """What the editor can do beyond what every one does; absent is unsupported."""

    encoding: "PositionEncoding" = "utf-16"
    applies_edits: bool = False
    versioned_edits: bool = False
    """Edits may name the version of the document that they are for."""
    annotated_edits: bool = False
    """Edits may say what they are for."""
    shows_documents: bool = False
    asks: bool = True
    """It shows questions with buttons. Every editor does that says nothing about it."""
    refreshes_lenses: bool = False
    action_kinds: bool = False
    """Code actions may be more than commands."""
    progress: bool = False
    shows_content: bool = False
    """It shows documents whose text the server has."""
    has_settings: bool = False
    """It can be asked for its user's settings."""
    writes: bool = False
    """Ours: it puts our edits into its buffers, and saves them when it is asked to."""
    withdraws: bool = False
    """Ours: it takes a question back when it is told so by its token; its own means do not tell it which one is cancelled."""
    has_inbox: bool = False
    """Ours: it follows the inbox, and shows what agents ask there."""
    knows_us: bool = False
    """Ours: it shows hunks itself."""


class EditorIntroduction(Struct, frozen=True):
    """`initialize`. `folders`: the URIs of the window's roots, the first one first."""

    name: str = ""
    version: str = ""
    folders: tuple[str, ...] = ()
    can: EditorCapabilities = field(default_factory=EditorCapabilities)
    settings: Settings = field(default_factory=Settings)


def read_introduction(raw: Json) -> EditorIntroduction:
    """What the editor says."""
    client = _object(raw, "clientInfo")
    return EditorIntroduction(
        name=_typed(client, "name", str, ""),
        version=_typed(client, "version", str, ""),
        folders=_folders(raw),
        can=_capabilities(_object(raw, "capabilities")),
        settings=read_settings(_object(raw, "initializationOptions"), Settings()),
    )


def read_settings(raw: Json, before: Settings) -> Settings:
    """Those below `sould`, or at the top; what is not named is as before."""
    own = _object(raw, "sould") or raw
    return Settings(_typed(own, "lenses", bool, before.lenses), _typed(own, "hints", bool, before.hints))


def _folders(raw: Json) -> tuple[str, ...]:
    named = (_typed(cast("Json", each), "uri", str, "") for each in _list(raw, "workspaceFolders"))
    folders = tuple(uri for uri in named if uri)[:MOST_FOLDERS]
    if folders:
        return folders
    if root := _typed(raw, "rootUri", str, ""):
        return (root,)
    path = _typed(raw, "rootPath", str, "")
    return (f"file://{path}",) if path.startswith("/") else ()


def _capabilities(raw: Json) -> EditorCapabilities:
    workspace, document, window = _object(raw, "workspace"), _object(raw, "textDocument"), _object(raw, "window")
    edit, own = _object(workspace, "workspaceEdit"), _object(raw, "experimental").get("sould")
    ours = _object(_object(raw, "experimental"), "sould")
    encodings = _list(_object(raw, "general"), "positionEncodings", str)
    return EditorCapabilities(
        encoding=_encoding(encodings),
        applies_edits=_flag(workspace, "applyEdit"),
        versioned_edits=_flag(edit, "documentChanges"),
        annotated_edits=_flag(edit, "documentChanges") and isinstance(edit.get("changeAnnotationSupport"), dict),
        shows_documents=_flag(_object(window, "showDocument"), "support"),
        refreshes_lenses=_flag(_object(workspace, "codeLens"), "refreshSupport"),
        action_kinds=isinstance(_object(document, "codeAction").get("codeActionLiteralSupport"), dict),
        progress=_flag(window, "workDoneProgress"),
        shows_content=isinstance(workspace.get("textDocumentContent"), dict),
        has_settings=_flag(workspace, "configuration"),
        writes=_flag(ours, "writes"),
        withdraws=_flag(ours, "withdraws"),
        has_inbox=_flag(ours, "inbox"),
        knows_us=isinstance(own, dict),
    )


def _encoding(offered: list[object]) -> "PositionEncoding":
    for each in ENCODINGS:
        if each in offered:
            return each
    return "utf-16"


def _flag(raw: Json, name: str) -> bool:
    return raw.get(name) is True


def _object(raw: Json, name: str) -> Json:
    """An object; empty when it is absent or something else."""
    return _typed(raw, name, dict, Json())


def _list(raw: Json, name: str, kind: type[object] = dict) -> list[object]:
    """Those items of a list that are of a kind; empty when it is absent or something else."""
    return [each for each in _typed(raw, name, list, list[object]()) if isinstance(each, kind)]


def _typed(raw: Json, name: str, kind: type[object], default: T) -> T:
    value = raw.get(name)
    return cast("T", value) if isinstance(value, kind) else default
