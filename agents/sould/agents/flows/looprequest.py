"""What follows `/loop`: how often, within what budget, and the prompt. Pure."""

import re
from dataclasses import dataclass, field
from typing import Literal

from sould.agents.errors import SouldError
from sould.agents.flows.loopstate import Budget

USAGE = (
    "Use `/loop [N|unlimited] [--tokens N] [--cost N] [--time 30m] PROMPT`, `/loop off`, `/loop resume [SESSION]`, "
    "or `/loop` for how it stands."
)
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)([kKmM]?)")
_TIME = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d|)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


@dataclass(frozen=True, slots=True)
class LoopRequest:
    """`limit` None: none was given. `resume` with a session id takes over that session's loop."""

    action: Literal["start", "off", "resume", "status"]
    limit: int | None = None
    prompt: str = ""
    budget: Budget = field(default_factory=Budget)
    session_id: str = ""


def parse_request(text: str) -> LoopRequest:
    """Read the words behind `/loop`.

    Raises:
        SouldError: with how it is written.
    """
    words = text.split()
    if not words:
        return LoopRequest("status")
    if words[0] == "resume" and len(words) <= 2:
        return LoopRequest("resume", session_id=words[1] if len(words) > 1 else "")
    limit: int | None = None
    budget: dict[str, float] = {}
    rest = text.strip()
    while rest:
        word, _, behind = rest.partition(" ")
        if word in ("--tokens", "--cost", "--time"):
            value, _, behind = behind.strip().partition(" ")
            budget[word[2:]] = _amount(word, value)
        elif limit is None and (number := _limit(word)) is not None:
            limit = number
        else:
            break
        rest = behind.strip()
    ceilings = Budget(
        tokens=int(budget["tokens"]) if "tokens" in budget else None,
        cost=budget.get("cost"),
        seconds=budget.get("time"),
    )
    if limit == 0 and not rest:
        return LoopRequest("off")
    return LoopRequest("start", limit, rest, ceilings)


def _limit(word: str) -> int | None:
    if word == "off":
        return 0
    if word in ("unlimited", "-1"):
        return -1
    return int(word) if word.isascii() and word.isdigit() else None


def _amount(option: str, value: str) -> float:
    found = (_TIME if option == "--time" else _AMOUNT).fullmatch(value)
    if found is None or float(found.group(1)) <= 0:
        raise SouldError(f"{option} takes an amount such as {'30m' if option == '--time' else '200k'}. {USAGE}")
    if option == "--time":
        return float(found.group(1)) * _SECONDS[found.group(2)]
    return float(found.group(1)) * {"": 1, "k": 1_000, "m": 1_000_000}[found.group(2).lower()]
