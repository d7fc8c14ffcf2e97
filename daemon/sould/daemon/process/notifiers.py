"""The programs that tell a user something outside any editor: the desktop's own, or one of the user's. Never waits long, never fails.

What is told comes from models and repositories. It reaches a program as one argument or as JSON on its standard input, never
through a shell, and never where an option could stand.
"""

import asyncio
import json
import logging
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Final, Literal, Protocol

from msgspec import Struct

_log = logging.getLogger(__name__)

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


class Notification(Struct, frozen=True):
    """What is told: `title` and `text` are one line each, and begin with words of ours."""

    id: str
    title: str
    text: str
    session: str
    project: str


class Notifier(Protocol):
    """Shows notifications, and takes them back where that is possible."""

    async def show(self, notification: Notification) -> None:
        """Show it; whatever goes wrong is logged."""
        ...

    async def withdraw(self, notification: Notification) -> None:
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

    async def show(self, notification: Notification) -> None:
        """See `Notifier`."""
        text = notification.text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        said = [_literal(NAME), "uint32 0", _literal(""), _literal(notification.title), _literal(text)]
        method = "org.freedesktop.Notifications.Notify"
        answer = await _run([*_BUS, method, *said, "@as []", "@a{sv} {}", "int32 0"], self._environment)
        number = "".join(filter(str.isdigit, answer.removeprefix("(uint32 ").partition(",")[0]))
        if number:
            self._shown[notification.id] = number

    async def withdraw(self, notification: Notification) -> None:
        """See `Notifier`."""
        number = self._shown.pop(notification.id, None)
        if number is not None:
            method = "org.freedesktop.Notifications.CloseNotification"
            await _run([*_BUS, method, f"uint32 {number}"], self._environment)


class NotifySend:
    """`notify-send`, which takes nothing back."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    async def show(self, notification: Notification) -> None:
        """See `Notifier`."""
        await _run(
            ["notify-send", f"--app-name={NAME}", "--", notification.title, notification.text], self._environment
        )

    async def withdraw(self, notification: Notification) -> None:
        """See `Notifier`."""


class TerminalNotifier:
    """macOS, by `terminal-notifier`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    async def show(self, notification: Notification) -> None:
        """See `Notifier`."""
        said = ["-title", notification.title, "-message", notification.text, "-group", f"{NAME}-{notification.id}"]
        await _run(["terminal-notifier", *said], self._environment)

    async def withdraw(self, notification: Notification) -> None:
        """See `Notifier`."""
        await _run(["terminal-notifier", "-remove", f"{NAME}-{notification.id}"], self._environment)


class OsaScript:
    """macOS without anything installed, which takes nothing back."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    async def show(self, notification: Notification) -> None:
        """See `Notifier`."""
        script = [word for line in _SCRIPT for word in ("-e", line)]
        await _run(["osascript", *script, notification.title, notification.text], self._environment)

    async def withdraw(self, notification: Notification) -> None:
        """See `Notifier`."""


class UserCommand:
    """A program of the user's: it is given JSON on its standard input, with the `event` `waiting` or `ended`."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command = command
        self._environment = environment

    async def show(self, notification: Notification) -> None:
        """See `Notifier`."""
        await self._tell("waiting", notification)

    async def withdraw(self, notification: Notification) -> None:
        """See `Notifier`."""
        await self._tell("ended", notification)

    async def _tell(self, event: Literal["waiting", "ended"], told: Notification) -> None:
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
