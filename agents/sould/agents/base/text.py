"""Words for people and models: how many there are, when it was, and what is wrong with a value. Never a library's own."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

LONGEST_WORDS = 600
"""Characters of a program's last words."""
_WORDS = {
    "missing": "is required",
    "extra_forbidden": "is not known",
    "int_": "must be a whole number",
    "float_": "must be a number",
    "bool_": "must be true or false",
    "string_type": "must be text",
    "tuple_": "must be a list",
    "list_": "must be a list",
    "dict_": "must be an object",
    "model_": "must be an object",
    "path_": "must be a path",
    "json_invalid": "is not JSON",
}
"""By the beginning of pydantic's kind of error."""


def plural(count: int, word: str) -> str:
    """`1 session`, `2 sessions`."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def subagent_of(kind: str, chain: Sequence[str]) -> str:
    """A subagent and those it works for: `coder subagent of foreman`. `chain`: from the main agent's down to itself."""
    return f"{kind} subagent{''.join(f' of {above}' for above in reversed(chain[:-1]))}"


def fault(error: "ErrorDetails") -> str:
    """The end of a sentence whose beginning names the value: `is required`, `must be a number`. Without a full stop."""
    kind, message = error["type"], error["msg"]
    expected = str(error.get("ctx", {}).get("expected", "")).replace("'", "")
    if expected:
        return f"must be {expected}"
    for beginning, words in _WORDS.items():
        if kind.startswith(beginning):
            return words
    text = re.sub(r"^(Input|String|Value|List|Tuple|URL) should ", "must ", message.removeprefix("Value error, "))
    return f"{text[:1].lower()}{text[1:]}".rstrip(".")


def faulty(name: str, error: "ErrorDetails") -> str:
    """The whole sentence: `cwd is required.`"""
    words = fault(error)
    return f"{name}{'' if words.startswith(('is ', 'must ')) else ':'} {words}."


def iso_time(seconds: float) -> str:
    """Wall seconds as RFC 3339."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def last_words(lines: Sequence[str]) -> str:
    """The last lines of what a program said as one, each once; as many of them as there is room for."""
    said = ""
    for line in reversed(dict.fromkeys(each.strip() for each in lines)):
        longer = f"{line} | {said}" if said else line[:LONGEST_WORDS]
        if len(longer) > LONGEST_WORDS:
            break
        said = longer
    return said
