"""`sould editor-mcp`: the editor tools for any other agent, as an MCP server over standard input and output, or HTTP.

A client of the daemon like any other (D41). Standard output is the protocol's own.
"""

import json
import os
import select
import sys
from typing import BinaryIO, Final

import click

from sould.daemon.cli.caller_check import refuse_agent
from sould.daemon.cli.conversation import DaemonConversation
from sould.daemon.cli.daemon_client import READ_SIZE, Params
from sould.daemon.cli.editormcp.tools import CHANGED, NAME, Server
from sould.daemon.cli.output import Command, CommandError

OTHER_TOOLS: Final = "_sould/editor/toolsChanged"


class Pipes:
    """MCP over standard input and output: a message a line; in between, what the daemon says of other tools. Knows no method."""

    def __init__(self, incoming: int, outgoing: BinaryIO) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._other_tools = False

    def heard(self, method: str, params: Params, /) -> None:
        """The daemon says something. A `Heard`."""
        self._other_tools = self._other_tools or method == OTHER_TOOLS

    def serve(self, server: Server, conversation: DaemonConversation) -> None:
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


def _taken(conversation: DaemonConversation) -> bool:
    """Whether the daemon is still there."""
    try:
        conversation.take()
    except CommandError:
        return False
    return True


@click.command("editor-mcp", cls=Command)
@click.option("--http", is_flag=True, help="Serve HTTP on 127.0.0.1 instead, with a token of this run.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="With --http: this port; 0 takes a free one.")
@click.option("-C", "--cwd", default="", help="The project's directory; the current one without it.")
def editor_mcp(*, http: bool, port: int, cwd: str) -> None:
    """Serve the editor tools to another agent, over MCP.

    Problems, symbols, references, rename and the like, from the editor that has the project open, else from language
    servers; and edits that are reviewed hunk by hunk. The agent starts this itself, in the project's directory.

    Examples:
      claude mcp add sould-editor -- sould editor-mcp
      codex mcp add sould-editor -- sould editor-mcp
      sould editor-mcp --http
    """
    refuse_agent("an agent of sould has these tools by itself")
    directory = os.path.realpath(cwd or os.getcwd())
    if not os.path.isdir(directory):
        raise CommandError(f"There is no directory {cwd}.")
    pipes = Pipes(sys.stdin.fileno(), sys.stdout.buffer)
    conversation = DaemonConversation(NAME) if http else DaemonConversation(NAME, pipes.heard)
    conversation.open()
    try:
        if http:
            _serve_http(Server(conversation, directory), port)
        else:
            pipes.serve(Server(conversation, directory, follows=True), conversation)
    finally:
        conversation.close()


def _serve_http(server: Server, port: int) -> None:
    """Until it is interrupted. Where it is, and the token, is said once, on standard output."""
    from sould.daemon.cli.editormcp.http import McpHttpServer  # noqa: PLC0415 -- only where somebody wants it

    with McpHttpServer(server, port) as serving:
        headers = {"Authorization": f"Bearer {serving.token}"}
        click.echo(json.dumps({"type": "http", "url": serving.url, "headers": headers}))
        sys.stdout.flush()
        serving.serve_forever()
