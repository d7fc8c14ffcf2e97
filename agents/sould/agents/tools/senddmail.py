"""SendDMail: a message to the agent's own past, to its parent's past, or to another agent's next step (D28).

The tool only posts it; the loop's hooks turn time back after the step. With `restore_filesystem` files change, so the
user is asked as for any edit.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import Field, JsonValue

from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.permissions.policy import EditFile
from sould.agents.permissions.visible import file_name
from sould.agents.soul.dmail.dmail import PARENT, SELF, SIBLINGS, DenwaRenji, DMail, DMailRefusedError
from sould.agents.soul.timetravel.rewind import Rewinder
from sould.agents.toolapi.background import BackgroundTasks
from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, ToolParams, tool_error, tool_ok
from sould.agents.wire.messages import ToolReturn

STILL_HERE = "If you can read this, time was not turned back: the D-Mail was dropped, or another one took its place. Go on without it."


class Params(ToolParams):
    """What to send, to whom and when."""

    message: str = Field(
        min_length=1, description="What the receiver should know. It will remember nothing else of what came after."
    )
    checkpoint_id: int | None = Field(
        default=None,
        ge=0,
        description="To yourself or your parent: the number of the CHECKPOINT to go back to; without it your newest one, or "
        "the parent's newest when it started you. Others have no use for it.",
    )
    to: str = Field(
        default=SELF,
        min_length=1,
        description="`self`, `parent`, `siblings` (all at once), the id of another agent at work in this session or of its "
        "background task, or the id of an open session of this project.",
    )
    restore_filesystem: bool = Field(
        default=False, description="Also take back what was changed in files since that checkpoint."
    )
    priority: int = Field(default=0, description="A higher one replaces a D-Mail that still waits at the receiver.")


class SendDMail(Tool[Params]):
    """Send a message through time."""

    name = "SendDMail"
    title = "Send a D-Mail"
    example: ClassVar[dict[str, JsonValue]] = {
        "message": "The config is generated; edit template.yaml.",
        "checkpoint_id": 3,
    }
    params = Params

    def __init__(
        self,
        phone: DenwaRenji,
        rewinder: Rewinder,
        approval: Approval,
        files: CallFiles,
        tasks: BackgroundTasks,
    ) -> None:
        self._phone = phone
        self._rewinder = rewinder
        self._approval = approval
        self._files = files
        self._tasks = tasks

    def view(self, params: Params) -> CallView:
        """`Send a D-Mail to checkpoint 3`."""
        where = f"checkpoint {params.checkpoint_id}" if params.checkpoint_id is not None else params.to
        whose = " of the parent" if params.to == PARENT and params.checkpoint_id is not None else ""
        return CallView(title=f"Send a D-Mail to {where}{whose}")

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        """Check, ask when files would change, post."""
        try:
            return self._to_siblings(params) if params.to == SIBLINGS else await self._to_one(params, call)
        except DMailRefusedError as error:
            return tool_error(f"The D-Mail was not sent. {error.message}", brief="D-Mail refused")

    def _to_siblings(self, params: Params) -> ToolReturn:
        phone = self._phone
        reached, refused = phone.send_to_siblings(
            DMail(params.message, _own_name(phone), priority=params.priority, origin=phone)
        )
        not_sent = f"It was not sent to {' '.join(refused)}" if refused else ""
        if not reached:
            return tool_error(not_sent, brief="D-Mail refused")
        said = f"The D-Mail is on its way to {', '.join(reached)}, to be read at their next steps. {not_sent}"
        return tool_ok(message=said.strip())

    async def _to_one(self, params: Params, call: ToolCallContext) -> ToolReturn:
        phone = self._phone
        to = self._tasks.agent_of(params.to) or params.to
        receiver = phone.receiver(to)
        past = receiver is phone or (receiver is phone.parent and not receiver.idle)
        checkpoint = _checkpoint(params, phone, receiver) if past else None
        files: Sequence[Path] = ()
        if checkpoint is not None and params.restore_filesystem:
            files = self._rewinder.files_after(checkpoint, receiver.log)
            refused = await self._ask(files, checkpoint, call)
            if refused is not None:
                return refused
        mail = DMail(
            message=params.message,
            sender="" if receiver is phone else _own_name(phone),
            checkpoint_id=checkpoint,
            restore_filesystem=past and params.restore_filesystem,
            asked=frozenset(files),
            priority=params.priority,
            turn_id=call.turn_id if receiver is phone else "",
            origin=phone,
        )
        phone.send(mail, to)
        if receiver is phone:
            return tool_ok(message=STILL_HERE)
        if past:
            return tool_ok(message="The D-Mail is on its way: the receiver turns time back after its current step.")
        late = " Its turn has ended, so time is not turned back." if receiver is phone.parent else ""
        return tool_ok(message=f"The D-Mail is on its way: the receiver reads it at its next step.{late}")

    async def _ask(self, files: Sequence[Path], checkpoint: int, call: ToolCallContext) -> ToolReturn | None:
        if not files:
            return None
        names = ", ".join(file_name(self._files.paths.shown(path)) for path in files)
        actions = [EditFile(self._files.resolve(str(path)), "modify") for path in files]
        verdicts = [(await asyncio.to_thread(self._approval.judge, action)).decision for action in actions]
        hardest = max(range(len(files)), key=lambda at: ("allow", "ask", "deny").index(verdicts[at]))
        return await self._approval.request(
            call,
            actions[hardest],  # one question for all of them, as strict as the strictest
            sender=self.name,
            description=f"Take back the edits since checkpoint {checkpoint} to {names}",
            display=(),
        )


def _checkpoint(params: Params, phone: DenwaRenji, receiver: DenwaRenji) -> int:
    """The one that is named; else the newest, of the parent the newest when it started this agent."""
    if params.checkpoint_id is None and receiver is phone.parent:
        return receiver.require(phone.born)
    return receiver.require(params.checkpoint_id)


def _own_name(phone: DenwaRenji) -> str:
    return f"agent {phone.agent_id}" if phone.agent_id else f"session {phone.mailbox.session_id}"
