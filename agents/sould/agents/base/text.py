"""Words for people and models: how many there are, when it was, and what is wrong with a value. Never a library's own."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MEDIA_TOKENS = 1000
"""What an image counts in an estimate."""
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
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


def weight(text: str) -> int:
    """Quarters of a token that a text will be, roughly, without any model's vocabulary (D27).

    Byte-pair vocabularies spend about a token on four bytes of Latin text and code, on 1.3 Han characters or two Cyrillic
    letters, which is what UTF-8 spends bytes on; symbols beyond the basic plane cost about double. What a session's provider
    reports corrects the figure (`Context.pending_estimate`). On the path of every streamed piece, so it must be quick.
    """
    if text.isascii():
        return len(text)
    return len(text.encode(errors="surrogatepass")) + 4 * len(_ASTRAL.findall(text))


def tokens(text: str) -> int:
    """Tokens, roughly, rounded up. See `weight`."""
    return (weight(text) + 3) // 4
