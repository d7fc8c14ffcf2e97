"""How a model answers a decision: by `<choice>…</choice>` in its answer, which people are not shown (D33)."""

import re
from collections.abc import Iterator
from typing import Final

from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import Choice

OPEN: Final = "<choice>"
_CHOICE: Final = re.compile(r"<choice>((?:(?!<choice>).)*?)</choice>", re.DOTALL)
"""From the innermost tag: an answer may speak of the tag before it uses it."""
_LONGEST: Final = 1_000
"""Characters from the tag on after which it is text like any other; also of white space that waits for a tag."""


def choice_in(answer: str) -> str:
    """The last choice in an answer, trimmed; "" when there is none."""
    found = _CHOICE.findall(answer)
    return found[-1].strip() if found else ""


def without_choice(answer: str) -> str:
    """An answer without its last choice, trimmed."""
    found = list(_CHOICE.finditer(answer))
    return (answer[: found[-1].start()] + answer[found[-1].end() :] if found else answer).strip()


class ChoiceReader:
    """Parts the choices from the text of one answer as it streams. All it yields, put together, is that text."""

    def __init__(self) -> None:
        self._held = ""

    def read(self, text: str) -> Iterator[TextPart | Choice]:
        """What of the text so far is certain, with white space before a choice as part of it."""
        self._held += text
        while found := _CHOICE.search(self._held):
            yield from self._parted(found)
        begin = self._held.rfind(OPEN)
        if begin < 0 or len(self._held) - begin > _LONGEST:
            begin = _possible_begin(self._held)
        shown = self._held[:begin].rstrip()
        if begin - len(shown) > _LONGEST:
            shown = self._held[:begin]
        if shown:
            self._held = self._held[len(shown) :]
            yield TextPart(text=shown)

    def _parted(self, found: re.Match[str]) -> Iterator[TextPart | Choice]:
        shown = self._held[: found.start()].rstrip()
        if shown:
            yield TextPart(text=shown)
        yield Choice(text=self._held[len(shown) : found.end()])
        self._held = self._held[found.end() :]

    def close(self) -> Iterator[TextPart | Choice]:
        """There is no more text before what comes now."""
        if self._held:
            yield TextPart(text=self._held)
        self._held = ""


def _possible_begin(text: str) -> int:
    """Where the tag may begin at the end of a text."""
    at = text.rfind("<")
    return at if at >= 0 and OPEN.startswith(text[at:]) else len(text)
