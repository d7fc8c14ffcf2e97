"""The connection of `sould run`: what a bridge is for an editor, inside one process.

The daemon gets one end of a socket pair as the client's descriptors, exactly as it gets an editor's pipes. When the
daemon dies or is replaced, the same end is handed to the next one with the same token, and the conversation goes on
(D11).
"""

import asyncio
import os
import socket

import click

from sould.daemon.cli.output import visible
from sould.daemon.dial import BridgeError, read_umask, send
from sould.daemon.fdstream import FdStream
from sould.daemon.hello import PROTOCOL, VERSION, encode
from sould.daemon.launch import connect
from sould.daemon.paths import Paths

ATTEMPTS = 20


class Link:
    """Our end is `stream`; `serve` keeps the other end in a daemon's hands."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._token = os.urandom(16).hex()
        self._umask = read_umask()
        ours, self._theirs = socket.socketpair()
        descriptor = ours.detach()
        self.stream = FdStream(descriptor, descriptor)

    async def serve(self) -> None:
        """Return when the daemon has ended this connection; `stream` ends then, too.

        Raises:
            BridgeError, UnsafePathError: no daemon can be reached.
        """
        again = False
        try:
            while await self._attached(again=again):
                again = True
        finally:
            self._theirs.close()

    async def _attached(self, *, again: bool) -> bool:
        """One daemon's time; True when it went without a word, so that the next one is to be attached to."""
        with await asyncio.to_thread(self._connect, again=again) as control:
            control.setblocking(False)
            loop = asyncio.get_running_loop()
            buffer = b""
            while data := await _receive(loop, control):
                *lines, buffer = (buffer + data).split(b"\n")
                for line in lines:
                    word, _, rest = line.decode("utf-8", "replace").partition(" ")
                    if word == "say":
                        click.echo(visible(rest), err=True)
                    elif word == "exit":
                        return False
        return True

    def _connect(self, *, again: bool) -> socket.socket:
        theirs, stderr = self._theirs.fileno(), 2
        for _ in range(ATTEMPTS):
            connection = connect(self._paths, patient=again)
            try:
                send(connection, self._hello(again=again), (theirs, theirs, stderr))
            except (BrokenPipeError, ConnectionResetError):
                connection.close()  # it was leaving: the next one is being started
            else:
                return socket.socket(fileno=connection.detach())
        raise BridgeError(f"the daemon closes the connection at once; see {self._paths.log}, or run: sould doctor")

    def _hello(self, *, again: bool) -> bytes:
        fields = [
            (b"protocol", b"%d-%d" % PROTOCOL),
            (b"version", VERSION.encode()),
            (b"face", b"acp"),
            (b"pid", b"%d" % os.getpid()),
            (b"token", self._token.encode()),
            (b"cwd", os.getcwdb()),
            (b"umask", b"%o" % self._umask),
        ]
        if again:
            fields.append((b"reattach", b"1"))
        return encode([*fields, *((b"env", name + b"=" + value) for name, value in os.environb.items())])


async def _receive(loop: asyncio.AbstractEventLoop, control: socket.socket) -> bytes:
    try:
        return await loop.sock_recv(control, 4096)
    except ConnectionResetError:
        return b""
