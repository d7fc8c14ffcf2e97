"""What the machines here stand on: a desk of their own, and how rules, which cannot wait, have things done at it."""

import asyncio
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Generic, TypeVar

from hypothesis.stateful import RuleBasedStateMachine
from tests.agents.files.reviewing.reviewdesk import ReviewDesk

D = TypeVar("D", bound=ReviewDesk)
T = TypeVar("T")


class Driven(RuleBasedStateMachine, Generic[D]):
    """A machine whose rule for the beginning calls `_sit_down`."""

    desk: D

    def _sit_down(self, desk: Callable[[Path], D]) -> None:
        """At a desk in a directory of its own."""
        self._base = tempfile.TemporaryDirectory(prefix="sould-machine-")
        self._runner = asyncio.Runner()
        self.desk = desk(Path(self._base.name).resolve())

    def _run(self, work: Coroutine[object, object, T]) -> T:
        return self._runner.run(work)

    def teardown(self) -> None:
        """End what runs, where anything was begun."""
        if hasattr(self, "desk"):
            self._run(self.desk.aclose())
            self._runner.close()
            self._base.cleanup()
