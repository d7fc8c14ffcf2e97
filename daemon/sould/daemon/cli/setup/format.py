"""What setup does to a text, whatever language it is in: adding what is ours, and taking back exactly that. Pure."""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from sould.daemon.cli.setup.unfit import UnfitError


class Launch(Struct, frozen=True):
    """How an editor starts sould, as its configuration says."""

    words: tuple[str, ...]
    environment: Mapping[str, str] = {}


class Format(Protocol):
    """One kind of configuration. Every method raises UnfitError for a text that it cannot read."""

    def added(self, text: str) -> str:
        """The text with what is ours; the same text where that is there already."""
        ...

    def taken(self, before: str | None, after: str, text: str) -> str:
        """`text` without what is ours, whatever else was changed since it was `after`; "" is no file."""
        ...

    def meaning(self, text: str) -> object:
        """What it says, for comparing: blanks and comments do not count."""
        ...

    def launch(self, text: str) -> Launch | None:
        """How sould is started; None where the text does not name it."""
        ...

    def manual(self) -> str:
        """What the user would write by hand."""
        ...


def taken_back(form: Format, before: str | None, after: str, text: str) -> str:
    """`text` with what lies between `before` and `after` taken back.

    To the byte where what was written stands as it was written; else as far as what it says goes.

    Raises:
        UnfitError: it cannot be read any more.
    """
    original = before or ""
    if text == after:
        return original
    thorough = form.taken(before, after, text)
    start = _shared(original, after)
    rest = _shared(original[start:][::-1], after[start:][::-1])
    written, replaced = after[start : len(after) - rest], original[start : len(original) - rest]
    if not written or text.count(written) != 1:
        return thorough
    exact = text.replace(written, replaced)
    try:
        return exact if form.meaning(exact) == form.meaning(thorough) else thorough
    except UnfitError:
        return thorough


def _shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    differing = (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differing, min(len(one), len(other)))
