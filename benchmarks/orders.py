"""What a prompt orders of the model server. Pure; it must never look at more than the order and what was done since.

The last message of a user that holds an order decides, whatever an agent puts around it:

    bench COUNT DELAY_US              COUNT chunks, DELAY_US apart (0: as fast as they are taken)
    bench arrival                     one chunk: when this request had arrived as a whole
    bench steps N CALLS NAME JSON     N steps of CALLS calls of the tool NAME with these arguments, then one chunk

Each chunk's text is the monotonic clock in nanoseconds at which it left, with a space behind it; each step of calls
begins with such a chunk. `@number@` in the arguments becomes the number of the call.
So whoever reads the text can say how long it, or the work between two of them, took.
"""

import json
import re
from dataclasses import dataclass
from typing import TypeAlias

ORDER = re.compile(
    r"bench (?:(?P<count>\d+) (?P<delay>\d+)|(?P<arrival>arrival)|steps (?P<n>\d+) (?P<calls>\d+) (?P<tool>\w+) )"
)
NUMBER = "@number@"


@dataclass(frozen=True, slots=True)
class Stream:
    """Chunks, so many microseconds apart."""

    count: int
    delay_us: int


@dataclass(frozen=True, slots=True)
class Arrival:
    """One chunk that says when the request had come."""


@dataclass(frozen=True, slots=True)
class Calls:
    """A chunk, and calls of one tool with each of these arguments."""

    tool: str
    arguments: tuple[str, ...]


Answer: TypeAlias = Stream | Arrival | Calls
NONE = Stream(1, 0)
"""For requests that order nothing, such as those for a title."""


def is_order(text: str) -> bool:
    """Whether a message orders something."""
    return ORDER.search(text) is not None


def answer_to(text: str, results: int) -> Answer:
    """What to answer when this was ordered and so many results of tools have come since."""
    found = ORDER.search(text)
    if found is None:
        return NONE
    if found["arrival"]:
        return Arrival()
    if found["count"]:
        return Stream(int(found["count"]), int(found["delay"]))
    each = int(found["calls"])
    if results >= int(found["n"]) * each:
        return NONE
    _, end = json.JSONDecoder().raw_decode(text, found.end())
    arguments = text[found.end() : end]
    return Calls(found["tool"], tuple(arguments.replace(NUMBER, str(results + call)) for call in range(each)))
