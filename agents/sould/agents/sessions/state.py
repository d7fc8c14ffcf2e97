"""What a session keeps beside its journal: choices of the user that are not part of the conversation (`state.json`).

Losing the file loses choices, never history. Keys of the reference layout are kept; unknown ones survive a rewrite.
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sould.agents.llm.provider import ThoughtLevel
from sould.agents.permissions.policy import Mode
from sould.agents.privatefile import write_private
from sould.agents.sessions.ceilings import Account
from sould.agents.wire.display import TodoItem

_FILE = "state.json"


class SessionState(BaseModel):
    """The file's content; None means the configured default."""

    model_config = ConfigDict(extra="allow")

    version: int = 1
    directory: str = ""
    """Where the session's directory really was when the session began, all links followed (F56)."""
    mode: Mode | None = None
    agent: str = ""
    """The chosen agent's name or path; empty for the default one."""
    model: str | None = None
    thought_level: ThoughtLevel | None = None
    loop_limit: int | None = None
    """How often prompts are repeated; None: as the configuration says."""
    todos: tuple[TodoItem, ...] = ()
    account: Account = Field(default_factory=Account)
    """What the session has spent."""


def load_state(directory: Path) -> SessionState:
    """The state of the session in `directory`, or a fresh one when the file is missing or damaged."""
    try:
        return SessionState.model_validate_json((directory / _FILE).read_bytes())
    except (OSError, ValidationError):
        return SessionState()


def save_state(directory: Path, state: SessionState) -> None:
    """Replace the file in one step, readable by its owner only."""
    write_private(directory / _FILE, state.model_dump_json(exclude_none=True).encode())
