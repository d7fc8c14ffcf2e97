"""What clients are asked below `_sould/editor`: see `params` for what they say. Values only; docs/schemas/editor is made of them."""

from typing import Any

from sould.agents.tools.editor.anchors import Position
from sould.agents.tools.editor.results import Shape
from sould.agents.tools.editor.site import Sharing


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


class OfferedTool(Shape, frozen=True):
    """A tool as a model is told of it. `does`: `read`, `show`, `write` or `run`."""

    name: str
    description: str
    does: str
    schema: dict[str, Any]


class OfferedTools(Shape, frozen=True):
    """The answer to `tools`."""

    tools: tuple[OfferedTool, ...]


class RunError(Shape, frozen=True):
    """Why a call came to nothing; `message` has the candidates, if there are any."""

    code: str
    message: str


class RunAnswer(Shape, frozen=True):
    """The answer to `run`: `data` and `meta`, or `error`. `partial`: not all was written."""

    data: dict[str, Any] | None = None
    meta: dict[str, Any] | None = None
    error: RunError | None = None
    partial: bool = False


class Forgotten(Shape, frozen=True):
    """`_sould/editor/forgotten`: say `_sould/editor/state` again."""


class Context(Shape, frozen=True):
    """Whether agents may know what the user looks at: `ask` asks, each time an agent wants to."""

    sharing: Sharing
