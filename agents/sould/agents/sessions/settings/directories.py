"""The directories a session may work in besides its own: those its clients named, and those the user added (`/add-dir`).

Every link is followed once, when a directory comes in: what is judged later is where it really was. The list grows and
never shrinks, and whoever holds it sees it grow.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import overload

from sould.agents.base.errors import OptionError


class Directories(Sequence[Path]):
    """Absolute and resolved, each once."""

    def __init__(self, root: Path, named: Iterable[Path]) -> None:
        self._root = Path(os.path.realpath(root))
        self._all = list(dict.fromkeys(Path(os.path.realpath(path)) for path in named))

    @overload
    def __getitem__(self, index: int) -> Path: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Path]: ...
    def __getitem__(self, index: int | slice) -> Path | Sequence[Path]:
        return self._all[index]

    def __iter__(self) -> Iterator[Path]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def find(self, given: str, home: Path) -> Path:
        """Where the words of a user lead: relative to the session's directory, `~` is their home, every link followed.

        Raises:
            OptionError: it is no directory, or the session works there already.
        """
        path = self._root / (home / given[2:] if given.startswith("~/") else home if given == "~" else given)
        real = Path(os.path.realpath(path)) if "\0" not in given else path
        if "\0" in given or not real.is_dir():
            raise OptionError(f"{given} is not a directory; `/add-dir` takes the path of one that exists.")
        inside = next((each for each in (self._root, *self._all) if real.is_relative_to(each)), None)
        if inside is not None:
            raise OptionError(f"{real} is part of this session's workspace already: it is inside {inside}.")
        return real

    def status_lines(self) -> Iterable[str]:
        """See `StatusSource`."""
        return (f"- also works in: `{path}`" for path in self)

    def add(self, directory: Path) -> bool:
        """From now on the session works there, too; False when it did already."""
        real = Path(os.path.realpath(directory))
        if real in (self._root, *self._all):
            return False
        self._all.append(real)
        return True
