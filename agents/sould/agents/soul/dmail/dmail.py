"""D-Mail: a message from an agent to its own past, to its parent's past, or to another agent's next step (D28).

Every soul has one `DenwaRenji`, which holds at most one pending D-Mail. A higher priority replaces what waits there, and
whoever sent that is told; anything else is refused. A D-Mail is fetched once. Nothing here touches a context.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakValueDictionary

from msgspec import Struct, field

from sould.agents.base.errors import SouldError
from sould.agents.journal.log import SessionLog
from sould.agents.wire.messages import DMailHeld, DMailTaken
from sould.agents.wire.notice import notice

SELF, PARENT, SIBLINGS = "self", "parent", "siblings"
UNBORN = "The agent that started this one goes back to its checkpoint {}, before this one began."


class DMailRefusedError(SouldError):
    """The D-Mail was not sent; the sentence says why and what could be done."""

    kind = "dmail"


class DMail(Struct, frozen=True):
    """One message. `checkpoint_id` None: it does not turn time back, it only arrives. `sender` is worded for its reader."""

    message: str
    sender: str = ""
    checkpoint_id: int | None = None
    restore_filesystem: bool = False
    asked: frozenset[Path] = frozenset()
    """The files that the sender was allowed to have restored."""
    priority: int = 0
    turn_id: str = ""
    """The turn it was sent in, of a D-Mail to oneself: it does not outlive that turn."""
    origin: "DenwaRenji | None" = None
    """The sender's, who is told when it is replaced."""


class DenwaRenji(Struct, weakref=True, eq=False):
    """The phone of one soul. Injectable. `agent_id` is "" for a session's main agent."""

    log: SessionLog
    mailbox: "Mailbox"
    agent_id: str = ""
    parent: "DenwaRenji | None" = None
    born: int = -1
    """The parent's newest checkpoint when it started this agent."""
    about: str = ""
    """What its agent is and does, in a few words, for others; "" of a main agent."""
    notes: list[str] = field(default_factory=list[str])
    """What its agent is told before its next step."""
    idle: bool = False
    """Its agent's turn is known to have ended: there is no step after which time could be turned back."""
    _pending: DMail | None = None
    _children: "dict[DenwaRenji, asyncio.Task[object]]" = field(
        default_factory=dict["DenwaRenji", "asyncio.Task[object]"]
    )

    def join(self, parent: "DenwaRenji", born: int, about: str) -> None:
        """Its agent works for another from now on."""
        self.parent, self.born, self.about = parent, born, about

    def note_turn(self, *, ended: bool) -> None:
        """Its agent's turn goes on, or has ended."""
        self.idle = ended

    def send(self, mail: DMail, to: str = SELF) -> None:
        """Put a D-Mail where it is to go.

        Raises:
            DMailRefusedError: nobody is there, the checkpoint cannot be reached, or something as important waits there.
        """
        receiver = self.receiver(to)
        if mail.checkpoint_id is not None:
            receiver.require(mail.checkpoint_id)
        receiver.put(mail)

    def send_to_siblings(self, mail: DMail) -> tuple[list[str], list[str]]:
        """Put the message where every sibling reads it: the ids of those, and of each other one why not.

        Raises:
            DMailRefusedError: there is none.
        """
        reached: list[str] = []
        refused: list[str] = []
        for sibling in self.siblings:
            try:
                sibling.put(mail)
            except DMailRefusedError as error:
                refused.append(f"{sibling.agent_id}: {error.message}")
            else:
                reached.append(sibling.agent_id)
        if not reached and not refused:
            raise DMailRefusedError("No agent works beside you.")
        return reached, refused

    @property
    def siblings(self) -> "tuple[DenwaRenji, ...]":
        """The others at work that its parent started."""
        return tuple(each for each in self.parent.children if each is not self) if self.parent is not None else ()

    @property
    def children(self) -> "tuple[DenwaRenji, ...]":
        """Those at work that its agent started."""
        return tuple(self._children)

    @property
    def unborn(self) -> int | None:
        """The checkpoint before its birth that its parent is about to go back to: there is nothing more for it to do."""
        waiting = self.parent.due if self.parent is not None else None
        return waiting if waiting is not None and waiting <= self.born else None

    @property
    def due(self) -> int | None:
        """The checkpoint that what waits here goes back to."""
        return self._pending.checkpoint_id if self._pending is not None else None

    def put(self, mail: DMail) -> None:
        """Hold the D-Mail until it is fetched. Raises DMailRefusedError."""
        waiting = self._pending
        if waiting is not None and mail.priority <= waiting.priority:
            raise DMailRefusedError(
                f"A D-Mail of priority {waiting.priority} waits there already; only a higher priority replaces it."
            )
        self._pending = mail
        self.log.publish(
            DMailHeld(
                message=mail.message, sender=mail.sender, checkpoint_id=mail.checkpoint_id, priority=mail.priority
            )
        )
        if waiting is not None and waiting.origin is not None:
            waiting.origin.notes.append("Your D-Mail was replaced by one of a higher priority before it arrived.")

    def fetch(self, *, past: bool) -> DMail | None:
        """What waits, once: with `past` one that turns time back, else one that only arrives."""
        mail = self._pending
        if mail is None or (mail.checkpoint_id is not None) is not past:
            return None
        self._pending = None
        self.log.publish(DMailTaken())
        return mail

    def restore(self, held: DMailHeld) -> None:
        """Take up what waited when the daemon stopped: a message arrives; time is not turned back, and the agent is told."""
        if held.checkpoint_id is None:
            self._pending = DMail(held.message, held.sender, priority=held.priority)
            return
        whose = f" from {held.sender}" if held.sender else ""
        self.log.publish(DMailTaken())
        self.notes.append(
            f"The daemon stopped before a D-Mail{whose} to checkpoint {held.checkpoint_id} arrived, so time was not turned "
            f"back. It said: {held.message}"
        )

    def require(self, checkpoint_id: int | None) -> int:
        """The checkpoint; None: the newest. Raises DMailRefusedError unless time can be turned back to it."""
        context = self.log.context
        if checkpoint_id is None:
            checkpoint_id = context.checkpoint
        if checkpoint_id > context.checkpoint or checkpoint_id < 0:
            raise DMailRefusedError(f"There is no checkpoint {checkpoint_id}; the newest is {context.checkpoint}.")
        if not context.has_checkpoint(checkpoint_id):
            raise DMailRefusedError(
                f"Checkpoint {checkpoint_id} lies before the last compaction or on a path that was left; only the user's "
                "/rewind goes there."
            )
        return checkpoint_id

    @contextmanager
    def child(self, phone: "DenwaRenji", born: int, about: str = "") -> Generator[None, None, None]:
        """While the block runs, `phone` belongs to an agent that this one started at checkpoint `born`, in this task."""
        phone.join(self, born, about)
        task = asyncio.current_task()
        assert task is not None
        self._children[phone] = task
        try:
            yield
        finally:
            del self._children[phone]
            self.mailbox.disconnect(phone)

    async def cancel_unborn(self, checkpoint_id: int) -> None:
        """Cancel every agent started after the checkpoint that still works, and wait until nothing of it runs."""
        gone = {child: task for child, task in self._children.items() if child.born >= checkpoint_id}
        for child, task in gone.items():
            task.cancel(child.say_unborn(checkpoint_id))
        if gone:
            await asyncio.wait(gone.values())

    def say_unborn(self, checkpoint_id: int) -> str:
        """Tell whoever reads its journal why this agent is cancelled; what was said."""
        why = UNBORN.format(checkpoint_id)
        self.log.publish(notice("cancelled", "Cancelled: it was never started", why))
        return why

    def receiver(self, to: str) -> "DenwaRenji":
        """Whom `to` names. Raises DMailRefusedError."""
        if to in (SELF, self.agent_id or SELF):
            return self
        if to == PARENT:
            if self.parent is None:
                raise DMailRefusedError("You are the main agent: there is no parent.")
            return self.parent
        return self.mailbox.find(to)


class DMailRouter:
    """All sessions of a daemon that a D-Mail can reach."""

    def __init__(self) -> None:
        self._mailboxes: WeakValueDictionary[str, Mailbox] = WeakValueDictionary()

    def open(self, session_id: str, project: Path) -> "Mailbox":
        """The post of a session that is opened now."""
        mailbox = Mailbox(self, session_id, project)
        self._mailboxes[session_id] = mailbox
        return mailbox

    def find(self, session_id: str, project: Path) -> "DenwaRenji | None":
        """The main agent of another session of the same project."""
        mailbox = self._mailboxes.get(session_id)
        return mailbox.main if mailbox is not None and mailbox.project == project else None


class Mailbox:
    """The agents of one session by id."""

    def __init__(self, router: DMailRouter, session_id: str, project: Path) -> None:
        self._router = router
        self.session_id = session_id
        self.project = project
        self._phones: WeakValueDictionary[str, DenwaRenji] = WeakValueDictionary()

    def close(self) -> None:
        """The session is closed: nobody answers here any more."""
        self._phones.clear()

    @property
    def main(self) -> "DenwaRenji | None":
        """The main agent's."""
        return self._phones.get("")

    def connect(self, agent_id: str, log: SessionLog) -> DenwaRenji:
        """The phone of a new agent."""
        phone = DenwaRenji(log, self, agent_id)
        if log.recovery.open_dmail is not None:
            phone.restore(log.recovery.open_dmail)
        self._phones[agent_id] = phone
        return phone

    def disconnect(self, phone: DenwaRenji) -> None:
        """Its agent works no longer: nobody would read what arrives there."""
        if self._phones.get(phone.agent_id) is phone:
            del self._phones[phone.agent_id]

    def find(self, to: str) -> DenwaRenji:
        """An agent of this session that works, or the main agent of another one. Raises DMailRefusedError."""
        found = self._phones.get(to) if to else None
        found = found or self._router.find(to, self.project)
        if found is None:
            working = ", ".join(sorted(agent_id for agent_id in self._phones if agent_id)) or "none"
            raise DMailRefusedError(
                f"Nobody answers to {to!r}: it is neither self, parent, the id of an agent at work in this session "
                f"({working}), nor the id of an open session of this project."
            )
        return found
