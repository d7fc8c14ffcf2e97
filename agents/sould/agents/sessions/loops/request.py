"""What follows `/loop`: how often, within what budget, and the prompt. Pure."""

import difflib
import re
from typing import Literal, TypeAlias

from msgspec import Struct, field

from sould.agents.base.errors import OptionError
from sould.agents.sessions.loops.state import LoopBudget, Resource
from sould.agents.wire.content import UserInput, typed_text

COMMAND = "/loop"

USAGE = (
    "Use `/loop [N|unlimited] [--tokens N] [--cost N] [--time 30m] PROMPT`, `/loop pause`, `/loop off`, "
    "`/loop resume [SESSION] [--tokens N] …`, `/loop list`, or `/loop` for its status. PROMPT may be a flow or a skill "
    "(`/flow:NAME`, `/skill:NAME`)."
)
Action: TypeAlias = Literal["start", "off", "pause", "resume", "status", "list", "help"]
_WORDS: dict[str, Action] = {
    **dict.fromkeys(("off", "stop", "end", "cancel", "quit"), "off"),
    **dict.fromkeys(("pause", "wait"), "pause"),
    **dict.fromkeys(("status", "show"), "status"),
    **dict.fromkeys(("help", "--help", "-h", "?"), "help"),
    **dict.fromkeys(("resume", "continue"), "resume"),
    **dict.fromkeys(("on", "start"), "start"),
    "list": "list",
}
"""Said alone they are about the loop and never its task."""
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)([kKmM]?)")
_NEGATIVE = re.compile(r"-\d+")
_OPTION = re.compile(r"--\w[\w-]*")
_TIME = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d|)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}
_RESOURCE: dict[str, Resource] = {"--tokens": "tokens", "--cost": "cost", "--time": "seconds"}
OPTIONS = {resource: option for option, resource in _RESOURCE.items()}


class LoopRequest(Struct, frozen=True):
    """`limit` None: none was given. `resume` with a session id takes over that session's loop, with a budget it gives more."""

    action: Action
    limit: int | None = None
    prompt: str = ""
    budget: LoopBudget = field(default_factory=LoopBudget)
    session_id: str = ""


def parse_request(text: str) -> LoopRequest:
    """Read the words behind `/loop`.

    Raises:
        OptionError: with how it is written.
    """
    words = text.split()
    if not words:
        return LoopRequest("status")
    if len(words) == 1 and (said := _alone(words[0])) is not None:
        return LoopRequest(said)
    first, _, behind = text.strip().partition(" ")
    if first == "resume":
        resumed = _resumption(behind)
        if resumed is not None:
            return resumed
    limit, budget, rest = _options(text, counted=True)
    if limit == 0 and not rest:
        return LoopRequest("off")
    return LoopRequest("start", limit, rest, budget)


def is_about_loops(user_input: UserInput) -> bool:
    """A prompt is a `/loop`, whatever it says."""
    return typed_text(user_input).split(None, 1)[:1] == [COMMAND]


def read_request(user_input: UserInput) -> LoopRequest:
    """What a prompt that is about loops wants. Raises OptionError."""
    return parse_request(typed_text(user_input).strip().removeprefix(COMMAND))


def _alone(word: str) -> Action | None:
    """What one word says. Raises OptionError for what is most likely mistyped: a loop costs money."""
    action = _WORDS.get(word.casefold())
    near = difflib.get_close_matches(word.casefold(), _WORDS, 1, 0.8) if action is None else []
    if near:
        raise OptionError(f"Did you mean `/loop {near[0]}`? A task of a loop has more than one word. {USAGE}")
    return action


def amount(resource: Resource, written: str) -> float:
    """So much of something, as people write it.

    Raises:
        OptionError: with how it is written.
    """
    timed = resource == "seconds"
    found = (_TIME if timed else _AMOUNT).fullmatch(written)
    factor = 0 if found is None else _SECONDS[found.group(2)] if timed else _FACTORS[found.group(2).lower()]
    value = float(found.group(1)) * factor if found is not None else 0.0
    value = int(value) if resource == "tokens" else value
    if value <= 0:
        raise OptionError(f"{OPTIONS[resource]} takes an amount such as {'30m' if timed else '200k'}. {USAGE}")
    return value


def _resumption(behind: str) -> LoopRequest | None:
    """`resume [SESSION] [options]`; None when it is the beginning of a prompt."""
    _, before, rest = _options(behind, counted=False)
    session_id, _, options = rest.partition(" ")
    _, after, left = _options(options, counted=False)
    if left:
        return None
    budget = before.model_copy(update=after.model_dump(exclude_none=True))
    return LoopRequest("resume", session_id=session_id, budget=budget)


def _options(text: str, *, counted: bool) -> tuple[int | None, LoopBudget, str]:
    """The limit (where it is `counted`) and the budget at the beginning, and what follows them."""
    limit: int | None = None
    budget: dict[str, float] = {}
    rest = text.strip()
    while rest:
        word, _, behind = rest.partition(" ")
        if word in _RESOURCE:
            value, _, behind = behind.strip().partition(" ")
            budget[_RESOURCE[word]] = amount(_RESOURCE[word], value)
        elif counted and limit is None and (number := _limit(word)) is not None:
            limit = number
        elif _OPTION.fullmatch(word):
            raise OptionError(f"A loop has no option {word}. {USAGE}")
        else:
            break
        rest = behind.strip()
    return limit, LoopBudget.model_validate(budget), rest


def _limit(word: str) -> int | None:
    if word == "off":
        return 0
    if word in ("unlimited", "-1"):
        return -1
    if _NEGATIVE.fullmatch(word):
        raise OptionError(f"A loop cannot run {word} times. {USAGE}")
    return int(word) if word.isascii() and word.isdigit() else None
