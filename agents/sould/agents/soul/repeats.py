"""The repeated-call guard: a model that makes the same call again and again is reminded, then asked about, then stopped.

Counted are identical calls with identical results, anywhere in the turn, so that a cycle of calls is caught as well as
a streak, while polling something that changes is not (numbers: D7).
"""

from collections import Counter
from typing import Literal, TypeAlias

from msgspec import Struct, field

from sould.agents.base.config import LoopControl

INVALID_LIMIT = 5
"""Steps in a row with nothing but invalid calls."""

Advice: TypeAlias = Literal["go", "remind", "ask", "stop"]
Key: TypeAlias = tuple[str, str]


class RepeatGuard(Struct):
    """Counts of one turn."""

    limits: LoopControl
    _same: Counter[tuple[Key, int]] = field(default_factory=Counter[tuple[Key, int]])
    _repeats: dict[Key, int] = field(default_factory=dict[Key, int])
    _stopped: set[Key] = field(default_factory=set[Key])
    _invalid: int = 0
    _advised: dict[Key, Advice] = field(default_factory=dict[Key, Advice])
    _noted: set[Key] = field(default_factory=set[Key])

    def begin_step(self) -> None:
        """Identical calls of one step count once: the model could not know their result yet."""
        self._advised.clear()
        self._noted.clear()

    def advise(self, name: str, arguments: str) -> Advice:
        """What to do about a call that is about to run."""
        key = (name, arguments)
        if key not in self._advised:
            self._advised[key] = self._count(key)
        return self._advised[key]

    def _count(self, key: Key) -> Advice:
        count = self._repeats.get(key, 0) + 1
        if count >= self.limits.repeat_stop:
            self._stopped.add(key)
            return "stop"
        if count == self.limits.repeat_ask:
            return "ask"
        return "remind" if count in self.limits.repeat_remind else "go"

    def exhausted(self, name: str, arguments: str) -> bool:
        """True once `advise` has said stop for this call."""
        return (name, arguments) in self._stopped

    def note_result(self, name: str, arguments: str, result: str) -> None:
        """Remember that the call came to `result`."""
        key = (name, arguments)
        if key in self._noted:
            return
        self._noted.add(key)
        self._same[key, hash(result)] += 1
        self._repeats[key] = self._same[key, hash(result)]

    def note_step(self, *, all_invalid: bool) -> bool:
        """True when the model has made only invalid calls for too many steps in a row."""
        self._invalid = self._invalid + 1 if all_invalid else 0
        return self._invalid >= INVALID_LIMIT
