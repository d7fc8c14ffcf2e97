"""What `sould run` was asked to do."""

from typing import NamedTuple


class RunRequest(NamedTuple):
    """What is to be done. `session_id` "": a new session. `can_ask`: somebody sits at the terminal."""

    text: str
    cwd: str
    additional: tuple[str, ...] = ()
    session_id: str = ""
    model: str = ""
    mode: str = ""
    agent: str = ""
    timeout_s: float | None = None
    can_ask: bool = False
    worktree: str | None = None
    """The new session is to have a worktree of its own, by this name, "" for any."""
