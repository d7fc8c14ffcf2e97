"""The workspace on the local disk: paths judged after every link, nothing followed after that, writes whole or not at all."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from sould.agents.workspace import Command, ResolvedPath, RunningCommand, TextFile


class LocalWorkspace:
    """Files below `root` and `additional` (and, when a caller was allowed to, elsewhere); commands through `run`."""

    def __init__(
        self, root: Path, additional: Sequence[Path], run: Callable[[Command], Awaitable[RunningCommand]]
    ) -> None:
        self.root = root
        self.additional = tuple(additional)
        self._run = run

    def resolve(self, path: str) -> ResolvedPath:
        raise NotImplementedError(path)

    async def read_text(self, path: Path) -> TextFile:
        raise NotImplementedError(path)

    async def write_text(self, path: Path, text: str, *, expected: str | None) -> None:
        raise NotImplementedError(path)

    async def read_bytes(self, path: Path, limit: int) -> bytes:
        raise NotImplementedError(path)

    async def unsaved(self) -> Mapping[Path, str]:
        return {}

    async def run(self, command: Command) -> RunningCommand:
        return await self._run(command)
