"""The decision: may this action go ahead, must a person be asked, or is it refused?

`decide` is pure: it looks at the disk only through the `Surroundings` it is given and it never asks anybody.
Order: deny rules, then what the mode forbids, then the protections nothing overrides, then ask rules, allow rules
(the session's included), then the mode's default. Doubt is always `ask`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from sould.agents.workspace import ResolvedPath, WriteOperation

Mode: TypeAlias = Literal["plan", "ask", "review", "auto", "full"]
"""D20. `auto` needs a sandbox; there is none yet, so it is never offered."""

MODES: tuple[Mode, ...] = ("plan", "ask", "review", "auto", "full")

Trust: TypeAlias = Literal["unknown", "trusted", "restricted"]
Decision: TypeAlias = Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Show a file to the model."""

    path: ResolvedPath


@dataclass(frozen=True, slots=True)
class EditFile:
    """Create, change or delete a file."""

    path: ResolvedPath
    operation: WriteOperation


@dataclass(frozen=True, slots=True)
class RunCommand:
    """Run a line with bash."""

    line: str
    cwd: Path


@dataclass(frozen=True, slots=True)
class CallExternal:
    """Call a tool that is not ours (`server__tool`, a client's tool)."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RepeatCall:
    """Make an identical call once more; asked in every mode but `full`, never remembered."""

    name: str
    arguments: Mapping[str, Any]


Action: TypeAlias = ReadFile | EditFile | RunCommand | CallExternal | RepeatCall
