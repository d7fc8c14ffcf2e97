"""What time travel does around the steps of one soul: CHECKPOINT notes, D-Mails that arrive, D-Mails that turn time back.

An extension of the loop, which knows nothing of it. The context goes back by `ContextReverted`; what came after stays in the
journal and in the rotated context file.
"""

import asyncio
from pathlib import Path

from msgspec import Struct, field

from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.permissions.policy import EditFile
from sould.agents.soul.dmail.dmail import DenwaRenji, DMail
from sould.agents.soul.loop import Ending, StepExtension
from sould.agents.soul.stepcalls import StepCalls
from sould.agents.soul.timetravel.rewind import Rewinder
from sould.agents.soul.turn import Turn
from sould.agents.toolapi.toolset import Toolset
from sould.agents.wire.messages import ContextNote, ContextReverted, FilesRestored, ToolReturn

TOOL = "SendDMail"
ARRIVED = """\
A D-Mail has arrived from your own future: you have been here before, went on from here, and decided to tell yourself \
something and start again from this point. You remember nothing of what came after it. {files}
Read it, take it for what it is worth, and go on with the task. Do not mention it to the user.

{message}"""
FROM_CHILD = """\
A D-Mail has arrived from the future, sent by {sender}, which you started after this point and which is gone now. You \
remember nothing of what came after this point. {files}
Read it, take it for what it is worth, and go on with the task.

{message}"""
NOT_RESTORED = (
    "Files and anything else outside this conversation are as your future self left them: look before you act."
)
RESTORED = (
    "The files that were changed since are as they were at this point{but}; what commands did elsewhere is not undone."
)
CONFLICTS = " except {}, which others changed too"
UNASKED = " except {}, which changed when the user had been asked already"
ACCEPTED = " (what the user has kept of your changes stays, in {})"
LATE = """\
A D-Mail from {sender} to checkpoint {checkpoint_id} arrived when your turn had ended, so time was not turned back. It said:

{message}"""


class TimeMachine(StepExtension, Struct):
    """Of one soul, whose tools say whether its model can send D-Mail now."""

    phone: DenwaRenji
    rewinder: Rewinder
    toolset: Toolset
    files: CallFiles
    approval: Approval
    _told_birth: bool = False
    _met: set[str] = field(default_factory=set[str])
    """The siblings it has been told of."""
    _turn: str = ""
    """The turn of the last step."""

    async def before_step(self, turn: Turn) -> None:
        """Deliver what only arrives; then say the number of the checkpoint that the step begins with."""
        log, phone = self.phone.log, self.phone
        phone.note_turn(ended=False)
        while phone.notes:
            log.publish(ContextNote(text=phone.notes.pop(0)))
        if self._turn != turn.id:
            self._turn = turn.id
            self._take_late()
        mail = phone.fetch(past=False)
        if mail is not None:
            log.publish(ContextNote(text=f"A D-Mail from {mail.sender} has arrived:\n\n{mail.message}"))
        if TOOL not in self.toolset.paths:  # it is ours: no source is asked for it
            return
        if phone.parent is not None:
            self._introduce()
        log.publish(ContextNote(text=f"CHECKPOINT {log.context.checkpoint + 1}"))

    def _introduce(self) -> None:
        """Say who it is and who works beside it; later who has been started since."""
        phone = self.phone
        beside = [each for each in phone.siblings if each.agent_id not in self._met]
        self._met.update(each.agent_id for each in beside)
        names = ", ".join(f"{each.agent_id} ({each.about})" for each in beside)
        said = [f"At work beside you: {names}."] if beside else []
        if not self._told_birth:
            self._told_birth = True
            born = f"Your parent's newest checkpoint, when you were started: {phone.born}"
            said = [f"You are the agent {phone.agent_id}. {born}" + ("." if said else ""), *said]
        if said:
            phone.log.publish(ContextNote(text=" ".join(said)))

    async def after_step(self, turn: Turn, calls: StepCalls, ending: Ending | None) -> Ending | None:
        """Turn time back if a D-Mail says so; the turn then goes on from there, unless the user has stopped it."""
        ending = await self._take_past(turn, calls, ending)
        self.phone.note_turn(ended=ending is not None)
        return ending

    async def _take_past(self, turn: Turn, calls: StepCalls, ending: Ending | None) -> Ending | None:
        mail = self.phone.fetch(past=True)
        if mail is not None and not self._dropped(mail, turn, calls):
            await self._turn_back(mail, turn)
            if ending is None or ending.stop_reason == "finished":
                ending = None
        why = self.phone.unborn
        if ending is None and why is not None:
            self.phone.say_unborn(why)
            return Ending("cancelled")
        return ending

    def _take_late(self) -> None:
        """What came for the past of a turn that was cut off is only told: going back now would take the new prompt away."""
        mail = self.phone.fetch(past=True)
        if mail is not None and mail.sender:
            late = LATE.format(sender=mail.sender, checkpoint_id=mail.checkpoint_id, message=mail.message)
            self.phone.log.publish(ContextNote(text=late))

    def _dropped(self, mail: DMail, turn: Turn, calls: StepCalls) -> bool:
        """Of an earlier turn, or sent in a step of which the user rejected everything else."""
        if mail.turn_id and mail.turn_id != turn.id:
            return True
        others = [call.result for call in calls.all if call.name != TOOL]
        if mail.turn_id and others and all(map(_rejected, others)):
            return True
        # a compaction may have come between sending and now
        return mail.checkpoint_id is None or not self.phone.log.context.has_checkpoint(mail.checkpoint_id)

    async def _turn_back(self, mail: DMail, turn: Turn) -> None:
        log, checkpoint_id = self.phone.log, mail.checkpoint_id
        assert checkpoint_id is not None
        await self.phone.cancel_unborn(checkpoint_id)
        files = NOT_RESTORED
        if mail.restore_filesystem:
            found = self.rewinder.files_after(checkpoint_id, log)
            left = [path for path in found if path not in mail.asked and not await self._may_change(path)]
            files = _worded(await self.rewinder.restore(checkpoint_id, turn.id, log, leave=left))
        log.publish(ContextReverted(checkpoint_id=checkpoint_id))
        text = FROM_CHILD if mail.sender else ARRIVED
        log.publish(ContextNote(text=text.format(files=files, message=mail.message, sender=mail.sender)))
        await log.commit()

    async def _may_change(self, path: Path) -> bool:
        """Whether a file may be changed without asking, as things stand."""
        action = EditFile(self.files.resolve(str(path)), "modify")
        return (await asyncio.to_thread(self.approval.judge, action)).decision == "allow"


def _rejected(result: ToolReturn | None) -> bool:
    return bool(result is not None and result.extras and result.extras.get("rejected"))


def _worded(done: FilesRestored) -> str:
    accepted = ", ".join(file.path for file in done.files if file.kept)
    conflicts = ", ".join(file.path for file in done.files if file.action == "conflict" or file.conflicts)
    unasked = ", ".join(file.path for file in done.files if file.action == "kept" and not file.kept)
    but = (CONFLICTS.format(conflicts) if conflicts else "") + (UNASKED.format(unasked) if unasked else "")
    return RESTORED.format(but=but + (ACCEPTED.format(accepted) if accepted else ""))
