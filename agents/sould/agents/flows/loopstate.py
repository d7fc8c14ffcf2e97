"""What is known of a loop on disk: one file a session, so that a loop survives the daemon. No environment is kept (D14)."""

import contextlib
import time
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sould.agents.sessions.projects import write_private

Status: TypeAlias = Literal["running", "paused", "stopped", "finished"]
"""`running` without a turn that runs it: the daemon stopped, and it waits for its project's environment."""


class Budget(BaseModel):
    """Ceilings of a loop; None means none."""

    model_config = ConfigDict(frozen=True)

    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None


class Spent(BaseModel):
    """What a loop has used. `cost` is None while no priced model has answered."""

    tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0


class LoopState(BaseModel):
    """One loop. `limit` is the number of iterations after the first, -1 for no limit."""

    session_id: str
    cwd: Path
    prompt: str
    limit: int
    completed: int = 0
    """Iterations that came to a choice."""
    checkpoints: list[int] = Field(default_factory=list)
    """Where each iteration began."""
    rollbacks: int = 0
    """In a row, to the same iteration."""
    plan: str = ""
    status: Status = "running"
    reason: str = ""
    budget: Budget = Budget()
    spent: Spent = Field(default_factory=Spent)
    started: float = Field(default_factory=time.time)
    updated: float = 0.0

    @property
    def runs(self) -> int | None:
        """Iterations in all; None without a limit."""
        return None if self.limit < 0 else self.limit + 1


class LoopStore:
    """The directory of loop files. A damaged file is no loop."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def load(self, session_id: str) -> LoopState | None:
        """The loop of a session, None when it has none."""
        return next((loop for loop in self.list() if loop.session_id == session_id), None)

    def save(self, loop: LoopState) -> None:
        """Replace the file in one step."""
        loop.updated = time.time()
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(self._directory / f"{loop.session_id}.json", loop.model_dump_json(indent=1).encode())

    def delete(self, session_id: str) -> None:
        """Forget the loop of a session."""
        for path in self._files():
            if path.stem == session_id:
                path.unlink(missing_ok=True)

    def list(self) -> tuple[LoopState, ...]:
        """Every loop, the latest first."""
        found: list[LoopState] = []
        for path in self._files():
            with contextlib.suppress(OSError, ValidationError):
                loop = LoopState.model_validate_json(path.read_bytes())
                if loop.session_id == path.stem:
                    found.append(loop)
        return tuple(sorted(found, key=lambda loop: loop.updated, reverse=True))

    def waiting(self, cwd: Path) -> tuple[LoopState, ...]:
        """Loops of a project that were running when they were last heard of."""
        return tuple(loop for loop in self.list() if loop.status == "running" and loop.cwd == cwd)

    def _files(self) -> tuple[Path, ...]:
        return tuple(self._directory.glob("*.json"))
