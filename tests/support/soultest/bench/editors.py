"""An editor in memory, as a backend: does what a test says, and remembers what it was asked."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, ClassVar

from sould.agents.base.shape import Shape
from sould.agents.tools.editor.backends import Arguments, EditorResult, Where
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.site import Site

Answer = EditorResult | Shape | EditorToolError
Does = Callable[[Arguments, Where], Answer]


def says(answer: Answer) -> Does:
    """Always this."""
    return lambda _given, _where: answer


class FakeEditor:
    """An `EditorClient` with the tools it is given."""

    only_points: ClassVar[bool] = False

    def __init__(self, name: str = "Vim", opened: Collection[Path] = (), **tools: Does) -> None:
        self.id = self.name = name
        self.does = tools
        self.opened = set(opened)
        self.asked: list[tuple[str, dict[str, Any], Where]] = []

    def tools(self, site: Site) -> Collection[str]:
        return frozenset(self.does)

    def has_open(self, path: Path) -> bool:
        return path in self.opened

    async def call(self, tool: str, given: Arguments, where: Where) -> EditorResult:
        self.asked.append((tool, dict(given), where))
        answer = self.does[tool](given, where)
        if isinstance(answer, EditorToolError):
            raise answer
        return answer if isinstance(answer, EditorResult) else EditorResult(answer)
