"""Changing a session's mode, with all that hangs on it: shown to every client, kept, and remembered for the project.

By the user's choice, by the agent that enters or leaves a plan, and by `/afk` in the middle of a turn. Where an event
leads is decided by `Modes` alone.
"""

from pathlib import Path
from typing import Final

from sould.agents.base.errors import OptionError
from sould.agents.journal.channel import Channel, Record
from sould.agents.journal.log import SessionLog
from sould.agents.permissions.policy import Mode
from sould.agents.permissions.visible import visible
from sould.agents.sessions.settings.modes import Event, Modes
from sould.agents.sessions.settings.options import OptionChoice, SessionOption, SessionOptions
from sould.agents.sessions.settings.projectmemory import ProjectMemory
from sould.agents.sessions.settings.state import SessionState
from sould.agents.soul.attachedclients import AttachedClients
from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    HookRequest,
    QuestionRequest,
    QuestionResponse,
    StatusUpdate,
    ToolCallRequest,
    WireMessage,
)
from sould.agents.wire.notice import notice

REFUSED: Final = "The user is away, so nobody can allow this. Go on without it, and say at the end what is left to do."
BY: Final = "/afk"
GONE: Final = (
    "You are away: full access for this session, questions are dismissed, and what would still ask is refused. "
    "`/afk off` ends this."
)
MODES: dict[Mode, OptionChoice] = {
    "plan": OptionChoice("plan", "Plan mode", "Read-only: no files are changed, no commands with effects run."),
    "ask": OptionChoice("ask", "Ask mode", "Every edit and every command that is not known to be harmless asks first."),
    "review": OptionChoice(
        "review", "Review mode", "Edits apply at once and are reviewed afterwards; commands ask first."
    ),
    "full": OptionChoice("full", "Full access", "Only secrets and changes to protected files ask."),
}
"""The modes on offer. `auto` needs a sandbox, and there is none yet."""
YOLO, AFK = "yolo", "afk"
"""Names users know for full access; `afk` also dismisses questions (D20)."""
EVENTS: Final[dict[str, Event]] = {
    "plan": "plan",
    "ask": "ask",
    "review": "review",
    "full": "full",
    YOLO: "full",
    AFK: "away",
}
"""What each value of the option stands for."""


class AwayMode:
    """What happens to the requests of a session while its user is away. Sees every one before any client does."""

    def __init__(self, channel: Channel, modes: Modes) -> None:
        self._channel = channel
        self._modes = modes
        channel.listen((QuestionRequest, ApprovalRequest), self._take)

    def require_none(self) -> None:
        """Raises OptionError: something waits for a person, and is not for a program to answer."""
        for request in self._channel.pending:
            match request:
                case QuestionRequest():
                    asked, command = ", ".join(each.question for each in request.questions), "answer"
                case ApprovalRequest():
                    asked, command = request.description, "approve"
                case HookRequest() | ToolCallRequest():
                    continue  # programs answer these
            title = visible(asked.partition("\n")[0][:100])
            raise OptionError(
                f"The session waits for an answer to `{title}`, and mode {AFK!r} would dismiss that. "
                f"Answer it first: `sould {command} {request.id[:8]}`."
            )

    def dismiss_pending(self) -> None:
        """The user has just gone: what waits for them waits no longer."""
        for request in self._channel.pending:
            self._dismiss(request)

    def _take(self, record: Record) -> None:
        if self._modes.away:
            self._dismiss(record.message)

    def _dismiss(self, message: WireMessage) -> None:
        match message:
            case QuestionRequest():
                self._channel.resolve(QuestionResponse(request_id=message.id), BY)
            case ApprovalRequest():
                refusal = ApprovalResponse(request_id=message.id, response="reject", feedback=REFUSED)
                self._channel.resolve(refusal, BY)
            case HookRequest() | ToolCallRequest() | _:
                return  # programs answer these


class ModeSwitch:
    """The `mode` option of one session."""

    def __init__(
        self,
        modes: Modes,
        state: SessionState,
        log: SessionLog,
        away_mode: AwayMode,
        options: SessionOptions,
        clients: AttachedClients,
        project: ProjectMemory,
        cwd: Path,
    ) -> None:
        """`project` remembers what was chosen last in `cwd`."""
        self._modes = modes
        self._state = state
        self._log = log
        self._away_mode = away_mode
        self._options = options
        self._clients = clients
        self._project = project
        self._cwd = cwd

    @property
    def planning(self) -> bool:
        """See `Modes`."""
        return self._modes.planning

    @property
    def away(self) -> bool:
        """See `Modes`."""
        return self._modes.away

    def option(self) -> SessionOption:
        """See `OptionSource`."""
        description = "What happens without asking."
        choices, names = tuple(MODES.values()), frozenset((YOLO, AFK))
        return SessionOption("mode", "Mode", "mode", description, self._modes.mode, choices, names)

    async def choose(self, value: str, client_id: str) -> None:
        """See `OptionSource`. Remembered for the project where the client chooses for it.

        A client's choice answers nothing that waits in the session, as the user's own `/afk` (of no client) does.
        """
        if value == AFK and client_id:
            self._away_mode.require_none()
        self._take(EVENTS[value])
        if self._clients.chooses_for_project(client_id):
            self._project.remember_mode(self._cwd, self._modes.mode)

    async def enter_plan(self) -> None:
        """From now on nothing is changed; the project's usual mode stays what the user chose."""
        await self._switch("plan")

    async def leave_plan(self) -> None:
        """Back to the mode before."""
        await self._switch("plan ends")

    async def end_full_access(self) -> None:
        """Back to the mode before full access; the user is there again."""
        if self._modes.mode == "full":
            self._take("full access ends")
            self._project.remember_mode(self._cwd, self._modes.mode)
            await self._options.keep()

    def go_away(self) -> None:
        """`/afk` while a turn runs: it holds for this turn already, and answers what it is asking."""
        self._take("away")
        self._options.show()
        self._log.publish(notice("afk", GONE))

    async def _switch(self, event: Event) -> None:
        self._take(event)
        await self._options.keep()

    def _take(self, event: Event) -> None:
        planned = self._modes.planning
        self._modes.take(event)
        self._state.choose_mode(self._modes.remembered)
        if self._modes.planning != planned:
            self._log.publish(StatusUpdate(plan_mode=not planned))
        if self._modes.away:
            self._away_mode.dismiss_pending()
