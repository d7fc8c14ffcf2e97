"""Where editor tools are called, and for whom. Values only; loaded with every session."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct

Sharing: TypeAlias = Literal["off", "ask", "on"]
"""Whether agents may know what the user looks at in a project."""
SHARED: Final = frozenset({"editor_state", "terminal_read"})
"""The tools that tell it."""
ON_DISK: Final = frozenset({"doc_read", "doc_edit", "scm", "review", "notebook", "notebook_edit"})
"""Those that need neither an editor nor a language server."""


class Site(Struct, frozen=True):
    """For whom, where: the directory worked in (`root`) and those beside it; `trusted`: what is in it may run."""

    root: Path
    additional: Sequence[Path] = ()
    environment: Mapping[str, str] = {}
    trusted: bool = False
    session_id: str = ""
    client_id: str = ""
    """Who asked for the turn."""

    @property
    def directories(self) -> tuple[Path, ...]:
        """All of them."""
        return (self.root, *self.additional)


class OtherAgent(Struct, frozen=True):
    """An agent of another program, over MCP: what people call it, where it works, with which environment."""

    name: str
    cwd: Path
    environment: Mapping[str, str]
    umask: int
