"""Sessions with MCP servers, in this process: configuration files, states to wait for, results of calls."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sould.agents.sessions.session import Session
from sould.agents.soul.session_request import McpServer, SessionRequest
from sould.agents.wire.messages import McpServerStatus, StatusUpdate, ToolResult, ToolReturn
from soultest.bench import Bench, Watcher, call, finish

SERVER = str(Path(__file__).parents[1] / "mcpserver.py")
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def entry(mode: str = "ok", mark: str = "", **more: object) -> dict[str, Any]:
    """An entry of `mcp.json` that starts the test server."""
    return {"command": sys.executable, "args": [SERVER, mode, mark], **more}


def asked(name: str, mode: str = "ok", mark: str = "") -> McpServer:
    """The same as an editor passes it."""
    return McpServer(name, "stdio", sys.executable, (SERVER, mode, mark))


def configure(path: Path, servers: Mapping[str, object]) -> None:
    """Write an `mcp.json`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers}))


def user_file(bench: Bench) -> Path:
    """The user's own file."""
    return bench.config / "mcp.json"


async def open_session(bench: Bench, *servers: McpServer, **environment: str) -> Watcher:
    """A new session, watched by somebody who approves of everything."""
    return Watcher(await new_session(bench, *servers, **environment))


async def new_session(bench: Bench, *servers: McpServer, **environment: str) -> Session:
    """A new session of an editor with these servers and variables."""
    home = bench.root / "home"
    home.mkdir(exist_ok=True)
    opening = SessionRequest(
        bench.project, environment={**ENVIRONMENT, "HOME": str(home), **environment}, mcp_servers=servers
    )
    return await bench.host.new(opening)


async def state_of(watcher: Watcher, name: str, status: str) -> McpServerStatus:
    """Wait until the server is said to be in this state."""

    def found(update: StatusUpdate) -> McpServerStatus | None:
        servers = update.mcp_status.servers if update.mcp_status else ()
        return next((server for server in servers if (server.name, server.status) == (name, status)), None)

    update = await watcher.wait_for(StatusUpdate, lambda update: found(update) is not None)
    server = found(update)
    assert server is not None
    return server


async def result_of(bench: Bench, watcher: Watcher, tool: str, **arguments: object) -> ToolReturn:
    """Have the model call a tool, and what came of it."""
    bench.script(call(tool, **arguments), "text: done")
    before = len(watcher.of(ToolResult))
    await finish(watcher.session, f"call {tool}")
    return watcher.of(ToolResult)[before].return_value
