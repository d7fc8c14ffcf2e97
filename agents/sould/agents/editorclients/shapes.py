"""What clients are asked below `_sould/editor`: see `params` for what they say. Values only; docs/schemas/editor is made of them."""

from typing import Any

from sould.agents.editortools.anchors import Position
from sould.agents.editortools.results import Shape


class EditorCall(Shape, frozen=True):
    """`_sould/editor/call`: do what a tool wants, in the project of `root`.

    `arguments`: as the catalogue has them, checked; paths are absolute, and what they name may be looked at. `at`: where the call's
    anchor points in the text that the user sees, whose sha256 is `digest`.
    """

    tool: str
    arguments: dict[str, Any]
    root: str
    directories: tuple[str, ...] = ()
    at: Position | None = None
    digest: str = ""
    session_id: str = ""


class Forgotten(Shape, frozen=True):
    """`_sould/editor/forgotten`: say `_sould/editor/state` again."""
