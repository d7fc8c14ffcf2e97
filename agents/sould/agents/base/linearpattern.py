"""Patterns of others, compiled so that they are fast on any text: in linear time, which `re` does not promise."""

from collections.abc import Iterator
from typing import Any, Protocol


class Match(Protocol):
    """Where a pattern was found: its groups, the whole first; None for one that takes no part."""

    def group(self, number: int = 0) -> bytes | None: ...
    def groups(self) -> tuple[bytes | None, ...]: ...


class Pattern(Protocol):
    """A compiled pattern, which looks for itself in UTF-8."""

    def search(self, text: bytes) -> Match | None: ...
    def finditer(self, text: bytes) -> Iterator[Match]: ...


def compiled(pattern: str, most: int) -> Pattern:
    """The pattern, which takes `most` bytes. Raises ValueError where RE2 does not know it or it takes more."""
    import re2  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs] -- 3 MB, for sessions that have a use for it

    library: Any = re2  # it has no types
    options = re2.Options()
    options.log_errors = False
    options.max_mem = most
    try:
        return library.compile(pattern, options)
    except library.error as error:
        raise ValueError(str(error)) from error
    finally:
        library.purge()  # it would keep the last 128; whoever asks again keeps its own
