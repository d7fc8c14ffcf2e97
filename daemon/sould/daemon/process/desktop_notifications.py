"""Telling the user, outside any editor, that something waits for them: only when it has waited for a while and nobody is there.

Somebody is there who has a client that says something: types, saves, answers, looks elsewhere. What is answered anywhere is
taken back. Nothing is decided here, and time never answers: a notification that nobody sees changes nothing.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Final, TypeAlias

from sould.agents.base.config import AttentionSettings
from sould.agents.base.errors import ConfigError
from sould.agents.base.liveconfig import LiveConfig
from sould.agents.base.tasks import in_time
from sould.agents.permissions.visible import visible
from sould.agents.sessions.inbox import Inbox, Waiting
from sould.agents.wire.display import ShellBlock
from sould.agents.wire.messages import ApprovalRequest
from sould.daemon.process.notifiers import Notification, Notifier, UserCommand, desktop

_log = logging.getLogger(__name__)

MOST: Final = 5
"""Notifications at a time; what waits besides is in the inbox."""
LONGEST: Final = 160
"""Characters of one."""

LastWord: TypeAlias = Callable[[], float]
"""When a client said something last, by the loop's clock; 0 for never."""


class Attention:
    """Of one daemon; `run` is its whole life."""

    def __init__(self, inbox: Inbox, config: LiveConfig, environment: Mapping[str, str], last_word: LastWord) -> None:
        """`environment`: the daemon's own, for the programs that notify."""
        self._inbox = inbox
        self._config = config
        self._environment = environment
        self._last_word = last_word
        self._since: dict[str, float] = {}
        """By the loop's clock: what waits, as far as it was seen."""
        self._shown: dict[str, tuple[Notifier, Notification]] = {}
        self._desktop = desktop(environment)
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Until it is cancelled."""
        with closing(self._inbox.follow(lambda _: self._changed.set())):
            while True:
                self._changed.clear()
                patience = await self._look()
                await in_time(patience, self._changed.wait())

    async def _look(self) -> float | None:
        """Show what is due, take back what has ended; seconds until the next is due, None for never."""
        waiting = {each.request.id: each for each in self._inbox.live}
        now = asyncio.get_running_loop().time()
        self._since = {key: self._since.get(key, now) for key in waiting}
        for key in [each for each in self._shown if each not in waiting]:
            notifier, notification = self._shown.pop(key)
            await notifier.withdraw(notification)
        settings = self._settings()
        notifier = self._notifier(settings)
        if notifier is None:
            return None
        due = {key: max(at, self._last_word()) + settings.after_s - now for key, at in self._since.items()}
        left = [key for key in due if key not in self._shown]
        for key in left:
            if due[key] <= 0 and len(self._shown) < MOST:
                notification = self._shown.setdefault(key, (notifier, _worded(waiting[key])))[1]
                await notifier.show(notification)
        later = [due[key] for key in left if due[key] > 0]
        return min(later, default=None)

    def _settings(self) -> AttentionSettings:
        try:
            return self._config.look().attention
        except ConfigError as error:
            _log.info("nobody is notified: %s", error.message)
            return AttentionSettings(notify="off")

    def _notifier(self, settings: AttentionSettings) -> Notifier | None:
        if isinstance(settings.notify, tuple):
            return UserCommand(settings.notify, self._environment)
        return self._desktop if settings.notify == "auto" else None


def _worded(waiting: Waiting) -> Notification:
    """In words that begin with ours, on one line each."""
    request, project = waiting.request, _line(os.path.basename(waiting.session.cwd) or str(waiting.session.cwd))
    if isinstance(request, ApprovalRequest):
        commands = [block.command for block in request.display if isinstance(block, ShellBlock)]
        what = f"wants to run: {commands[0]}" if commands else f"asks: {request.description}"
    else:
        what = f"asks: {request.questions[0].question if request.questions else 'a question'}"
    title = f"sould waits for you in {project}"
    return Notification(request.id, title, _line(f"An agent {what}"), waiting.session.id, str(waiting.session.cwd))


def _line(text: str) -> str:
    flat = " ".join(visible(text[: 10 * LONGEST]).split())
    return flat if len(flat) <= LONGEST else f"{flat[: LONGEST - 1]}…"
