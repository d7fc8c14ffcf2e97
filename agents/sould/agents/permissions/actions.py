"""What is decided about: the actions of an agent that have an effect, or show something; and how far a yes to one reaches."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from sould.agents.base.workspace import ResolvedPath, WriteOperation

Scope: TypeAlias = Literal["once", "session", "session_also_changed", "project", "always"]
"""How far an approval reaches; each but the first two is offered only where it makes sense."""


class ReadFile(Struct, frozen=True):
    """Show a file to the model. `to_edit`: because of an edit, which tells what it replaces.

    `secret`: why it holds one, when that was found in its text.
    """

    path: ResolvedPath
    to_edit: bool = False
    secret: str = ""


class EditFile(Struct, frozen=True):
    """Create, change or delete a file.

    `secret`: why it holds one, when that was found in its text. `others`: what of another session's it meets. `encoding`: the one its
    text is in, where that is not UTF-8: then the review has no hunks of it. `reads`: it is about to be read for that.
    """

    path: ResolvedPath
    operation: WriteOperation
    secret: str = ""
    others: str = ""
    encoding: str = ""
    reads: bool = False


class RunCommand(Struct, frozen=True):
    """Run a line with bash."""

    line: str
    cwd: Path


class CallExternal(Struct, frozen=True):
    """Call a tool that is not ours (`server__tool`, a client's). `looks`: a client says that it changes nothing."""

    name: str
    arguments: Mapping[str, Any]
    looks: bool = False
    definition: str = ""  # tells it from others of its name; "" where nobody can


class RepeatCall(Struct, frozen=True):
    """Make an identical call once more; asked in every mode but `full`, never remembered."""

    name: str
    arguments: Mapping[str, Any]


class FetchPage(Struct, frozen=True):
    """Send a request to a web host; asked for once a host, by its exact name."""

    host: str
    url: str


Action: TypeAlias = ReadFile | EditFile | RunCommand | CallExternal | RepeatCall | FetchPage
