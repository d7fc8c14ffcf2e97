"""What is known of a loop on disk: one file a session, so that a loop survives the daemon. No environment is kept (D14)."""

import time
from collections.abc import Collection
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import ConfigDict, Field, ValidationError

from sould.agents.base.errors import JournalFullError, why_refused
from sould.agents.base.parsed import Parsed
from sould.agents.base.privatefile import write_private

Status: TypeAlias = Literal["running", "paused", "stopped", "finished"]
Resource: TypeAlias = Literal["tokens", "cost", "seconds"]
"""`running` without a turn that runs it: the daemon stopped, and it waits for its project's environment."""


class LoopBudget(Parsed):
    """Ceilings of a loop; None means none."""

    model_config = ConfigDict(frozen=True)

    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None


class Spent(Parsed):
    """What a loop has used. `cost` is None while no priced model has answered."""

    tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0

    def add_tokens(self, tokens: int) -> None:
        """So many more."""
        self.tokens += tokens

    def bring_up_to_date(self, *, seconds: float, cost: float | None) -> None:
        """What it has taken in all by now; None: the cost is not known to have changed."""
        self.seconds = seconds
        self.cost = self.cost if cost is None else cost


class LoopState(Parsed):
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
    adjusting: bool = False
    """The agent chose to adjust its plan and has not stated it yet."""
    status: Status = "running"
    reason: str = ""
    budget: LoopBudget = Field(default_factory=LoopBudget)
    allowance: LoopBudget = Field(default_factory=LoopBudget)
    """What was granted at first, and is granted again when the user lets a loop go on that has used up its budget."""
    spent: Spent = Field(default_factory=Spent)
    started: float = Field(default_factory=time.time)
    updated: float = 0.0

    @property
    def runs(self) -> int | None:
        """Iterations in all; None without a limit."""
        return None if self.limit < 0 else self.limit + 1

    def standing(self, running: Collection[str]) -> str:
        """How it stands, in words; `running` are the sessions in which a loop runs now."""
        if self.status == "running" and self.session_id not in running:
            return f"waiting for {self.cwd.name}'s environment"
        return self.status

    @property
    def used_up(self) -> tuple[Resource, ...]:
        """What there is no more of."""
        budget, spent = self.budget, self.spent
        budgets: dict[Resource, tuple[float | None, float]] = {
            "tokens": (budget.tokens, spent.tokens),
            "cost": (budget.cost, spent.cost or 0.0),
            "seconds": (budget.seconds, spent.seconds),
        }
        return tuple(name for name, (ceiling, used) in budgets.items() if ceiling is not None and used >= ceiling)

    @property
    def overspent(self) -> str:
        """`used_up` in words; "" when there is enough of everything."""
        budget, spent = self.budget, self.spent
        words = {
            "tokens": f"{spent.tokens} of {budget.tokens} tokens",
            "cost": f"{spent.cost or 0.0:.2f} of {budget.cost or 0.0:.2f} in money",
            "seconds": f"{round(spent.seconds, 1):g} of {round(budget.seconds or 0.0, 1):g} seconds",
        }
        return " and ".join(words[name] for name in self.used_up)

    def settle(self, status: Status, reason: str = "") -> None:
        """How it stands from now on, and why."""
        self.status, self.reason = status, reason

    def resume(self) -> None:
        """It runs again; what went wrong before does not count."""
        self.settle("running")
        self.rollbacks = 0

    def begin_iteration(self, checkpoint: int) -> None:
        """The iteration after those completed begins here."""
        self.checkpoints = [*self.checkpoints[: self.completed], checkpoint]

    def complete_iteration(self, *, rolled_back: bool = False, adjusts: bool = False) -> None:
        """The iteration came to its end, or to a choice: to undo it, or to state another plan."""
        self.completed += 1
        self.rollbacks = self.rollbacks + 1 if rolled_back else 0
        self.adjusting = adjusts

    def adopt_plan(self, plan: str) -> None:
        """The agent has stated the plan it goes on with."""
        self.plan, self.adjusting = plan, False

    def stamp(self) -> None:
        """It is kept as it is now."""
        self.updated = time.time()

    def raise_allowance(self, more: LoopBudget) -> None:
        """What is granted again when the budget is used up; None leaves it as it is."""
        self.allowance = self.allowance.model_copy(update=more.model_dump(exclude_none=True))

    def grant(self, more: LoopBudget) -> None:
        """Allow so much from here on, whatever was left; None leaves a ceiling as it is."""
        spent = {"tokens": self.spent.tokens, "cost": self.spent.cost or 0.0, "seconds": self.spent.seconds}
        given = more.model_dump(exclude_none=True)
        self.budget = self.budget.model_copy(update={name: spent[name] + amount for name, amount in given.items()})


class LoopStore:
    """The directory of loop files. A damaged file is no loop."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def load(self, session_id: str) -> LoopState | None:
        """The loop of a session, None when it has none."""
        return next((_read(path) for path in self._files() if path.stem == session_id), None)

    def save(self, loop: LoopState) -> None:
        """Replace the file in one step.

        Raises:
            JournalFullError: the disk refuses.
        """
        loop.stamp()
        path = self._directory / f"{loop.session_id}.json"
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(path, loop.model_dump_json(indent=1).encode())
        except OSError as error:
            raise JournalFullError(f"The loop's progress cannot be saved in {path}: {why_refused(error)}.") from error

    def delete(self, session_id: str) -> None:
        """Forget the loop of a session."""
        for path in self._files():
            if path.stem == session_id:
                path.unlink(missing_ok=True)

    def list(self) -> tuple[LoopState, ...]:
        """Every loop, the latest first."""
        found = (loop for path in self._files() if (loop := _read(path)) is not None)
        return tuple(sorted(found, key=lambda loop: loop.updated, reverse=True))

    def _files(self) -> tuple[Path, ...]:
        return tuple(self._directory.glob("*.json"))


def _read(path: Path) -> LoopState | None:
    try:
        loop = LoopState.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    return loop if loop.session_id == path.stem else None
