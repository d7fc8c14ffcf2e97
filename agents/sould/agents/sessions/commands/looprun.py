"""Running a loop in its session: within its budget, with a question when that is used up, and an honest state left behind.

Whatever ends a loop, its file says how it stands before the turn ends. Nothing here decides what an iteration does.
"""

import asyncio
import contextlib

from msgspec.structs import replace

from sould.agents.base.errors import JournalFullError
from sould.agents.sessions.commands.conversation import Conversation
from sould.agents.sessions.settings.models import ModelUse
from sould.agents.sessions.turns.loopcontrols import LoopControls, count
from sould.agents.soul.flows.loopstate import LoopState
from sould.agents.soul.flows.ralph import LoopRunner, LoopTask, loop_flow
from sould.agents.soul.flows.runner import NoChoiceError
from sould.agents.soul.flows.spending import Spending, ask_for_more
from sould.agents.soul.loop import Ending, StepExtension
from sould.agents.soul.stepcalls import StepCalls
from sould.agents.soul.timetravel.rewind import Rewinder
from sould.agents.soul.turn import Turn
from sould.agents.wire.messages import Notification
from sould.agents.wire.notice import notice

_STOPPED = Ending("cancelled")
"""Ends the turn within the loop when its budget stays as it is; the loop's own turn is finished by it."""


class LoopRun(StepExtension):
    """One run of one loop, from wherever it stands, in one turn."""

    def __init__(
        self,
        conversation: Conversation,
        controls: LoopControls,
        model: ModelUse,
        rewinder: Rewinder,
        turn: Turn,
        loop: LoopState,
    ) -> None:
        self._log = conversation.log
        self._controls = controls
        self._budgets = model.budgets
        self._rewinder = rewinder
        self._loop = loop
        self._turn = replace(turn, unattended=True)
        self._agent = conversation.agent(self._turn, (self,))
        self._spending = Spending(conversation.log, loop, model.costs)

    async def run(self, task: LoopTask, *, told: bool) -> Ending:
        """Until the loop finishes, pauses or is cut off; a daemon that stops leaves it `running`, for the next one.

        `told`: the first iteration's prompt is in the context already.
        """
        loop, runner = self._loop, self._runner(task, told=told)
        self._save()
        try:
            with self._controls.run():
                ending = await self._run(runner)
        except BaseException as error:
            if loop.status == "running" and not self._controls.interrupted:
                loop.settle("stopped", "cancelled" if isinstance(error, asyncio.CancelledError) else "it failed")
            with contextlib.suppress(JournalFullError):  # what ended the loop is what is told
                self._save()
            if loop.status == "stopped":
                self._log.publish(_notice(loop))
            raise
        finally:
            runner.show(None)
        if loop.status == "running":
            self._pause(ending.error.message if ending.error else ending.stop_reason.replace("_", " "))
        self._save()
        self._log.publish(_notice(loop))
        return ending

    def _runner(self, task: LoopTask, *, told: bool) -> LoopRunner:
        limits = self._agent.config.now.flows.model_copy(update={"max_moves": 10**15})
        store = self._controls.store
        return LoopRunner(
            loop_flow(task), self._agent, limits, loop=self._loop, task=task, store=store, host=self, told=told
        )

    async def _run(self, runner: LoopRunner) -> Ending:
        while True:
            try:
                async with self._spending:
                    ending = await runner.run(runner.begins_at)
            except TimeoutError:
                if not self._spending.interrupted:
                    raise
                if not await self._may_go_on():
                    return Ending("finished")
            except NoChoiceError as error:
                self._pause(error.message)
                return Ending("finished", failed=True)
            else:
                if self._budgets.stopped:
                    self._pause(f"the budget is used up ({self._budgets.stopped})")
                    return Ending("finished")
                return Ending("finished") if ending is _STOPPED else ending

    async def after_step(self, turn: Turn, calls: StepCalls, ending: Ending | None) -> Ending | None:
        """End the turn when the budget is used up and stays as it is."""
        if ending is not None or await self.within_budget():
            return ending
        return _STOPPED

    async def within_budget(self) -> bool:
        """Whether the loop may go on; asks the user when its budget is used up."""
        if not self._loop.used_up:
            return True
        with self._spending.paused():
            return await self._may_go_on()

    async def _may_go_on(self) -> bool:
        """The budget is used up: ask (D38). Until there is an answer the loop is paused, also for the next daemon."""
        loop = self._loop
        self._pause(f"its budget is used up ({loop.overspent})")
        more = await ask_for_more(self._log.channel, loop)
        if more is None:
            return False
        loop.grant(more)
        loop.settle("running")
        self._save()
        return True

    async def go_back(self, checkpoint: int) -> str:
        """Files and context as they were; a context that was compacted since stays as it is."""
        reached = self._log.context.reaches(checkpoint)
        rewind = self._rewinder.go_back if reached else self._rewinder.restore
        done = await rewind(checkpoint, self._turn.id)
        conflicts = ", ".join(file.path for file in done.files if file.action == "conflict" or file.conflicts)
        but = f", except {conflicts}, which somebody else has changed since" if conflicts else ""
        accepted = ", ".join(file.path for file in done.files if file.kept)
        kept = f" What the user has kept of your changes stays, in {accepted}." if accepted else ""
        return f"The files you changed in it are as they were before{but}.{kept}"

    def _save(self) -> None:
        self._controls.store.save(self._loop)

    def _pause(self, reason: str) -> None:
        self._loop.settle("paused", reason)
        self._save()


def _notice(loop: LoopState) -> Notification:
    body = f"After {count(loop.completed)}: {loop.reason.rstrip('.')}{'' if loop.reason.endswith(('?', '!')) else '.'}"
    if loop.status != "finished":
        body += " `/loop resume` resumes it."
    return notice("loop", f"The loop is {loop.status}", body)
