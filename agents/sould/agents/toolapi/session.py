"""Services every tool may ask for that say where it runs. Values only; nothing here reaches the world."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct


class Session(Struct, frozen=True):
    """The session a tool works in. `directory` is its own place on disk, removed with it."""

    id: str
    cwd: Path
    directory: Path
    additional: Sequence[Path] = ()
    """Directories it may work in besides `cwd`, as they are now."""


AskCapabilities: TypeAlias = Callable[[], frozenset[str]]
"""The names of what the session's model can take in now."""


MakeArguments: TypeAlias = Callable[[], Mapping[str, str]]
"""Makes the arguments of a system prompt, once, when first asked for."""


class ModelCapabilities(Struct, frozen=True):
    """What the session's model can take in, to be asked when it matters: the model may be another by then."""

    capabilities: AskCapabilities


class PromptArguments(Mapping[str, str]):
    """What `${NAME}` stands for in the agent's system prompt, looked up when first asked for."""

    def __init__(self, make: MakeArguments) -> None:
        self._make = make

    @cached_property
    def _values(self) -> Mapping[str, str]:
        return self._make()

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
