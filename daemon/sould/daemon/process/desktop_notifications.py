"""Telling the user, outside any editor, that something waits for them: only when it has waited for a while and nobody is there.

Somebody is there who has a client that says something: types, saves, answers, looks elsewhere. What is answered anywhere is
taken back. Nothing is decided here, and time never answers: a notification that nobody sees changes nothing.
"""

import asyncio
import json
import logging
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Final, Literal, Protocol, TypeAlias

from msgspec import Struct

from sould.agents.base.config import AttentionSettings
from sould.agents.base.errors import ConfigError
from sould.agents.base.liveconfig import LiveConfig
from sould.agents.base.tasks import in_time
from sould.agents.permissions.visible import visible
from sould.agents.sessions.inbox import Inbox, Waiting
from sould.agents.wire.display import ShellBlock
from sould.agents.wire.messages import ApprovalRequest

PATIENCE: Final = 10.0
"""Seconds that a program may take."""
NAME: Final = "sould"
_BUS: Final = (
    "gdbus", "call", "--session", "--timeout", "5", "--dest", "org.freedesktop.Notifications",
    "--object-path", "/org/freedesktop/Notifications", "--method",
)  # fmt: skip
_SCRIPT: Final = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)
_log = logging.getLogger(__name__)
MOST: Final = 5
"""Notifications at a time; what waits besides is in the inbox."""
LONGEST: Final = 160
"""Characters of one."""
LastWord: TypeAlias = Callable[[], float]
"""When a client said something last, by the loop's clock; 0 for never."""


class DesktopNotification(Struct, frozen=True):
    """What is told: `title` and `text` are one line each, and begin with words of ours."""

    id: str
    title: str
    text: str
    session: str
    project: str


class Notifier(Protocol):
    """Shows notifications, and takes them back where that is possible."""

    async def show(self, notification: DesktopNotification) -> None:
        """Show it; whatever goes wrong is logged."""
        ...

    async def withdraw(self, notification: DesktopNotification) -> None:
        """It was answered."""
        ...


def desktop(environment: Mapping[str, str]) -> "Notifier | None":
    """The platform's own; None where there is none, or nobody's desktop."""

    def has(program: str) -> bool:
        return shutil.which(program, path=environment.get("PATH", os.defpath)) is not None

    if sys.platform == "darwin":
        return TerminalNotifier(environment) if has("terminal-notifier") else OsaScript(environment)
    bus = environment.get("DBUS_SESSION_BUS_ADDRESS") or os.path.exists(f"{environment.get('XDG_RUNTIME_DIR', '')}/bus")
    if not bus:
        return None  # a program that asks for a bus would start one
    if has("gdbus"):
        return Freedesktop(environment)
    return NotifySend(environment) if has("notify-send") else None


class Freedesktop:
    """org.freedesktop.Notifications, over GLib's `gdbus`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._shown: dict[str, str] = {}
        """The server's number by ours."""

    async def show(self, notification: DesktopNotification) -> None:
        """See `Notifier`."""
        text = notification.text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        said = [_literal(NAME), "uint32 0", _literal(""), _literal(notification.title), _literal(text)]
        method = "org.freedesktop.Notifications.Notify"
        answer = await _run([*_BUS, method, *said, "@as []", "@a{sv} {}", "int32 0"], self._environment)
        number = "".join(filter(str.isdigit, answer.removeprefix("(uint32 ").partition(",")[0]))
        if number:
            self._shown[notification.id] = number

    async def withdraw(self, notification: DesktopNotification) -> None:
        """See `Notifier`."""
        number = self._shown.pop(notification.id, None)
        if number is not None:
            method = "org.freedesktop.Notifications.CloseNotification"
            await _run([*_BUS, method, f"uint32 {number}"], self._environment)


class NotifySend:
    """`notify-send`, which takes nothing back."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    async def show(self, notification: DesktopNotification) -> None:
        """See `Notifier`."""
        await _run(
            ["notify-send", f"--app-name={NAME}", "--", notification.title, notification.text], self._environment
        )

    async def withdraw(self, notification: DesktopNotification) -> None:
        """See `Notifier`."""


class TerminalNotifier:
    """macOS, by `terminal-notifier`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    async def show(self, notification: DesktopNotification) -> None:
        """See `Notifier`."""
        said = ["-title", notification.title, "-message", notification.text, "-group", f"{NAME}-{notification.id}"]
        await _run(["terminal-notifier", *said], self._environment)

    async def withdraw(self, notification: DesktopNotification) -> None:
        """See `Notifier`."""
        await _run(["terminal-notifier", "-remove", f"{NAME}-{notification.id}"], self._environment)


class OsaScript:
    """macOS without anything installed, which takes nothing back."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    async def show(self, notification: DesktopNotification) -> None:
        """See `Notifier`."""
        script = [word for line in _SCRIPT for word in ("-e", line)]
        await _run(["osascript", *script, notification.title, notification.text], self._environment)

    async def withdraw(self, notification: DesktopNotification) -> None:
        """See `Notifier`."""


class UserCommand:
    """A program of the user's: it is given JSON on its standard input, with the `event` `waiting` or `ended`."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command = command
        self._environment = environment

    async def show(self, notification: DesktopNotification) -> None:
        """See `Notifier`."""
        await self._tell("waiting", notification)

    async def withdraw(self, notification: DesktopNotification) -> None:
        """See `Notifier`."""
        await self._tell("ended", notification)

    async def _tell(self, event: Literal["waiting", "ended"], told: DesktopNotification) -> None:
        said = {"event": event, "id": told.id, "title": told.title, "text": told.text}
        data = json.dumps({**said, "session": told.session, "project": told.project})
        await _run(self._command, self._environment, data.encode())


def _literal(text: str) -> str:
    """A text as GVariant writes it: `gdbus` reads its arguments so."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


async def _run(command: Sequence[str], environment: Mapping[str, str], said: bytes = b"") -> str:
    """What it prints; "" when it fails, or takes too long and is ended."""
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, env=environment, cwd="/"
        )
    except (OSError, ValueError) as error:
        _log.warning("nobody was notified: %s: %s", command[0], error)
        return ""
    try:
        async with asyncio.timeout(PATIENCE):
            printed, _ = await process.communicate(said)
    except TimeoutError:
        _log.warning("nobody was notified: %s took longer than %s s", command[0], PATIENCE)
        return ""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        _log.warning("nobody was notified: %s ended with %s", command[0], process.returncode)
        return ""
    return printed.decode(errors="replace").strip()


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
        self._shown: dict[str, tuple[Notifier, DesktopNotification]] = {}
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


def _worded(waiting: Waiting) -> DesktopNotification:
    """In words that begin with ours, on one line each."""
    request, project = waiting.request, _line(os.path.basename(waiting.session.cwd) or str(waiting.session.cwd))
    if isinstance(request, ApprovalRequest):
        commands = [block.command for block in request.display if isinstance(block, ShellBlock)]
        what = f"wants to run: {commands[0]}" if commands else f"asks: {request.description}"
    else:
        what = f"asks: {request.questions[0].question if request.questions else 'a question'}"
    title = f"sould waits for you in {project}"
    return DesktopNotification(
        request.id, title, _line(f"An agent {what}"), waiting.session.id, str(waiting.session.cwd)
    )


def _line(text: str) -> str:
    flat = " ".join(visible(text[: 10 * LONGEST]).split())
    return flat if len(flat) <= LONGEST else f"{flat[: LONGEST - 1]}…"
