"""The ids of a session's calls: ours, or a scripted model's own where no other call of the session has it.

Model servers send empty, repeated and reused ids, so theirs are never used. Everything that is kept of a call hangs
on its id: two calls never share one.
"""

import re
import secrets
import string
from collections.abc import Iterator

from msgspec import Struct

from sould.agents.journal.log import SessionLog
from sould.agents.wire.messages import SubagentEvent, ToolCall

_LETTERS = string.ascii_letters + string.digits
_USABLE = re.compile(r"[A-Za-z0-9_-]{1,64}")


class CallIds(Struct):
    """Of one session, for all its agents; `log` is the session's own."""

    log: SessionLog
    _taken: set[str] | None = None

    def new(self) -> str:
        """One of ours: nine letters and digits, which every server takes; Mistral's take nothing else."""
        return "".join(secrets.choice(_LETTERS) for _ in range(9))

    def keep(self, given: str) -> str:
        """The id a script gives, if it can be one and is free; else one of ours."""
        if self._taken is None:
            self._taken = set(self._found())
        if not _USABLE.fullmatch(given) or given in self._taken:
            return self.new()
        self._taken.add(given)
        return given

    def _found(self) -> Iterator[str]:
        for record in self.log.replay():
            message: object = record.message
            while isinstance(message, SubagentEvent):
                message = message.event
            if isinstance(message, ToolCall):
                yield message.id
