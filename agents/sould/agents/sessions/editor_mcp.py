"""Editor tools for agents that are not ours, over MCP: the same catalogue, judged by the same rules, reviewed as the same hunks.

Such an agent asks its own user before it calls; here nobody can be asked. What a session of ours in mode `review` would ask about
is denied: what lies outside the project, secrets, protected files, what runs something and no rule allows.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.base.text import faulty
from sould.agents.base.workspace import WorkspaceError
from sould.agents.files.projects.clientfiles import ClientFiles
from sould.agents.files.projects.port import no_commands
from sould.agents.files.projects.sessionfiles import Author, SessionFiles
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.permissions.policy import CallExternal
from sould.agents.sessions.livesessions import LiveSessions
from sould.agents.sessions.noninteractive_policy import Unasked
from sould.agents.sessions.services import HostServices
from sould.agents.toolapi.base import RefusedError, ToolCallContext
from sould.agents.tools.editor.calls import EditorCallDone, EditorCalls, as_tool_error
from sould.agents.tools.editor.catalogue import CATALOGUE, EditorTool
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.site import ON_DISK, SHARED, OtherAgent, Sharing, Site
from sould.agents.tools.editor.writing import EditWriter

NOT_SHARED: Final = (
    "The user does not share with agents what they look at in this project. They choose that by `/editor-context on` in a "
    'session of sould, or in a terminal: sould run "/editor-context on"'
)


class OtherAgents:
    """The editor tools of a daemon, for any of them."""

    def __init__(self, services: HostServices, live: LiveSessions) -> None:
        self._services = services
        self._live = live
        self._unasked = Unasked(services)

    def sharing(self, cwd: Path) -> Sharing:
        """Whether agents in a directory may know what its user looks at."""
        return self._services.memory.editor_context(cwd)

    def share(self, cwd: Path, sharing: Sharing) -> None:
        """Remember what the user chose."""
        self._services.memory.remember_editor_context(cwd, sharing)

    def offered(self, agent: OtherAgent) -> Sequence[EditorTool]:
        """The tools that somebody can serve where it works, in the catalogue's order."""
        served = {*ON_DISK, *self._services.editors.served(self._site(agent))}
        return [tool for name, tool in CATALOGUE.items() if name in served]

    async def call(self, agent: OtherAgent, name: str, arguments: Mapping[str, object], call_id: str) -> EditorCallDone:
        """Do it.

        Raises:
            EditorToolError
            OSError, SouldError: the project cannot be opened.
        """
        tool = CATALOGUE.get(name)
        if tool is None:
            raise EditorToolError("invalid", f"There is no tool {name[:80]!r}.")
        try:
            given = tool.params.model_validate(arguments)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise EditorToolError("invalid", faulty(".".join(map(str, first["loc"])) or "arguments", first)) from error
        if name in SHARED and self._services.memory.editor_context(agent.cwd) != "on":
            return EditorCallDone({"shared": False}, {"note": NOT_SHARED})
        call = ToolCallContext(call_id, 0, tool=name)
        async with self._files(agent) as (recorded, approval):
            files = CallFiles(recorded, approval, self._services.files.projects.locks).for_call(call)
            calls = EditorCalls(self._services.editors, self._site(agent), recorded.projects)
            try:
                if tool.does == "run":
                    await approval.request(call, CallExternal(name, arguments), sender=name, description=name)
                return await calls.make(tool, given, files, EditWriter(files, approval, call))
            except RefusedError as refused:
                raise EditorToolError("denied", refused.result.message) from refused
            except WorkspaceError as error:
                raise as_tool_error(error) from error

    def _site(self, agent: OtherAgent) -> Site:
        trusted = self._services.policy.trust.state(agent.cwd) == "trusted"
        return Site(agent.cwd, (), self._unasked.environment(agent).variables, trusted, client_id=agent.name)

    @asynccontextmanager
    async def _files(self, agent: OtherAgent) -> AsyncGenerator[tuple[SessionFiles, Approval]]:
        environment, projects = self._unasked.environment(agent), self._services.files.projects
        approval = self._unasked.approval(agent, environment)
        disk = LocalWorkspace(agent.cwd, (), no_commands, environment.home, umask=agent.umask)
        author = Author(f"mcp:{agent.name}", None, environment.home, approval, agent.umask)
        files = ClientFiles(disk, projects.buffers)
        for client_id, workspace in self._live.client_files(agent.cwd).items():
            files.attach(client_id, workspace)
        recorded = await SessionFiles.open(disk, projects, author, files)
        try:
            yield recorded, approval
        finally:
            await recorded.aclose()
