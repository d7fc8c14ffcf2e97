"""The hooks of a session's life: its start and end, its prompts, the end of its turns, what it is notified of."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from sould.agents.journal.channel import Record
from sould.agents.soul.hooks.engine import Hooks
from sould.agents.soul.hooks.project import ProjectHooks
from sould.agents.soul.loop import Ending, StepExtension
from sould.agents.soul.turn import Turn
from sould.agents.wire.content import UserInput, input_text
from sould.agents.wire.messages import ContextNote, Notification
from sould.agents.wire.notice import notice

END_TIMEOUT = 5.0
"""Seconds the hooks of a session's end may take, because the daemon waits for them when it stops."""
MOST_WAITING = 100
LOOKED_BEFORE: Final = frozenset({"SessionStart", "UserPromptSubmit"})
"""Events of a session or a turn that has just begun, for which the configuration was looked at."""


class SessionHooks(StepExtension):
    """Fires them at the right moments."""

    def __init__(self, hooks: Hooks, project: ProjectHooks) -> None:
        self.hooks = hooks
        self._project = project
        self._log = hooks.log
        self._notices: deque[Notification] = deque(maxlen=MOST_WAITING)
        self._noticed = asyncio.Event()
        self._told = ""
        self._stopping = False

    @asynccontextmanager
    async def around(self, source: str) -> AsyncGenerator[None, None]:
        """The session is live within. `source`: `startup` or `resume`."""
        listening = self._log.channel.listen((Notification,), self._take)
        try:
            async with asyncio.TaskGroup() as group:
                teller = group.create_task(self._tell())
                await self.hooks.fire("SessionStart", source, {"source": source})
                yield
                teller.cancel()
        finally:
            listening.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_TIMEOUT):
                await self.hooks.fire("SessionEnd", "exit", {"reason": "exit"})

    async def allow_prompt(self, user_input: UserInput) -> bool:
        """Whether the turn that just began may go on; if not, it ends as refused and the model never learns of its prompt."""
        self._stopping = False
        self._say_problem()
        text = input_text(user_input)
        return not (await self.hooks.fire("UserPromptSubmit", text, {"prompt": text})).blocked

    async def before_stop(self, turn: Turn) -> bool:
        """The model is done. Whether a hook gives it more to do, which it may once a turn."""
        if self._stopping:
            return False
        decision = await self.hooks.fire("Stop", "", {"stop_hook_active": False})
        if decision.blocked:
            self._stopping = True
            self._log.publish(ContextNote(text=f"Before you stop, a hook of the user says: {decision.reason}"))
        return decision.blocked

    async def failed(self, ending: Ending) -> None:
        """A turn ended; hooks are told when it failed."""
        if ending.error is not None:
            error = ending.error
            await self.hooks.fire("StopFailure", error.kind, {"error_type": error.kind, "error_message": error.message})

    def _say_problem(self) -> None:
        problem = self._project.problem()
        if problem and problem != self._told:
            self._log.publish(notice("hooks", "Hooks of this project do not run", problem, severity="warning"))
        self._told = problem

    def _take(self, record: Record) -> None:
        if isinstance(record.message, Notification):
            self._notices.append(record.message)
            self._noticed.set()

    async def _tell(self) -> None:
        while True:
            await self._noticed.wait()
            self._noticed.clear()
            while self._notices:
                told = self._notices.popleft()
                data = {"notification_type": told.type, "title": told.title, "body": told.body}
                await self.hooks.fire("Notification", told.type, {**data, "severity": told.severity})
