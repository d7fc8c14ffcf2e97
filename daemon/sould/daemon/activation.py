"""What a service manager hands to the daemon and is told by it: systemd's socket and its notifications.

`sould service install` writes the unit whose `ExecStart` is `sould daemon`. Nothing here needs systemd's libraries, and
nothing is done where its variables are not set.
"""

import os
import socket
from collections.abc import Mapping
from typing import NoReturn

from sould.daemon.launch import command, environment

NOTIFY = "NOTIFY_SOCKET"
FIRST = 3
"""The descriptor that systemd's protocol begins with."""


def has_socket(given: Mapping[str, str], pid: int) -> bool:
    """Whether the process `pid`, whose environment this is, was handed one listening socket."""
    return given.get("LISTEN_PID") == str(pid) and given.get("LISTEN_FDS") == "1"


def become_daemon() -> NoReturn:
    """Run the daemon on the socket in place of this process, which keeps its pid and has imported more than a daemon needs."""
    arguments = command("--listen", str(FIRST))
    os.execve(arguments[0], arguments, environment(os.environ) | notified(os.environ))


def notified(given: Mapping[str, str]) -> dict[str, str]:
    """What a daemon needs to know of an environment to tell its service manager how it is."""
    return {NOTIFY: given[NOTIFY]} if given.get(NOTIFY) else {}


def notify(state: str) -> None:
    """Tell the service manager, if there is one: `READY=1`, `MAINPID=…`. It may be gone, which is no trouble of ours."""
    address = os.environ.get(NOTIFY, "")
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | getattr(socket, "SOCK_CLOEXEC", 0)) as told:
        try:
            told.sendto(state.encode(), f"\0{address[1:]}" if address.startswith("@") else address)
        except OSError:
            return
