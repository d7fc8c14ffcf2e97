"""Who can do what an editor tool wants: the interface of an editor's client, of the daemon's language servers, of the disk. Types only.

A backend never writes a file: what it wants written it gives as edits, which go through the review's one write path.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias

from msgspec import Struct

from sould.agents.base.shape import Shape
from sould.agents.base.workspace import TextFile
from sould.agents.files.reviewing.listing import FileReview, KnownDecision
from sould.agents.tools.editor.anchors import Position
from sould.agents.tools.editor.results import Span
from sould.agents.tools.editor.site import Site

Arguments: TypeAlias = Mapping[str, Any]
"""As the catalogue declares them, checked, in camelCase, without what was left out."""


class Reader(Protocol):
    """Reads what the call may read without a question."""

    async def read_text(self, path: Path) -> TextFile:
        """The text as the user sees it, unsaved or not. Raises WorkspaceError."""
        ...

    async def on_disk(self, path: Path) -> TextFile:
        """The text that the disk holds. Raises WorkspaceError."""
        ...

    async def base(self, path: Path) -> str | None:
        """The text as the user accepted it last; None: the file is not under review. Raises WorkspaceError."""
        ...

    async def pending(self, paths: Sequence[Path]) -> Sequence[FileReview]:
        """What waits for the user's review, of all files or of some."""
        ...

    async def decisions(self) -> Sequence[KnownDecision]:
        """What was decided, as far as that is known."""
        ...


class Where(Struct, frozen=True):
    """What a call is about: `file` is resolved and may be looked at, `at` is where its anchor points in `text`, as it was read."""

    site: Site
    reader: Reader
    file: Path | None = None
    text: TextFile | None = None
    at: Position | None = None
    call_id: str = ""
    """The tool call of the session that it is made for; "" for agents of others, who have no session here."""


class BackendEdit(Struct, frozen=True):
    """`text` in the place of what stands in `span`."""

    span: Span
    text: str


class FileEdits(Struct, frozen=True):
    """What is to become of one file: edits that do not overlap, all relative to one text; or all of its text anew.

    `digest`: of the text they were made for (sha256 hex of its UTF-8 bytes), "" where the backend does not know.
    """

    path: Path
    edits: tuple[BackendEdit, ...] = ()
    text: str | None = None
    digest: str = ""


class EditorResult(Struct, frozen=True):
    """What a call came to, with what is to be written. `more`: a word on what was left out, and how to have it."""

    data: Shape
    edits: tuple[FileEdits, ...] = ()
    more: str = ""
    version: int | None = None
    """The document's, as the editor counts."""


class EditorBackend(Protocol):
    """Who can serve editor tools."""

    @property
    def id(self) -> str:
        """Unique in the daemon, without `/`."""
        ...

    @property
    def name(self) -> str:
        """What people call it: `Neovim`, `pyright`."""
        ...

    def tools(self, site: Site) -> Collection[str]:
        """The tools it can serve there, the same ones until something about it changes. Quick, and starts nothing."""
        ...

    async def call(self, tool: str, given: Arguments, where: Where) -> EditorResult:
        """Do it. One that cannot serve this file raises `not_supported`: the next backend is asked.

        Raises:
            EditorToolError
        """
        ...


class EditorClient(EditorBackend, Protocol):
    """An editor that is connected; its `id` is the client's."""

    only_points: ClassVar[bool]
    """It can say where to look, but neither that anything came of it nor what it has: asked behind all who can do more."""

    def has_open(self, path: Path) -> bool:
        """It says that it has the file open."""
        ...
