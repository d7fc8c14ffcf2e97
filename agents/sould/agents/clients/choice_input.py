"""What somebody types in answer to a question: an option's number or label, several of them, or words of their own.

Pure, and the same wherever a line is typed. A slip is never taken for an answer.
"""

import re

from msgspec import Struct

_NUMBERED = re.compile(r"(\d+)[.:)]?(?:\s+(.*))?", re.DOTALL)


class ChosenOptions(Struct, frozen=True):
    """The options' labels, or words; neither: the number of the words alone was typed, and they are still to come."""

    labels: tuple[str, ...] = ()
    words: str = ""

    @property
    def wants_words(self) -> bool:
        """They are still to come."""
        return not self.labels and not self.words


class Choices(Struct, frozen=True):
    """What can be chosen. `words`: what own words are offered as, behind the last option; "" when they are not."""

    labels: tuple[str, ...]
    several: bool = False
    words: str = ""

    @property
    def numbered(self) -> dict[str, str]:
        """Everything on offer, by its number."""
        offered = (*self.labels, *([self.words] if self.words else []))
        return {str(number): label for number, label in enumerate(offered, 1)}

    def read(self, typed: str) -> ChosenOptions | None:
        """What was meant by `typed`, None for a slip."""
        text = typed.strip()
        if not self.labels:
            return ChosenOptions(words=text) if text else None
        number = _NUMBERED.fullmatch(text)
        if self.words and number is not None and number[1] == str(len(self.labels) + 1):
            return ChosenOptions(words=(number[2] or "").strip())
        parts = [part.strip() for part in text.split(",")] if self.several else [text]
        found = [self._label(part) for part in parts]
        if all(found):
            return ChosenOptions(labels=tuple(dict.fromkeys(filter(None, found))))
        # a number beyond the options, or one stray key, is no words
        slip = len(text) < 2 or any(part.isdecimal() for part in parts)
        return ChosenOptions(words=text) if self.words and not slip else None

    def _label(self, part: str) -> str | None:
        if part.isdecimal():
            return self.labels[int(part) - 1] if 1 <= int(part) <= len(self.labels) else None
        return next((label for label in self.labels if label.casefold() == part.casefold()), None)
