"""MCP over standard input and output: a message a line; in between, what the daemon says of other tools. Knows no method."""

import os
import select
from typing import BinaryIO, Final

from sould.daemon.cli.conversation import Conversation
from sould.daemon.cli.daemon_client import READ_SIZE, Params
from sould.daemon.cli.editormcp.tools import CHANGED, Server
from sould.daemon.cli.output import CommandError

OTHER_TOOLS: Final = "_sould/editor/toolsChanged"


class Pipes:
    """One agent's."""

    def __init__(self, incoming: int, outgoing: BinaryIO) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._other_tools = False

    def heard(self, method: str, params: Params, /) -> None:
        """The daemon says something. A `Heard`."""
        self._other_tools = self._other_tools or method == OTHER_TOOLS

    def serve(self, server: Server, conversation: Conversation) -> None:
        """Until there is no more input. A daemon that is gone is said in the answers."""
        begun, daemon = b"", True
        while True:
            readable, _, _ = select.select([self._incoming, *(conversation.descriptors if daemon else ())], [], [])
            if self._incoming in readable:
                data = os.read(self._incoming, READ_SIZE)
                *lines, begun = (begun + data).split(b"\n")
                for line in lines if data else (begun,):
                    self._answer(server, line)
                if not data:
                    return
            daemon = daemon and _taken(conversation)  # also what came behind an answer
            if self._other_tools:
                self._other_tools = False
                self._write(CHANGED)

    def _answer(self, server: Server, line: bytes) -> None:
        if line.strip() and (answer := server.answer(line)) is not None:
            self._write(answer)

    def _write(self, message: bytes) -> None:
        self._outgoing.write(message)
        self._outgoing.flush()


def _taken(conversation: Conversation) -> bool:
    """Whether the daemon is still there."""
    try:
        conversation.take()
    except CommandError:
        return False
    return True
