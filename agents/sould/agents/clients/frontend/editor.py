"""What clients tell of the editor tools they serve: the methods below `_sould/editor` (docs/editor-clients.md)."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import to_builtins

from sould.agents.clients.editor.shapes import (
    Context,
    ContextParams,
    OfferedTool,
    OfferedTools,
    RunAnswer,
    RunError,
    RunParams,
    StateParams,
    ToolsParams,
)
from sould.agents.clients.frontend.connection import ClientConnection
from sould.agents.clients.frontend.routes import Route, route, wrong
from sould.agents.clients.params import Json, absolute
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.site import OtherAgent

STATE: Final = "_sould/editor/state"
FORGOTTEN: Final = "_sould/editor/forgotten"
CHANGED: Final = "_sould/editor/toolsChanged"


async def state(client: ClientConnection, params: StateParams) -> Json:
    """What the client can do, and how its window stands."""
    editor = await client.editor_tools()
    await editor.tell(params)
    editors = (await client.host()).editors
    editors.add(editor)
    if params.focused:
        editors.focused(editor.id)
    return {}


async def tools(client: ClientConnection, params: ToolsParams) -> Json:
    """What an agent that is not ours is offered in a directory; the client is told when that changes."""
    agent = await _agent(client, params.cwd, "")
    host = await client.host()
    offered = host.other_agents.offered(agent)
    known = frozenset(tool.name for tool in offered)

    def changed() -> None:
        nonlocal known
        now = frozenset(tool.name for tool in host.other_agents.offered(agent))
        if now != known and not client.connection.gone:
            known = now
            client.connection.notify(CHANGED, {"cwd": params.cwd})

    host.editors.watch(client.id, changed)
    shown = (OfferedTool(tool.name, tool.description, tool.does, tool.schema) for tool in offered)
    return to_builtins(OfferedTools(tuple(shown)))


async def run(client: ClientConnection, params: RunParams) -> Json:
    """One call of such an agent."""
    agent = await _agent(client, params.cwd, params.agent)
    others = (await client.host()).other_agents
    try:
        done = await others.call(agent, params.tool, params.arguments, os.urandom(8).hex())
    except EditorToolError as error:
        return to_builtins(RunAnswer(error=RunError(error.code, error.worded)))
    if done.rejected is not None:
        return to_builtins(RunAnswer(error=RunError("denied", done.rejected.message)))
    return to_builtins(RunAnswer(done.data, done.meta, partial=done.failed))


async def context(client: ClientConnection, params: ContextParams) -> Json:
    """What is chosen for a directory, by now. A session takes it from its own directory, as it was opened."""
    others, cwd = (await client.host()).other_agents, absolute(params.cwd, "cwd")
    if params.sharing is not None:
        await asyncio.to_thread(others.share, cwd, params.sharing)
    return to_builtins(Context(await asyncio.to_thread(others.sharing, cwd)))


async def _agent(client: ClientConnection, cwd: str, name: str) -> OtherAgent:
    directory = Path(await asyncio.to_thread(os.path.realpath, absolute(cwd, "cwd")))
    if not await asyncio.to_thread(directory.is_dir):
        raise wrong("cwd", f"There is no directory {cwd[:200]!r}.")
    process = client.services.client
    return OtherAgent(name or client.name, directory, process.environment, process.umask)


METHODS: Final[Mapping[str, Route[ClientConnection]]] = {
    STATE: route(StateParams, state, notification=True),
    "_sould/editor/tools": route(ToolsParams, tools),
    "_sould/editor/run": route(RunParams, run),
    "_sould/editor/context": route(ContextParams, context),
}
"""By name."""
