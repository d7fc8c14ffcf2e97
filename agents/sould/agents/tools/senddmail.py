"""SendDMail: a message to the agent's own past, to its parent's past, or to another agent's next step (D28).

The tool only posts it; the loop's hooks turn time back after the step. With `restore_filesystem` files change, so the
user is asked as for any edit.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import Field, JsonValue

from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.permissions.policy import EditFile
from sould.agents.permissions.visible import file_name
from sould.agents.timetravel.dmail import PARENT, SELF, DenwaRenji, DMail, DMailRefusedError
from sould.agents.timetravel.rewind import Rewinder
from sould.agents.tools.base import CallView, Tool, ToolCallContext, ToolParams, tool_error, tool_ok
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
        description="To yourself or your parent: the number of the CHECKPOINT to go back to. Others have no use for it.",
    )
    to: str = Field(
        default=SELF,
        min_length=1,
        description="`self`, `parent`, the id of another agent at work in this session, or of an open session of this project.",
    )
    restore_filesystem: bool = Field(
        default=False, description="Also take back what was changed in files since that checkpoint."
    )
    priority: int = Field(default=0, description="A higher one replaces a D-Mail that still waits at the receiver.")


class SendDMail(Tool[Params]):
    """Send a message through time."""

    name = "SendDMail"
    example: ClassVar[dict[str, JsonValue]] = {
        "message": "The config is generated; edit template.yaml.",
        "checkpoint_id": 3,
    }
    params = Params

    def __init__(self, phone: DenwaRenji, rewinder: Rewinder, approval: Approval, files: CallFiles) -> None:
        self._phone = phone
        self._rewinder = rewinder
        self._approval = approval
        self._files = files

    def view(self, params: Params) -> CallView:
        """`Send a D-Mail to checkpoint 3`."""
        where = f"checkpoint {params.checkpoint_id}" if params.checkpoint_id is not None else params.to
        whose = " of the parent" if params.to == PARENT and params.checkpoint_id is not None else ""
        return CallView(title=f"Send a D-Mail to {where}{whose}")

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        """Check, ask when files would change, post."""
        phone = self._phone
        try:
            receiver = phone.receiver(params.to)
            past = receiver is phone or (receiver is phone.parent and not receiver.idle)
            files: Sequence[Path] = ()
            if past and params.restore_filesystem:
                files = self._rewinder.files_after(receiver.require(params.checkpoint_id), receiver.log)
                refused = await self._ask(files, params, call)
                if refused is not None:
                    return refused
            mail = DMail(
                message=params.message,
                sender="" if receiver is phone else _own_name(phone),
                checkpoint_id=receiver.require(params.checkpoint_id) if past else None,
                restore_filesystem=past and params.restore_filesystem,
                asked=frozenset(files),
                priority=params.priority,
                turn_id=call.turn_id if receiver is phone else "",
                told=phone.notes.append,
            )
            phone.send(mail, params.to)
        except DMailRefusedError as error:
            return tool_error(f"The D-Mail was not sent. {error.message}", brief="D-Mail refused")
        if receiver is phone:
            return tool_ok(message=STILL_HERE)
        if past:
            return tool_ok(message="The D-Mail is on its way: the receiver turns time back after its current step.")
        late = " Its turn has ended, so time is not turned back." if receiver is phone.parent else ""
        return tool_ok(message=f"The D-Mail is on its way: the receiver reads it at its next step.{late}")

    async def _ask(self, files: Sequence[Path], params: Params, call: ToolCallContext) -> ToolReturn | None:
        if not files:
            return None
        names = ", ".join(file_name(self._files.shown(path)) for path in files)
        actions = [EditFile(self._files.resolve(str(path)), "modify") for path in files]
        verdicts = [self._approval.judge(action).decision for action in actions]
        hardest = max(range(len(files)), key=lambda at: ("allow", "ask", "deny").index(verdicts[at]))
        return await self._approval.request(
            call,
            actions[hardest],  # one question for all of them, as strict as the strictest
            sender=self.name,
            description=f"Take back the edits since checkpoint {params.checkpoint_id} to {names}",
            display=(),
        )


def _own_name(phone: DenwaRenji) -> str:
    return f"agent {phone.agent_id}" if phone.agent_id else f"session {phone.post.session_id}"
