"""`sould editor-mcp`: the editor tools for any other agent, as an MCP server over standard input and output, or HTTP.

A client of the daemon like any other (D41). Standard output is the protocol's own.
"""

import json
import os
import sys

import click

from sould.daemon.cli.caller_check import refuse_agent
from sould.daemon.cli.conversation import Conversation
from sould.daemon.cli.editormcp.pipes import Pipes
from sould.daemon.cli.editormcp.tools import NAME, Server
from sould.daemon.cli.helptext import Command
from sould.daemon.cli.output import CommandError


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
    conversation = Conversation(NAME) if http else Conversation(NAME, pipes.heard)
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
