"""Going back in a session and returning: the model's context and, with it, the files its agents touched.

A restore is announced before it begins and closed when it is done, so that one cut off by a crash is done again when
the session is opened. Only changes in the edit logs are taken back; the project's git is never touched.
"""

import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from sould.agents.files.edits.state import EditKey, LoggedEdit
from sould.agents.files.projects.moves import RESTORE
from sould.agents.files.projects.restore import Chosen, FileOutcome, is_of, kept_too, take_back, touched
from sould.agents.files.projects.sessionfiles import SessionFiles
from sould.agents.journal.log import SessionLog
from sould.agents.soul.dmail.dmail import Mailbox
from sould.agents.soul.timetravel.outcome import NOT_ASKED
from sould.agents.soul.timetravel.timeline import calls_after
from sould.agents.wire.messages import (
    ContextReturned,
    ContextReverted,
    FilesRestored,
    FilesRestoring,
    RestoredFile,
)


class Rewinder(Struct, frozen=True):
    """Of one session, with `mailbox` for its agents; `log` is the session's own, where restores are kept whoever asked for them."""

    log: SessionLog
    files: SessionFiles
    mailbox: Mailbox

    def files_after(self, checkpoint_id: int, log: SessionLog | None = None) -> list[Path]:
        """The files that going back to a checkpoint (of `log`, a subagent's) would look at."""
        return list(touched(self.files, self._chosen(self._order(checkpoint_id, log))))

    async def go_back(self, checkpoint_id: int, turn_id: str, *, kept: bool = False) -> FilesRestored:
        """Context and files as they were at the checkpoint, which the context reaches; agents started since end.

        What the user kept stays in the files, unless `kept`.
        """
        if self.mailbox.main is not None:
            await self.mailbox.main.cancel_unborn(checkpoint_id)
        await self._know_calls()
        order = self._order(checkpoint_id, None)
        order = order.model_copy(update={"checkpoint_id": checkpoint_id, "kept": kept})
        return await self._carry_out(order, turn_id)

    async def take_kept_back(self, turn_id: str) -> FilesRestored | None:
        """Take back what the last going back left because it was kept; None where it left no such thing.

        `come_back` returns from both.
        """
        last = self.log.context.undone[-1] if self.log.context.undone else ""
        left: FilesRestored | None = None
        order: FilesRestoring | None = None
        for message in (record.message for record in self.log.replay()) if last else ():
            match message:
                case FilesRestoring(restore_id=number) if number == last:
                    order = message
                case FilesRestored(restore_id=number) if number in (last, kept_too(last)):
                    left = message
                case _:
                    pass
        if order is None or left is None or not any(file.kept for file in left.files):
            return None
        again = {"restore_id": kept_too(last), "kept": True, "checkpoint_id": None}
        return await self._carry_out(order.model_copy(update=again), turn_id)

    async def come_back(self, turn_id: str) -> FilesRestored | None:
        """Take the last going back itself back; None when there is none, or the model has worked since."""
        if not self.log.context.undone:
            return None
        order = FilesRestoring(restore_id=secrets.token_hex(6), undoes=self.log.context.undone[-1])
        return await self._carry_out(order, turn_id)

    async def restore(
        self, checkpoint_id: int, turn_id: str, log: SessionLog | None = None, *, leave: Iterable[Path] = ()
    ) -> FilesRestored:
        """The files alone, as they were at a checkpoint of `log`; those of `leave` stay as they are."""
        await self._know_calls()
        order = self._order(checkpoint_id, log)
        return await self._carry_out(order.model_copy(update={"leave": tuple(map(str, leave))}), turn_id)

    async def resume(self, order: FilesRestoring) -> FilesRestored:
        """Finish a restore that was cut off, and what was to follow it."""
        done = await self._finish(order, "")
        await self.log.commit()
        return done

    async def _carry_out(self, order: FilesRestoring, turn_id: str) -> FilesRestored:
        self.log.publish(order)
        await self.log.commit()
        done = await self._finish(order, turn_id)
        await self.log.commit()
        return done

    async def _finish(self, order: FilesRestoring, turn_id: str) -> FilesRestored:
        outcomes = await take_back(self.files, self._chosen(order), order.restore_id, turn_id, kept=order.kept)
        files = [_told(outcome) for outcome in outcomes]
        files += [RestoredFile(path=path, action="kept", reason=NOT_ASKED) for path in order.leave]
        can_take_kept = order.checkpoint_id is not None and any(file.kept for file in files)
        done = FilesRestored(restore_id=order.restore_id, files=tuple(files), can_take_kept=can_take_kept)
        self.log.publish(done)
        if order.checkpoint_id is not None:
            self.log.publish(ContextReverted(checkpoint_id=order.checkpoint_id, restore_id=order.restore_id))
        elif order.undoes:
            self.log.publish(ContextReturned())
        return done

    async def _know_calls(self) -> None:
        """What calls that were cut off did is to go, too: until here somebody may still be looking at it."""
        if self.files.capture is not None:
            await self.files.capture.ended()

    def _order(self, checkpoint_id: int, log: SessionLog | None) -> FilesRestoring:
        after = calls_after((record.message for record in (log or self.log).replay()), checkpoint_id)
        edited = {edit.call_id for edits in self.files.projects.edits.values() for edit in edits}
        return FilesRestoring(restore_id=secrets.token_hex(6), calls=tuple(call for call in after if call in edited))

    def _chosen(self, order: FilesRestoring) -> Chosen:
        if order.undoes:
            return lambda edit: is_of(edit, order.undoes)
        calls = frozenset(order.calls)
        first: set[EditKey] = set()
        for path, edits in self.files.projects.edits.items():
            if str(path) not in order.leave:
                _note_first(edits, calls, first)
        # restores made since are taken back with the edits they took back, so that doing it twice changes nothing
        return lambda edit: edit.key in first


def _told(outcome: FileOutcome) -> RestoredFile:
    return RestoredFile(
        path=str(outcome.path),
        action=outcome.action,
        reason=outcome.reason,
        changes=outcome.changes,
        kept=outcome.kept,
        conflicts=outcome.conflicts,
    )


def _note_first(edits: Sequence[LoggedEdit], calls: frozenset[str], chosen: set[EditKey]) -> None:
    begun = False
    for edit in edits:
        if edit.call_id in calls:
            begun = True
        elif not (begun and edit.call_id.startswith(RESTORE)):
            continue
        chosen.add(edit.key)
