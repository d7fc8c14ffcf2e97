"""The connection of `sould run`: what a bridge is for an editor, inside one process.

The daemon gets one end of a socket pair as the client's descriptors, exactly as it gets an editor's pipes. When the
daemon dies or is replaced, the same end is handed to the next one with the same token, and the conversation goes on
(D11). Nothing here knows what the bytes mean, and nothing waits but `attach`.
"""

import os

import click

from sould.daemon.cli.output import visible
from sould.daemon.dial import BridgeError, greet, read_umask, socket
from sould.daemon.hello import PROTOCOL, VERSION, encode
from sould.daemon.launch import connect
from sould.daemon.paths import Paths, UnsafePathError


class Link:
    """Our end is `conversation`; `control` tells what becomes of the daemon that has the other end."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._token = os.urandom(16).hex()
        self._umask = read_umask()
        self.conversation, self._theirs = socket.socketpair()
        self.control: socket.socket | None = None
        """None before `attach` and when no daemon will come any more."""
        self._heard = b""
        self.error = ""
        """Why no daemon could be reached."""

    def attach(self, *, again: bool = False) -> None:
        """Hand the other end to the daemon, which is started when none runs; `error` is set when that fails.

        Our end reaches its end when no daemon has the other one.
        """
        try:
            self.control = self._connected(again=again)
        except (BridgeError, UnsafePathError) as error:
            self.error = str(error)
            self._end()

    def listen(self) -> None:
        """Take what the daemon says beside the conversation: to be called when `control` is readable."""
        assert self.control is not None
        try:
            data = self.control.recv(4096)
        except ConnectionResetError:
            data = b""
        *lines, self._heard = (self._heard + data).split(b"\n")
        for line in lines:
            word, _, rest = line.decode("utf-8", "replace").partition(" ")
            if word == "say":
                click.echo(visible(rest), err=True)
            elif word == "exit":
                self._end()
                return
        if not data:  # it went without a word, so the next one is to be attached to
            self._heard = b""
            self.control.close()
            self.attach(again=True)

    def close(self) -> None:
        """Let go of the conversation."""
        self._end()
        self.conversation.close()

    def _end(self) -> None:
        if self.control is not None:
            self.control.close()
            self.control = None
        self._theirs.close()

    def _connected(self, *, again: bool) -> socket.socket:
        theirs, stderr = self._theirs.fileno(), 2
        handed = (theirs, theirs, stderr)
        return greet(lambda: connect(self._paths, patient=again), self._hello(again=again), handed, self._paths)

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
