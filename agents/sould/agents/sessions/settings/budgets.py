"""The budgets of a session and of a day, in tokens and money: a ceiling that is reached stops with a question (D38).

It is asked before the next model call, of the session's agent or of a subagent, and waits for a person. An unknown
price is no money: then tokens alone count. Nothing is counted for a day without a ceiling.
"""

import asyncio
import logging
import secrets
from datetime import datetime
from pathlib import Path

from pydantic import Field, ValidationError

from sould.agents.base.config import BudgetLimit
from sould.agents.base.liveconfig import LiveConfig
from sould.agents.base.parsed import Parsed
from sould.agents.base.privatefile import write_private
from sould.agents.journal.channel import Channel, Record
from sould.agents.llm.costs import Costs
from sould.agents.permissions.questions import Questions
from sould.agents.soul.loop import StepExtension
from sould.agents.soul.turn import Turn
from sould.agents.wire.messages import QuestionItem, QuestionOption, StatusUpdate, SubagentEvent

logger = logging.getLogger(__name__)

CONTINUE, STOP = "Continue", "Stop"


class Account(Parsed):
    """What was spent, and up to where the user has allowed more than the configuration does."""

    tokens: int = 0
    cost: float | None = None
    until_tokens: int = 0
    until_cost: float = 0.0

    def add(self, tokens: int, cost: float | None) -> None:
        """Count; `cost` None is unknown."""
        self.tokens += tokens
        self.cost = self.cost if cost is None else (self.cost or 0.0) + cost

    def used_up(self, limit: BudgetLimit) -> str:
        """What there is no more of, in words; "" when there is enough."""
        words: list[str] = []
        if limit.tokens is not None and self.tokens >= (ceiling := max(limit.tokens, self.until_tokens)):
            words.append(f"{self.tokens} of {ceiling} tokens")
        if limit.money is not None and (self.cost or 0.0) >= (allowed := max(limit.money, self.until_cost)):
            words.append(f"{self.cost or 0.0:.2f} of {allowed:.2f} in money")
        return " and ".join(words)

    def grant(self, limit: BudgetLimit) -> None:
        """As much again as the configuration allows, from here on."""
        if limit.tokens is not None and self.tokens >= max(limit.tokens, self.until_tokens):
            self.until_tokens = self.tokens + limit.tokens
        if limit.money is not None and (self.cost or 0.0) >= max(limit.money, self.until_cost):
            self.until_cost = (self.cost or 0.0) + limit.money


class _Day(Parsed):
    day: str = ""
    account: Account = Field(default_factory=Account)


class DailySpend:
    """What all sessions of a user spend in a day, in one file; a damaged one begins anew."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def today(self) -> Account:
        """So far."""
        try:
            found = _Day.model_validate_json(self._path.read_bytes())
        except (OSError, ValidationError):
            return Account()
        return found.account if found.day == _date() else Account()

    def save(self, account: Account) -> None:
        """It is today's. A disk that refuses costs the count, not the turn."""
        try:
            write_private(self._path, _Day(day=_date(), account=account).model_dump_json().encode())
        except OSError as error:
            logger.warning("what was spent today cannot be saved in %s: %s", self._path, error.strerror)


class Budgets(StepExtension):
    """One for a session: all its agents ask it before every step."""

    def __init__(self, channel: Channel, account: Account, book: DailySpend, config: LiveConfig, costs: Costs) -> None:
        """`account` is the session's, counted on in place; `costs` are what it has cost since it was opened."""
        self._channel = channel
        self._account = account
        self._book = book
        self._config, self._costs = config, costs
        self._lock = asyncio.Lock()
        self._paid = 0.0
        self.stopped = ""
        """What was used up when the user let this turn go no further."""
        self.changed = False
        """The account is not as it was saved."""
        channel.listen((StatusUpdate, SubagentEvent), self._count)

    async def allow(self) -> bool:
        """Whether the session may spend on; asks while a ceiling is reached, and not again in a turn that was stopped."""
        async with self._lock:
            for whose, account, limit in self._accounts():
                used_up = account.used_up(limit)
                if used_up and not self.stopped and not await self._ask(whose, used_up, account, limit):
                    self.stopped = used_up
            return not self.stopped

    async def allows_step(self, turn: Turn) -> bool:
        """A step spends."""
        return await self.allow()

    def note_saved(self) -> None:
        """The account is about to be saved as it is now."""
        self.changed = False

    def begin(self) -> None:
        """A new turn: what stopped the last one is asked about again."""
        self.stopped = ""

    def _accounts(self) -> list[tuple[str, Account, BudgetLimit]]:
        budget = self._config.now.budget
        found = [("session", self._account, budget.session)]
        if budget.day != BudgetLimit():
            found.append(("day", self._book.today(), budget.day))
        return found

    async def _ask(self, whose: str, used_up: str, account: Account, limit: BudgetLimit) -> bool:
        item = QuestionItem(
            question=f"The budget of this {whose} is used up: {used_up}. Continue?",
            header="Budget",
            options=(
                QuestionOption(label=CONTINUE, description=f"Allow as much again ({_written(limit)})."),
                QuestionOption(label=STOP, description="End this turn here."),
            ),
        )
        answers = await Questions(self._channel).ask(f"budget-{secrets.token_hex(4)}", (item,))
        if answers.get(item.question, "").strip() != CONTINUE:
            return False
        if whose == "day":
            account = self._book.today()  # others may have spent while the question was open
            account.grant(limit)
            self._book.save(account)
        else:
            account.grant(limit)
            self.changed = True
        return True

    def _count(self, record: Record) -> None:
        message = record.message
        while isinstance(message, SubagentEvent):
            message = message.event
        if isinstance(message, StatusUpdate) and message.token_usage is not None:
            now = self._costs.total
            cost = None if now is None else now - self._paid
            self._paid = self._paid if now is None else now
            self._account.add(message.token_usage.total, cost)
            self.changed = True
            if self._config.now.budget.day != BudgetLimit():
                today = self._book.today()
                today.add(message.token_usage.total, cost)
                self._book.save(today)


def _written(limit: BudgetLimit) -> str:
    words = [f"{limit.tokens} tokens"] if limit.tokens is not None else []
    return " and ".join([*words, *([f"{limit.money:.2f} in money"] if limit.money is not None else [])])


def _date() -> str:
    return datetime.now().astimezone().date().isoformat()
