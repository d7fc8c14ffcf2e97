"""The library for MCP is loaded when a session first has a server, and only then (D9)."""

import subprocess
import sys

IMPORTS = (
    "import sould.acp.server.server, sould.agents.sessions.host, "
    "sould.daemon.process.compose, sould.daemon.process.daemon_methods, sys; "
)
LOADED = "print(sorted({'fastmcp', 'mcp', 'mcp_types'} & set(sys.modules)))"


def test_a_daemon_without_servers_does_not_load_it() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTS + LOADED], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
