"""Commands that are programs of their own: the bridge and the daemon. Here so that `--help` lists and explains them."""

import os
import sys

import click

from sould.daemon.cli.output import Command
from sould.daemon.wire.arguments import OPTIONS


@click.command(cls=Command, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def acp(arguments: tuple[str, ...]) -> None:
    """Speak ACP (Agent Client Protocol) on standard input and output; for editors.

    Editors start this. It connects to the daemon, which is started when it is not running, and hands the editor's
    pipes over; `sould status` shows it then. `sould acp login` is `sould login`, for editors that start a log-in.
    `--skills-dir DIR`, as often as wanted, gives its sessions the skills in DIR instead of the project's and the user's.

    Zed, settings.json:
      "agent_servers": {"sould": {"type": "custom", "command": "sould", "args": ["acp"], "env": {}}}

    JetBrains, ~/.jetbrains/acp.json (full path wanted):
      {"agent_servers": {"sould": {"command": "/path/to/sould", "args": ["acp"], "env": {}}}}
    """
    if arguments[:1] == ("login",):
        from sould.daemon.cli.login import login  # noqa: PLC0415 -- only when an editor's terminal asks for it

        login.main(list(arguments[1:]), "sould login", standalone_mode=False)
        return
    from sould.daemon.bridge import connect  # noqa: PLC0415 -- reads sys.argv and replaces this process

    sys.argv = ["sould", "acp", *arguments]
    connect()


@click.command(cls=Command, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def lsp(arguments: tuple[str, ...]) -> None:
    """Speak LSP (Language Server Protocol) on standard input and output; for editors.

    Editors start this beside their other language servers, for all files. Changes of agents are reviewed with it in the
    editor's own buffers: keep and reject above each hunk, as code lenses and code actions. docs/lsp.md has it all.

    Example, for Neovim 0.11 and newer, in init.lua:
      vim.lsp.config('sould', {cmd = {'sould', 'lsp'}, root_markers = {'.git'}})
      vim.lsp.enable('sould')
    """
    from sould.daemon.bridge import connect  # noqa: PLC0415 -- reads sys.argv and replaces this process

    sys.argv = ["sould", "lsp", *arguments]
    connect()


@click.command(cls=Command, params=list(OPTIONS))
def wire(**_: object) -> None:
    """Speak Wire on standard input and output: JSON-RPC lines, for programs that drive the agent.

    It connects to the daemon, which is started when it is not running. One session, new or continued; docs/wire.md has
    the messages. The session is kept, and can be opened in any editor meanwhile.

    Examples:
      sould wire --work-dir ~/project
      sould wire --continue --mode review
    """
    from sould.daemon.bridge import connect  # noqa: PLC0415 -- reads sys.argv and replaces this process

    connect()


@click.command(cls=Command, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def daemon(arguments: tuple[str, ...]) -> None:
    """Run the daemon in the foreground; for service managers and debugging.

    Nobody needs this in daily use: commands and editors start the daemon when it is not running. When one is running
    already this says so and exits 0. The log goes to standard error. `sould service install` has systemd start it.

    Examples:
      sould daemon
      SOULD_LOG=debug sould daemon
      systemd-run --user sould daemon
    """
    from sould.daemon.activation import become_daemon, has_socket  # noqa: PLC0415 -- as below

    if has_socket(os.environ, os.getpid()):
        become_daemon()
    from sould.daemon.process.main import main  # noqa: PLC0415 -- brings asyncio and the server with it

    main(arguments)
